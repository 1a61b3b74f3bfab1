"""Shifts of a history for the terminal: what is worse and unknown first, and how to go on."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence

from analyze.aliases.render import rename_lines
from analyze.comparison.document import limits_line
from analyze.regressions.document import (
    command,
    details,
    entry_line,
    everything,
    headline,
    is_alert,
    mark,
    skipped_lines,
    summary,
    to_paste,
)
from analyze.render.text import line_of
from schemas.errors import counted
from schemas.output.regressions import CellShift, Regressions, Shift

MOST_ALERTS = 20
"""Alerts that are told in full unless all are asked for."""

MOST_SKIPPED = 10

LEAST_WRAP = 40
"""Columns below which sentences are no longer broken."""

TO_SILENCE = (
    "to silence an alert, write its lines into a file for --known; the file begins with "
    "`schema_version = 1`"
)


def regressions_lines(
    found: Regressions, width: int, options: Sequence[str], *, is_all: bool = False
) -> list[str]:
    """Return the shifts of a history as lines.

    Args:
        found: what to tell.
        width: columns of the terminal; sentences are broken there.
        options: of the commands to look; see `look_options`.
        is_all: tell everything in full, what is better or acknowledged too.
    """
    every = everything(found)
    alerts = [one for one in every if is_alert(one)]
    others = [one for one in every if not is_alert(one)]
    shown = alerts if is_all else alerts[:MOST_ALERTS]
    blocks = [
        wrapped(summary(found), width),
        *(list(_in_full(one, width, options)) for one in shown),
        _more(len(alerts) - len(shown), "alert"),
        *(list(_in_full(one, width, options)) for one in others if is_all),
        [line for one in others if not is_all for line in _in_a_line(one, width)],
        list(_rest(found, width, is_all=is_all)),
        wrapped(TO_SILENCE, width) if shown else [],
        wrapped(f"limits: {limits_line(found.limits)}", width) if found.n_runs else [],
    ]
    lines: list[str] = []
    for block in blocks:
        lines += ["", *block] if lines and block else block
    return lines


def _in_full(one: Shift | CellShift, width: int, options: Sequence[str]) -> Iterator[str]:
    yield from wrapped(headline(one), width)
    for line in details(one):
        yield from wrapped(line, width, "  ")
    yield f"  {line_of(command(one, options))}"
    if is_alert(one):
        yield from (f"    {line}" for line in to_paste(one))


def _in_a_line(one: Shift | CellShift, width: int) -> list[str]:
    """Return what is better or acknowledged, in one sentence."""
    return wrapped(f"{mark(one)}{headline(one)}", width)


def _rest(found: Regressions, width: int, *, is_all: bool) -> Iterator[str]:
    """Yield entries that silence nothing, and what could not be judged."""
    for entry in found.unused:
        yield from wrapped(f"acknowledged, and no such shift: {entry_line(entry)}", width)
    skipped = skipped_lines(found.skipped)
    for line in skipped if is_all else skipped[:MOST_SKIPPED]:
        yield from wrapped(f"not judged: {line}", width)
    if not is_all:
        yield from _more(len(skipped) - MOST_SKIPPED, "series")
    for line in rename_lines(found.renames):
        yield from wrapped(line, width)


def _more(number: int, what: str) -> list[str]:
    more = counted(number, f"more {what}", "more series" if what == "series" else None)
    return [f"and {more}: --all lists them"] if number > 0 else []


def wrapped(text: str, width: int, indent: str = "") -> list[str]:
    """Return a sentence on lines that fit; nothing in it is obeyed by a terminal."""
    safe = line_of(text)
    if width < LEAST_WRAP:
        return [indent + safe]
    return textwrap.wrap(
        safe,
        width,
        initial_indent=indent,
        subsequent_indent=indent + "  ",
        break_long_words=False,
        break_on_hyphens=False,
    )
