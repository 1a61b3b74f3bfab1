"""From YAML nodes to plain JSON values, noting the line of every key and what is wrong.

Scalars follow YAML 1.2: `no` and `on` are text, `010` is ten, a date is text.
"""

from __future__ import annotations

import math
import re
from pathlib import Path

import yaml
from pydantic import JsonValue

from schemas.errors import ConfigError, Problem
from schemas.redact import redact

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

LONGEST_NUMBER = 19
"""Characters of an integer that certainly fits 64 bits."""

CORE = "tag:yaml.org,2002:"
PLAIN_TAGS = frozenset(
    {"str", "int", "float", "bool", "null", "timestamp", "merge", "value", "seq", "map"}
)
"""What the parser guesses of a scalar without a tag; the text itself decides here."""


def printable(text: str, limit: int = 60) -> str:
    """Return text for a message: no secrets, cut, and without characters that move a cursor."""
    text = redact(text)
    cut = text[:limit] + "…" if len(text) > limit else text
    return "".join(
        char if char.isprintable() else char.encode("unicode_escape").decode() for char in cut
    )


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
            self._wrong(f"tag `{printable(node.tag)}` is not supported", key, line)
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
                self._wrong(f"duplicate key `{printable(name)}`", key, line)
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
            self._wrong(f"`{text}` is not a number that can be used", key, line)
        if AMBIGUOUS.fullmatch(text):
            self.ambiguous.add(key)
        return text

    def _integer(self, text: str, key: KeyPath, line: int) -> int:
        digits = text.lstrip("+-")
        digits = digits if digits[:2] in {"0o", "0x"} else digits.lstrip("0")
        # 15 hexadecimal digits are below 2**63 as surely as 18 decimal ones
        limit = 17 if digits[:2] == "0x" else LONGEST_NUMBER
        if len(digits) > limit or not -(2**63) <= (number := _int(text)) < 2**63:
            self._wrong("number is too long", key, line)
            return 0
        return number

    def _float(self, text: str, key: KeyPath, line: int) -> float:
        # a million digits would be legal, and slow to read
        number = float(text) if len(text) <= 400 else math.inf
        if math.isinf(number):
            self._wrong("is not a number that can be used: too large or too long", key, line)
            return 0.0
        return number

    def _wrong(self, what: str, key: KeyPath, line: int) -> None:
        self.problems.append(Problem(self.path, what, key=dotted(key), line=line))
        if len(self.problems) >= MAX_PROBLEMS:
            more = Problem(self.path, f"gave up after {MAX_PROBLEMS} problems", line=line)
            raise ConfigError([*self.problems, more])


def _int(text: str) -> int:
    return int(text, 0) if text[:2] in {"0o", "0x"} else int(text)
