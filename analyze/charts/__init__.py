"""Charts, one idea a file: a frame goes in, an `alt.Chart` comes out.

The frames are those of `analyze.query.frames`, of records whose numbers SQL has aggregated already;
what a chart needs of them stands in its docstring. Names of charts are known here without altair;
`drawing` draws them, for the page of a report and for `analyze chart`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from schemas.registry import Registry

if TYPE_CHECKING:
    import polars as pl

    from schemas.output.report import RunReport


@dataclass(frozen=True)
class Chart:
    """One kind of chart of a report."""

    parts: tuple[str, ...]
    """Fields of the report that it is drawn from; `analyze chart` reads no others."""
    rows: Callable[[RunReport], pl.DataFrame]
    """What is drawn; the chart is left out where there is none."""
    draw: Callable[[pl.DataFrame, RunReport], Any]
    """Makes the `alt.Chart` of at least one row."""
    nothing: str
    """What `analyze chart` says where there is none."""
    page_id: str | None = None
    """What templates of the page call it; None: it does not stand there."""


CHARTS = Registry(
    "charts",
    Chart,
    {
        "leaderboard": "analyze.charts.leaderboard:LEADERBOARD",
        "matrix": "analyze.charts.failures:MATRIX",
        "comparison": "analyze.charts.comparison:COMPARISON",
        "history": "analyze.charts.history:HISTORY",
        "latency": "analyze.charts.failures:LATENCY",
        "ttft": "analyze.charts.failures:TTFT",
        "frontier": "analyze.charts.frontier:FRONTIER",
        "frontier_time": "analyze.charts.frontier:FRONTIER_TIME",
        "tiers": "analyze.charts.leaderboard:TIERS",
        "failures": "analyze.charts.failures:FAILURES",
        "judges": "analyze.charts.judges:JUDGES",
    },
)
"""Charts by the name that `analyze chart` has for them; a new one is a file and a line."""
