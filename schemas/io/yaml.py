"""One YAML or JSON file as plain JSON values, with the line of every key and what is wrong.

Safe only: no tags, no merge keys, bounded size, depth and aliases; duplicate keys are errors.
Scalars follow YAML 1.2: `no` and `on` are text, `010` is ten, a date is text.
"""

from __future__ import annotations

import hashlib
import math
import re
import stat
from dataclasses import dataclass, field
from pathlib import Path

import yaml
from pydantic import JsonValue

from schemas.errors import ConfigError, Problem
from schemas.redact import redact, spelled

MAX_DEPTH = 64
MAX_VALUES = 100_000
"""Values after aliases are written out: stops a few lines that unfold into gigabytes."""

MAX_PROBLEMS = 100
"""A file with more is not what it was taken for; nobody reads the rest."""

KeyPath = tuple[str | int, ...]

NULL = frozenset({"", "~", "null", "Null", "NULL"})
BOOLEAN = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}
INTEGER = re.compile(r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+")
FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
SPECIAL_FLOAT = re.compile(r"[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)")
AMBIGUOUS = re.compile(
    r"[yY]|[nN]|yes|Yes|YES|no|No|NO|on|On|ON|off|Off|OFF|[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}.{0,40}",
    re.DOTALL,
)
"""What is text here and a boolean or a date to other readers of YAML (1.1), unless it is quoted."""

MAX_INT_CHARS = 19
"""Characters of an integer that certainly fits 64 bits."""

CORE = "tag:yaml.org,2002:"
PLAIN_TAGS = frozenset(
    {"str", "int", "float", "bool", "null", "timestamp", "merge", "value", "seq", "map"}
)
"""What the parser guesses of a scalar without a tag; the text itself decides here."""

MAX_BYTES = 2_000_000
"""A hand-written file is a thousand times smaller; a larger one is a mistake."""

HARMLESS_BYTES = 200_000
HARMLESS_OPENINGS = 1_000
"""Below both, neither the number of nodes nor their depth can hurt the parser."""

SURROGATES = re.compile(r"\\(?:u([dD][89abAB][0-9a-fA-F]{2})\\u([dD][c-fC-F][0-9a-fA-F]{2})|.)")


def printable(text: str, limit: int = 60) -> str:
    """Return text for a message: no secrets, cut, and without characters that move a cursor."""
    text = redact(text)
    return spelled(text[:limit] + "…" if len(text) > limit else text)


def dotted(key: KeyPath) -> str:
    """Return a key path as people write it: `input.messages[0].role`."""
    text = ""
    for part in key:
        if isinstance(part, int):
            text += f"[{part}]"
        else:
            text += f".{printable(part)}" if text else printable(part)
    return text


class Builder:
    """Turns the nodes of one file into values."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.lines: dict[KeyPath, int] = {}
        self.problems: list[Problem] = []
        self.ambiguous: set[KeyPath] = set()
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
        if node.tag.removeprefix(CORE) not in PLAIN_TAGS:
            self._add_problem(f"tag `{printable(node.tag)}` is not supported", key, line)
        inner = above | {id(node)}
        if isinstance(node, yaml.MappingNode):
            return self._mapping(node, key, inner)
        if isinstance(node, yaml.SequenceNode):
            return [
                self.value(item, (*key, number), inner) for number, item in enumerate(node.value)
            ]
        if not isinstance(node, yaml.ScalarNode):
            self._add_problem("is neither a mapping, a list nor a value", key, line)
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
                self._add_problem("a key must be plain text", key, line)
                continue
            if name == "<<" and not name_node.style:
                self._add_problem("merge keys are not supported; write the keys out", key, line)
                continue
            if name in values:
                self._add_problem(f"duplicate key `{printable(name)}`", key, line)
            self.lines[(*key, name)] = line
            values[name] = self.value(value_node, (*key, name), above)
        return values

    def _scalar(self, node: yaml.ScalarNode, key: KeyPath, line: int) -> JsonValue:
        text: str = node.value
        if node.style:
            return text  # quoted or block: text, whatever it looks like
        if text in NULL:
            return None
        if text in BOOLEAN:
            return BOOLEAN[text]
        if INTEGER.fullmatch(text):
            return self._integer(text, key, line)
        if FLOAT.fullmatch(text):
            return self._float(text, key, line)
        if SPECIAL_FLOAT.fullmatch(text):
            self._add_problem(f"`{text}` is not a number that can be used", key, line)
        if AMBIGUOUS.fullmatch(text):
            self.ambiguous.add(key)
        return text

    def _integer(self, text: str, key: KeyPath, line: int) -> int:
        digits = text.lstrip("+-")
        digits = digits if digits[:2] in {"0o", "0x"} else digits.lstrip("0")
        # 15 hexadecimal digits are below 2**63 as surely as 18 decimal ones
        limit = 17 if digits[:2] == "0x" else MAX_INT_CHARS
        base = 0 if text[:2] in {"0o", "0x"} else 10
        if len(digits) > limit or not -(2**63) <= (number := int(text, base)) < 2**63:
            self._add_problem("number is too long", key, line)
            return 0
        return number

    def _float(self, text: str, key: KeyPath, line: int) -> float:
        # a million digits would be legal, and slow to read
        number = float(text) if len(text) <= 400 else math.inf
        if math.isinf(number):
            self._add_problem("is not a number that can be used: too large or too long", key, line)
            return 0.0
        return number

    def _add_problem(self, what: str, key: KeyPath, line: int) -> None:
        self.problems.append(Problem(self.path, what, key=dotted(key), line=line))
        if len(self.problems) >= MAX_PROBLEMS:
            more = Problem(self.path, f"gave up after {MAX_PROBLEMS} problems", line=line)
            raise ConfigError([*self.problems, more])


@dataclass(frozen=True)
class Source:
    """One file as it was read."""

    path: Path
    data: JsonValue
    sha256: str
    lines: dict[KeyPath, int] = field(default_factory=dict)
    ambiguous: frozenset[KeyPath] = frozenset()
    """Keys of texts without quotes that other readers of YAML take for booleans or dates."""

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
        facts = path.stat()
        if not stat.S_ISREG(facts.st_mode):
            # a pipe or a device would block, or never end
            what = "is a directory" if stat.S_ISDIR(facts.st_mode) else "is not a regular file"
            raise ConfigError([Problem(path, what)])
        found = f"{facts.st_size:,} bytes"
        raw = b""
        if facts.st_size <= limit:
            with path.open("rb") as file:
                raw = file.read(limit + 1)  # files below /proc give no size
            found = f"more than {limit:,} bytes"
        if facts.st_size > limit or len(raw) > limit:
            raise ConfigError([Problem(path, "is too large", found=found, allowed=f"{limit:,}")])
    except (FileNotFoundError, NotADirectoryError) as exc:
        raise ConfigError([Problem(path, "no such file")]) from exc
    except (OSError, ValueError) as exc:
        reason = getattr(exc, "strerror", None) or exc  # the path stands before it already
        raise ConfigError([Problem(path, f"cannot be read: {reason}")]) from exc
    return raw


def decode(path: Path, raw: bytes) -> str:
    """Return bytes as UTF-8 text without a byte order mark.

    Raises:
        ConfigError: they are not UTF-8, or hold a NUL.
    """
    if (at := raw.find(b"\0")) >= 0 and not raw.startswith((b"\xff\xfe", b"\xfe\xff")):
        line = raw.count(b"\n", 0, at) + 1
        raise ConfigError([Problem(path, "holds a NUL byte", line=line)])
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as exc:
        line = raw.count(b"\n", 0, exc.start) + 1
        raise ConfigError([Problem(path, "is not UTF-8 text", line=line)]) from exc


def read_yaml(path: Path) -> Source:
    """Read one YAML (or JSON) document.

    Raises:
        ConfigError: the file cannot be read as one document of plain values.
    """
    raw = read_bytes(path)
    text = decode(path, raw)
    if path.suffix == ".json":
        text = SURROGATES.sub(_joined, text)
    builder = Builder(path)
    try:
        _measure(path, text)
        node = yaml.compose(text, Loader=yaml.CSafeLoader)
        data = None if node is None else builder.value(node, (), frozenset())
    except yaml.YAMLError as exc:
        mark = getattr(exc, "problem_mark", None)
        what = getattr(exc, "problem", None) or getattr(exc, "reason", None) or "cannot be parsed"
        line = None if mark is None else mark.line + 1
        problem = Problem(path, f"is not valid YAML: {printable(what, 200)}", line=line)
        raise ConfigError([problem]) from exc
    except RecursionError as exc:
        raise ConfigError([Problem(path, f"is nested deeper than {MAX_DEPTH}")]) from exc
    if builder.problems:
        raise ConfigError(builder.problems)
    return Source(
        path, data, hashlib.sha256(raw).hexdigest(), builder.lines, frozenset(builder.ambiguous)
    )


def _joined(match: re.Match[str]) -> str:
    """JSON writes characters beyond U+FFFF as two escapes, which YAML does not know."""
    if match[1] is None:
        return match[0]
    return chr(0x10000 + ((int(match[1], 16) - 0xD800) << 10) + (int(match[2], 16) - 0xDC00))


def _measure(path: Path, text: str) -> None:
    """Refuse what would crash the parser or fill the memory, before a tree is built of it.

    libyaml recurses in C, where too much depth ends the process, and a node takes a hundred times
    its bytes.
    """
    openings = sum(text.count(char) for char in "[{-?:")
    if len(text) < HARMLESS_BYTES and openings < HARMLESS_OPENINGS:
        return
    depth = count = 0
    for event in yaml.parse(text, Loader=yaml.CSafeLoader):
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
            if depth > MAX_DEPTH + 1:
                line = None if event.start_mark is None else event.start_mark.line + 1
                raise ConfigError([Problem(path, f"is nested deeper than {MAX_DEPTH}", line=line)])
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
        count += isinstance(event, yaml.NodeEvent)
        if count > 2 * MAX_VALUES:  # keys are nodes too
            raise ConfigError([Problem(path, f"holds more than {MAX_VALUES:,} values")])
