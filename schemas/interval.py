"""Rates with what is uncertain about them: an interval, and pass@k.

Apart from the summary, since a comparison holds them too and would load all of it.
"""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from schemas.base import Count, Positive, Rate, Record


class Interval(Record):
    """A confidence interval of a rate, and how it was made."""

    low: Rate
    high: Rate
    method: Literal["wilson_clustered"] = "wilson_clustered"
    n_cases: Count
    n_trials: Count
    n_eff: float = Field(description="Effective number of independent trials.")


class PassK(Record):
    """pass@k (at least one of k passes) or pass^k (all of k pass), mean over cases."""

    k: Positive
    value: Rate
    ci95: Interval | None
    n_cases: Count = Field(description="Cases with at least k independent scored trials.")
    n_cases_short: Count = Field(description="Cases left out because they have fewer.")
