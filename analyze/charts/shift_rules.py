"""Rules in a history where the passed rate of a model went to another level."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import altair as alt

from analyze.charts.axes import shortened
from analyze.charts.label_layout import CHARACTER
from analyze.charts.theme import BETTER, WORSE
from analyze.charts.words import share, tip
from analyze.render.numbers import signed_points
from analyze.render.text import line_of

if TYPE_CHECKING:
    import polars as pl

PLOT_WIDTH = 230.0
"""Of a narrow screen, in px: labels that find their place there find it everywhere."""

MOST_LINES, LINE = 4, 15
"""Lines of labels above the picture, and their height in px; newer shifts find a place first."""

MOST_CHARACTERS = 14
"""Of the name of a model in a label."""


def shift_rules(shifts: pl.DataFrame, points: pl.DataFrame) -> list[Any]:
    """Return layers with a rule for each run that began a new level, and what shifted.

    Args:
        shifts: of the passed rate; series_model_id, is_worse, first_run, before, after.
        points: run and at, as the history draws them.
    """
    rows = _rows(shifts, points)
    if not rows:
        return []
    words = tip({"new level since": "datum.run", "of": "datum.all"})
    base = alt.Chart(alt.InlineData(rows)).encode(
        x=alt.X("at:T", scale=alt.Scale(type="utc")),
        color=alt.condition("datum.worse", alt.value(WORSE), alt.value(BETTER)),
    )
    rule = base.mark_rule(strokeWidth=1.5, strokeDash=[5, 3], tooltip=words)
    label = base.transform_filter("datum.line >= 0").mark_text(
        text=alt.ExprRef("datum.label"), align=alt.ExprRef("datum.side"), fontSize=11,
        y=alt.ExprRef(f"-7 - {LINE} * datum.line"), tooltip=words, aria=False,
    )  # fmt: skip
    return [rule, label]


def _rows(shifts: pl.DataFrame, points: pl.DataFrame) -> list[dict[str, Any]]:
    """Return one row for each run, the newest first."""
    starts: dict[str, int] = dict(points.select("run", "at").iter_rows())
    by_run: dict[str, list[dict[str, Any]]] = {}
    for shift in shifts.iter_rows(named=True):
        by_run.setdefault(line_of(shift["first_run"]), []).append(shift)
    known = sorted((run for run in by_run if run in starts), key=starts.__getitem__, reverse=True)
    first, last = min(starts.values()), max(starts.values())
    span = max(1, last - first)
    taken: list[list[tuple[float, float]]] = [[] for _ in range(MOST_LINES)]
    rows = []
    for run in known:
        at = PLOT_WIDTH * (starts[run] - first) / span
        label, side, line = _placed(_labels(by_run[run]), at, taken)
        rows.append(
            {
                "at": starts[run], "run": run, "line": line, "side": side, "label": label,
                "all": "; ".join(_told(shift) for shift in by_run[run][:4]),
                "worse": any(shift["is_worse"] for shift in by_run[run]),
            }
        )  # fmt: skip
    return rows


def _placed(
    labels: Sequence[str], at: float, taken: list[list[tuple[float, float]]]
) -> tuple[str, str, int]:
    """Return a label, the side of it that is at its rule, and its line; line -1: it has no room.

    Args:
        labels: the same in ever fewer words.
        at: place of the rule, in px.
        taken: from where to where each line is full, in px; gets what is placed.
    """
    for label in labels:
        length = CHARACTER * (len(label) + 1)
        sides = {"left": (at, at + length), "right": (at - length, at)}
        for line, full in enumerate(taken):
            for side, (left, right) in sides.items():
                if left < -CHARACTER * 3 or right > PLOT_WIDTH + CHARACTER:
                    continue
                if all(right <= start or end <= left for start, end in full):
                    full.append((left, right))
                    return label, side, line
    return labels[0], "left", -1


def _labels(shifts: list[dict[str, Any]]) -> tuple[str, ...]:
    marks = "".join(
        mark for mark, worse in (("▼", True), ("▲", False))
        if any(shift["is_worse"] is worse for shift in shifts)
    )  # fmt: skip
    if len(shifts) > 1:
        return (f"{marks} {len(shifts)} models", f"{marks} {len(shifts)}")
    name = shortened(line_of(shifts[0]["series_model_id"]), MOST_CHARACTERS)
    size = signed_points(shifts[0]["after"] - shifts[0]["before"])
    return (f"{marks} {name} {size}", f"{marks} {size}")


def _told(shift: dict[str, Any]) -> str:
    name = line_of(shift["series_model_id"])
    return f"{name} from {share(shift['before'])} to {share(shift['after'])}"
