"""Builds run folders from the records of `schemas`, as the collector would write them."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest

from analyze.lake.raw_tables import open_lake
from analyze.query.catalog import create_views
from analyze.query.session import Session
from analyze.report import build as build_module
from analyze.summary.summarize import summarize_run
from schemas.config.run_profile import ExecutionPolicy
from schemas.failures import classify
from schemas.lake.layout import lake_of
from schemas.lake.writer import mirror_run
from schemas.output.report import RunReport
from schemas.output.summary import GroupSummary, RunSummary
from schemas.run.config import FingerprintParts, PlannedTrial, RunConfig, RunModel
from schemas.run.inventory import Host, Inventory, OllamaModel, resource_tags
from schemas.run.result import Event, Result
from tests.support.warm_engines import kept_views

STARTED_AT_MS = 1_763_762_400_000
"""2025-11-21 22:00 UTC."""


def sha(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


class RunFolder:
    """A run in the making: plan trials, give them results, write the folder, mirror it."""

    def __init__(self, runs_dir: Path, run_id: str = "run-1", started_at_ms: int = STARTED_AT_MS):
        self.runs_dir = runs_dir
        self.run_id = run_id
        self.started_at_ms = started_at_ms
        self.trials: list[PlannedTrial] = []
        self.lines: list[bytes] = []
        self.ollama_models: tuple[OllamaModel, ...] = ()
        self.asked: dict[str, Any] = {}
        """Fields of config.json that are not as usual."""
        self.labels: dict[str, str] = {}
        """Of models, by their ids."""

    @property
    def path(self) -> Path:
        return self.runs_dir / self.run_id

    @property
    def lake(self) -> Path:
        return lake_of(self.runs_dir)

    def plan(
        self, case_id: str = "c1", repetition: int = 1, model_id: str = "m1", **fields: Any
    ) -> PlannedTrial:
        values: dict[str, Any] = {
            "run_id": self.run_id,
            "suite_id": "smoke",
            "model_id": model_id,
            "case_id": case_id,
            "repetition": repetition,
            "trial_no": len(self.trials),
            "runner_type": "llm_probe",
            "provider": "ollama_openai",
            "model": "llama3.2:3b",
            "thinking_level": None,
            "prompt_id": case_id,
            "prompt_name": None,
            "case_hash": sha(case_id),
            "run_fingerprint": sha(f"{model_id} {case_id} {repetition}"),
            "fingerprint_parts": FingerprintParts(
                case=sha("a"), settings=sha("b"), endpoint=sha("c"), harness=sha("d")
            ),
            "validator_type": "exact",
            "expected_tools": (),
            "tags": (),
        }
        values |= fields
        values.setdefault("is_scorable", values["validator_type"] not in {None, "noop"})
        trial = PlannedTrial(**values)
        self.trials.append(trial)
        return trial

    def result(self, trial: PlannedTrial, **fields: Any) -> Result:
        """Append a result: a pass, or what `failure_type` means by the table of failures."""
        failure = fields.get("failure_type")
        meaning = classify(failure) if failure else None
        passed = fields.get("passed", True) if meaning is None else None
        if meaning and meaning.counts_against_model:
            passed = False
        judged = trial.validator_type not in {None, "noop"}
        values: dict[str, Any] = {
            "run_id": self.run_id,
            "provider": trial.provider,
            "model": trial.model,
            "thinking_level": trial.thinking_level,
            "prompt_id": trial.prompt_id,
            "prompt_name": trial.prompt_name,
            "availability_status": meaning.availability_status if meaning else "ok",
            "started_at_ms": self.started_at_ms + 1000 * len(self.lines),
            "ended_at_ms": self.started_at_ms + 1000 * len(self.lines) + 400,
            "e2e_ms": 400,
            "ttft_ms": 100,
            "success": meaning is None,
            "objective_pass": passed if judged and meaning is None else None,
            "violation": None,
            "input_tokens": 10,
            "output_tokens": 20,
            "raw_output": f"answer {len(self.lines)}",
            "tool_calls": (),
            "tool_call_count": 0,
            "tool_use_success": False,
            "suite_id": trial.suite_id,
            "case_id": trial.case_id,
            "model_id": trial.model_id,
            "repetition": trial.repetition,
            "case_hash": trial.case_hash,
            "run_fingerprint": trial.run_fingerprint,
            "fingerprint_version": 1,
            "runner_type": trial.runner_type,
            "status": meaning.status if meaning else "success",
            "error_code": None,
            "error_message": None,
            "http_status": 200,
            "attempt_count": 1,
            "requested_model": trial.model,
            "served_model": None,
            "served_provider": None,
            "finish_reason": "stop",
            "reasoning_tokens": None,
            "cached_input_tokens": None,
            "cost_usd": None,
            "cost_source": None,
            "token_source": None,
            "validator_type": trial.validator_type,
            "checks_passed": 0,
            "checks_failed": 0,
            "checks_errored": 0,
            "checks": (),
            "expected_tools": trial.expected_tools,
            "tool_call_source": None,
            "tags": (),
            "raw_output_truncated": False,
            "artifact_path": None,
            "reused_from_run_id": None,
            "clock_late_ms": None,
            "failure_type": None,
            "passed": passed if judged or meaning else fields.get("passed"),
        }
        result = Result(**(values | fields | {"passed": fields.get("passed", values["passed"])}))
        self.lines.append(result.model_dump_json().encode() + b"\n")
        return result

    def event(self, name: str) -> None:
        event = Event(run_id=self.run_id, event=name, at_ms=self.started_at_ms)
        self.lines.append(event.model_dump_json().encode() + b"\n")

    def write(self) -> Path:
        self.path.mkdir(parents=True, exist_ok=True)
        (self.path / "config.json").write_text(self._config().model_dump_json(indent=2))
        (self.path / "inventory.json").write_text(self._inventory().model_dump_json(indent=2))
        plan = "".join(trial.model_dump_json() + "\n" for trial in self.trials)
        (self.path / "plan.jsonl").write_text(plan)
        (self.path / "results.jsonl").write_bytes(b"".join(self.lines))
        return self.path

    def summary(self) -> RunSummary:
        """Write, mirror and summarize."""
        self.write()
        mirror_run(self.path, self.lake)
        return summarize_run(self.path, self.lake)

    def group(self) -> GroupSummary:
        """Return the only group of the summary."""
        (group,) = self.summary().models
        return group

    def _config(self) -> RunConfig:
        by_model = {trial.model_id: trial for trial in self.trials}
        keys = {(t.provider, t.model, t.thinking_level) for t in by_model.values()}
        tags = resource_tags(sorted(keys, key=repr))
        return RunConfig(
            run_id=self.run_id,
            started_at_ms=self.started_at_ms,
            benchlake_version="0",
            suite_id="smoke",
            suite_title="Smoke",
            suite_path="smoke.yaml",
            run_profile_id="quick",
            run_profile_path="quick.yaml",
            execution_policy=ExecutionPolicy(),
            models=tuple(
                RunModel(
                    model_id=model_id,
                    label=self.labels.get(model_id),
                    provider=trial.provider,
                    model=trial.model,
                    thinking_level=trial.thinking_level,
                    base_url="http://127.0.0.1:1",
                    api_key_env=None,
                    max_concurrency=1,
                    request_options={},
                    resource_tag=tags[trial.provider, trial.model, trial.thinking_level],
                    settings={},
                )
                for model_id, trial in by_model.items()
            ),
            case_settings={},
            n_planned=len(self.trials),
            config_files={},
            allowed_hosts=(),
            warnings=(),
        ).model_copy(update=self.asked)

    def _inventory(self) -> Inventory:
        return Inventory(
            run_id=self.run_id,
            created_at="2025-11-21T22:00:00Z",
            host=Host(uname="Linux", python="3.11", cpu_count=2, memory_bytes=1),
            packages={},
            ollama_list="",
            ollama_models=self.ollama_models,
            ollama_store_du="",
            claude_version="",
            keys_present=(),
        )


@pytest.fixture
def new_run(tmp_path: Path) -> Callable[..., RunFolder]:
    """Return a maker of run folders in one folder of runs."""
    return lambda *args, **fields: RunFolder(tmp_path / "runs", *args, **fields)


@pytest.fixture(scope="module")
def shared_run(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., RunFolder]:
    """Return a maker of run folders in a folder of runs that the tests of a file only read."""
    runs_dir = tmp_path_factory.mktemp("shared") / "runs"
    return lambda *args, **fields: RunFolder(runs_dir, *args, **fields)


@pytest.fixture
def run(new_run: Callable[..., RunFolder]) -> RunFolder:
    return new_run()


@pytest.fixture(scope="module")
def empty_views(
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[duckdb.DuckDBPyConnection]:
    """A connection with every view over a lake that holds nothing; a file's tests share it."""
    connection = open_lake(tmp_path_factory.mktemp("nothing") / "no-lake")
    create_views(connection)
    yield connection
    connection.close()


@pytest.fixture(scope="session")
def schemas_of(tmp_path_factory: pytest.TempPathFactory) -> dict[str, pa.Schema]:
    """The columns of every raw table and view, by its name."""
    with open_lake(tmp_path_factory.mktemp("empty") / "no-lake") as connection:
        create_views(connection, described=False)
        names = connection.sql("select view_name from duckdb_views() where not internal").fetchall()
        return {
            name: connection.sql(f"from {name} limit 0").to_arrow_table().schema.remove_metadata()
            for (name,) in names
        }


@pytest.fixture(scope="module")
def warm_engines() -> Iterator[None]:
    """Let the sessions of a file take over the views of those before them."""
    with kept_views():
        yield


@pytest.fixture(scope="module")
def reports_built() -> dict[str, RunReport]:
    """Reports of a file's tests that `built_once` keeps, by all that was asked."""
    return {}


@pytest.fixture
def built_once(reports_built: dict[str, RunReport], monkeypatch: pytest.MonkeyPatch) -> None:
    """Build each report once: for tests of its forms and places, over runs that stay."""
    build = build_module.build_report

    def kept(session: Session, run_id: str, *, tell: Any = None, **asked: Any) -> RunReport:
        wanted = f"{session.runs_dir.resolve()} {run_id} {sorted(asked.items())}"
        if wanted not in reports_built:
            reports_built[wanted] = build(session, run_id, tell=tell, **asked)
        return reports_built[wanted]

    monkeypatch.setattr(build_module, "build_report", kept)


@pytest.fixture(scope="module")
def no_library() -> Iterator[None]:
    """Fetch a word in place of the charts' library, seconds each; a process of its own has it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("analyze.report.html.chart_bundle.FETCH", "print('/* the library */')")
        yield
