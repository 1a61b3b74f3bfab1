"""What several past runs are called as a baseline; knows nothing of what any run holds."""

from __future__ import annotations

import re

from analyze.comparison.evidence.run_sets import LAST, SIDE_WORDS

HISTORY = "history"
HISTORY_RUNS = 7

BASE_WORDS = (*SIDE_WORDS, HISTORY)
"""What a base can be called beside ids and paths."""

LAST_RUNS = re.compile(rf"{LAST}[0-9]+")


def plain_text(baseline: str) -> str:
    """Return a baseline with `history` as the `last:N` that it is."""
    return f"{LAST}{HISTORY_RUNS}" if baseline == HISTORY else baseline


def asks_levels(baseline: str) -> bool:
    """Return whether a baseline is of runs since a level shift, for which all history is read."""
    return LAST_RUNS.fullmatch(plain_text(baseline)) is not None
