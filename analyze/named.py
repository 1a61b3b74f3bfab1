"""Axes and metrics as people name them: an option that is repeated, or one with commas between."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeVar, cast, get_args

from schemas.errors import ConfigError, Problem, nearest
from schemas.output.comparison import Axis, Metric

Name = TypeVar("Name", bound=str)

AXES: tuple[Axis, ...] = get_args(Axis)
METRICS: tuple[Metric, ...] = get_args(Metric)


def axes_named(texts: Iterable[str]) -> frozenset[Axis]:
    """Return the axes that texts name.

    Raises:
        ConfigError: each that is no axis; names the nearest.
    """
    return frozenset(_named(texts, AXES, "--allow", "is no axis of a comparison"))


def metrics_named(texts: Iterable[str]) -> tuple[Metric, ...]:
    """Return the metrics that texts name, each once; the primary one when they name none.

    Raises:
        ConfigError: each that is no metric; names the nearest.
    """
    named = _named(texts, METRICS, "--metric", "is no metric of a gate")
    return tuple(dict.fromkeys(named)) or METRICS[:1]


def _named(texts: Iterable[str], known: Sequence[Name], option: str, wrong: str) -> list[Name]:
    names = [name.strip() for text in texts for name in text.split(",") if name.strip()]
    problems = [
        Problem(
            None,
            wrong,
            key=option,
            found=f"`{name}`",
            allowed=", ".join(known),
            nearest=nearest(name, known),
        )
        for name in names
        if name not in known
    ]
    if problems:
        raise ConfigError(problems)
    return cast("list[Name]", names)
