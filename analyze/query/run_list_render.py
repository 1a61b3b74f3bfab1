"""A list of runs as a table and as JSON; what is missing or failed is never hidden.

One row a run where there is room; on a narrow terminal the words of a run stand in a second line
below its numbers, and a run id is never cut: people type it.
"""

from __future__ import annotations

import json
import textwrap
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from analyze.render.document import Document, Fitted, Item, Lines, Section, Table
from analyze.render.document import listed as listed_section
from analyze.render.numbers import (
    best_first_key,
    duration,
    iso_moment,
    limits_after,
    moment,
    percent,
    strict_after,
    usd,
    whole,
)
from analyze.render.text import Column, least_width, line_of, table
from schemas.run.model_names import with_id

if TYPE_CHECKING:
    from analyze.query.run_list import Listed, ListedModel, ListedRun
    from analyze.stats.rates import CaseRate


@dataclass(frozen=True)
class Field:
    """One column and how it is filled."""

    column: Column
    text: Callable[[ListedRun], str]


def runs_document(listed: Listed, *more: Section) -> Document:
    """Return the list as a document, with more sections below it."""
    columns = [field.column for field in LAYOUTS[0]]
    rows = [[field.text(run) for field in LAYOUTS[0]] for run in listed.runs]
    several = [
        Item(f"{run.run_id}:", models) for run in listed.runs if (models := model_lines(run))
    ]
    none = "" if listed.runs else "no runs to list" if listed.n_all else "no runs"
    sections = [
        Section([Fitted(lambda width: [Lines(run_lines(listed, width))])]),
        Section([none, Table(columns, rows), _older(listed)], only="page"),
        listed_section("models of a run:", several, "page"),
    ]
    return Document("Runs", [*sections, *more], is_flush=True)


def _older(listed: Listed) -> str:
    more = listed.n_all - len(listed.runs)
    return f"and {whole(more)} older: --limit 0 lists all" if listed.runs and more else ""


def run_lines(listed: Listed, width: int) -> list[str]:
    """Return the list as lines that fit a terminal of so many columns."""
    if not listed.runs:
        return ["no runs" if listed.n_all == 0 else "no runs to list"]
    level = next((level for level in LAYOUTS if _least(level, listed.runs) <= width), LAYOUTS[-1])
    columns = [field.column for field in level]
    rows = [[field.text(run) for field in level] for run in listed.runs]
    title, *lines = table(columns, rows, width)
    below = [field for field in WORDS if field not in level]
    is_strict_below = PASSED not in level
    shown = [title]
    for run, line in zip(listed.runs, lines, strict=True):
        models = model_lines(run)
        words = [
            f"{field.column.title}: {text}"
            for field in below
            if (text := field.text(run)) and not (field is MODELS and models)
        ]
        shown += [line, *_wrapped(" · ".join(words), width)]
        if is_strict_below and (
            strict := strict_after(run.summary.score_strict, run.summary.coverage)
        ):
            shown.append(f"   {strict.removeprefix(', ')}")
        shown += [part for model_line in models for part in _wrapped(model_line, width)]
    return [*shown, *filter(None, [_older(listed)])]


def _wrapped(text: str, width: int) -> list[str]:
    """Return a text below the numbers of its run, on as many lines as it takes."""
    return textwrap.wrap(text, width, initial_indent="   ", subsequent_indent="     ")


def runs_json(runs: Sequence[ListedRun]) -> str:
    """Return the list as JSON: rates between 0 and 1, costs in USD, times in ms."""
    return json.dumps([run_object(run) for run in runs], indent=2)


def run_object(run: ListedRun) -> dict[str, object]:
    """Return one run as a JSON object."""
    interval = run.passed.interval
    return {
        "run_id": run.run_id,
        "suite_id": run.row.suite_id,
        "suite_title": run.row.suite_title,
        "started_at": iso_moment(run.row.started_at_ms),
        "run_profile_id": run.row.run_profile_id,
        "run_group": run.row.run_group,
        "labels": list(run.row.labels),
        "benchlake_version": run.row.benchlake_version,
        "max_cost_usd": run.row.max_cost_usd,
        "is_imported": run.row.is_imported,
        "is_narrowed": run.row.is_narrowed,
        "has_folder": run.has_folder,
        "models": list(run.models),
        "n_planned": run.summary.n_planned,
        "n_total": run.summary.n_total,
        "n_missing": run.n_missing,
        "n_failed": run.n_failed,
        "n_scorable": run.summary.n_scorable,
        "n_scored": run.summary.n_scored,
        "n_passed": run.summary.n_passed,
        "coverage": run.summary.coverage,
        "passed_rate": run.passed.rate,
        "passed_ci95": interval.model_dump() if interval else None,
        "score_strict": run.summary.score_strict,
        "by_model": [_model_object(one) for one in run.by_model],
        "cost_usd": run.summary.cost_usd,
        "n_cost_known": run.summary.n_cost_known,
        "wall_clock_ms": run.summary.wall_clock_ms,
        "took_ms": run.took_ms,
    }


def _model_object(one: ListedModel) -> dict[str, object]:
    interval = one.passed.interval
    return {
        "provider": one.provider,
        "model": one.model,
        "thinking_level": one.thinking_level,
        "model_id": one.model_id,
        "passed_rate": one.passed.rate,
        "passed_ci95": interval.model_dump() if interval else None,
        "score_strict": one.score_strict,
        "coverage": one.coverage,
    }


def passed_of(run: ListedRun) -> str:
    """Return the passed rate with its interval, and the strict one where verdicts are missing."""
    return _rate_of(run.passed, run.summary.score_strict, run.summary.coverage)


def model_lines(run: ListedRun) -> list[str]:
    """Return a line for each model of a run that asked several; none for a single one."""
    if len(run.by_model) < 2:
        return []
    twins = Counter(one.model_id for one in run.by_model)
    best_first = sorted(run.by_model, key=lambda one: best_first_key(one.passed.rate))
    return [_model_line(one, has_twin=twins[one.model_id] > 1) for one in best_first]


def _model_line(one: ListedModel, *, has_twin: bool) -> str:
    name = with_id(one.model_id)
    name = f"{name} ({one.provider} {one.model})" if has_twin else name
    if one.passed.rate is None:
        return line_of(f"{name}: no verdict")
    return line_of(f"{name}: passed% {_rate_of(one.passed, one.score_strict, one.coverage)}")


def _rate_of(passed: CaseRate, strict: float | None, coverage: float | None) -> str:
    rate = passed.rate
    if rate is None:
        return ""
    return percent(rate) + limits_after(rate, passed.interval) + strict_after(strict, coverage)


def cost_of(run: ListedRun) -> str:
    """Return the cost, and of how many trials it is known where not of all."""
    if not (known := run.summary.n_cost_known):
        return ""
    part = f" ({whole(known)}/{whole(run.summary.n_total)})" if known < run.summary.n_total else ""
    return usd(run.summary.cost_usd) + part


def notes_of(run: ListedRun) -> str:
    """Return what is wrong with a run or out of the ordinary."""
    notes = (
        (run.n_missing, f"{whole(run.n_missing)} missing"),
        (run.n_failed, f"{whole(run.n_failed)} failed"),
        (run.row.is_imported, "imported"),
        (run.row.is_narrowed, "part of its suite"),
        (not run.has_folder, "in the lake only"),
    )
    return ", ".join(text for is_so, text in notes if is_so)


RUN = Field(Column("run"), lambda run: line_of(run.run_id))
WHEN = Field(Column("when (UTC)"), lambda run: moment(run.row.started_at_ms))
SUITE = Field(Column("suite", least=8, is_name=True), lambda run: line_of(run.row.suite_id))
TRIALS = Field(
    Column("trials", "right"),
    lambda run: f"{whole(run.summary.n_total)}/{whole(run.summary.n_planned)}",
)
COVERAGE = Field(Column("cover%", "right"), lambda run: percent(run.summary.coverage))
PASSED = Field(Column("passed% [95 %]"), passed_of)
PASSED_ALONE = Field(PASSED.column, lambda run: _rate_of(run.passed, None, None))
COST = Field(Column("USD", "right"), cost_of)
TOOK = Field(Column("took", "right"), lambda run: duration(run.took_ms or None))
MODELS = Field(Column("models", least=16), lambda run: line_of(", ".join(map(with_id, run.models))))
LABEL = Field(Column("label", least=8), lambda run: line_of(", ".join(run.row.labels)))
NOTES = Field(Column("notes", least=20), notes_of)

WORDS = (WHEN, SUITE, NOTES, LABEL, MODELS)
"""Of these, what has no column of its own stands below the numbers."""

LAYOUTS = (
    (RUN, WHEN, SUITE, MODELS, TRIALS, COVERAGE, PASSED, COST, TOOK, LABEL, NOTES),
    (RUN, WHEN, SUITE, TRIALS, COVERAGE, PASSED, COST, TOOK),
    (RUN, WHEN, TRIALS, COVERAGE, PASSED, COST, TOOK),
    (RUN, TRIALS, COVERAGE, PASSED, COST, TOOK),
    (RUN, TRIALS, COVERAGE, PASSED_ALONE, COST, TOOK),
)
"""From the widest to the narrowest."""


def _least(level: Sequence[Field], runs: Sequence[ListedRun]) -> int:
    rows = [[field.text(run) for field in level] for run in runs]
    return least_width([field.column for field in level], rows)
