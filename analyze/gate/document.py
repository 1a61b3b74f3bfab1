"""A gate as a document: the verdict, what decides it, what it could not see, and where to look."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from analyze.aliases import rename_lines
from analyze.comparison.document import (
    CHANGE_TITLES,
    RATIO_NAMES,
    asked_of,
    axis_lines,
    change_cells,
    excluded_lines,
    runs_named,
    side_of,
)
from analyze.comparison.render import NAMES, cases_section
from analyze.query.thresholds import limits_source
from analyze.regressions.document import entry_line, open_section
from analyze.render.document import Document, Facts, Item, Section, Table, listed, paragraph
from analyze.render.numbers import percent, points, score, whole
from analyze.render.text import Column
from schemas.config.known_issues import Quarantined
from schemas.errors import counted, runs_flag
from schemas.output.comparison import CaseChange, Comparison, GroupComparison, Metric
from schemas.output.regressions import (
    GateLine,
    GateResult,
    GateRules,
    JudgeCalibration,
    Outcome,
)
from schemas.run.import_record import is_imported

OUTCOMES: Mapping[Outcome, str] = {
    "passed": "passed",
    "failed": "failed",
    "cannot_judge": "cannot judge",
}

ORDER: tuple[Outcome, ...] = ("failed", "cannot_judge", "passed")

MAX_CASES = 20
"""Cases that are listed; all of them are in the JSON."""

CASE_COLUMNS = tuple(
    Column(title, "left" if least else "right", least, title in NAMES)
    for title, least in zip(CHANGE_TITLES, (6, 8, 6, None, None), strict=True)
)


def gate_document(result: GateResult, runs_dir: Path | None = None) -> Document:
    """Return a gate as a document; its commands name where the runs are."""
    return Document(
        headline(result).capitalize(),
        [
            paragraph(headline(result), only="screen"),
            Section([Facts(list(header_fields(result)))]),
            *(_line(result, line) for line in by_need(result.lines)),
            Section([_lines_table(result)], only="page"),
            open_section(result.open_shifts),
            listed("not in the test:", not_tested(result)),
            listed("to know:", notes(result)),
            *_worse(worse_cases(result)),
            listed("next:", next_steps(result, runs_dir)),
        ],
        level=2,
        is_flush=True,
    )


def _line(result: GateResult, line: GateLine) -> Section:
    runs = baseline_names(result, line)
    lines = [line.why, *([f"held against {runs}"] if runs else [])]
    return listed(f"{OUTCOMES[line.outcome]}: {line_title(line)}", lines, "screen")


def _lines_table(result: GateResult) -> Table:
    titles, cells = ["Outcome", "Model", "Metric", "Why"], []
    is_each = has_own_baselines(result)
    for line in by_need(result.lines):
        row = [OUTCOMES[line.outcome], line.model_id, metric_name(line.metric), line.why]
        cells.append([*row, *([baseline_names(result, line)] if is_each else [])])
    return Table(
        [Column(title) for title in [*titles, *(["Held against"] if is_each else [])]], cells
    )


def _worse(cases: Sequence[CaseChange]) -> Iterator[Section]:
    """Yield the cases that passed less often, and where their answers are."""
    if not cases:
        return
    worst_cases = cases[:MAX_CASES]
    more = "" if len(cases) == len(worst_cases) else f", the worst {MAX_CASES} of them"
    title = f"{counted(len(cases), 'case')} passed less often{more}; one alone proves nothing:"
    rows = Table(CASE_COLUMNS, [change_cells(change) for change in worst_cases])
    commands = Item("", commands=[change.commands[-1] for change in worst_cases])
    yield Section([title, rows], only="screen")
    yield listed("their answers, the worst first:", [commands], "screen")
    title = f"Passed less often: {whole(len(cases))}"
    yield cases_section(worst_cases, len(cases), "One case alone proves nothing.", title=title)


def headline(result: GateResult) -> str:
    """Return the verdict of the whole."""
    counts = Counter(line.outcome for line in result.lines)
    if not result.lines:
        return "gate: cannot judge, since nothing of the candidate can be compared"
    if len(result.lines) == 1:
        return f"gate: {OUTCOMES[result.outcome]}"
    summary = ", ".join(f"{counts[name]} {word}" for name, word in OUTCOMES.items() if counts[name])
    return f"gate: {OUTCOMES[result.outcome]} ({summary})"


def header_fields(result: GateResult) -> Iterator[tuple[str, str]]:
    """Yield what was compared and what was asked of it, as names and values."""
    base = result.comparison.base
    is_one = not has_own_baselines(result)
    yield "baseline", side_of(base) if is_one else f"of each line its own{asked_of(base)}"
    yield "candidate", side_of(result.comparison.candidate)
    if result.confirmation is not None:
        yield "confirming", side_of(result.confirmation.candidate)
    yield "asked", rules_words(result.rules)
    yield "thresholds", limits_source(result.comparison.limits)


def has_own_baselines(result: GateResult) -> bool:
    """Return whether lines are held against different runs, so that each has to say which."""
    return len({line.base_run_ids for line in result.lines if line.base_run_ids}) > 1


def baseline_names(result: GateResult, line: GateLine) -> str:
    """Return the runs that a line is held against; empty where all are held against the same."""
    return runs_named(line.base_run_ids) if has_own_baselines(result) else ""


def metric_name(metric: Metric) -> str:
    """Return what people call a metric."""
    return "passed rate" if metric == "passed_rate" else RATIO_NAMES[metric]


def rules_words(rules: GateRules) -> str:
    """Return what was asked of the candidate."""
    worst = f"{points(rules.max_drop)} points or {percent(rules.max_drop)} % growth tolerated"
    parts = [
        ", ".join(metric_name(metric) for metric in rules.metrics),
        worst if rules.max_drop else "nothing tolerated",
        f"coverage from {percent(rules.min_coverage)} %",
    ]
    return "; ".join([*parts, "proof asked for"] if rules.prove else parts)


def by_need(lines: Sequence[GateLine]) -> list[GateLine]:
    """Return lines in the order of who needs a look."""
    return sorted(lines, key=lambda line: ORDER.index(line.outcome))


def line_title(line: GateLine) -> str:
    """Return the model and the metric of a line."""
    return f"{line.model_id}, {metric_name(line.metric)}"


def not_tested(result: GateResult) -> Iterator[str]:
    """Yield what the gate did not look at, and why."""
    yield from _of_each(result, _left_out)
    for entry in result.quarantined:
        yield f"in quarantine: {entry_words(entry)}"
    for entry in result.expired:
        yield f"no longer in quarantine, and tested: {entry_words(entry)}"
    for entry in result.unused:
        yield f"in quarantine, but no case of this test: {entry_words(entry)}"


def entry_words(entry: Quarantined) -> str:
    """Return an entry of a quarantine with who says so and why."""
    model = "every model" if entry.model_id is None else entry.model_id
    until = "" if entry.until is None else f", until {entry.until.isoformat()}"
    return f"{entry.suite_id}/{entry.case_id} with {model} ({entry.reason}; {entry.author}{until})"


def notes(result: GateResult) -> Iterator[str]:
    """Yield what makes the lines harder to read, by model, unless a line says it already.

    What differs and was allowed comes first: it is in the test, and the answer is about it too.
    """
    yield from rename_lines(result.comparison.renames)
    said = " ".join(line.why for line in result.lines)

    def of_one(comparison: Comparison) -> Iterator[str]:
        yield from _axes(comparison, is_allowed=True)
        for group in comparison.groups:
            for text in (*group.reasons, *group.warnings):
                if text not in said:
                    yield f"{group.candidate_model_id}: {text}"

    yield from _of_each(result, of_one)
    yield from map(_calibration_words, result.calibrations)
    for entry in result.unused_shifts:
        yield f"acknowledged, and no such shift: {entry_line(entry)}"


def _calibration_words(one: JudgeCalibration) -> str:
    """Return how judges stand to labels, in one sentence."""
    who = f"judges of {one.evaluation_profile_id}"
    if one.sensitivity is None or one.specificity is None:
        return f"{who}: {counted(one.n_labels, 'label')} of what they judged say nothing of them"
    return (
        f"{who}: they pass {percent(one.sensitivity)} % of what people pass and fail "
        f"{percent(one.specificity)} % of what they fail, by {counted(one.n_labels, 'label')} "
        f"(of {whole(one.n_labelled)}); the lower limit of both - 1 is {score(one.youden_low)}"
    )


def _of_each(result: GateResult, sentences: Callable[[Comparison], Iterator[str]]) -> Iterator[str]:
    """Yield sentences of the comparison, then what other baselines add, with their metrics."""
    first = list(sentences(result.comparison))
    yield from first
    for other in result.other_baselines:
        names = ", ".join(map(metric_name, other.metrics))
        for sentence in sentences(other.comparison):
            if sentence not in first:
                yield f"{names}: {sentence}"


def _left_out(comparison: Comparison) -> Iterator[str]:
    yield from comparison.unmatched
    yield from _axes(comparison, is_allowed=False)
    yield from excluded_lines([one for one in comparison.excluded if one.reason != "quarantined"])


def _axes(comparison: Comparison, *, is_allowed: bool) -> Iterator[str]:
    axes = tuple(axis for axis in comparison.axes if axis.is_allowed is is_allowed)
    yield from axis_lines(comparison.model_copy(update={"axes": axes}))


def worse_cases(result: GateResult) -> list[CaseChange]:
    """Return the cases that passed less often than in the baseline, worst first."""
    return [change for change in result.comparison.cases if change.difference < 0]


def next_steps(result: GateResult, runs_dir: Path | None = None) -> Iterator[str]:
    """Yield what goes on from here, where something can (D-I2).

    Commands name where the runs are, unless it is the folder by default.
    """
    run_ids = result.comparison.candidate.run_ids
    if any(_is_torn(group, result.rules.min_coverage) for group in result.comparison.groups):
        for run_id in run_ids:
            if runs_dir is not None and is_imported(runs_dir / run_id):
                continue  # another tool made it, and nothing here can go on with it
            words = ["collect", "run", "--resume", run_id, *runs_flag(runs_dir)]
            yield f"{shlex.join(words)} asks again what may be mended"
    standing = {one.series.model_id for one in result.open_shifts if one.is_tolerated is False}
    if standing:
        yield (
            f"no fresh run clears {'an open shift' if len(standing) == 1 else 'open shifts'}: mend "
            "what broke, or acknowledge it in a file for --known (the command above prints the "
            "entry)"
        )
    by_comparison = any(
        line.outcome == "failed"
        and not (line.metric == "passed_rate" and line.model_id in standing)
        for line in result.lines
    )
    if by_comparison and result.confirmation is None:
        yield (
            "a fresh run tells a drop from chance: make one, then give the same command with "
            f"{shlex.quote(','.join(run_ids))} as its candidate and --confirm FRESH_RUN"
        )


def _is_torn(group: GroupComparison, min_coverage: float) -> bool:
    coverage = group.candidate.coverage
    return group.verdict == "not_comparable" and coverage is not None and coverage < min_coverage
