"""Every trial of one case in a run: who passed, who did not, and why."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby

from pydantic import JsonValue

from analyze.render.numbers import usd, whole
from analyze.render.text import Column, facts, line_of, table
from analyze.show.transcript import VERDICTS
from analyze.show.trial_rows import ShownTrial, passed_of
from schemas.run.model_names import id_of

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
