"""Rows of runs that were not made here: folders of an earlier tool, and folders with import.json.

A folder of the earlier tool has a results.jsonl with its 23 fields only (D-A10). What the lake
wants to know beyond them follows from the log as a whole: ids from names, the repetition from the
order, the plan from the results.

A folder with import.json has lines of ours. Nobody planned such a run here, so a trial is planned
once a line has its result, or the record says that the source knows of it.

Both logs are always read whole, and nothing in either folder is ever changed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
from pydantic import ValidationError

from schemas.base import set_apart, slugify
from schemas.config.run_profile import is_at_limit, shared_limits
from schemas.errors import SchemaError
from schemas.failures import HTTP_PATTERN, FailureClass, TrialStatus, known_failure
from schemas.io.arrow import json_text
from schemas.lake.rows.lines import RunRows, plan_table, run_table, tables_of
from schemas.lake.rows.parse_log import Records
from schemas.lake.rows.step_rows import StepRows
from schemas.lake.rows.tables import Columns, RunRow
from schemas.redact import redact
from schemas.run.config import PlannedTrial
from schemas.run.import_record import DocumentResult, ImportRecord, load_import_record
from schemas.run.layout import IMPORT_FILE
from schemas.run.result import MAX_RAW_OUTPUT_BYTES, LineError, Result, content_of, misfit

Prompt = tuple[str, str | None]
"""Its id and its name: ids repeat between suites."""

SUITE_ID = "imported"

EXCEPTION = "exception"
"""What the tool calls a time-out, a refused connection and a body that is no JSON alike."""

PLAN_DEFAULTS: dict[str, Any] = {
    "record_type": "trial",
    "runner_type": "llm_probe",
    "fingerprint_version": 1,
    "expected_tools": (),
    "tags": (),
}
"""Of a planned trial, what stands for nothing known; null in all other columns."""

NOTED = (
    *(name for name in PlannedTrial.model_fields if name in Result.model_fields),
    "passed",
    "success",
    "started_at_ms",
)
"""Columns of a result from which its planned trial, or what else is known of its case, follows."""


@dataclass(frozen=True)
class Imported:
    """All that a folder of an earlier tool holds, as rows of the lake."""

    tables: dict[str, pa.Table]
    started_at_ms: int | None
    problems: tuple[tuple[int, str], ...]
    """Numbers of lines that could not be read, and why."""


def import_lines(run_id: str, lines: Sequence[bytes], *, limit_ms: int | None = None) -> Imported:
    """Return the rows of a whole log.

    Args:
        run_id: name of the folder; what the lines say may be another, or none.
        lines: of results.jsonl, each with its newline.
        limit_ms: time limit of a request, where the folder says it.
    """
    results: list[tuple[int, Any]] = []
    events: list[tuple[int, dict[str, Any]]] = []
    problems: list[tuple[int, str]] = []
    for number, line in enumerate(lines, 1):
        try:
            content = content_of(line)
            kind = content.get("record_type")
            if kind == "result":
                results.append((number, _result(line)))
            elif kind == "event":
                events.append((number, content))
            else:
                problems.append((number, f"record_type {kind!r} is unknown"))
        except LineError as exc:
            problems.append((number, str(exc)))
    unjudged = _unjudged([record for _, record in results])
    columns = _result_columns(run_id, results, limit_ms, unjudged)
    tables = tables_of(Records(columns, _event_columns(run_id, events)))
    started_at_ms = min((record.started_at_ms for _, record in results), default=None)
    plan = plan_table(_plan_columns(columns, unjudged))
    head = _head(plan, run_id, SUITE_ID, "Imported", started_at_ms)
    return Imported(head | tables, started_at_ms, tuple(problems))


def _head(
    plan: pa.Table, run_id: str, suite_id: str, suite_title: str, started_at_ms: int | None
) -> dict[str, pa.Table]:
    """Return the rows of a plan, and of the run that it is of."""
    run = RunRow(
        run_id=run_id,
        suite_id=suite_id,
        suite_title=suite_title,
        started_at_ms=started_at_ms,
        run_profile_id=None,
        benchlake_version=None,
        n_planned=plan.num_rows,
        run_group=None,
        labels=(),
        is_imported=True,
        is_narrowed=False,
        max_cost_usd=None,
        recorded_at_ms=started_at_ms or 0,
    )
    return {"plans": plan, "runs": run_table(run)}


def _result(line: bytes) -> Any:
    try:
        return DocumentResult.model_validate_json(line, strict=True, extra="ignore")
    except ValidationError as exc:
        raise LineError(misfit(exc)) from exc


def _ids(names: Iterable[tuple[str | None, ...]]) -> dict[tuple[str | None, ...], str]:
    """Return a slug for each name; names that would get the same one get a hash as well."""
    slugs = {parts: "--".join(slugify(part) for part in parts if part) or "x" for parts in names}
    return set_apart(slugs, repr)


def _result_columns(
    run_id: str, results: Sequence[tuple[int, Any]], limit_ms: int | None, unjudged: set[Prompt]
) -> Columns:
    """Return the columns of results: the older tool's, and ours as far as they follow from them."""
    records = [record for _, record in results]
    limits = _limits(records, limit_ms)
    models = [(one.provider, one.model, one.thinking_level) for one in records]
    prompts = [(one.prompt_id, one.prompt_name) for one in records]
    model_ids, case_ids = _ids(dict.fromkeys(models)), _ids(dict.fromkeys(prompts))
    seen: Counter[tuple[str, str]] = Counter()
    rows = []
    for (number, record), model, prompt in zip(results, models, prompts, strict=True):
        key = model_ids[model], case_ids[prompt]
        seen[key] += 1
        own = {"run_id": run_id, "model_id": key[0], "case_id": key[1], "repetition": seen[key]}
        row = _row(record, "timeout" if _is_timeout(record, limits) else record.failure_type)
        if prompt in unjudged:
            row["passed"] = None
        rows.append(row | own | {"record_no": number})
    names = (*Result.model_fields, "record_no", "supersedes")
    return {name: [row.get(name, EMPTY.get(name)) for row in rows] for name in names}


EMPTY: dict[str, Any] = {
    "schema_version": 1, "suite_id": SUITE_ID, "runner_type": "llm_probe", "attempt_count": 1,
    "checks_passed": 0, "checks_failed": 0, "checks_errored": 0, "checks": (),
    "expected_tools": (), "tags": (),
}  # fmt: skip
"""Of our fields, what stands for nothing known; null in all others."""


def _limits(records: Sequence[Any], limit_ms: int | None) -> frozenset[int]:
    """Return the time limits that requests of a log ran into: the folder's, and those it shows."""
    times = (one.e2e_ms for one in records if one.failure_type == EXCEPTION and not one.success)
    shown = shared_limits(time for time in times if time is not None)
    return shown if limit_ms is None else shown | {limit_ms}


def _is_timeout(record: Any, limits: frozenset[int]) -> bool:
    is_exception = not record.success and record.failure_type == EXCEPTION
    return is_exception and is_at_limit(record.e2e_ms, limits)


def _unjudged(records: Sequence[Any]) -> set[Prompt]:
    """Return the prompts that have no validator, as far as a log shows it.

    One whose answers were never judged has none. Where only failed calls are left of a prompt, the
    log shows it if the tool let validators judge those too, as it first did.
    """
    judged: set[Prompt] = set()
    answered: set[Prompt] = set()
    every: set[Prompt] = set()
    are_failures_judged = False
    for one in records:
        prompt = one.prompt_id, one.prompt_name
        every.add(prompt)
        if one.objective_pass is not None:
            judged.add(prompt)
            are_failures_judged = are_failures_judged or not one.success
        if one.success:
            answered.add(prompt)
    return (every if are_failures_judged else answered) - judged


def _row(record: Any, failure_type: str | None) -> dict[str, Any]:
    """Return what follows from one record, and from what its failure turned out to be."""
    row = dict(vars(record)) | {"failure_type": failure_type}
    if failure_type != record.failure_type:
        row["error_code"] = record.failure_type
    row["raw_output"] = redact(row["raw_output"])  # the tool kept whole bodies of HTTP errors
    text = row["raw_output"].encode()
    failure = None if record.success else known_failure(failure_type)
    if len(text) > MAX_RAW_OUTPUT_BYTES:
        row["raw_output"] = text[:MAX_RAW_OUTPUT_BYTES].decode(errors="ignore")
    if row["parsed_output"] is not None:
        row["parsed_output"] = redact(json_text(row["parsed_output"]))
    if not record.success:
        row["objective_pass"] = None  # the tool let validators judge error texts (D-A7)
    code = HTTP_PATTERN.fullmatch(record.failure_type or "")
    return row | {
        "raw_output_truncated": len(text) > MAX_RAW_OUTPUT_BYTES,
        "status": _status(record.success, failure),
        "passed": _passed(record, failure),
        "requested_model": record.model,
        "tool_call_source": "text" if record.tool_calls else None,
        "http_status": int(code[1]) if code else None,
    }


def _status(success: bool, failure: FailureClass | None) -> TrialStatus:
    if success:
        return "success"
    return "failed" if failure is None else failure.status


def _passed(record: Any, failure: FailureClass | None) -> bool | None:
    """Return the verdict (D-A9)."""
    if record.success:
        verdict: bool | None = record.objective_pass
        return verdict
    return False if failure is not None and failure.counts_against_model else None


def _event_columns(run_id: str, events: Sequence[tuple[int, dict[str, Any]]]) -> Columns:
    known = {"record_type", "run_id", "event"}
    details = [
        {key: value for key, value in event.items() if key not in known} for _, event in events
    ]
    n_events = len(events)
    return {
        "record_type": ["event"] * n_events,
        "run_id": [run_id] * n_events,
        "event": [str(event.get("event")) for _, event in events],
        "at_ms": [None] * n_events,
        "model_id": [None] * n_events,
        "detail": [json_text(detail) if detail else None for detail in details],
        "schema_version": [1] * n_events,
        "record_no": [number for number, _ in events],
    }


def _plan_columns(results: Columns, unjudged: set[Prompt]) -> Columns:
    """Return a plan that has every result, since the other tool wrote none."""
    n_trials = len(results["record_no"])
    prompts = zip(results["prompt_id"], results["prompt_name"], strict=True)
    plan = {name: results.get(name, [None] * n_trials) for name in PlannedTrial.model_fields}
    return plan | {
        "record_type": ["trial"] * n_trials,
        "trial_no": list(range(n_trials)),
        "fingerprint_version": [1] * n_trials,
        "is_scorable": [prompt not in unjudged for prompt in prompts],
    }


def import_record_of(run_dir: Path) -> ImportRecord:
    """Return the record of the run that a folder is named for.

    Raises:
        SchemaError: it is that of another run: this is a copy of its folder. The others are those
            of `read_stored`.
    """
    record = load_import_record(run_dir)
    if record.run_id != run_dir.name:
        message = f"{run_dir / IMPORT_FILE}: is the record of another run, `{record.run_id}`"
        raise SchemaError(message)
    return record


class ImportRows(RunRows):
    """Makes rows of an imported run's lines, in the order of the log, and its plan."""

    def __init__(self, record: ImportRecord, run_dir: Path, *, with_text: bool = True) -> None:
        super().__init__(record.run_id, (), StepRows(run_dir, with_text=with_text))
        self._record = record
        self._plan: Columns = {name: [] for name in NOTED}
        self._judged: set[str] = set()
        self._answered: set[str] = set()
        self.started_at_ms = record.started_at_ms
        """When the run began: by its record, else by the results that were read."""

    def _placed(self, results: Columns) -> tuple[Columns, list[tuple[int, str]]]:
        """Plan every trial that has a result, then go on as with a plan that was there."""
        for place, run_id in enumerate(results["run_id"]):
            if run_id == self._record.run_id:
                self._take_note({name: results[name][place] for name in NOTED})
        return super()._placed(results)

    def _take_note(self, result: dict[str, Any]) -> None:
        key = result["model_id"], result["case_id"], result["repetition"]
        if key not in self._last:
            self._last[key] = 0
            for name, value in result.items():
                column = self._plan[name]
                is_again = column and column[-1] == value
                column.append(column[-1] if is_again else value)  # one text, not many like it
        if result["passed"] is not None:
            self._judged.add(result["case_id"])
        if result["success"]:
            self._answered.add(result["case_id"])
        if self._record.started_at_ms is None:
            known, begin = self.started_at_ms, result["started_at_ms"]
            self.started_at_ms = begin if known is None else min(known, begin)

    def head(self) -> dict[str, pa.Table]:
        """Return the rows of the plan and of the run, once all lines were read."""
        record = self._record
        unfinished = [
            PLAN_DEFAULTS | one.model_dump()
            for one in record.unfinished
            if (one.model_id, one.case_id, one.repetition) not in self._last
        ]
        n_done = len(self._plan["case_id"])
        n_trials = n_done + len(unfinished)
        columns = {}
        for name in PlannedTrial.model_fields:
            default = PLAN_DEFAULTS.get(name)
            done = self._plan.get(name, [default] * n_done)
            columns[name] = [*done, *(trial.get(name, default) for trial in unfinished)]
        columns |= {
            "record_type": ["trial"] * n_trials,
            "run_id": [record.run_id] * n_trials,
            "suite_id": [record.suite_id] * n_trials,
            "trial_no": list(range(n_trials)),
            "fingerprint_version": [number or 1 for number in columns["fingerprint_version"]],
            "is_scorable": [self._is_scorable(case_id) for case_id in columns["case_id"]],
        }
        rows = plan_table(columns)
        return _head(rows, record.run_id, record.suite_id, record.suite_title, self.started_at_ms)

    def _is_scorable(self, case_id: str) -> bool:
        """Return whether a case can get a verdict; one that never had an answer may still."""
        if case_id in self._judged:
            return True
        return self._record.scorable and case_id not in self._answered
