"""Many tests at once: Benjamini and Hochberg's q, in place of a p that somebody searched for.

A family is what one call tests: one p per model, or one per cell. The share of false findings
stays below the level, also under the positive dependence of shared cases (Benjamini & Yekutieli
2001).
"""

from __future__ import annotations

from collections.abc import Sequence


def benjamini_hochberg(ps: Sequence[float | None]) -> list[float | None]:
    """Return q of every p, in the same order. Benjamini & Hochberg 1995.

    Args:
        ps: one per test; None where there was nothing to test, which stays None and is not
            counted.

    Raises:
        ValueError: a p is not between 0 and 1.
    """
    tested = sorted((p, place) for place, p in enumerate(ps) if p is not None)
    if any(not 0 <= p <= 1 for p, _ in tested):
        message = "a p lies between 0 and 1, got one that does not"
        raise ValueError(message)
    qs: list[float | None] = [None] * len(ps)
    smallest = 1.0
    for rank in range(len(tested), 0, -1):
        p, place = tested[rank - 1]
        smallest = min(smallest, p * (len(tested) / rank))
        qs[place] = smallest
    return qs
