"""Cells of promptfoo's `__expected` column as validators: `contains: Paris`, `is-json`, plain text.

What has no validator here (a judge, code, a similarity) is said, and never left out of a row.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from types import MappingProxyType

from collect.tables.choice import Validator

ASSERTION = re.compile(
    r"(?P<name>[a-z]+(?:-[a-z]+)*)(?:\([0-9.]+\))?(?::\s*(?P<value>.*))?", re.DOTALL
)
NOT_HERE = frozenset(
    [
        "answer-relevance",
        "classifier",
        "context-faithfulness",
        "context-recall",
        "context-relevance",
        "cost",
        "factuality",
        "file",
        "fn",
        "grade",
        "icontains-all",
        "icontains-any",
        "javascript",
        "latency",
        "levenshtein",
        "llm-rubric",
        "model-graded-closedqa",
        "moderation",
        "perplexity",
        "python",
        "rouge-n",
        "similar",
        "webhook",
    ]
)
"""Names before a colon that promptfoo takes for an assertion and no validator does."""


def _several(match: str) -> Callable[[str], Validator]:
    def make(value: str) -> Validator:
        parts = [part.strip() for part in value.split(",")]
        return {"type": "contains", "values": [*parts], "match": match}

    return make


MADE: Mapping[str, Callable[[str], Validator]] = MappingProxyType(
    {
        "equals": lambda value: {"type": "exact", "value": value},
        "contains": lambda value: {"type": "contains", "value": value},
        "not-contains": lambda value: {"type": "not_contains", "value": value},
        "contains-all": _several("all"),
        "contains-any": _several("any"),
        "icontains": lambda value: {
            "type": "regex_search",
            "pattern": f"(?i){re.escape(value)}",
        },
        "starts-with": lambda value: {
            "type": "regex_search",
            "pattern": rf"\A{re.escape(value)}",
        },
        "regex": lambda value: {"type": "regex_search", "pattern": value},
        "is-json": lambda _value: {"type": "json_keys"},
        "contains-json": lambda _value: {"type": "json_keys"},
    }
)
ALONE = ("is-json", "contains-json")
"""Assertions that need no value."""


def name_of(cell: str) -> str | None:
    """Return the assertion's name; None where the cell is a plain text."""
    match = ASSERTION.fullmatch(cell.strip())
    if match is None:
        return None
    name = match["name"]
    if match["value"] is None:
        return name if name in ALONE else None
    return name if {name, name.removeprefix("not-")} & {*MADE, *NOT_HERE} else None


def validator_of(cell: str) -> Validator | None:
    """Return a cell as a validator, a plain text as `exact`; None where there is none for it."""
    name = name_of(cell)
    if name is None:
        return {"type": "exact", "value": cell}
    match = ASSERTION.fullmatch(cell.strip())
    assert match is not None
    return MADE[name](match["value"] or "") if name in MADE else None
