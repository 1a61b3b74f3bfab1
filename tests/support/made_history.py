"""A made history of runs as tables of the lake: every kind of row that views must get right.

Three runs of one suite and one of another; models with and without a thinking level, two local
names of one model; reused, superseded and missing trials; every way to fail; costs of zero and
unknown ones; a case whose content changed; a folder in the older shape, without hashes.
"""

import random
from pathlib import Path

import duckdb
import pyarrow as pa

from analyze.lake.raw_tables import connect, fill
from analyze.query.catalog import create_views
from schemas.failures import classify
from schemas.io.arrow import row_of
from schemas.lake import RECORDED
from schemas.lake.rows.tables import TABLES, RunRow
from tests.support import run_rows
from tests.support.mirrored import table_of
from tests.support.run_rows import blank, sha

MODELS = (
    ("m1", "ollama_openai", "llama3.2:3b", None),
    ("m2", "ollama_openai", "llama3.2:3b", "low"),
    ("m3", "openrouter", "openai/gpt-4o", None),
    ("m4", "openrouter", "openai/gpt-4o", None),
)
SCORES = ({"name": "f1", "value": 0.25}, {"name": "exact", "value": None})

FAILURES = ("timeout", "http_401", "http_429", "http_500", "connection_error", "empty_response")
RUNS = ("0012", "run-b", "run-c", "other", "old")
HOUR_MS = 3_600_000
LOOKS = ("evaluations", "judge_iterations", "judgements", "pair_iterations", "preferences")
"""Tables of one log."""

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


DECIDING = f"""
create view raw_deciding_profiles as
select
    '{RUNS[0]}' as run_id,
    'strict' as evaluation_profile_id,
    'a hash' as judge_hash
"""
"""Judges have a say in one run."""


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
            tables[name] = table_of(name, kept).replace_schema_metadata()
        return tables

    def connect(
        self, shuffled: int | None = None, threads: int | None = None
    ) -> duckdb.DuckDBPyConnection:
        """Return a connection with every view over these rows."""
        connection = connect(threads=threads)
        fill(connection, Path("none"), ("thresholds", "failure_types"))
        connection.execute(ALIASES)
        connection.execute(DECIDING)
        tables = self.tables(shuffled)
        for name, table in (tables | {RECORDED: tables["results"]}).items():
            connection.register(f"raw_{name}", table)
        create_views(connection, described=False)
        return connection

    def _add_run(self, number: int, run_id: str) -> None:
        started_at_ms = 1_763_762_400_000 + max(number, 1) * HOUR_MS  # two runs start together
        suite_id = {"other": "other", "old": "imported"}.get(run_id, "smoke")
        is_old = run_id == "old"
        trials = [
            self._plan(run_id, suite_id, number, *model, case_no, repetition)
            for model in MODELS
            for case_no in range(self.n_cases)
            for repetition in (1, 2)
            if repetition == 1 or case_no % 3 == 0
        ]
        unknown = {"fingerprint_parts": None}
        unknown |= {"case_hash": None, "run_fingerprint": None} if is_old else {}
        for trial_no, trial in enumerate(trials):
            self.rows["plans"].append(row_of(trial) | unknown | {"trial_no": trial_no})
        known = {
            "run_id": run_id,
            "suite_id": suite_id,
            "suite_title": suite_id.title(),
            "n_planned": len(trials),
            "run_group": "group" if number == 1 else None,
            "is_imported": is_old,
            "max_cost_usd": 1.5 if number == 1 else None,
            "recorded_at_ms": started_at_ms,
        }
        if not is_old:
            known |= {"started_at_ms": started_at_ms, "model_labels": {"m3": f"GPT {number}"}}
            known |= {"run_profile_id": "quick", "benchlake_version": "0"}
        description = RunRow(**(blank(RunRow) | known))
        self.rows["runs"].append(row_of(description))
        if number == 1:
            later = {"labels": ["baseline"], "recorded_at_ms": started_at_ms + 1}
            self.rows["runs"].append(row_of(description) | later)
        record_no = 1
        started = row_of(run_rows.event(run_id=run_id, event="started", at_ms=started_at_ms))
        never = {"at_ms": None} if is_old else {}
        self.rows["events"].append(started | never | {"record_no": record_no})
        for trial in trials:
            if self.random.random() < 0.05:
                continue  # never ran
            earlier = None
            while True:
                record_no += 1
                is_open = self._result(trial, unknown, record_no, earlier, started_at_ms)
                if not is_open or self.random.random() < 0.4:
                    break
                earlier = record_no

    def _plan(
        self, run_id, suite_id, number, model_id, provider, model, level, case_no, repetition
    ):
        case_id = f"c{case_no:02d}"
        content = f"{case_id} {number if case_no == 3 else 0}"
        return run_rows.planned(
            run_id=run_id,
            suite_id=suite_id,
            model_id=model_id,
            case_id=case_id,
            repetition=repetition,
            provider=provider,
            model=model,
            thinking_level=level,
            prompt_name=None if case_no % 2 else f"Case {case_no}",
            case_hash=sha(content),
            run_fingerprint=sha(f"{content} {model_id} {repetition}"),
            validator_type=None if case_no == 1 else "exact",
            expected_tools=("free", "du") if case_no % 4 == 0 else (),
            tags=("a",) if case_no % 2 else (),
        )

    def _result(self, trial, unknown, record_no, earlier, started_at_ms) -> bool:
        """Add a record; return whether the trial may be asked again."""
        chance = self.random
        failure = chance.choice(FAILURES) if chance.random() < 0.2 else None
        meaning = classify(failure) if failure else None
        counted = meaning is not None and meaning.counts_against_model and chance.random() < 0.8
        verdict = (False if counted else None) if meaning else chance.random() < 0.7
        is_reused = meaning is None and trial.run_id == "run-c" and chance.random() < 0.3
        at_ms = started_at_ms + record_no * 1000
        text = f"answer {chance.randrange(3)}"
        e2e_ms = None if meaning else chance.randrange(1, 60_000)
        result = run_rows.result(
            trial,
            started_at_ms=at_ms,
            ended_at_ms=at_ms + (e2e_ms or 5),
            e2e_ms=e2e_ms,
            ttft_ms=None if e2e_ms is None or record_no % 5 == 0 else e2e_ms // 3,
            failure_type=failure,
            passed=verdict if trial.is_scorable else None,
            input_tokens=None if meaning else chance.randrange(2**33),
            output_tokens=None if meaning else chance.randrange(500),
            tool_use_success=meaning is None and chance.random() < 0.6,
            served_model=None if meaning else trial.model,
            served_provider=None if meaning else "upstream",
            routing="pinned" if trial.provider == "openrouter" else None,
            http_status=200 if meaning is None else 500,
            finish_reason="stop" if meaning is None else None,
            reasoning_tokens=None if meaning else record_no % 50,
            cached_input_tokens=None if meaning else record_no % 40,
            cost_usd=None if meaning else chance.choice((None, 0.0, 0.1, 0.000123456)),
            reused_from_run_id="run-b" if is_reused else None,
            raw_output="" if meaning else text,
            parsed_output=None if meaning else 7,
            scores=() if record_no % 3 else SCORES,
            error_message="it failed" if meaning else None,
        )
        lake = {"record_no": record_no, "output_hash": sha(text)[:16], "supersedes": earlier}
        for table in ("results", "outputs"):
            self.rows[table].append(row_of(result) | unknown | lake)
        if record_no % 7 == 0:
            self._steps(row_of(result) | lake, at_ms)
        if record_no % 4 == 0:
            self._looks(trial, record_no, at_ms)
        return meaning is not None and meaning.retryable

    def _steps(self, of, at_ms) -> None:
        """Add what an agent did: a change, a call that fails again and again, another agent."""
        number = of["record_no"]
        known = {"started_at_ms": at_ms, "ended_at_ms": at_ms + 3, "source": "a#0"}
        usage = {"usage_counts": "cumulative", "usage_cached": "beside", "cost_usd": 0.5}
        answer = known | usage | {"role": "assistant", "duration_ms": 2}
        below = {"trajectory": "main/looks", "turn_no": 1}
        made = [
            answer | {"input_tokens": number},
            known
            | {"kind": "tool_call", "tool": "edit", "effect": "write", "target_hash": "e" * 16},
            known | {"kind": "tool_result", "tool": "edit", "duration_ms": 1},
        ]
        for turn in range(1, 2 + number % 4):
            call = {"tool": "df", "call_id": "1", "args_hash": "a" * 16, "turn_no": turn}
            failed = {"is_error": True, "exit_code": 2, "result_norm_hash": "b" * 16}
            made += [
                known | call | {"kind": "tool_call", "effect": "read"},
                known | call | failed | {"kind": "tool_result", "error_class": "exit_code"},
                answer | {"input_tokens": (turn + 1) * number, "turn_no": turn},
            ]
        made += [
            known | {"kind": "compaction"},
            answer | below | {"input_tokens": 5, "is_copied_context": number % 2 == 0},
            known
            | below
            | {"kind": "tool_call", "tool": "test", "effect": "check", "call_id": "1"},
            known | below | {"kind": "tool_result", "tool": "test", "call_id": "1"},
        ]
        if number % 5 == 0:
            made.append(known | {"kind": "limit", "error_class": "max_turns"})
        for step_no, fields in enumerate(made, 1):
            self.rows["steps"].append(run_rows.step(of, step_no, **fields))
            self.rows["step_texts"].append(run_rows.step_text(of, step_no))

    def _looks(self, trial, record_no, at_ms) -> None:
        """Look at a record twice, the second time with a check that was edited."""
        for number, check_hash in enumerate(("a" * 16, "b" * 16)):
            look = run_rows.evaluation(
                trial,
                result_no=record_no,
                evaluated_at_ms=at_ms + number * HOUR_MS,
                case_hash=trial.case_hash or sha("unknown"),
                checks=[
                    {"check_id": "edited", "check_hash": check_hash, "dimensions": ("a",)},
                    {"check_id": "same", "outcome": ("failed", "error")[number]},
                ],
            )
            self._look("evaluations", look)
        said = run_rows.opinion(record_no % 11, {"soft-1": "met"}, spark=3)
        place = {"result_no": record_no, "evaluated_at_ms": at_ms + HOUR_MS}
        for number, one in enumerate((said, "refusal"), 1):
            answer = run_rows.judge_iteration(trial, one, iteration=number, **place)
            self._look("judge_iterations", answer)
        for profile in ("strict", "kind"):
            found = run_rows.judgement(trial, said, 5, evaluation_profile_id=profile, **place)
            self._look("judgements", found)
        against = place | {"other_run_id": "other"}
        for order, one in zip(("this_first", "other_first"), ("this", "refusal"), strict=True):
            self._look(
                "pair_iterations", run_rows.pair_iteration(trial, one, pair_order=order, **against)
            )
        self._look("preferences", run_rows.preference(trial, "tied", **against))

    def _look(self, table, look) -> None:
        n_lines = sum(len(self.rows[name]) for name in LOOKS)
        self.rows[table].append(row_of(look) | {"record_no": n_lines + 1})
