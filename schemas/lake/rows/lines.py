"""Lines of one run's logs to rows of the lake: joined to the plan, and to what came before them."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Container, Iterable, Sequence
from itertools import islice
from pathlib import Path

import pyarrow as pa

from schemas.io.arrow import row_of
from schemas.io.own_files import open_own_file
from schemas.lake.log_coverage import RESULT_TABLES
from schemas.lake.rows.parse_log import Records, read_evaluations, read_plan, read_records
from schemas.lake.rows.step_rows import StepRows
from schemas.lake.rows.tables import (
    RECORD_KEY,
    TABLES,
    Columns,
    RunRow,
    arrays_of,
    run_row,
    table_from,
)
from schemas.run.config import RunConfig

RESULT_COLUMNS = pa.schema(
    {field.name: field for table in ("results", "outputs") for field in TABLES[table]}.values()
)
"""Columns of results and of their text, each once."""

TABLE_OF_LINE = {
    "evaluation": "evaluations",
    "judge_iteration": "judge_iterations",
    "judgement": "judgements",
    "pair_iteration": "pair_iterations",
    "preference": "preferences",
}
"""Which table a line of evaluations.jsonl becomes a row of, by its record_type."""

PLAN_LINES = 2_000
"""Of a plan that are read at once: as Python's objects they take five times what they are."""

Key = tuple[str, str, int]
"""A trial inside a run: model_id, case_id, repetition (D-A1)."""


class RunRows:
    """Makes rows of lines, in the order of the log; other runs' and unplanned ones are refused."""

    def __init__(self, run_id: str, planned: Iterable[Key], steps: StepRows | None = None) -> None:
        self._run_id = run_id
        self._last: dict[Key, int] = dict.fromkeys(planned, 0)
        self._attempts: Counter[Key] = Counter()
        self._steps = steps

    @property
    def planned(self) -> Iterable[Key]:
        """Return the trials that there may be."""
        return self._last.keys()

    def remember(self, results: Iterable[pa.Table]) -> None:
        """Learn from the run's results which record of each trial was the last so far."""
        for rows in results:
            columns = (rows[name].to_pylist() for name in RECORD_KEY)
            for model_id, case_id, repetition, number in zip(*columns, strict=True):
                trial = model_id, case_id, repetition
                self._attempts[trial] += 1
                self._last[trial] = max(number, self._last.get(trial, 0))

    def read(
        self, lines: Sequence[bytes], first: int
    ) -> tuple[dict[str, pa.Table], list[tuple[int, str]]]:
        """Return the rows of whole lines by table, and the numbers of lines skipped, with why."""
        records = read_records(lines, first)
        results, refused = self._placed(records.results)
        events, foreign = _of_run(records.events, self._run_id)
        problems = sorted([*records.problems, *refused, *foreign])
        tables = tables_of(Records(results, events))
        if self._steps is not None:
            tables |= self._steps.read(results)
        return tables, problems

    def _placed(self, results: Columns) -> tuple[Columns, list[tuple[int, str]]]:
        """Return results with the record that each one replaces; those out of place apart."""
        last = self._last
        results, refused = _in_plan(results, self._run_id, last.keys())
        supersedes: list[int | None] = []
        attempts: list[int] = []
        for key, number in zip(_keys(results), results["record_no"], strict=True):
            supersedes.append(last[key] or None)
            last[key] = number
            self._attempts[key] += 1
            attempts.append(self._attempts[key])
        return results | {"supersedes": supersedes, "attempt": attempts}, refused


class EvaluationRows:
    """Makes rows of lines of evaluations.jsonl; other runs' and unplanned ones are refused."""

    def __init__(self, run_id: str, planned: Iterable[Key]) -> None:
        self._run_id = run_id
        self._planned = frozenset(planned)

    def read(
        self, lines: Sequence[bytes], first: int
    ) -> tuple[dict[str, pa.Table], list[tuple[int, str]]]:
        """Return the rows of whole lines by table, and the numbers of lines skipped, with why."""
        every, wrong = read_evaluations(lines, first)
        problems = [*wrong.items()]
        tables = {}
        for kind, columns in every.items():
            rows, refused = _in_plan(columns, self._run_id, self._planned)
            problems += refused
            if rows["record_no"]:
                table = TABLE_OF_LINE[kind]
                tables[table] = table_from(arrays_of(rows, TABLES[table]), TABLES[table])
        return tables, sorted(problems)


def _keys(records: Columns) -> list[Key]:
    return list(zip(records["model_id"], records["case_id"], records["repetition"], strict=True))


def _in_plan(
    records: Columns, run_id: str, planned: Container[Key]
) -> tuple[Columns, list[tuple[int, str]]]:
    """Return the records of planned trials of a run; those of others apart."""
    records, refused = _of_run(records, run_id)
    keys = _keys(records)
    unplanned = [place for place, key in enumerate(keys) if key not in planned]
    for place in unplanned:
        model_id, case_id, repetition = keys[place]
        what = f"trial {model_id} / {case_id} / {repetition} is not in the plan"
        refused.append((records["record_no"][place], what))
    return (without(records, unplanned) if unplanned else records), refused


def _of_run(records: Columns, run_id: str) -> tuple[Columns, list[tuple[int, str]]]:
    """Return the records of a run; those of another one apart."""
    if set(records["run_id"]) <= {run_id}:
        return records, []
    foreign = [place for place, name in enumerate(records["run_id"]) if name != run_id]
    refused = [
        (records["record_no"][place], f"belongs to another run, {records['run_id'][place]!r}")
        for place in foreign
    ]
    return without(records, foreign), refused


def without(columns: Columns, places: Iterable[int]) -> Columns:
    """Return columns without some rows."""
    gone = set(places)
    return {
        name: [value for place, value in enumerate(values) if place not in gone]
        for name, values in columns.items()
    }


def tables_of(records: Records) -> dict[str, pa.Table]:
    """Return the rows of a batch by table, in the order of sealing; no table without rows."""
    tables: dict[str, pa.Table] = {}
    results = records.results
    if results["record_no"]:
        results = results | {"output_hash": list(map(output_hash, results["raw_output"]))}
        arrays = arrays_of(results, RESULT_COLUMNS)
        tables["outputs"] = table_from(arrays, TABLES["outputs"])
        tables["results"] = table_from(arrays, TABLES["results"])
    if records.events["record_no"]:
        schema = TABLES["events"]
        tables["events"] = table_from(arrays_of(records.events, schema), schema)
    return {table: tables[table] for table in RESULT_TABLES.tables if table in tables}


def output_hash(text: str) -> str:
    """Return what a row of the lake knows its text by."""
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def run_table(run: RunRow) -> pa.Table:
    """Return the row of a run."""
    return pa.Table.from_pylist([row_of(run)], schema=TABLES["runs"])


def plan_table(columns: Columns) -> pa.Table:
    """Return the plan's columns as rows of the lake."""
    return table_from(arrays_of(columns, TABLES["plans"]), TABLES["plans"])


def planned_run(
    run_dir: Path, config: RunConfig, *, with_text: bool = True
) -> tuple[RunRows, dict[str, pa.Table]]:
    """Return what makes rows of a run's lines, and the rows of its plan and of the run itself.

    Args:
        run_dir: the run's folder.
        config: of it.
        with_text: texts of steps are made as well.

    Raises:
        LineError: a line of the plan is none.
        OSError: the plan is missing or cannot be read.
    """
    trials: list[Key] = []
    parts = [plan_table(read_plan([]))]
    with open_own_file(run_dir, "plan.jsonl") as file:
        while lines := list(islice(file, PLAN_LINES)):
            plan = read_plan(lines, len(trials) + 1)
            trials += zip(plan["model_id"], plan["case_id"], plan["repetition"], strict=True)
            parts.append(plan_table(plan))
    head = {"plans": pa.concat_tables(parts), "runs": run_table(run_row(config, run_dir))}
    return RunRows(config.run_id, trials, StepRows(run_dir, with_text=with_text)), head
