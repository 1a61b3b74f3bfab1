"""Shifts that stand, in sentences: for a gate, a list of runs, and a report.

Plain text that holds names from outside as they are: who prints it makes them safe for the place.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Sequence

from analyze.regressions.document import WHAT, entry_line
from analyze.render.numbers import millis, percent, signed_points, times, usd
from analyze.render.text import UNLIMITED, line_of
from schemas.config.known_issues import Acknowledged
from schemas.errors import counted
from schemas.output.regressions import OpenShift

INDENT = "  "


def open_words(shift: OpenShift) -> str:
    """Return from which level to which, since which run, and for how many."""
    runs = counted(shift.n_runs, "run")
    since = f"since {shift.first_run} ({runs}; first seen in {shift.seen_in})"
    is_other = shift.now != shift.after
    return f"{_both_levels(shift)} {since}" + (f", now {_level(shift)}" if is_other else "")


def open_size(shift: OpenShift) -> str:
    """Return by how much a pass rate fell, since which run, and where it is now."""
    runs = counted(shift.n_runs, "run")
    now = f", now {_level(shift)}" if shift.now != shift.after else ""
    return f"{signed_points(shift.size)} points since {shift.first_run} ({runs}{now})"


def open_title(shift: OpenShift) -> str:
    """Return which series it is of."""
    series = shift.series
    return f"{series.suite_id} / {series.model_id}, {WHAT[series.metric]}"


def open_sentences(opened: Iterable[OpenShift]) -> Iterator[tuple[str, str]]:
    """Yield each shift as a sentence, with the command that shows it and how to acknowledge it."""
    for shift in opened:
        yield f"{open_title(shift)}: {open_words(shift)}{_role(shift)}", shift.command


def open_lines(opened: Sequence[OpenShift], width: int = UNLIMITED) -> Iterator[str]:
    """Yield what stands as lines of a terminal, with a title; nothing at all where nothing does.

    Args:
        opened: the shifts.
        width: columns; sentences are wrapped, and commands never cut.
    """
    if opened:
        yield ""
        yield "open shifts, until the level is back or a file for --known acknowledges them:"
    for sentence, command in open_sentences(opened):
        yield from wrapped(sentence, width)
        yield INDENT + line_of(command)


def unused_lines(unused: Sequence[Acknowledged], width: int = UNLIMITED) -> Iterator[str]:
    """Yield the entries of a file of known things that fit no shift, as lines of a terminal."""
    if unused:
        yield ""
        yield "acknowledged, and no such shift:"
    for entry in unused:
        yield from wrapped(entry_line(entry), width)


def wrapped(sentence: str, width: int) -> Iterator[str]:
    """Yield a sentence as indented lines; names are never cut."""
    room = max(width - len(INDENT), 20)
    for line in textwrap.wrap(
        line_of(sentence), room, break_long_words=False, break_on_hyphens=False
    ):
        yield INDENT + line


def _role(shift: OpenShift) -> str:
    if shift.series.metric != "passed_rate":
        role = "; named only: shifts of times and costs fail nothing"
    else:
        role = "; named only: --max-drop tolerates it" if shift.is_tolerated else ""
    if shift.last_asked_in is None:
        return role
    asked = f"; this model was last asked in {shift.last_asked_in}"
    return asked + (role or ", so a gate of a later run names it and fails nothing")


def _both_levels(shift: OpenShift) -> str:
    """Return the level before and the one after, with what lies between them."""
    if shift.series.metric == "passed_rate":
        size = f"{signed_points(shift.size)} points"
        return f"{percent(shift.before)} -> {percent(shift.after)} % passed ({size})"
    size = f"x {times(shift.size)}"
    if shift.series.metric == "e2e_ms":
        return f"{millis(shift.before)} -> {millis(shift.after)} ms ({size})"
    return f"{usd(shift.before)} -> {usd(shift.after)} USD a trial ({size})"


def _level(shift: OpenShift) -> str:
    if shift.series.metric == "passed_rate":
        return f"{percent(shift.now)} %"
    return f"{millis(shift.now)} ms" if shift.series.metric == "e2e_ms" else f"{usd(shift.now)} USD"
