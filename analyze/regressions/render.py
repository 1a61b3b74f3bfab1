"""Shifts of a history, and how flaky cells are, as documents: what is worse and unknown first."""

from __future__ import annotations

from collections.abc import Sequence

from analyze.aliases import rename_lines
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
from analyze.render.document import Document, Item, Lines, Place, Section, Table, listed, paragraph
from analyze.render.numbers import percent, percent_range, whole
from analyze.render.text import Column
from schemas.errors import counted
from schemas.output.regressions import CellShift, Flaky, FlakyCell, Regressions, Shift

MAX_ALERTS = 20
"""Alerts that are told in full unless all are asked for."""

MAX_SKIPPED = 10

TO_SILENCE = (
    "to silence an alert, write its lines into a file for --known; the file begins with "
    "`schema_version = 1`"
)

MAX_CELLS = 20
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


def regressions_document(
    found: Regressions, options: Sequence[str], *, is_all: bool = False
) -> Document:
    """Return the shifts of a history as a document.

    A page has everything; with `is_all` a screen too, what is better or acknowledged in full.
    """
    every = everything(found)
    alerts = [one for one in every if is_alert(one)]
    others = [one for one in every if not is_alert(one)]
    most = len(alerts) if is_all else MAX_ALERTS
    skipped = skipped_lines(found.skipped)
    n_skipped = len(skipped) if is_all else MAX_SKIPPED
    renames = list(rename_lines(found.renames))
    screen = [
        *(f"acknowledged, and no such shift: {entry_line(entry)}" for entry in found.unused),
        *(f"not judged: {line}" for line in skipped[:n_skipped]),
        *_more(len(skipped) - n_skipped, "series"),
        *renames,
    ]
    return Document(
        "Level shifts",
        [
            paragraph(summary(found)),
            *(_in_full(one, options) for one in alerts[:most]),
            *(_in_full(one, options, "page") for one in alerts[most:]),
            listed("", _more(len(alerts) - most, "alert"), "screen"),
            *(_in_full(one, options, "screen") for one in others if is_all),
            listed("", (mark(one) + headline(one) for one in others if not is_all), "screen"),
            listed("", screen, "screen"),
            listed("", [TO_SILENCE] if alerts else [], "screen"),
            listed("Better, or acknowledged", map(headline, others), "page"),
            listed("Acknowledged, and no such shift", map(entry_line, found.unused), "page"),
            listed("Not judged", skipped, "page"),
            listed("Renamed, and not joined", renames, "page"),
            paragraph(limits_line(found.limits), "limits", None if found.n_runs else "page"),
        ],
    )


def _in_full(one: Shift | CellShift, options: Sequence[str], only: Place | None = None) -> Section:
    look = Item("", commands=[command(one, options)], joint="look: ")
    code = [Lines(to_paste(one), "toml", "To silence it:")] if is_alert(one) else []
    return listed(headline(one), [*details(one), look], only, *code)


def _more(number: int, what: str) -> list[str]:
    more = counted(number, f"more {what}", "more series" if what == "series" else None)
    return [f"and {more}: --all lists them"] if number > 0 else []


def flaky_document(found: Flaky, *, is_all: bool = False) -> Document:
    """Return the cells, the flaky ones alone or every one."""
    flaky = [cell for cell in found.cells if cell.steadiness == "flaky"]
    shown = found.cells if is_all else flaky[:MAX_CELLS]
    more = 0 if is_all else found.n_flaky - len(shown)
    left_out = f"and {whole(more)} more flaky ones: --all lists every cell" * (more > 0)
    only: Place | None = None if found.n_cells else "page"
    return Document(
        "Flaky cases",
        [
            paragraph(flaky_summary(found)),
            Section([Table(COLUMNS, [_row(one) for one in shown]), left_out]),
            paragraph(MEANING, only=only),
            paragraph(limits_line(found.limits), "limits", only),
        ],
    )


def flaky_summary(found: Flaky) -> str:
    """Return how many cells there are of each kind, in one sentence."""
    if not found.n_cells:
        return NONE
    return (
        f"{counted(found.n_cells, 'cell')} (a case with a model): {whole(found.n_flaky)} flaky, "
        f"{whole(found.n_steady)} steady, {whole(found.n_unknown)} unknown"
    )


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
