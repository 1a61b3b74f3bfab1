"""Rates with what is uncertain about them: an interval, and pass@k.

Apart from the summary, since a comparison holds them too and would load all of it.
"""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from schemas.base import Count, Positive, Rate, Record

APART = 0.001
"""A tenth of a point: a rate this near to the estimate of its interval is shown as the same."""


def is_apart(rate: float | None, estimate: float | None) -> bool:
    """Return whether an interval is of something else than the rate beside it, and must say so."""
    return rate is not None and estimate is not None and abs(rate - estimate) > APART


class Interval(Record):
    """A confidence interval of a mean of rates over cases, and how it was made."""

    low: Rate
    high: Rate
    estimate: Rate | None = Field(
        default=None,
        description="What it is the interval of: the mean over units of passed / trials with a "
        "verdict, or of pass@k. It differs from passed / trials where units have unequal numbers "
        "of trials; null: written before it was kept.",
    )
    method: Literal["wilson_shrunk", "wilson_clustered"] = Field(
        default="wilson_shrunk",
        description="`wilson_clustered` in documents of before: the spread of the cases alone, of "
        "passed / trials.",
    )
    n_cases: Count
    n_clusters: Count | None = Field(
        default=None,
        description="Units, where cases are in clusters; null: each case is a unit of its own.",
    )
    n_trials: Count
    n_eff: float = Field(description="Effective number of independent trials.")


class PassK(Record):
    """pass@k (at least one of k passes) or pass^k (all of k pass), mean over cases."""

    k: Positive
    value: Rate
    ci95: Interval | None
    n_cases: Count = Field(description="Cases with at least k independent scored trials.")
    n_cases_short: Count = Field(description="Cases left out because they have fewer.")
