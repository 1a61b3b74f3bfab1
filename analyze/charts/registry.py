"""The charts of a report as Vega-Lite specs, for a page that draws them by itself.

Colours are variables of the page, widths are the page's, and the look is shared by all charts.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from analyze.charts.comparison import comparable, comparison
from analyze.charts.failures import failures
from analyze.charts.frontier import frontier
from analyze.charts.history import history
from analyze.charts.latency import latency, timeouts_of
from analyze.charts.leaderboard import leaderboard
from analyze.charts.theme import CSS, config_of
from analyze.charts.tiers import tiers
from analyze.query.frames import frame
from schemas.output.report import RunReport

DIGITS = 5
"""That a number keeps: more than a screen can show."""

LEFT_TO_THE_PAGE = ("$schema", "config", "title")
"""A page has headings of its own, which a screen reader knows and a narrow screen can break."""


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
