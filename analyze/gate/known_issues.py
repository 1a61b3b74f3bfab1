"""Reads a file of acknowledged shifts and quarantined cases, TOML or YAML.

What is wrong in it is said with file, line and key, as of every file that people write.
"""

from __future__ import annotations

import hashlib
import re
import tomllib
from datetime import date, time
from pathlib import Path
from typing import Any, cast

from pydantic import JsonValue

from schemas.config.known_issues import KnownFile
from schemas.errors import ConfigError, Problem
from schemas.io.validation import parse
from schemas.io.yaml import KeyPath, Source, decode, read_bytes, read_yaml

SUFFIXES = (".toml", ".yaml", ".yml", ".json")

HEADER = re.compile(r"\s*(\[\[?)\s*([A-Za-z0-9_-]+)\s*\]")
KEY = re.compile(r"\s*([A-Za-z0-9_-]+)\s*=")
FENCE = re.compile(r"\"\"\"|'''")
AT_LINE = re.compile(r"^(.*?)(?: \(at line (\d+), column \d+\))?$", re.DOTALL)

INT64 = range(-(2**63), 2**63)


def read_known(path: Path) -> KnownFile:
    """Return what people know already, as one file says it.

    Args:
        path: ends in `.toml`, `.yaml`, `.yml` or `.json`.

    Raises:
        ConfigError: every problem of the file, each with its line.
    """
    if path.suffix not in SUFFIXES:
        problem = Problem(path, "is not a kind of file read here", allowed=", ".join(SUFFIXES))
        raise ConfigError([problem])
    return parse(KnownFile, _read_toml(path) if path.suffix == ".toml" else read_yaml(path))


def _read_toml(path: Path) -> Source:
    raw = read_bytes(path)
    text = decode(path, raw)
    try:
        data = _plain(tomllib.loads(text))
    except tomllib.TOMLDecodeError as exc:
        what, line = cast("re.Match[str]", AT_LINE.match(str(exc))).groups()
        problem = Problem(path, f"is not valid TOML: {what}", line=int(line) if line else None)
        raise ConfigError([problem]) from exc
    except RecursionError as exc:
        raise ConfigError([Problem(path, "is nested too deeply")]) from exc
    except OverflowError as exc:
        raise ConfigError([Problem(path, "holds an integer of more than 64 bits")]) from exc
    return Source(path, data, hashlib.sha256(raw).hexdigest(), _lines_of(text))


def _plain(value: Any) -> JsonValue:
    """Return a value as JSON has it: dates become text, as they are in YAML."""
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    if isinstance(value, (date, time)):  # a datetime is a date too
        return value.isoformat()
    if isinstance(value, int) and value not in INT64:
        raise OverflowError
    return cast("JsonValue", value)


def _lines_of(text: str) -> dict[KeyPath, int]:
    """Return the line of every table and key; the parser itself keeps none.

    Keys of inline tables have none of their own: a message then names the line of what they are in.
    """
    lines: dict[KeyPath, int] = {(): 1}
    counts: dict[str, int] = {}
    table: KeyPath = ()
    fence = ""
    for number, line in enumerate(text.splitlines(), 1):
        is_inside = fence
        for found in FENCE.findall(line):
            fence = "" if fence == found else fence or found
        if is_inside:
            continue
        if header := HEADER.match(line):
            brackets, name = header.groups()
            table = (name,)
            lines.setdefault(table, number)
            if brackets == "[[":
                counts[name] = counts.get(name, -1) + 1
                table = (name, counts[name])
            lines.setdefault(table, number)
        elif key := KEY.match(line):
            lines.setdefault((*table, key[1]), number)
    return lines
