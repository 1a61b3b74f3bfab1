"""JSON in a model's answer: found, read strictly without ever raising, and held against key rules.

JSON is the whole text, or the only fenced block, or the span from the first `{` to its matching
`}`; the first of them that parses counts. Stricter than Python's reader: NaN and Infinity,
numbers too large to hold, and an object with two keys of one name are refused.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from pydantic import JsonValue

from collect.checks.base import Answer, Verdict, matches
from collect.tools import find_fences
from schemas.config.validators import JsonKeys, KeyRule, OneOfRule, RangeRule, RegexRule, TypeRule
from schemas.redact import redact

MAX_STORED_DEPTH = 100
STORED_INTS = range(-(2**63), 2**64)
"""What every JSON writer and reader downstream takes; anything beyond is kept as its text."""

MAX_STARTS = 100
"""Braces that begin no object, of a text that is looked through."""

MAX_KEY_CHARS = 100
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
                shown = redact(key)[:MAX_KEY_CHARS].encode("utf-8", "backslashreplace").decode()
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


def read_last_object(text: str) -> Reading:
    """Return the last JSON object of a text that stands in no other one, read as strictly.

    After `MAX_STARTS` braces that begin none, the rest is not looked through.
    """
    found = Reading(problem="no JSON object")
    start, n_wrong = text.find("{"), 0
    while start >= 0 and n_wrong < MAX_STARTS:
        reader = _Reader()
        try:
            value, end = reader.decoder.raw_decode(text, start)
        except (json.JSONDecodeError, RecursionError):
            n_wrong += 1
            end = start + 1
        else:
            stored = value if _storable(value) else text[start:end]
            fault = reader.faults[0] if reader.faults else None
            found = Reading(value, stored) if fault is None else Reading(problem=fault)
        start = text.find("{", end)
    return found


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
            return depth < MAX_STORED_DEPTH and all(_storable(item, depth + 1) for item in value)
        case dict():
            parts = (*value, *value.values())
            return depth < MAX_STORED_DEPTH and all(_storable(part, depth + 1) for part in parts)


def _is_number(value: JsonValue) -> bool:
    """Tell a JSON number from `true`, which Python takes for one."""
    return isinstance(value, int | float) and not isinstance(value, bool)


TYPES: Mapping[str, Callable[[JsonValue], bool]] = MappingProxyType(
    {
        "string": lambda value: isinstance(value, str),
        "number": _is_number,
        "integer": lambda value: isinstance(value, int) and not isinstance(value, bool),
        "boolean": lambda value: isinstance(value, bool),
        "array": lambda value: isinstance(value, list),
        "object": lambda value: isinstance(value, dict),
        "null": lambda value: value is None,
    }
)


def json_keys(validator: JsonKeys, answer: Answer) -> Verdict:
    """Pass when the answer is a JSON object with the required keys, whose values obey the rules."""
    reading = read_json(answer.text)
    violation = reading.problem or _violation(validator, reading)
    return Verdict(violation is None, violation, reading.stored)


def _violation(validator: JsonKeys, reading: Reading) -> str | None:
    """Return the first thing wrong with a JSON value; the rules of absent keys are not asked."""
    found = reading.value
    if not isinstance(found, dict):
        return "json_not_object"
    for key in validator.required_keys:
        if key not in found:
            return f"missing_key:{key}"
    for key, rules in validator.rules().items():
        for rule in rules if key in found else ():
            try:
                if not _holds(rule, found[key]):
                    return f"key_rule_{rule.type}_failed:{key}"
            except TimeoutError:
                return f"regex_timeout:{key}"
    return None


def _holds(rule: KeyRule, value: JsonValue) -> bool:
    """Tell whether a value obeys one rule."""
    match rule:
        case TypeRule():
            return TYPES[rule.type](value)
        case OneOfRule():
            return any(_same(value, allowed) for allowed in rule.values)
        case RegexRule():
            return isinstance(value, str) and matches(rule.pattern, value, whole=True)
        case RangeRule():
            return _is_number(value) and _within(rule, value)


def _within(rule: RangeRule, value: JsonValue) -> bool:
    """Tell whether a number lies between the bounds, exactly: Python compares int with float so."""
    assert isinstance(value, int | float)
    above = rule.min is None or value >= rule.min
    return above and (rule.max is None or value <= rule.max)


def _same(one: JsonValue, other: JsonValue) -> bool:
    """Compare as JSON does: 1 is 1.0, but true is not 1."""
    match one, other:
        case list(), list():
            return len(one) == len(other) and all(map(_same, one, other))
        case dict(), dict():
            return one.keys() == other.keys() and all(_same(one[k], other[k]) for k in one)
    return isinstance(one, bool) is isinstance(other, bool) and one == other
