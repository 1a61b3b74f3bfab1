"""Shifts in sentences, those of a history and those that stand; nothing is escaped.

The same for a terminal, Markdown, a gate, a list of runs and a report. Only numbers are written
here; what the other side wrote (names, runs) is made safe by whoever prints it, but for the text to
paste, which is safe as it is.
"""

from __future__ import annotations

import re
import shlex
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import get_args

from analyze.comparison.drift_words import drift_notes
from analyze.render.document import Item, Section, listed
from analyze.render.numbers import (
    chance,
    in_cases,
    millis,
    moment,
    percent,
    signed_points,
    some,
    times,
    usd,
    whole,
)
from schemas.config.known_issues import Acknowledged, ShiftMetric
from schemas.errors import counted, runs_flag
from schemas.output.comparison import Axis
from schemas.output.regressions import CellShift, OpenShift, Regressions, SeriesSkipped, Shift
from schemas.redact import spelled
from schemas.run.model_names import id_of

WHAT: dict[ShiftMetric, str] = {"passed_rate": "pass rate", "e2e_ms": "time", "cost_usd": "cost"}

AXES: tuple[Axis, ...] = get_args(Axis)

SOME_CASES = re.compile(r" \([0-9]+ of [0-9]+ cases\)")

MAX_NAMES = 8
"""Names in a sentence; JSON has them all."""


def everything(found: Regressions) -> list[Shift | CellShift]:
    """Return the shifts of series, then those of single cells."""
    return [*found.shifts, *found.cell_shifts]


def summary(found: Regressions) -> str:
    """Return what was found, in one sentence."""
    if not found.n_runs:
        return "no runs yet: make one with `collect run`"
    looked_at = (
        f"{counted(found.n_runs, 'run')}, {whole(found.n_series)} series and "
        f"{counted(found.n_cells, 'cell')} with runs enough"
    )
    since = f" (--since {found.since})" if found.since else ""
    alerts = everything(found)
    if not alerts:
        return f"nothing shifted{since}: {looked_at}"
    worse = [one for one in alerts if one.is_worse]
    known = [one for one in worse if one.acknowledged]
    n_new, what = len(worse) - len(known), "new shift" if known else "shift"
    parts = [f"{counted(n_new, what) if n_new else f'no {what}'} for the worse"]
    if known:
        parts.append(f"{whole(len(known))} acknowledged")
    if better := len(alerts) - len(worse):
        parts.append(f"{whole(better)} for the better")
    return f"{', '.join(parts)}{since}; {looked_at}"


def headline(one: Shift | CellShift) -> str:
    """Return which level went from where to where, and since which run."""
    if isinstance(one, CellShift):
        before = one.before_passed / one.before_scored
        after = one.after_passed / one.after_scored
        return (
            f"{one.suite_id} / {one.model_id} / {one.case_id}: {_moved(one.direction)} from "
            f"{percent(before)} to {percent(after)} % since {one.first_bad_run}"
        )
    metric = one.series.metric
    return (
        f"{one.series.suite_id} / {one.series.model_id}: {WHAT[metric]} {_moved(one.direction)} "
        f"from {_levels(one)} since {one.first_run}"
    )


def _moved(direction: str) -> str:
    return "fell" if direction == "down" else "rose"


def _levels(one: Shift) -> str:
    """Return both levels, and their difference with its interval."""
    if one.series.metric == "passed_rate":
        limits = f"95 % {signed_points(one.low)} to {signed_points(one.high)}"
        size = f"{signed_points(one.size)} points, {limits}"
        return f"{percent(one.before)} to {percent(one.after)} % ({size})"
    size = f"x {times(one.size)}, 95 % {times(one.low)} to {times(one.high)}"
    if one.series.metric == "e2e_ms":
        return f"{millis(one.before)} to {millis(one.after)} ms ({size})"
    return f"{usd(one.before)} to {usd(one.after)} USD a trial ({size})"


def details(one: Shift | CellShift) -> Iterator[str]:
    """Yield what it rests on, then what to look at first."""
    if isinstance(one, CellShift):
        yield (
            f"{whole(one.before_passed)} of {whole(one.before_scored)} passed before, "
            f"{whole(one.after_passed)} of {whole(one.after_scored)} since; "
            f"{counted(one.n_runs, 'run')}; q {chance(one.q)}"
        )
    else:
        began = moment(one.first_started_at_ms)
        cases = in_cases(one.n_cases, one.n_clusters)
        yield (
            (f"{began} UTC; " if began else "")
            + f"{counted(one.n_before, 'run')} before, {whole(one.n_after)} at the new level; "
            f"first seen in {one.seen_in}; {cases}; p {chance(one.p)}"
        )
    for warning in one.warnings:
        yield f"careful: {warning}"
    for level in one.judged if isinstance(one, Shift) else ():
        yield from drift_notes(level.evaluation_profile_id, level.drift, level.next_command)
    if one.changed:
        yield f"changed with it: {'; '.join(one.changed)}"
    else:
        yield f"nothing else that is known changed with it (last run before: {one.last_run_before})"
    if isinstance(one, Shift):
        if one.together:
            yield f"shifted with it: {names(one.together)}"
        if one.cells:
            yield f"cases that shifted with it: {names(one.cells)}"
    if one.acknowledged:
        yield f"acknowledged by {one.acknowledged.author}: {one.acknowledged.reason}"


def look_options(runs_dir: Path, allow: Sequence[Axis] = ()) -> list[str]:
    """Return what every command to look needs besides: axes that were allowed, and the runs."""
    words = [word for axis in allow for word in ("--allow", axis)]
    return [*words, *runs_flag(runs_dir)]


def command(one: Shift | CellShift, options: Sequence[str]) -> str:
    """Return the command that shows what is different.

    An axis on which all cases differ is allowed in it, since nothing could be compared otherwise.
    The options are those of `look_options`.
    """
    if isinstance(one, CellShift):
        first, model_id = one.first_bad_run, one.model_id
    else:
        first, model_id = one.first_run, one.series.model_id
    words = ["analyze", "compare", one.last_run_before, first, "--model", id_of(model_id)]
    for axis in AXES:
        if any(_is_whole(axis, change) for change in one.changed) and axis not in options:
            words += ["--allow", axis]
    return shlex.join([*words, *options])


def _is_whole(axis: Axis, change: str) -> bool:
    """Return whether a change is of an axis, and of all cases."""
    is_axis = change == axis or change.startswith(f"{axis}: ")
    return is_axis and not SOME_CASES.search(change)


def to_paste(one: Shift | CellShift) -> list[str]:
    """Return the entry that silences an alert, as TOML that needs a reason and a name."""
    if isinstance(one, CellShift):
        entry = {
            "suite_id": one.suite_id,
            "model_id": id_of(one.model_id),
            "case_id": one.case_id,
            "metric": "passed_rate",
            "first_run": one.first_bad_run,
            "direction": one.direction,
        }
    else:
        entry = {
            "suite_id": one.series.suite_id,
            "model_id": id_of(one.series.model_id),
            "metric": one.series.metric,
            "first_run": one.first_run,
            "direction": one.direction,
        }
    lines = [f"{key} = {toml_text(value)}" for key, value in entry.items()]
    return ["[[acknowledged]]", *lines, 'reason = ""  # to fill in', 'author = ""  # to fill in']


def toml_text(text: str) -> str:
    """Return a text as TOML has it; whatever does not print is an escape."""
    quoted = text.replace("\\", "\\\\").replace('"', '\\"')
    plain = spelled(quoted, lambda char: f"\\U{ord(char):08x}")
    return f'"{plain}"'


def entry_line(entry: Acknowledged) -> str:
    """Return an entry of a file of known things in words."""
    case = f" / {entry.case_id}" if entry.case_id else ""
    return (
        f"{entry.suite_id} / {entry.model_id}{case}: {WHAT[entry.metric]} "
        f"{_moved(entry.direction)} since {entry.first_run} ({entry.author}: {entry.reason})"
    )


def skipped_lines(skipped: Sequence[SeriesSkipped]) -> list[str]:
    """Return what could not be judged and why; models of which the same is said together."""
    models: defaultdict[tuple[str, str, str], list[str]] = defaultdict(list)
    for one in skipped:
        what = f"{WHAT[one.metric]}: " if one.metric else ""
        models[one.suite_id, what, one.why].append(one.model_id)
    return [
        f"{suite_id} / {names(tuple(of))}: {what}{why}"
        for (suite_id, what, why), of in models.items()
    ]


def names(texts: Sequence[str]) -> str:
    """Return names with commas between; past a number of them, how many more."""
    return some(texts, most=MAX_NAMES)


def mark(one: Shift | CellShift) -> str:
    """Return what stands before a shift that is no alert: `(better) `, `(known to Ada) `."""
    if one.acknowledged is not None:
        return f"(known to {one.acknowledged.author}) "
    return "" if one.is_worse else "(better) "


def is_alert(one: Shift | CellShift) -> bool:
    """Return whether it is news for the worse that nobody has acknowledged."""
    return one.is_worse and one.acknowledged is None


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


def open_section(opened: Sequence[OpenShift]) -> Section:
    """Return what stands, each with the command that shows it."""
    return listed(
        "open shifts, until the level is back or a file for --known acknowledges them:",
        (Item(sentence, commands=[look]) for sentence, look in open_sentences(opened)),
    )


def unused_section(unused: Sequence[Acknowledged]) -> Section:
    """Return the entries of a file of known things that fit no shift."""
    return listed("acknowledged, and no such shift:", map(entry_line, unused))


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
