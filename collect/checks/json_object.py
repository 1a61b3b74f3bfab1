"""Finds and reads the JSON in a model's answer, strictly, and without ever raising.

JSON is the whole text, or the only fenced block, or the span from the first `{` to its matching
`}`; the first of them that parses counts. Stricter than Python's reader: NaN and Infinity,
numbers too large to hold, and an object with two keys of one name are refused.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from pydantic import JsonValue

from collect.tools.fences import find_fences
from schemas.redact import redact

STORED_DEPTH = 100
STORED_INTS = range(-(2**63), 2**64)
"""What every JSON writer and reader downstream takes; anything beyond is kept as its text."""

SHOWN_KEY = 100
"""Characters of a duplicate key that its violation shows."""


@dataclass(frozen=True)
class Reading:
    """A JSON value, or the problem why there is none; `stored` is what a record can hold."""

    value: JsonValue = None
    stored: JsonValue = None
    problem: str | None = None


class _Reader:
    """One pass of Python's JSON reader that notes what JSON does not allow."""

    def __init__(self) -> None:
        self.faults: list[str] = []
        self.decoder = json.JSONDecoder(
            object_pairs_hook=self._object,
            parse_constant=self._constant,
            parse_float=self._float,
            parse_int=self._int,
        )

    def _object(self, pairs: list[tuple[str, JsonValue]]) -> dict[str, JsonValue]:
        found: dict[str, JsonValue] = {}
        for key, value in pairs:
            if key in found:
                shown = redact(key)[:SHOWN_KEY].encode("utf-8", "backslashreplace").decode()
                self.faults.append(f"duplicate_key:{shown}")
            found[key] = value
        return found

    def _constant(self, name: str) -> None:
        self.faults.append(f"json_parse_error: {name} is not JSON")

    def _float(self, digits: str) -> float:
        value = float(digits)
        if math.isinf(value):
            self._constant("a number beyond 1.8e308")
        return value

    def _int(self, digits: str) -> int:
        try:
            return int(digits)
        except ValueError:  # Python reads at most 4,300 digits
            self._constant(f"a number of {len(digits)} digits")
            return 0


def read_json(text: str) -> Reading:
    """Return the JSON value of an answer, with what is wrong with it."""
    problem = ""
    for source, decode in _candidates(text):
        reader = _Reader()
        try:
            value, end = decode(reader.decoder)
        except json.JSONDecodeError as exc:
            problem = f"json_parse_error: {exc}"
            continue
        except RecursionError:
            return Reading(problem="json_parse_error: nested too deeply")
        if reader.faults:
            return Reading(problem=reader.faults[0])
        return Reading(value, value if _storable(value) else source[:end])
    return Reading(problem=problem)


Decode = Callable[[json.JSONDecoder], tuple[JsonValue, int]]


def _candidates(text: str) -> Iterator[tuple[str, Decode]]:
    """Return where JSON may be, best first, each with the way to read it."""
    yield text, lambda decoder: (decoder.decode(text), len(text))
    fences = find_fences(text)
    if len(fences) == 1:
        body = text[fences[0].body_start : fences[0].body_end].strip()
        yield body, lambda decoder: (decoder.decode(body), len(body))
    start = text.find("{")
    if start >= 0:
        span = text[start:]
        yield span, lambda decoder: decoder.raw_decode(span)


def _storable(value: JsonValue, depth: int = 0) -> bool:
    """Tell whether records, columns and reports can hold the value as it is."""
    match value:
        case str():
            return value.isascii() or not any("\ud800" <= char <= "\udfff" for char in value)
        case bool() | float() | None:
            return True
        case int():
            return value in STORED_INTS
        case list():
            return depth < STORED_DEPTH and all(_storable(item, depth + 1) for item in value)
        case dict():
            parts = (*value, *value.values())
            return depth < STORED_DEPTH and all(_storable(part, depth + 1) for part in parts)
