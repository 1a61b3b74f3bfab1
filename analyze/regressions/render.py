"""Shifts of a history, and how flaky cells are, for the terminal and as Markdown.

What is worse and unknown comes first, and how to go on. Both have the same sentences; in Markdown
names from outside are text only.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from analyze.aliases import rename_lines
from analyze.comparison.document import limits_line
from analyze.comparison.render import markdown_table, markdown_text, spaced
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
from analyze.render.numbers import percent, percent_range, whole
from analyze.render.text import Column, line_of, table, wrapped
from analyze.summary.summary_table import as_text
from schemas.errors import counted
from schemas.output.regressions import CellShift, Flaky, FlakyCell, Regressions, Shift

MOST_ALERTS = 20
"""Alerts that are told in full unless all are asked for."""

MOST_SKIPPED = 10

TO_SILENCE = (
    "to silence an alert, write its lines into a file for --known; the file begins with "
    "`schema_version = 1`"
)

MOST_CELLS = 20
"""Flaky cells that are listed unless all cells are asked for."""

COLUMNS = (
    Column("suite", least=8, is_name=True),
    Column("model", least=8, is_name=True),
    Column("case", least=12, is_name=True),
    Column("passed", "right"),
    Column("flip%", "right"),
    Column("95 %"),
    Column(""),
    Column("worse since", least=10, is_name=True),
)

NONE = (
    "no case has a trial that counts yet, one with a verdict on a case whose content is known: "
    "make runs with `collect run`"
)

MEANING = (
    "flip%: chance that two trials of a case disagree although nothing changed, over its newest "
    "trials since it last shifted, at most 50. flaky: surely 10 % or more. steady: surely less. "
    "unknown: too few trials to say. (known): quarantined."
)


def regressions_lines(
    found: Regressions, width: int, options: Sequence[str], *, is_all: bool = False
) -> list[str]:
    """Return the shifts of a history as lines.

    With `is_all` that is everything in full, what is better or acknowledged too.
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
    return spaced(blocks)


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


def regressions_markdown(found: Regressions, options: Sequence[str]) -> str:
    """Return everything that was found, what is worse and unknown first."""
    every = everything(found)
    alerts = [one for one in every if is_alert(one)]
    others = [one for one in every if not is_alert(one)]
    blocks = [
        ["# Level shifts"],
        [as_text(summary(found))],
        *(list(_section(one, options)) for one in alerts),
        list(_list("Better, or acknowledged", [headline(one) for one in others])),
        list(_list("Acknowledged, and no such shift", [entry_line(one) for one in found.unused])),
        list(_list("Not judged", skipped_lines(found.skipped))),
        list(_list("Renamed, and not joined", list(rename_lines(found.renames)))),
        [as_text(f"Limits: {limits_line(found.limits)}")],
    ]
    return markdown_text(blocks)


def _section(one: Shift | CellShift, options: Sequence[str]) -> Iterator[str]:
    yield f"## {as_text(headline(one))}"
    yield ""
    for line in (*details(one), f"look: {command(one, options)}"):
        yield f"- {as_text(line)}"
    yield ""
    yield "To silence it:"
    yield ""
    yield "```toml"
    yield from to_paste(one)
    yield "```"


def _list(title: str, lines: list[str]) -> Iterator[str]:
    if lines:
        yield f"## {title}"
        yield ""
        yield from (f"- {as_text(line)}" for line in lines)


def flaky_lines(found: Flaky, width: int, *, is_all: bool = False) -> list[str]:
    """Return the cells as lines, the flaky ones alone or every one."""
    lines = wrapped(flaky_summary(found), width)
    shown = _shown(found, is_all=is_all)
    if shown:
        rows = [[line_of(cell) for cell in _row(one)] for one in shown]
        lines += ["", *table(COLUMNS, rows, width)]
    lines += _more_cells(found, shown, is_all=is_all)
    if not found.n_cells:
        return lines
    limits = wrapped(f"limits: {limits_line(found.limits)}", width)
    return [*lines, "", *wrapped(MEANING, width), "", *limits]


def flaky_markdown(found: Flaky, *, is_all: bool = False) -> str:
    """Return the cells as Markdown."""
    shown = _shown(found, is_all=is_all)
    titles = [column.title for column in COLUMNS]
    blocks = [
        ["# Flaky cases"],
        [as_text(flaky_summary(found))],
        markdown_table(titles, [_row(one) for one in shown]),
        _more_cells(found, shown, is_all=is_all),
        [as_text(MEANING)],
        [as_text(f"Limits: {limits_line(found.limits)}")],
    ]
    return markdown_text(blocks)


def flaky_summary(found: Flaky) -> str:
    """Return how many cells there are of each kind, in one sentence."""
    if not found.n_cells:
        return NONE
    return (
        f"{counted(found.n_cells, 'cell')} (a case with a model): {whole(found.n_flaky)} flaky, "
        f"{whole(found.n_steady)} steady, {whole(found.n_unknown)} unknown"
    )


def _shown(found: Flaky, *, is_all: bool) -> Sequence[FlakyCell]:
    flaky = [cell for cell in found.cells if cell.steadiness == "flaky"]
    return found.cells if is_all else flaky[:MOST_CELLS]


def _more_cells(found: Flaky, shown: Sequence[FlakyCell], *, is_all: bool) -> list[str]:
    more = found.n_flaky - len(shown)
    if is_all or more <= 0:
        return []
    return [f"and {whole(more)} more flaky ones: --all lists every cell"]


def _row(cell: FlakyCell) -> list[str]:
    limits = "" if cell.low is None or cell.high is None else percent_range(cell.low, cell.high)
    known = " (known)" if cell.quarantined else ""
    return [
        cell.suite_id,
        cell.model_id,
        cell.case_id,
        f"{whole(cell.n_passed)}/{whole(cell.n_trials)}",
        percent(cell.flip_rate),
        limits,
        f"{cell.steadiness}{known}",
        cell.first_bad_run or "",
    ]
