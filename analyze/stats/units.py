"""From cases to units: what a statistic takes as one draw of the work that a suite stands for.

Cases made from one template, repository or passage succeed and fail together. Taken as draws of
their own they make intervals too narrow and differences too sure, so their cluster is the unit
(Miller 2024, arXiv 2411.00640, section 2.2); a case without one is a unit of its own. Every formula
takes counts a unit, and does not know what the unit was made of. Standard library only.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

Clusters = Sequence[str | None]
"""Of each case the name of its cluster, None for a case that stands alone."""


def unit_places(clusters: Clusters) -> list[int]:
    """Return the number of the unit of each case: from 0, in the order of their first cases."""
    places: list[int] = []
    known: dict[str, int] = {}
    n_units = 0
    for cluster in clusters:
        place = n_units if cluster is None else known.setdefault(cluster, n_units)
        places.append(place)
        n_units += place == n_units
    return places


def n_clusters(clusters: Clusters) -> int | None:
    """Return how many units cases make up; None when each of them stands alone."""
    if not any(clusters):
        return None
    return max(unit_places(clusters)) + 1


def unit_sums(clusters: Clusters, *counts: Sequence[int]) -> tuple[list[int], ...]:
    """Return counts a unit: the sums over its cases.

    Args:
        clusters: of each case.
        counts: any number of lists, each with a count a case.

    Raises:
        ValueError: a list is not as long as there are cases.
    """
    if any(len(each) != len(clusters) for each in counts):
        message = f"{len(clusters)} cases need as many counts, got {[len(one) for one in counts]}"
        raise ValueError(message)
    if not any(clusters):
        return tuple(list(each) for each in counts)
    places = unit_places(clusters)
    sums = tuple([0] * (max(places) + 1) for _ in counts)
    for total, each in zip(sums, counts, strict=True):
        for place, count in zip(places, each, strict=True):
            total[place] += count
    return sums


def unit_means(clusters: Clusters, values: Sequence[float]) -> list[float]:
    """Return a value a unit: the mean over its cases.

    Args:
        clusters: of each case.
        values: one a case.

    Raises:
        ValueError: there is not one value a case.
    """
    groups: dict[int, list[float]] = {}
    for place, value in zip(unit_places(clusters), values, strict=True):
        groups.setdefault(place, []).append(value)
    return [math.fsum(group) / len(group) for group in groups.values()]
