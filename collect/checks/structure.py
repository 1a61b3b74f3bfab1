"""The validator that reads the answer as one JSON object."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from pydantic import JsonValue

from collect.checks.base import Answer, Verdict, fullmatches
from collect.checks.json_object import Reading, read_json
from schemas.config.validators import JsonKeys, KeyRule, OneOfRule, RangeRule, RegexRule, TypeRule


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
            return isinstance(value, str) and fullmatches(rule.pattern, value)
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
