"""Totals that an older file keeps of its results, held against the results themselves.

The results win, since the totals of v2 are always counted; what was stored is kept beside them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from schemas.formats.migration.fields import is_number, is_score
from schemas.json_values import shown

MARGIN = 0.0051
"""Stored rates and means have two decimals."""

TOTAL_KEYS = ("total_tasks", "total", "total_instances")

WORDS: Mapping[str, frozenset[str]] = {
    "passed": frozenset({"resolved", "pass", "passed", "success"}),
    "failed": frozenset({"fail", "failed"}),
    "timeout": frozenset({"timeout"}),
    "error": frozenset({"error"}),
}
"""Name of a stored count to the words for a status that it counts."""


def counted(words: Counter[str], n_instances: int) -> dict[str, float]:
    """Return what the stored totals should be by the results."""
    found: dict[str, float] = {
        name: sum(words[word] for word in those) for name, those in WORDS.items()
    }
    found |= dict.fromkeys(TOTAL_KEYS, n_instances)
    if n_instances:
        found["pass_rate"] = 100 * found["passed"] / n_instances
    return found


def contradictions(stored: Mapping[str, Any], true: Mapping[str, float]) -> dict[str, str]:
    """Return a sentence for each stored total that the results contradict, by its name.

    Args:
        stored: an object of the file; what is no total is passed over.
        true: what they should be, such as by `counted`.
    """
    return {
        name: f"says {shown(stored[name])}, the results say {right:.15g}; the results win"
        for name, right in true.items()
        if is_number(stored.get(name)) and not _agree(stored[name], right)
    }


def _agree(told: float, right: float) -> bool:
    return is_score(told) and abs(told - right) <= MARGIN


def stored_total(stored: object) -> int | float:
    """Return the greatest number of results that an object claims; 0 where it claims none."""
    if not isinstance(stored, dict):
        return 0
    claims: list[int | float] = [stored[key] for key in TOTAL_KEYS if is_number(stored.get(key))]
    return max([0, *claims])
