"""Whose nights a verdict between nights rests on, in words: a history's, or an assumption."""

from __future__ import annotations

from analyze.render.numbers import percent, points, whole
from schemas.output.comparison import NightNoise


def nights_words(night: NightNoise, *, is_rate: bool = False) -> str:
    """Return how much nights vary, and who says so: `20 runs vary by 8 %`.

    Args:
        night: of a metric.
        is_rate: it is a pass rate, in points.
    """
    if night.seen_sd is None:
        return f"assumed: nights vary by {_by(night.sd, is_rate=is_rate)}"
    return f"{whole(night.n_runs)} runs vary by {_by(night.seen_sd, is_rate=is_rate)}"


def nights_cell(night: NightNoise) -> str:
    """Return the same for a column of ratios: `20 runs: 8 %`."""
    if night.seen_sd is None:
        return f"assumed: {percent(night.sd)} %"
    return f"{whole(night.n_runs)} runs: {percent(night.seen_sd)} %"


def _by(sd: float, *, is_rate: bool) -> str:
    return f"{points(sd)} points" if is_rate else f"{percent(sd)} %"
