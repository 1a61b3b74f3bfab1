"""A made history of runs as tables of the lake: every kind of row that views must get right.

Three runs of one suite and one of another; models with and without a thinking level, two local
names of one model; reused, superseded and missing trials; every way to fail; costs of zero and
unknown ones; a case whose content changed; a folder in the older shape, without hashes.
"""

import hashlib
import random
from pathlib import Path

import duckdb
import pyarrow as pa

from analyze.lake.raw_tables import connect, fill
from analyze.query.catalog import create_views
from schemas.failures import classify
from schemas.io.arrow import arrow_schema
from schemas.lake.tables import TABLES, RunRow

MODELS = (
    ("m1", "ollama_openai", "llama3.2:3b", None),
    ("m2", "ollama_openai", "llama3.2:3b", "low"),
    ("m3", "openrouter", "openai/gpt-4o", None),
    ("m4", "openrouter", "openai/gpt-4o", None),
)
FAILURES = ("timeout", "http_401", "http_429", "http_500", "connection_error", "empty_response")
RUNS = ("0012", "run-b", "run-c", "other", "old")
HOUR_MS = 3_600_000

ALIASES = """
create or replace table raw_aliases as
select
    'smoke' as suite_id,
    'gone-' || n as old_case_id,
    'c0' || n as case_id,
    'c0' || n as joined_to,
    'person' as origin,
    cast(n as bigint) as recorded_at_ms
from range(3) as ids (n)
"""
"""Ids that no run of the history has, each joined to a case."""


def digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


class MadeHistory:
    """The rows of each raw table, made from a seed."""

    def __init__(self, seed: int = 1, n_cases: int = 12) -> None:
        self.random = random.Random(seed)
        self.n_cases = n_cases
        self.rows: dict[str, list[dict]] = {name: [] for name in TABLES}
        for number, run_id in enumerate(RUNS):
            self._add_run(number, run_id)

    def tables(self, shuffled: int | None = None) -> dict[str, pa.Table]:
        """Return the raw tables, their rows in the order of writing or in another one."""
        tables = {}
        for name, rows in self.rows.items():
            kept = list(rows)
            if shuffled is not None:
                random.Random(shuffled).shuffle(kept)
            tables[name] = pa.Table.from_pylist(kept, schema=TABLES[name].remove_metadata())
        return tables

    def connect(
        self, shuffled: int | None = None, threads: int | None = None
    ) -> duckdb.DuckDBPyConnection:
        """Return a connection with every view over these rows."""
        connection = connect(threads=threads)
        fill(connection, Path("none"), ("thresholds", "failure_types"))
        connection.execute(ALIASES)
        for name, table in self.tables(shuffled).items():
            connection.register(f"raw_{name}", table)
        create_views(connection, described=False)
        return connection

    def _add_run(self, number: int, run_id: str) -> None:
        started_at_ms = 1_763_762_400_000 + max(number, 1) * HOUR_MS  # two runs start together
        suite_id = {"other": "other", "old": "imported"}.get(run_id, "smoke")
        is_old = run_id == "old"
        plans = [
            self._plan(run_id, suite_id, number, *model, case_no, repetition)
            for model in MODELS
            for case_no in range(self.n_cases)
            for repetition in (1, 2)
            if repetition == 1 or case_no % 3 == 0
        ]
        for trial_no, plan in enumerate(plans):
            plan["trial_no"] = trial_no
        self.rows["plans"] += plans
        description = {
            "run_id": run_id,
            "suite_id": suite_id,
            "suite_title": suite_id.title(),
            "started_at_ms": None if is_old else started_at_ms,
            "run_profile_id": None if is_old else "quick",
            "benchlake_version": None if is_old else "0",
            "n_planned": len(plans),
            "run_group": "group" if number == 1 else None,
            "labels": [],
            "is_imported": is_old,
            "is_narrowed": False,
            "max_cost_usd": 1.5 if number == 1 else None,
            "judge_hash": None,
            "machine": None,
            "model_labels": None if is_old else {"m3": f"GPT {number}"},
            "recorded_at_ms": started_at_ms,
        }
        assert set(description) == set(arrow_schema(RunRow).names)
        self.rows["runs"].append(description)
        if number == 1:
            later = {"labels": ["baseline"], "recorded_at_ms": started_at_ms + 1}
            self.rows["runs"].append(description | later)
        record_no = 1
        self._event(run_id, record_no, "started", None if is_old else started_at_ms)
        for plan in plans:
            if self.random.random() < 0.05:
                continue  # never ran
            earlier = None
            while True:
                record_no += 1
                is_open = self._result(plan, record_no, earlier, started_at_ms)
                if not is_open or self.random.random() < 0.4:
                    break
                earlier = record_no

    def _plan(
        self, run_id, suite_id, number, model_id, provider, model, level, case_no, repetition
    ):
        case_id = f"c{case_no:02d}"
        content = f"{case_id} {number if case_no == 3 else 0}"
        known = suite_id != "imported"
        return {
            "record_type": "trial",
            "run_id": run_id,
            "suite_id": suite_id,
            "model_id": model_id,
            "case_id": case_id,
            "repetition": repetition,
            "runner_type": "llm_probe",
            "provider": provider,
            "model": model,
            "thinking_level": level,
            "prompt_id": case_id,
            "prompt_name": None if case_no % 2 else f"Case {case_no}",
            "case_hash": digest(content) if known else None,
            "run_fingerprint": digest(f"{content} {model_id} {repetition}") if known else None,
            "fingerprint_version": 1,
            "fingerprint_parts": None,
            "validator_type": None if case_no == 1 else "exact",
            "is_scorable": case_no != 1,
            "expected_tools": ["free", "du"] if case_no % 4 == 0 else [],
            "tags": ["a"] if case_no % 2 else [],
        }

    def _result(self, plan, record_no, earlier, started_at_ms) -> bool:
        """Add a record; return whether the trial may be asked again."""
        chance = self.random
        failure = chance.choice(FAILURES) if chance.random() < 0.2 else None
        meaning = classify(failure) if failure else None
        counted = meaning is not None and meaning.counts_against_model and chance.random() < 0.8
        verdict = (False if counted else None) if meaning else chance.random() < 0.7
        passed = verdict if plan["is_scorable"] else None
        is_reused = meaning is None and plan["run_id"] == "run-c" and chance.random() < 0.3
        at_ms = started_at_ms + record_no * 1000
        text = f"answer {chance.randrange(3)}"
        columns = set(TABLES["results"].names)
        e2e_ms = None if meaning else chance.randrange(1, 60_000)
        self.rows["results"].append(
            {name: value for name, value in plan.items() if name in columns}
            | {
                "record_type": "result",
                "schema_version": 1,
                "availability_status": meaning.availability_status if meaning else "ok",
                "status": meaning.status if meaning else "success",
                "started_at_ms": at_ms,
                "ended_at_ms": at_ms + (e2e_ms or 5),
                "e2e_ms": e2e_ms,
                "ttft_ms": None if e2e_ms is None or record_no % 5 == 0 else e2e_ms // 3,
                "success": meaning is None,
                "failure_type": failure,
                "objective_pass": passed if meaning is None else None,
                "passed": passed,
                "input_tokens": None if meaning else chance.randrange(2**33),
                "output_tokens": None if meaning else chance.randrange(500),
                "tool_calls": [],
                "tool_call_count": 0,
                "tool_use_success": meaning is None and chance.random() < 0.6,
                "attempt_count": 1,
                "served_model": None if meaning else plan["model"],
                "served_provider": None if meaning else "upstream",
                "routing": "pinned" if plan["provider"] == "openrouter" else None,
                "http_status": 200 if meaning is None else 500,
                "finish_reason": "stop" if meaning is None else None,
                "reasoning_tokens": None if meaning else record_no % 50,
                "cached_input_tokens": None if meaning else record_no % 40,
                "cost_usd": None if meaning else chance.choice((None, 0.0, 0.1, 0.000123456)),
                "checks_passed": 0,
                "checks_failed": 0,
                "checks_errored": 0,
                "checks": [],
                "raw_output_truncated": False,
                "reused_from_run_id": "run-b" if is_reused else None,
                "record_no": record_no,
                "output_hash": digest(text)[:16],
                "supersedes": earlier,
            }
        )
        key = ("run_id", "model_id", "case_id", "repetition")
        self.rows["outputs"].append(
            {name: plan[name] for name in key}
            | {
                "record_no": record_no,
                "raw_output": "" if meaning else text,
                "parsed_output": None if meaning else "7",
                "error_message": "it failed" if meaning else None,
            }
        )
        return meaning is not None and meaning.retryable

    def _event(self, run_id, record_no, event, at_ms) -> None:
        self.rows["events"].append(
            {
                "record_type": "event",
                "run_id": run_id,
                "event": event,
                "at_ms": at_ms,
                "model_id": None,
                "detail": None,
                "schema_version": 1,
                "record_no": record_no,
            }
        )
