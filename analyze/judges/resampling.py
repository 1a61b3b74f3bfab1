"""Krippendorff's alpha of many draws of cases at once, from sums over each case.

Alpha is 1 - observed / expected disagreement, and both are sums over units, so a draw of cases with
replacement is a weighted sum: no draw looks at the units again (Krippendorff 2019, Content
Analysis, chapter 12; the value itself is that of the package `krippendorff`).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def interval_alphas(cases: Sequence[Sequence[Sequence[float]]], weights: Floats) -> Floats:
    """Return alpha of each draw, with squared distances; for 0 and 1 the nominal one as well.

    Args:
        cases: values of each unit of each case; at least two a unit.
        weights: how often each case was drawn, draws x cases.

    Returns:
        One a draw, NaN where nothing varies.
    """
    sums = np.array([_moments(units) for units in cases], np.float64)
    n, total, squares, apart = (weights @ sums).T
    with np.errstate(invalid="ignore", divide="ignore"):
        expected = 2 * (squares - total * total / n) / (n - 1)
        return np.where(expected > 0, 1 - apart / n / expected, np.nan)


def _moments(units: Sequence[Sequence[float]]) -> tuple[float, float, float, float]:
    """Return how many values, their sum, that of squares, and of the distances within units."""
    n = total = squares = apart = 0.0
    for values in units:
        m = len(values)
        own, own_squares = sum(values), sum(value * value for value in values)
        n, total, squares = n + m, total + own, squares + own_squares
        apart += 2 * (m * own_squares - own * own) / (m - 1)
    return n, total, squares, apart


def ordinal_alphas(
    cases: Sequence[Sequence[Sequence[float]]], weights: Floats, n_ranks: int
) -> Floats:
    """Return alpha of each draw of cases with ranks 0, 1, ...; arguments as of the other."""
    counts = weights @ np.array(
        [[_count(units, rank) for rank in range(n_ranks)] for units in cases], np.float64
    )
    n = counts.sum(axis=1)
    observed, expected = np.zeros(len(weights)), np.zeros(len(weights))
    for low in range(n_ranks):
        for high in range(low + 1, n_ranks):
            pairs = weights @ np.array([_pairs(units, low, high) for units in cases], np.float64)
            between = counts[:, low : high + 1].sum(axis=1)
            distance = (between - (counts[:, low] + counts[:, high]) / 2) ** 2
            observed += distance * pairs
            expected += distance * counts[:, low] * counts[:, high]
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(expected > 0, 1 - (n - 1) * observed / expected, np.nan)


def _count(units: Sequence[Sequence[float]], rank: int) -> int:
    return sum(1 for values in units for value in values if value == rank)


def _pairs(units: Sequence[Sequence[float]], low: int, high: int) -> float:
    """Return pairs of values of two ranks within units, each as one of its unit's values."""
    return sum(
        _count([values], low) * _count([values], high) / (len(values) - 1) for values in units
    )


def drawn_cases(n_cases: int, n_draws: int, seed: int) -> Floats:
    """Return how often each case is in each draw of as many with replacement, draws x cases."""
    draws = np.random.default_rng(seed)
    return np.array(
        [
            np.bincount(draws.integers(n_cases, size=n_cases), minlength=n_cases)
            for _ in range(n_draws)
        ],
        np.float64,
    )
