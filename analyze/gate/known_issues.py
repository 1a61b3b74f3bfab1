"""A file of acknowledged shifts and quarantined cases, TOML or YAML, and what quarantine does.

Its mistakes are reported with file, line and key, as of every file that people write. A gate does
not test a quarantined case. Scores never change by it: the cases stay in every report, and a gate
names what it left out.
"""

from __future__ import annotations

import hashlib
import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, time
from pathlib import Path
from typing import Any, cast

from pydantic import JsonValue

from schemas.config.known_issues import KnownFile, Quarantined
from schemas.errors import ConfigError, Problem
from schemas.io.validation import parse
from schemas.io.yaml import KeyPath, Source, decode, read_bytes, read_yaml
from schemas.output.comparison import Comparison
from schemas.output.regressions import GateResult

SUFFIXES = (".toml", ".yaml", ".yml", ".json")

HEADER = re.compile(r"\s*(\[\[?)\s*([A-Za-z0-9_-]+)\s*\]")
KEY = re.compile(r"\s*([A-Za-z0-9_-]+)\s*=")
FENCE = re.compile(r"\"\"\"|'''")
AT_LINE = re.compile(r"^(.*?)(?: \(at line (\d+), column \d+\))?$", re.DOTALL)

INT64 = range(-(2**63), 2**63)

Key = tuple[str, str, str | None]
"""suite_id, case_id, and model_id; None: with every model."""


def read_known(path: Path) -> KnownFile:
    """Return what people know already, as one file says it.

    It ends in `.toml`, `.yaml`, `.yml` or `.json`.

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


@dataclass(frozen=True)
class Quarantine:
    """The entries of a file on one day."""

    holding: tuple[Quarantined, ...] = ()
    expired: tuple[Quarantined, ...] = ()


def quarantine_on(day: date, known: KnownFile) -> Quarantine:
    """Return which entries hold on a day; `until` is the last one on which an entry does."""
    over = {n for n, entry in enumerate(known.quarantined) if entry.until and entry.until < day}
    return Quarantine(
        holding=tuple(entry for n, entry in enumerate(known.quarantined) if n not in over),
        expired=tuple(entry for n, entry in enumerate(known.quarantined) if n in over),
    )


def with_quarantine(result: GateResult, quarantine: Quarantine) -> GateResult:
    """Return a result that names the entries which took cases out, and those which did not."""
    comparisons = [
        result.comparison,
        result.confirmation,
        *(one for held in result.other_baselines for one in (held.comparison, held.confirmation)),
    ]
    left_out = {key for one in comparisons if one is not None for key in _left_out(one)}
    keys = [(entry.suite_id, entry.case_id, entry.model_id) for entry in quarantine.holding]
    used = {n for n, key in enumerate(keys) if key in left_out}
    return result.model_copy(
        update={
            "quarantined": tuple(e for n, e in enumerate(quarantine.holding) if n in used),
            "unused": tuple(e for n, e in enumerate(quarantine.holding) if n not in used),
            "expired": quarantine.expired,
        }
    )


def _left_out(comparison: Comparison) -> Iterator[Key]:
    """Yield the cases that were left out, by each name that the model has on the two sides."""
    names = {group.candidate_model_id: group.model_id for group in comparison.groups}
    for case in comparison.excluded:
        if case.reason == "quarantined":
            for model_id in (None, case.model_id, names.get(case.model_id)):
                yield case.suite_id, case.case_id, model_id
