"""Charts by name, for `analyze chart`: what each one reads of the lake.

A new chart is a file beside this one and a line in `CHARTS`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from analyze.charts.comparison import comparison
from analyze.charts.failures import failures
from analyze.charts.frontier import frontier
from analyze.charts.history import history
from analyze.charts.latency import latency
from analyze.charts.leaderboard import leaderboard
from analyze.charts.matrix import matrix
from analyze.charts.tiers import tiers
from analyze.frames import frame, frame_of_table
from schemas.errors import AnalyzeError

if TYPE_CHECKING:
    import polars as pl

    from schemas.comparison import Comparison
    from schemas.summary import RunSummary
    from schemas.thresholds import Thresholds


@dataclass(frozen=True)
class Source:
    """Where the frames of one run's charts come from."""

    run_id: str
    table: Callable[[str, list[str]], Any]
    """Rows of a query as an Arrow table."""
    summary: Callable[[], RunSummary]
    compared: Callable[[], Comparison]
    """With the baseline."""
    thresholds: Callable[[], Thresholds]
    """In force when the run was made."""

    def rows(self, view: str, order: str) -> pl.DataFrame:
        """Return the rows of a view that are this run's."""
        query = f"select * from {view} where run_id = ? order by {order}"  # noqa: S608
        return frame_of_table(self.table(query, [self.run_id]))

    def models(self) -> pl.DataFrame:
        """Return a row for each model of the run's summary."""
        return frame(self.summary(), "models")


def _frontier(source: Source) -> tuple[pl.DataFrame, Any]:
    intervals = source.models().select("model_id", "passed_ci95_low", "passed_ci95_high")
    rows = source.rows("cost_quality", "model_id").join(intervals, on="model_id", how="left")
    return rows.drop_nulls(["passed_rate", "cost_usd_per_scored"]), frontier


def _history(source: Source) -> tuple[pl.DataFrame, Any]:
    query = """
        select model_summary.*, runs.started_at_ms
        from model_summary join runs on runs.run_id = model_summary.run_id
        where runs.suite_id = (select suite_id from runs where run_id = ?)
            and runs.started_at_ms is not null and model_summary.passed_rate is not null
        qualify dense_rank() over (order by runs.started_at_ms desc, runs.run_id desc) <= 300
        order by runs.started_at_ms, model_summary.run_id, model_summary.model_id
    """
    return frame_of_table(source.table(query, [source.run_id])), history


CHARTS: dict[str, tuple[Callable[[Source], tuple[pl.DataFrame, Any]], str]] = {
    "leaderboard": (
        lambda source: (source.models().drop_nulls("passed_rate"), leaderboard),
        "no trial of it has a verdict",
    ),
    "matrix": (lambda source: (source.rows("cells", "case_id, model_id"), matrix), "it is empty"),
    "comparison": (
        lambda source: (
            frame(source.compared(), "groups").drop_nulls("difference_difference"),
            comparison,
        ),
        "no model can be compared with the baseline; `analyze compare` says why",
    ),
    "history": (_history, "no run of its suite has a verdict"),
    "latency": (
        lambda source: (source.rows("latency_histogram", "model_id, bin_from_ms"), latency),
        "no success of it was timed",
    ),
    "frontier": (_frontier, "no trial of it has a verdict and a known cost"),
    "tiers": (
        lambda source: (
            source.models().drop_nulls("tool_use_rate"),
            partial(tiers, bounds=source.thresholds()),
        ),
        "no case of it expects a tool",
    ),
    "failures": (
        lambda source: (source.rows("failure_summary", "model_id, failure_type"), failures),
        "no trial of it failed",
    ),
}
"""Name to the rows of a chart and what draws them, and what is said when there are none."""


def drawn(name: str, source: Source) -> Any:
    """Return a chart.

    Args:
        name: one of `CHARTS`.
        source: the run.

    Raises:
        AnalyzeError: there is nothing to draw.
    """
    read, nothing = CHARTS[name]
    rows, draw = read(source)
    if rows.is_empty():
        message = f"run `{source.run_id}` has nothing to draw as {name}: {nothing}"
        raise AnalyzeError(message)
    return draw(rows)
