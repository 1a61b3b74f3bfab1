"""What a case asks for, in words: its validator as a person would say it.

`{"type": "contains", "values": ["red", "blue"]}` is `contains all of "red", "blue"`. A validator
that an installed package adds has no words here and stands as its JSON.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from schemas.errors import counted

SHOWN = 8
"""Values of a list; the others are counted."""


def expected_words(validator: Mapping[str, Any] | None) -> str:
    """Return what an answer must be to pass, in one line; empty where nothing is judged.

    Args:
        validator: as the case has it, with its `type`; None: nobody kept it.
    """
    if validator is None or validator.get("type") in {None, "noop"}:
        return ""
    words = WORDS.get(str(validator["type"]))
    rules = {name: value for name, value in validator.items() if value is not None}
    try:
        return words(rules) if words else _json(rules)
    except (KeyError, TypeError, AttributeError):  # of another version: it says less than JSON does
        return _json(rules)


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def _listed(values: Iterable[object]) -> str:
    found = [_json(value) for value in values]
    more = f" and {len(found) - SHOWN} more" if len(found) > SHOWN else ""
    return ", ".join(found[:SHOWN]) + more


def _parts(rules: Mapping[str, Any], one: str, several: str) -> str:
    values = rules["values"] if "values" in rules else [rules["value"]]
    return f"{one} {_listed(values)}" if len(values) == 1 else f"{several} {_listed(values)}"


def _contains(rules: Mapping[str, Any]) -> str:
    some = "any" if rules.get("match") == "any" else "all"
    return _parts(rules, "contains", f"contains {some} of")


def _number(rules: Mapping[str, Any]) -> str:
    near = f", give or take {rules['tolerance']}" if rules.get("tolerance") else ""
    only = "its only number" if rules.get("occurrence") == "only" else "its last number"
    return f"{only} is {rules['value']}{near}"


def _keys(rules: Mapping[str, Any]) -> str:
    required = rules.get("required_keys") or ()
    held = rules.get("key_rules") or {}
    keys = f"JSON with the keys {_listed(required)}" if required else "JSON"
    each = (f"{_json(key)}: {_json(rule)}" for key, rule in [*held.items()][:SHOWN])
    return "; ".join([keys, *each])


WORDS: dict[str, Callable[[Mapping[str, Any]], str]] = {
    "exact": lambda rules: f"is exactly {_json(rules['value'])}",
    "one_of": lambda rules: _parts(rules, "is", "is one of"),
    "contains": _contains,
    "not_contains": lambda rules: _parts(rules, "does not contain", "contains none of"),
    "regex_fullmatch": lambda rules: f"matches as a whole {rules['pattern']}",
    "regex_search": lambda rules: f"somewhere matches {rules['pattern']}",
    "number": _number,
    "max_words": lambda rules: f"has at most {counted(rules['value'], 'word')}",
    "max_sentences": lambda rules: f"has at most {counted(rules['value'], 'sentence')}",
    "exact_bullets": lambda rules: f"has exactly {counted(rules['value'], 'bullet')}",
    "json_keys": _keys,
    "tool_invocation": lambda rules: f"calls {', '.join(map(str, rules['expected_tools']))}",
}
"""By the type of a validator."""
