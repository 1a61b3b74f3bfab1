"""Charts of a report: as Vega-Lite specs for its page, and one by name for `analyze chart`.

A page draws the specs by itself: colours are variables of the page, widths are the page's, and the
look is shared by all charts.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from altair.utils.schemapi import debug_mode

from analyze.charts import CHARTS
from analyze.charts.theme import CSS, config_of, with_origin
from analyze.regressions.alerts import find_regressions
from analyze.render.text import line_of
from analyze.report.sections import SECTIONS, ReportContext
from analyze.report.sentences import origin_of
from analyze.summary.summarize import thresholds_of
from schemas.errors import AnalyzeError
from schemas.output.comparison import Comparison
from schemas.output.report import RunReport
from schemas.run.model_names import NO_NAMES, ModelNames, with_names

DIGITS = 5
"""That a number keeps: more than a screen can show."""

LEFT_TO_THE_PAGE = ("$schema", "config", "title")
"""A page has headings of its own, which a screen reader knows and a narrow screen can break."""

PAGE = {chart.page_id: chart for name in CHARTS.own if (chart := CHARTS[name]).page_id is not None}
"""Charts of the page; they are loaded with this module, for which the engine need not wait."""


def specs_of(report: RunReport) -> dict[str, dict[str, Any]]:
    """Return the specs of the charts that have something to show, by name."""
    rows = {name: chart.rows(report) for name, chart in PAGE.items()}
    with debug_mode(False):  # else every part is checked against the schema as it is made
        return {
            name: _spec(chart.draw(rows[name], report))
            for name, chart in PAGE.items()
            if not rows[name].is_empty()
        }


def config_of_report() -> dict[str, Any]:
    """Return the config of all charts of a report; its colours are CSS variables of the page."""
    return config_of(CSS) | {"background": "transparent", "padding": 4}


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


def drawn(
    name: str,
    context: ReportContext,
    compared: Callable[[], Comparison],
    names: ModelNames = NO_NAMES,
) -> Any:
    """Return a chart of a run.

    Args:
        name: one of `CHARTS`.
        context: the run.
        compared: with the baseline; not asked unless the chart shows it.
        names: what the models are called.

    Raises:
        AnalyzeError: there is nothing to draw.
    """
    limits, suite_id = context.limits, context.run.row.suite_id
    readers: dict[str, Callable[[ReportContext], Any]] = {
        "summary": lambda context: context.summary,
        "thresholds": lambda context: thresholds_of(context.folder),
        "comparison": lambda _: compared(),
        "shifts": lambda context: find_regressions(context.session, limits=limits, suite=suite_id),
    }
    chart, parts = CHARTS[name], {}
    for part in chart.parts:
        read = readers.get(part) or SECTIONS[part].read
        assert read is not None, part
        parts[part] = read(context)
    report = with_names(RunReport.model_construct(**parts), names)
    rows = chart.rows(report)
    if rows.is_empty():
        message = f"run `{context.run_id}` has nothing to draw as {name}: {chart.nothing}"
        raise AnalyzeError(message)
    return with_origin(chart.draw(rows, report), line_of(origin_of(context.run.row)))
