"""Reads one YAML or JSON file into plain JSON values, remembering the line of every key.

Safe only: no tags, no merge keys, bounded size, depth and aliases; duplicate keys are errors.
"""

from __future__ import annotations

import hashlib
import re
import stat
from dataclasses import dataclass, field
from pathlib import Path

import yaml
from pydantic import JsonValue

from schemas.errors import ConfigError, Problem
from schemas.io.yaml import MAX_DEPTH, MAX_VALUES, Builder, KeyPath, dotted, printable

__all__ = ["KeyPath", "Source", "decode", "dotted", "printable", "read_bytes", "read_yaml"]

MAX_BYTES = 2_000_000
"""A hand-written file is a thousand times smaller; a larger one is a mistake."""

HARMLESS_BYTES = 200_000
HARMLESS_OPENINGS = 1_000
"""Below both, neither the number of nodes nor their depth can hurt the parser."""

SURROGATES = re.compile(r"\\(?:u([dD][89abAB][0-9a-fA-F]{2})\\u([dD][c-fC-F][0-9a-fA-F]{2})|.)")


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
        raise ConfigError([Problem(path, f"cannot be read: {_reason(exc)}")]) from exc
    return raw


def _reason(exc: Exception) -> str:
    """Return why a file cannot be read, without the path that stands before it already."""
    return (isinstance(exc, OSError) and exc.strerror) or str(exc)


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
                problem = Problem(path, f"is nested deeper than {MAX_DEPTH}", line=_line(event))
                raise ConfigError([problem])
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
        count += isinstance(event, yaml.NodeEvent)
        if count > 2 * MAX_VALUES:  # keys are nodes too
            raise ConfigError([Problem(path, f"holds more than {MAX_VALUES:,} values")])


def _line(event: yaml.Event) -> int | None:
    return None if event.start_mark is None else event.start_mark.line + 1
