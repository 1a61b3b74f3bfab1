"""How good each model is, and how sure that is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from analyze.charts.axes import chosen, height_of
from analyze.charts.rates import rated, ticks_said, with_estimate
from analyze.charts.theme import finished
from analyze.charts.words import listed, share
from schemas.errors import counted

if TYPE_CHECKING:
    import polars as pl


def leaderboard(models: pl.DataFrame) -> Any:
    """Return passed rates with their 95 % intervals, highest first.

    Args:
        models: `frame(summary, "models")` of a run's summary: model_id, passed_rate,
            passed_ci95_low, _high and _estimate, passed_ci95_n_trials.
    """
    known = (
        with_estimate(models, "passed_ci95_estimate")
        .drop_nulls("passed_rate")
        .sort(["passed_rate", "model_id"], descending=[True, False])
    )
    rows = chosen(known, "model_id", "passed_rate", "passed_ci95_low", "passed_ci95_high",
                  "passed_ci95_estimate", "passed_ci95_n_trials")  # fmt: skip
    return finished(
        rated(rows, "passed_rate", "passed_ci95", "passed", "passed_ci95_n_trials"),
        "Passed",
        "of the trials with a verdict; lines are 95 % intervals by cases"
        + ticks_said(rows, "passed_rate", "passed_ci95_estimate"),
        f"Passed rate of {counted(len(rows), 'model')} with 95 % intervals, highest first: "
        + listed([_said(*row) for row in rows.select(rows.columns[:4]).iter_rows()])
        + ".",
        height_of(rows["model_id"].to_list()),
    )


def _said(name: str, rate: float, low: float | None, high: float | None) -> str:
    limits = "" if low is None or high is None else f" ({share(low)} to {share(high)})"
    return f"{name} {share(rate)}{limits}"
