"""One run on one page, and one case of a run: every trial, who passed, who did not, and why.

A run's page says what it was, how each model did, what did not go well, what to do next.
"""

from __future__ import annotations

import json
import shlex
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

from pydantic import JsonValue

from analyze.contracts.models import RunSummaryRow
from analyze.query.run_list import ListedRun
from analyze.query.run_list_render import cost_of, notes_of
from analyze.query.run_list_render import passed_of as passed_of_run
from analyze.render.numbers import (
    BEYOND_LIMIT,
    best_first_key,
    duration,
    limits_after,
    moment,
    percent,
    some,
    strict_after,
    usd,
    whole,
)
from analyze.render.text import Column, facts, line_of, table, widths_fit
from analyze.show.transcript import VERDICTS
from analyze.show.trial_rows import ShownTrial, passed_of
from schemas.errors import counted, runs_flag
from schemas.output.summary import GroupSummary, PercentileName, Percentiles, RunSummary
from schemas.run.model_names import hidden_id, id_of

MODELS = (
    Column("model", least=8, is_name=True),
    Column("trials", "right"),
    Column("passed% [95 %]"),
    Column("cover%", "right"),
    Column("p50 ms", "right"),
    Column("p95 ms", "right"),
    Column("USD", "right"),
    Column("tier", "right"),
)

CELLS = (
    Column("case", least=12, is_name=True),
    Column("model", least=10, is_name=True),
    Column("passed", "right"),
    Column("why", least=20),
)

MAX_PROBLEMS = 10

MAX_RENAMED = 3

MAX_MISSING = 10
"""Cases that are named."""

COLUMNS = (
    Column("model", least=10, is_name=True),
    Column("passed", "right"),
    Column("rep", "right"),
    Column("verdict"),
    Column("ms", "right"),
    Column("USD", "right"),
    Column("why", least=12),
    Column("answer", least=16),
)


@dataclass(frozen=True)
class RunPage:
    """All that is shown of a run."""

    run: ListedRun
    summary: RunSummary
    trials: Sequence[ShownTrial]
    """All of the first cells in which one failed or did not pass."""
    n_more_cells: int
    """Further such cells."""
    missing_cases: Sequence[str]
    """Cases of which a planned trial has no result, each once."""
    problems: Sequence[str]
    """With its folder: lines that cannot be read, a log that became shorter."""
    runs_dir: Path
    renamed: Mapping[str, str]
    """Cases that have a newer id, by the id that the run wrote."""


def run_page_lines(page: RunPage, width: int) -> Iterator[str]:
    """Yield the page of a run, in as many columns as the terminal has."""
    run = page.run
    yield line_of(run.run_id)
    yield ""
    yield from facts(_facts(page))
    yield ""
    yield from _models(page.summary.models, width)
    if any(_is_weak(group.latency_ms) for group in page.summary.models):
        yield "(ms): too few trials stand behind it to be compared"
    if any(group.latency_ms.beyond_limit for group in page.summary.models):
        yield f"{BEYOND_LIMIT}: beyond the time limit, since so many trials timed out"
    yield from _strict(page.summary.models)
    yield from _failures(page.summary.models)
    if page.trials:
        yield ""
        cells = [list(cell) for _, cell in groupby(page.trials, key=lambda one: one.cell)]
        yield from table(CELLS, [_cell(cell) for cell in cells], width)
        if page.n_more_cells:
            yield f"and {whole(page.n_more_cells)} more"
    yield from _renamed(page)
    yield from _problems(page)
    yield from _next(page)


def _facts(page: RunPage) -> Iterator[tuple[str, str]]:
    run = page.run
    asked, came = run.row, run.summary
    yield "suite", line_of(f"{asked.suite_id}: {asked.suite_title}")
    yield "started", moment(asked.started_at_ms) + " UTC" * (asked.started_at_ms is not None)
    yield "took", duration(run.took_ms or None)  # imported ones may have no ends
    yield "profile", line_of(asked.run_profile_id or "")
    yield "labels", line_of(", ".join(asked.labels))
    yield "trials", f"{whole(came.n_total)} of {whole(came.n_planned)} planned"
    yield "verdicts", _verdicts(came)
    yield "passed", passed_of_run(run)
    yield "missing", _missing(page.missing_cases)
    yield "cost", f"{cost_of(run)} USD" if came.n_cost_known else "unknown"
    yield "limit", usd(asked.max_cost_usd) + " USD" * (asked.max_cost_usd is not None)
    yield "group", line_of(asked.run_group or "")
    yield "benchlake", line_of(asked.benchlake_version or "")
    yield "notes", notes_of(run)


def _missing(cases: Sequence[str]) -> str:
    """Return the cases that lack a result, each named once."""
    if not cases:
        return ""
    return line_of(f"{counted(len(cases), 'case')}: {some(cases, most=MAX_MISSING)}")


def _verdicts(came: RunSummaryRow) -> str:
    if came.n_scorable == 0:
        return "none: no case has anything to judge by"
    cover = percent(came.coverage)
    return f"{whole(came.n_scored)} of {whole(came.n_scorable)} that can get one ({cover} %)"


def _models(groups: Sequence[GroupSummary], width: int) -> Iterator[str]:
    """Yield a row for each model, the best first.

    Where all that is known of a model leaves no room, its name stands alone, and its id and how it
    was asked stand below.
    """
    best_first = sorted(groups, key=lambda one: best_first_key(one.passed_rate))
    rows = [_group(group) for group in best_first]
    ids = [group.model_id for group in best_first]
    if widths_fit(MODELS, rows, width) or len(set(ids)) < len(ids):
        yield from table(MODELS, rows, width)
        return
    short = [[line_of(name), *row[1:]] for name, row in zip(ids, rows, strict=True)]
    yield from table(MODELS, short, width)
    yield from (line_of(f"{group.model_id}: {_asked_as(group)}") for group in best_first)


def _asked_as(group: GroupSummary) -> str:
    level = "" if group.thinking_level is None else f", {group.thinking_level}"
    hidden = hidden_id(group.model_id)
    return f"{f'{hidden} · ' if hidden else ''}{group.provider} {group.model}{level}"


def _group(group: GroupSummary) -> list[str]:
    known, total = group.n_cost_known, group.n_total
    part = f" ({whole(known)}/{whole(total)})" if 0 < known < total else ""
    tier = group.tool_use.tier
    return [
        line_of(f"{group.model_id} ({_asked_as(group)})"),
        f"{whole(group.n_total)}/{whole(group.n_planned)}",
        percent(group.passed_rate) + limits_after(group.passed_rate, group.passed_ci95),
        percent(group.coverage),
        _latency(group.latency_ms, "p50"),
        _latency(group.latency_ms, "p95"),
        usd(group.cost_usd) + part,
        "" if tier is None else f"{tier}{'' if group.tool_use.tier_confident else '?'}",
    ]


def _latency(latency: Percentiles, name: PercentileName) -> str:
    text = BEYOND_LIMIT if name in latency.beyond_limit else whole(getattr(latency, name))
    return text if getattr(latency.supported, name) or not text else f"({text})"


def _is_weak(latency: Percentiles) -> bool:
    return latency.n + latency.n_timeouts > 0 and not latency.supported.p95


def _strict(groups: Sequence[GroupSummary]) -> Iterator[str]:
    """Yield the strict rate of each model that lacks verdicts."""
    for group in groups:
        strict = strict_after(group.score_strict, group.coverage)
        if strict and group.passed_rate is not None:
            yield line_of(
                f"{group.model_id}{strict} %: with what has no verdict counted as not passed"
            )


def _failures(groups: Sequence[GroupSummary]) -> Iterator[str]:
    """Yield how often each model failed in which way."""
    failed = [group for group in groups if group.failures]
    if failed:
        yield ""
    for group in failed:
        counts = ", ".join(f"{whole(n)} {name}" for name, n in sorted(group.failures.items()))
        answered = f"answered {percent(group.success_rate)} % of its trials"
        yield line_of(f"failures of {group.model_id}: {counts}; {answered}")


def _cell(trials: Sequence[ShownTrial]) -> list[str]:
    """Return the repetitions of a case with a model in one row: how many passed, why not all."""
    whys = Counter(
        "missing" if one.is_missing else one.why or VERDICTS[one.passed]
        for one in trials
        if not one.is_well
    )
    why = "; ".join(f"{text} ({whole(n)})" if n < len(trials) else text for text, n in whys.items())
    first = trials[0]
    return [line_of(first.case_id), line_of(first.model_id), passed_of(trials), line_of(why)]


def _renamed(page: RunPage) -> Iterator[str]:
    """Yield which cases are called otherwise by now; what the run wrote stands above."""
    names = [f"{old} is {new}" for old, new in page.renamed.items()]
    if names:
        more = f", and {whole(len(names) - MAX_RENAMED)} more" if len(names) > MAX_RENAMED else ""
        yield ""
        yield line_of(f"renamed since: {', '.join(names[:MAX_RENAMED])}{more}")


def _problems(page: RunPage) -> Iterator[str]:
    if page.problems:
        yield ""
        yield f"problems: {whole(len(page.problems))}"
        yield from (f"  {line_of(problem)}" for problem in page.problems[:MAX_PROBLEMS])
        if (more := len(page.problems) - MAX_PROBLEMS) > 0:
            yield f"  and {whole(more)} more"


def _next(page: RunPage) -> Iterator[str]:
    """Yield the commands that tell more or go on (D-I2)."""
    run = page.run
    runs = "".join(f" {_word(word)}" for word in runs_flag(page.runs_dir))
    commands = []
    if run.n_missing and run.has_folder and not run.row.is_imported:
        commands.append((f"collect run --resume {_word(run.run_id)}{runs}", "completes the run"))
    if page.trials:
        trial = page.trials[0]
        words = " ".join(map(_word, (run.run_id, trial.case_id, id_of(trial.model_id))))
        commands.append((f"analyze show {words}{runs}", "shows what was said"))
    if commands:
        yield ""
        yield from facts(commands)


def _word(text: str) -> str:
    return line_of(shlex.quote(text))


def case_lines(
    trials: Sequence[ShownTrial],
    answers: Sequence[str],
    validator: Mapping[str, JsonValue] | None,
    width: int,
    all_ids: Sequence[str] = (),
) -> Iterator[str]:
    """Yield the page of a case.

    Args:
        trials: all of the case, at least one.
        answers: the beginning of each trial's answer.
        validator: as the case has it; None where nobody kept it.
        width: columns of the terminal.
        all_ids: every id of the case, the newest first.
    """
    first = trials[0]
    yield line_of(f"{first.case_id} · run {first.run_id}")
    yield ""
    yield from facts(_case_facts(first, validator, all_ids))
    yield ""
    by_model = groupby(zip(trials, answers, strict=True), key=lambda pair: pair[0].model_id)
    rows = [row for _, pairs in by_model for row in _rows(list(pairs))]
    yield from table(COLUMNS, rows, width)
    yield ""
    yield line_of(f"analyze show {first.run_id} {first.case_id} {id_of(first.model_id)}") + (
        "  shows what was said"
    )


def _case_facts(
    trial: ShownTrial, validator: Mapping[str, JsonValue] | None, all_ids: Sequence[str]
) -> Iterator[tuple[str, str]]:
    name = trial.prompt_name
    yield "name", line_of(name) if name and name != trial.case_id else ""
    others = [case_id for case_id in all_ids if case_id != trial.case_id]
    yield "also called", line_of(", ".join(others))
    yield "suite", line_of(trial.suite_id)
    if validator is not None:
        yield "validator", line_of(json.dumps(validator, ensure_ascii=False))
    else:
        yield "validator", trial.validator_type or "none"
    yield "tools", line_of(", ".join(trial.expected_tools))
    yield "tags", line_of(", ".join(trial.tags))
    yield "case hash", (trial.case_hash or "")[:16]


def _rows(pairs: Sequence[tuple[ShownTrial, str]]) -> Iterator[list[str]]:
    """Yield the repetitions of one model; the first says how many of them passed."""
    passed = passed_of([trial for trial, _ in pairs])
    for trial, answer in pairs:
        yield _cells(trial, passed, answer)
        passed = ""


def _cells(trial: ShownTrial, passed: str, answer: str) -> list[str]:
    return [
        line_of(trial.model_id),
        passed,
        str(trial.repetition),
        "missing" if trial.is_missing else VERDICTS[trial.passed],
        whole(trial.e2e_ms),
        usd(trial.cost_usd),
        line_of(trial.why),
        line_of(answer),
    ]
