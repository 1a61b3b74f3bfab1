"""Simulates what planning promises: how often a drop of the printed size is found.

    python benchmarks/planned_power.py             the tables of docs/statistics.md

Runs are drawn by another way than those of the packaged table: a case keeps its true rate in the
second run (lowered with all others) with chance kappa, else gets a new one. Nights move all cases
of a run on the logit scale. A drop counts as found within a night when the exact sign-flip mid-p
says so, and between nights when the test of the interval's standard error with the assumed night
says so as well.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import stats

SEED = 20270116
DRAWS = 4_000
Z = float(stats.norm.ppf(0.975))

Array = np.ndarray[Any, np.dtype[Any]]


def shifted(rates: Array, by: Array | float) -> Array:
    """Return rates moved on the logit scale."""
    odds = np.log(rates / (1 - rates))
    found: Array = 1 / (1 + np.exp(-(odds + by)))
    return found


def lowered(rates: Array, p: float, drop: float) -> Array:
    """Return rates whose mean is p - drop, all moved by one step on the logit scale."""
    low, high = -40.0, 0.0
    for _ in range(50):
        middle = (low + high) / 2
        low, high = (middle, high) if shifted(rates, middle).mean() < p - drop else (low, middle)
    return shifted(rates, high)
