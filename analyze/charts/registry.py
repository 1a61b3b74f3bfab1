"""The charts of a report: as Vega-Lite specs for its page, and by name for `analyze chart`.

A page draws the specs by itself: colours are variables of the page, widths are the page's, and the
look is shared by all charts. A new chart is a file beside this one and a line in `CHARTS`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import polars as pl

from analyze.charts.comparison import comparable, comparison
from analyze.charts.failures import Metric, failures, latency, matrix, timeouts_of
from analyze.charts.frontier import ALONG, By, frontier
from analyze.charts.history import history
from analyze.charts.leaderboard import leaderboard, tiers
from analyze.charts.theme import CSS, config_of
from analyze.query.frames import frame
from analyze.regressions.alerts import find_regressions
from analyze.report.sections import ReportContext
from analyze.report.sections.cost_frontier import frontier_of
from analyze.report.sections.failures import failures_of, latency_of, matrix_of
from analyze.report.sections.history import history_of
from analyze.summary.summarize import thresholds_of
from schemas.base import Record
from schemas.errors import AnalyzeError
from schemas.output.comparison import Comparison
from schemas.output.report import RunReport
from schemas.run.model_names import NO_NAMES, ModelNames, with_names

DIGITS = 5
"""That a number keeps: more than a screen can show."""

LEFT_TO_THE_PAGE = ("$schema", "config", "title")
"""A page has headings of its own, which a screen reader knows and a narrow screen can break."""

Draw = Callable[[pl.DataFrame], Any]


def specs_of(report: RunReport) -> dict[str, dict[str, Any]]:
    """Return the specs of the charts that have something to show, by name."""
    return {name: _spec(chart) for name, chart in _charts(report)}


def config_of_report() -> dict[str, Any]:
    """Return the config of all charts of a report; its colours are CSS variables of the page."""
    return config_of(CSS) | {"background": "transparent", "padding": 4}


def _charts(report: RunReport) -> Iterator[tuple[str, Any]]:
    models = frame(report.summary, "models")
    rated = models.drop_nulls("passed_rate")
    if not rated.is_empty():
        yield "leaderboard", leaderboard(rated)
    if report.comparison is not None:
        groups = comparable(frame(report.comparison, "groups"))
        if not groups.is_empty():
            yield "comparison", comparison(groups)
    if report.history:
        shifts = None if report.shifts is None else frame(report.shifts, "shifts")
        yield "history", history(frame(report, "history"), shifts)
    yield from _of_times_and_costs(report)
    used = models.drop_nulls("tool_use_rate")
    if not used.is_empty():
        yield "tiers", tiers(used, report.thresholds)
    if report.failures:
        yield "failures", failures(frame(report, "failures"))


def _of_times_and_costs(report: RunReport) -> Iterator[tuple[str, Any]]:
    bins = frame(report, "latency")
    if "e2e_ms" in bins["metric"]:
        yield "latency", latency(bins, "e2e_ms", timeouts_of(report.summary, "e2e_ms"))
    if "ttft_ms" in bins["metric"]:
        yield "ttft", latency(bins, "ttft_ms", timeouts_of(report.summary, "ttft_ms"))
    points = frame(report, "frontier").drop_nulls("passed_rate")
    if points["cost_usd_per_scored"].is_not_null().any():
        yield "frontier_cost", frontier(points, "cost")
    if points["e2e_ms_mean"].is_not_null().any():
        yield "frontier_time", frontier(points, "time")


def _spec(chart: Any) -> dict[str, Any]:
    spec: dict[str, Any] = chart.to_dict(validate=False)
    for part in LEFT_TO_THE_PAGE:
        del spec[part]
    spec["width"] = "container"
    spec["autosize"] = {"type": "fit-x", "contains": "padding"}
    spec["datasets"] = {
        name: [_lean(row) for row in rows] for name, rows in spec["datasets"].items()
    }
    return spec


def _lean(row: dict[str, Any]) -> dict[str, Any]:
    """Return a row without what is not known, and with as many digits as can be seen."""
    return {name: _rounded(value) for name, value in row.items() if value is not None}


def _rounded(value: Any) -> Any:
    if isinstance(value, list):
        return [_rounded(one) for one in value]
    return float(f"{value:.{DIGITS}g}") if isinstance(value, float) else value


@dataclass(frozen=True)
class Source:
    """What the charts of one run are drawn from."""

    context: ReportContext
    compared: Callable[[], Comparison]
    """With the baseline."""
    names: ModelNames = NO_NAMES
    """What the models are called."""

    def models(self) -> pl.DataFrame:
        """Return a row for each model of the run's summary."""
        return self.frame(self.context.summary, "models")

    def frame(self, record: Record, part: str) -> pl.DataFrame:
        """Return the frame of a part of a record, with the names of models in it."""
        return frame(with_names(record, self.names), part)

    def part(self, **part: Any) -> pl.DataFrame:
        """Return the frame of one part of a report: `part(latency=latency_of(context))`."""
        (name,) = part
        return self.frame(RunReport.model_construct(**part), name)


def _comparison(source: Source) -> tuple[pl.DataFrame, Draw]:
    return comparable(source.frame(source.compared(), "groups")), comparison


def _history(source: Source) -> tuple[pl.DataFrame, Draw]:
    context = source.context
    points = source.part(history=history_of(context))
    if points.is_empty():
        return points, history
    shifts = find_regressions(
        context.session, limits=context.limits, suite=context.run.asked.suite_id
    )
    return points, partial(history, shifts=source.frame(shifts, "shifts"))


def _latency(metric: Metric, source: Source) -> tuple[pl.DataFrame, Draw]:
    bins = source.part(latency=latency_of(source.context))
    late = timeouts_of(with_names(source.context.summary, source.names), metric)
    return bins.filter(bins["metric"] == metric), partial(latency, metric=metric, timeouts=late)


def _frontier(by: By, source: Source) -> tuple[pl.DataFrame, Draw]:
    points = source.part(frontier=frontier_of(source.context))
    return points.drop_nulls(["passed_rate", ALONG[by].value]), partial(frontier, by=by)


def _matrix(source: Source) -> tuple[pl.DataFrame, Draw]:
    found = matrix_of(source.context)
    return source.frame(found, "cells"), partial(matrix, n_cases=found.n_cases)


def _tiers(source: Source) -> tuple[pl.DataFrame, Draw]:
    bounds = thresholds_of(source.context.folder)
    return source.models().drop_nulls("tool_use_rate"), partial(tiers, bounds=bounds)


CHARTS: dict[str, tuple[Callable[[Source], tuple[pl.DataFrame, Draw]], str]] = {
    "leaderboard": (
        lambda source: (source.models().drop_nulls("passed_rate"), leaderboard),
        "no trial of it has a verdict",
    ),
    "matrix": (_matrix, "it is empty"),
    "comparison": (
        _comparison,
        "no model can be compared with the baseline; `analyze compare` says why",
    ),
    "history": (_history, "fewer than two runs of its suite have a verdict"),
    "latency": (partial(_latency, "e2e_ms"), "no answered trial of it was timed"),
    "ttft": (partial(_latency, "ttft_ms"), "no answered trial of it was streamed"),
    "frontier": (partial(_frontier, "cost"), "no trial of it has a verdict and a known cost"),
    "frontier_time": (partial(_frontier, "time"), "no trial of it has a verdict and a time"),
    "tiers": (_tiers, "no case of it expects a tool"),
    "failures": (
        lambda source: (source.part(failures=failures_of(source.context)), failures),
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
        message = f"run `{source.context.run_id}` has nothing to draw as {name}: {nothing}"
        raise AnalyzeError(message)
    return draw(rows)
