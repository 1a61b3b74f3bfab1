"""Reads one YAML or JSON file into plain JSON values, remembering the line of every key.

Safe only: no tags, no merge keys, bounded size, depth and aliases. Scalars follow YAML 1.2: `no`
and `on` are text, `010` is ten, a date is text. Duplicate keys are errors.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass, field
from pathlib import Path

import yaml
from pydantic import JsonValue

from schemas.errors import ConfigError, Problem

MAX_BYTES = 2_000_000
"""A hand-written file is a thousand times smaller; a larger one is a mistake."""

MAX_DEPTH = 64
MAX_VALUES = 100_000
"""Values after aliases are written out: stops a few lines that unfold into gigabytes."""

KeyPath = tuple[str | int, ...]

NULL = frozenset({"", "~", "null", "Null", "NULL"})
BOOLEAN = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}
INTEGER = re.compile(r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+")
FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
PLAIN_TAGS = frozenset({"str", "int", "float", "bool", "null", "timestamp", "merge", "value"})
"""What the parser guesses of a scalar without a tag; the text itself decides here."""

SPECIAL_FLOAT = re.compile(r"[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)")


@dataclass(frozen=True)
class Source:
    """One file as it was read."""

    path: Path
    data: JsonValue
    sha256: str
    lines: dict[KeyPath, int] = field(default_factory=dict)

    def line_of(self, key: KeyPath) -> int | None:
        """Return the line of a key, or of the nearest thing above it."""
        for length in range(len(key), -1, -1):
            if (line := self.lines.get(key[:length])) is not None:
                return line
        return None


def read_bytes(path: Path, limit: int = MAX_BYTES) -> bytes:
    """Return a file's bytes.

    Raises:
        ConfigError: it is missing, unreadable, not a file or larger than `limit` bytes.
    """
    try:
        if not path.is_file():
            what = "is a directory" if path.is_dir() else "no such file"
            raise ConfigError([Problem(path, what)])
        size = path.stat().st_size
        if size > limit:
            problem = Problem(path, "is too large", found=f"{size:,} bytes", allowed=f"{limit:,}")
            raise ConfigError([problem])
        return path.read_bytes()
    except (OSError, ValueError) as exc:
        raise ConfigError([Problem(path, f"cannot be read: {exc}")]) from exc


def decode(path: Path, raw: bytes) -> str:
    """Return bytes as UTF-8 text without a byte order mark.

    Raises:
        ConfigError: they are not UTF-8, or hold a NUL.
    """
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as exc:
        line = raw.count(b"\n", 0, exc.start) + 1
        raise ConfigError([Problem(path, "is not UTF-8 text", line=line)]) from exc
    if "\0" in text:
        line = text.count("\n", 0, text.index("\0")) + 1
        raise ConfigError([Problem(path, "holds a NUL byte", line=line)])
    return text


def read_yaml(path: Path) -> Source:
    """Read one YAML (or JSON) document.

    Raises:
        ConfigError: the file cannot be read as one document of plain values.
    """
    raw = read_bytes(path)
    text = decode(path, raw)
    builder = _Builder(path)
    try:
        node = yaml.compose(text, Loader=yaml.CSafeLoader)
        data = None if node is None else builder.value(node, (), frozenset())
    except yaml.YAMLError as exc:
        mark = getattr(exc, "problem_mark", None)
        what = getattr(exc, "problem", None) or getattr(exc, "reason", None) or "cannot be parsed"
        line = None if mark is None else mark.line + 1
        raise ConfigError([Problem(path, f"is not valid YAML: {what}", line=line)]) from exc
    except RecursionError as exc:
        raise ConfigError([Problem(path, "is nested too deeply")]) from exc
    if builder.problems:
        raise ConfigError(builder.problems)
    return Source(path, data, hashlib.sha256(raw).hexdigest(), builder.lines)


class _Builder:
    """Turns nodes into values, noting lines and what is wrong."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.lines: dict[KeyPath, int] = {}
        self.problems: list[Problem] = []
        self._count = 0

    def value(self, node: yaml.Node, key: KeyPath, above: frozenset[int]) -> JsonValue:
        """Return the value of a node; `above` holds the nodes it lies in."""
        line = node.start_mark.line + 1
        self.lines.setdefault(key, line)
        self._count += 1
        if self._count > MAX_VALUES:
            raise ConfigError([Problem(self.path, f"unfolds into more than {MAX_VALUES:,} values")])
        if id(node) in above:
            raise ConfigError([Problem(self.path, "holds an alias of itself", line=line)])
        if len(key) > MAX_DEPTH:
            raise ConfigError([Problem(self.path, f"is nested deeper than {MAX_DEPTH}", line=line)])
        inner = above | {id(node)}
        if isinstance(node, yaml.MappingNode):
            return self._mapping(node, key, inner)
        if isinstance(node, yaml.SequenceNode):
            return [
                self.value(item, (*key, number), inner) for number, item in enumerate(node.value)
            ]
        if not isinstance(node, yaml.ScalarNode):
            self._wrong("is neither a mapping, a list nor a value", key, line)
            return None
        return self._scalar(node, key, line)

    def _mapping(
        self, node: yaml.MappingNode, key: KeyPath, above: frozenset[int]
    ) -> dict[str, JsonValue]:
        values: dict[str, JsonValue] = {}
        for name_node, value_node in node.value:
            line = name_node.start_mark.line + 1
            name = name_node.value
            if not isinstance(name, str):
                self._wrong("a key must be plain text", key, line)
                continue
            if name == "<<" and not name_node.style:
                self._wrong("merge keys are not supported; write the keys out", key, line)
                continue
            if name in values:
                self._wrong(f"duplicate key `{name}`", key, line)
            self.lines[(*key, name)] = line
            values[name] = self.value(value_node, (*key, name), above)
        return values

    def _scalar(self, node: yaml.ScalarNode, key: KeyPath, line: int) -> JsonValue:
        text: str = node.value
        if node.tag.removeprefix("tag:yaml.org,2002:") not in PLAIN_TAGS:
            self._wrong(f"tag `{node.tag}` is not supported", key, line)
        if node.style:
            return text  # quoted or block: text, whatever it looks like
        if text in NULL:
            return None
        if text in BOOLEAN:
            return BOOLEAN[text]
        if INTEGER.fullmatch(text):
            return int(text, 0) if text[:2] in {"0o", "0x"} else self._integer(text, key, line)
        if FLOAT.fullmatch(text):
            return float(text)
        if SPECIAL_FLOAT.fullmatch(text):
            self._wrong(f"`{text}` is not a number that can be used", key, line)
        return text

    def _integer(self, text: str, key: KeyPath, line: int) -> int:
        if len(text) > 19:
            self._wrong("number is too long", key, line)
            return 0
        return int(text)

    def _wrong(self, what: str, key: KeyPath, line: int) -> None:
        self.problems.append(Problem(self.path, what, key=dotted(key), line=line))


def dotted(key: KeyPath) -> str:
    """Return a key path as people write it: `input.messages[0].role`."""
    text = ""
    for part in key:
        text += f"[{part}]" if isinstance(part, int) else (f".{part}" if text else str(part))
    return text
