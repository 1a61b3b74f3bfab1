"""Counts of passed and scored trials of the same cases on two sides, checked once.

Every formula for two runs starts from these four lists. A case without a verdict on one side is
no pair: whoever pairs the cases leaves it out and lists it, so here it is a mistake. Plain lists,
since numpy takes longer to load than most comparisons to compute.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from operator import gt
from typing import NamedTuple

Counts = Sequence[int]


class PairedCounts(NamedTuple):
    """Passed (`k`) and scored (`m`) trials of each case, of base (a) and candidate (b)."""

    k_a: Counts
    m_a: Counts
    k_b: Counts
    m_b: Counts


def paired_counts(
    k_a: Iterable[float], m_a: Iterable[float], k_b: Iterable[float], m_b: Iterable[float]
) -> PairedCounts:
    """Return the four lists as whole numbers.

    Raises:
        ValueError: they are not of one length, a count is not whole, a case has no scored trial on
            one side, or it has more passes than trials.
    """
    counts = PairedCounts(_whole(k_a), _whole(m_a), _whole(k_b), _whole(m_b))
    sizes = [len(each) for each in counts]
    if len(set(sizes)) != 1:
        message = f"each case needs all four counts, got {sizes} of them"
        raise ValueError(message)
    for passed, scored in (counts[:2], counts[2:]):
        if min(scored, default=1) < 1:
            message = "a pair has scored trials on both sides, got a case with none"
            raise ValueError(message)
        if min(passed, default=0) < 0 or any(map(gt, passed, scored)):
            message = "passes lie between 0 and the scored trials, got a case where they do not"
            raise ValueError(message)
    return counts


def _whole(values: Iterable[float]) -> list[int]:
    try:
        given = list(values)
        counts = [int(value) for value in given]
    except (TypeError, ValueError, OverflowError) as exc:
        raise ValueError(_not_whole(values)) from exc
    if counts != given:
        raise ValueError(_not_whole(values))
    return counts


def _not_whole(values: Iterable[float]) -> str:
    return f"counts are whole numbers, one a case, got {values!r}"
