"""The best split of a series at every length, and how often chance makes one as good.

A series is looked at every night, so each prefix of it (its first T values) is scanned by itself,
many of them at once: matrices of T rows by k columns, in blocks of bounded size. A split k puts k
values before the break and T - k after it, with at least `MIN_RUNS` on either side; the best split
is the one that leaves the least square error, which is binary segmentation by likelihood ratio.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

MIN_RUNS = 3
"""Fewest runs on either side of a break: two could be chance, three confirm it."""

MIN_LENGTH = 2 * MIN_RUNS
"""Shortest series that has a split."""

BLOCK = 1 << 17
"""Cells of a matrix that is scanned at once: 1 MB of floats."""

BLUR = 1e-12
"""What rounding may add to a mean or take from it: closer than this is the same."""

LEAST, MOST = 2.0, 40.0
"""Between these statistics the tail falls from far above any alpha in use to below the least float
that counts."""


def scan_tail(b: float, length: int) -> float:
    """Return the chance that the best standardised split of an unchanged series reaches b.

    Miller & Siegmund 1982 for a maximally selected statistic whose splits leave a share of at
    least epsilon = 3/T on either side: phi(b) * ((b - 1/b) * 2 ln((1 - epsilon) / epsilon) + 4/b),
    with phi the normal density. Below b = 1 the formula means nothing, and the chance is 1.

    Args:
        b: the largest standardised difference between after and before.
        length: values in the series, T; at least six.
    """
    if b < 1:
        return 1.0
    epsilon = MIN_RUNS / length
    density = math.exp(-b * b / 2) / math.sqrt(2 * math.pi)
    odds = 2 * math.log((1 - epsilon) / epsilon)
    return min(1.0, density * ((b - 1 / b) * odds + 4 / b))


def surprising(b: Floats, first: int, alpha: float) -> list[int]:
    """Return the places at which the tail of the statistic is below alpha.

    Args:
        b: of each length, the largest standardised difference.
        first: length of the first of them.
        alpha: chance of a false alert in one look.
    """
    near = np.flatnonzero(b >= critical(alpha, first)).tolist()
    return [place for place in near if scan_tail(float(b[place]), first + place) < alpha]


@lru_cache(maxsize=20_000)
def critical(alpha: float, length: int) -> float:
    """Return the least b whose tail is below alpha; of a longer series it is larger."""
    low, high = LEAST, MOST
    while low < (middle := (low + high) / 2) < high:
        if scan_tail(middle, length) < alpha:
            high = middle
        else:
            low = middle
    return high


def blocks(first: int, last: int) -> Iterator[tuple[int, int]]:
    """Yield the lengths `first` to `last` as (first, last) of blocks of bounded size."""
    height = max(1, BLOCK // last)
    for start in range(first, last + 1, height):
        yield start, min(start + height - 1, last)


def best_splits(partial: Floats, first: int, last: int) -> tuple[Floats, Ints]:
    """Return the gain and the k of the best split at each of the lengths `first` to `last`.

    The gain is the square error that the split takes away: partial^2 * T / (k (T - k)), which is
    the squared difference of the two means over 1/k + 1/(T - k). Of equal splits the first counts.

    Args:
        partial: sums of the first k values less their mean over the whole prefix; a row each
            length, a column each k from `MIN_RUNS` to `last` - `MIN_RUNS`.
        first: length of the first row.
        last: length of the last row.
    """
    gain = partial * partial
    gain *= _weights(first, last)
    best = gain.max(axis=1)
    at = (gain >= best[:, None] * (1 - BLUR)).argmax(axis=1)
    return best, at + MIN_RUNS


@lru_cache(maxsize=32)
def _weights(first: int, last: int) -> Floats:
    """Return T / (k (T - k)), and 0 where fewer than `MIN_RUNS` values remain after k."""
    length = np.arange(first, last + 1, dtype=float)[:, None]
    k = split_places(last).astype(float)
    weights: Floats = length / (k * np.maximum(length - k, 1))
    partly = slice(max(first - 2 * MIN_RUNS + 1, 0), None)  # before it every k fits every length
    weights[:, partly][k[partly] > length - MIN_RUNS] = 0
    return weights


def split_places(last: int) -> Ints:
    """Return every k that a series of this length can be split at."""
    return np.arange(MIN_RUNS, last - MIN_RUNS + 1)


def both_hold(old: Floats, new: Floats) -> bool:
    """Return whether three runs, and most runs, of either level lie on its side of the middle.

    One bad night moves the mean of the three newest runs as far as a small lasting step does, and
    a break younger than three runs is first seen too early, where there is room for a split. Such
    a split is no pair of levels, however unlikely it is among unchanged runs.
    """
    before, after = float(old.mean()), float(new.mean())
    middle, sign = (before + after) / 2, 1 if after > before else -1
    sides = (old - middle) * -sign > BLUR, (new - middle) * sign > BLUR
    return all(int(side.sum()) >= max(MIN_RUNS, len(side) // 2 + 1) for side in sides)
