"""Runs x cases to runs x units: the columns of a series, where cases are in clusters."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from analyze.stats.split_scan import Ints
from analyze.stats.units import Clusters, unit_places

UNKNOWN = -1


def unit_columns(clusters: Clusters, hashes: Ints, *counts: Ints) -> tuple[Ints, ...]:
    """Return the hashes and counts of units: a column each, in the order of their first cases.

    A unit has the sums of the counts of its cases, and a hash made of those of the cases that a run
    planned: another version of one of them, or one more, is another version of the unit. A case
    that stands alone keeps its column as it is.

    Args:
        clusters: of each case.
        hashes: runs x cases: a number for the version of a case, -1 where it was not planned.
        counts: each runs x cases.
    """
    if not any(clusters):
        return hashes, *counts
    places = np.array(unit_places(clusters))
    order = np.argsort(places, kind="stable")
    starts = np.flatnonzero(np.diff(places[order], prepend=-1))

    def summed(columns: NDArray[Any]) -> NDArray[Any]:
        return np.add.reduceat(columns[:, order], starts, axis=1)

    is_known = hashes != UNKNOWN
    together = (summed(_mixed(hashes) * is_known) >> np.uint64(1)).astype(np.int64)
    together[summed(is_known.astype(np.int64)) == 0] = UNKNOWN
    is_alone = np.bincount(places) == 1
    together[:, is_alone] = hashes[:, order[starts]][:, is_alone]
    return together, *(summed(columns) for columns in counts)


def _mixed(hashes: Ints) -> NDArray[np.uint64]:
    """Return a number of 64 bits for each case and its version, whose sums say which they were.

    The finalizer of splitmix64 (Steele, Lea & Flood 2014).
    """
    column = np.arange(1, hashes.shape[1] + 1, dtype=np.uint64)
    x: NDArray[np.uint64] = np.add(hashes.astype(np.uint64), column * np.uint64(0x9E3779B97F4A7C15))
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        x = (x ^ (x >> np.uint64(shift))) * np.uint64(factor)
    return x ^ (x >> np.uint64(31))
