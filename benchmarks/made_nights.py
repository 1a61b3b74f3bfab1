"""Nightly runs in which it is known what happened when, as the folders that a collector leaves.

A suite asks several models the same cases every night. Cases differ in difficulty, models share
them, and chance does the rest; then something happens: a model gets worse for good, a case breaks,
the server is down for a night, the judge is replaced. What happened is a list of events, so that
every alert can be told from a false one.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import orjson

from schemas.config.run_profile import ExecutionPolicy
from schemas.failures import classify
from schemas.run.config import FingerprintParts, PlannedTrial, RunConfig, RunModel
from schemas.run.inventory import Host, Inventory
from schemas.run.result import Result

Array = np.ndarray[Any, Any]

BEGIN_MS = 1_764_547_200_000
"""2025-12-01, UTC: the first night."""
NIGHT_MS = 86_400_000

Kind = Literal[
    "worse", "better", "cell", "served", "judge", "prompt", "slower",
    "down", "half_down", "cut", "timeouts",
]  # fmt: skip
"""`worse` and `better`: the model alone. `cell`: one case of it. `served`, `judge`, `prompt`: the
rate moves because that was changed. `slower`: another machine. The others are outages of one night:
every request fails, the second half fails, the run stops half way, most requests time out."""

OUTAGES = frozenset({"down", "half_down", "cut", "timeouts"})

TIMED_OUT = 0.6
"""Share of the trials of a night of time-outs."""


@dataclass(frozen=True)
class Happened:
    """Something that happened to a suite."""

    kind: Kind
    night: int
    """From this night on; an outage on this night alone."""
    models: tuple[int, ...] = ()
    """None named: every one."""
    size: float = 0.0
    """Drop of the pass rate as a share; of `slower`: the ratio of times."""
    cases: tuple[int, ...] = ()
    """Of `cell` and `prompt`; none named: every one."""

    def is_about(self, model: int) -> bool:
        """Return whether it happened to a model."""
        return not self.models or model in self.models


@dataclass(frozen=True)
class Suite:
    """A suite that is run every night, and what happened to it."""

    suite_id: str
    n_models: int
    n_cases: int
    repetitions: int
    nights: int
    events: tuple[Happened, ...]
    seed: int

    def run_id(self, night: int) -> str:
        """Return the name of a night's run."""
        return f"{self.suite_id}_{night:03d}"

    def model_id(self, model: int) -> str:
        """Return the name of a model."""
        return f"{self.suite_id}-m{model:02d}"

    def case_id(self, case: int) -> str:
        """Return the name of a case."""
        return f"case-{case:02d}"

    def at(self, night: int, *kinds: Kind) -> list[Happened]:
        """Return what of these kinds has happened by a night and still holds."""
        return [one for one in self.events if one.kind in kinds and one.night <= night]

    def outage(self, night: int) -> Kind | None:
        """Return the outage of a night."""
        found = (one.kind for one in self.events if one.kind in OUTAGES and one.night == night)
        return next(found, None)


def write_suite(runs_dir: Path, suite: Suite) -> None:
    """Write a run folder for every night."""
    random = np.random.default_rng(suite.seed)
    shape = (suite.n_models, suite.n_cases)
    difficulty = random.normal(0, 1.2, size=suite.n_cases)
    skill = random.uniform(1.0, 2.2, size=(suite.n_models, 1))
    usual = 1 / (1 + np.exp(-(skill + difficulty + random.normal(0, 0.4, size=shape))))
    speed = random.normal(6.5, 0.4, size=shape)
    for night in range(suite.nights):
        rates = _rates_of(suite, night, usual)
        trials = (*shape, suite.repetitions)
        passed = random.random(trials) < rates[:, :, None]
        spread = random.normal(0, 0.08) + random.normal(0, 0.15, size=trials)
        slower = float(np.prod([one.size for one in suite.at(night, "slower")]))
        e2e_ms = (np.exp(speed[:, :, None] + spread) * slower).astype(int) + 1
        cost_usd = 1e-5 * np.exp(speed[:, :, None] / 4 + random.normal(0, 0.1, size=trials))
        timed_out = random.random(trials) < TIMED_OUT * (suite.outage(night) == "timeouts")
        _write_night(runs_dir, suite, night, _Trials(passed, e2e_ms, cost_usd, timed_out))


def _rates_of(suite: Suite, night: int, usual: Array) -> Array:
    """Return the true rate of every model and case on a night."""
    rates = usual.copy()
    for one in suite.at(night, "worse", "better", "served", "judge", "prompt", "cell"):
        models = list(one.models) or list(range(suite.n_models))
        cases = list(one.cases) or list(range(suite.n_cases))
        cells = np.ix_(models, cases)
        if one.kind == "cell":
            rates[cells] = np.maximum(usual[cells], one.size) - one.size
        elif one.kind == "better":
            rates[cells] = 1 - (1 - rates[cells]) * 0.4
        else:
            mean = rates[cells].mean(axis=1, keepdims=True)
            rates[cells] *= np.maximum(1 - one.size / mean, 0)
    return rates


@dataclass(frozen=True)
class _Trials:
    """What came of every trial of a night: [models, cases, repetitions]."""

    passed: Array
    e2e_ms: Array
    cost_usd: Array
    timed_out: Array


def digest(*parts: object) -> str:
    """Return a sha256 that stands for a thing."""
    return hashlib.sha256(repr(parts).encode()).hexdigest()


def _write_night(runs_dir: Path, suite: Suite, night: int, trials: _Trials) -> None:
    folder = runs_dir / suite.run_id(night)
    folder.mkdir(parents=True)
    (folder / "config.json").write_text(_config(suite, night).model_dump_json())
    (folder / "inventory.json").write_text(_inventory(suite, night).model_dump_json())
    plan = list(_plan(suite, night))
    (folder / "plan.jsonl").write_bytes(b"".join(orjson.dumps(line) + b"\n" for line in plan))
    results = _results(suite, night, plan, trials)
    lines = b"".join(orjson.dumps(line) + b"\n" for line in results)
    (folder / "results.jsonl").write_bytes(lines)


def _plan(suite: Suite, night: int) -> Iterator[dict[str, Any]]:
    """Yield the trials case by case, so that half a night is half of every model."""
    base = PLAN | {"run_id": suite.run_id(night), "suite_id": suite.suite_id}
    trial_no = 0
    for repetition in range(1, suite.repetitions + 1):
        for case in range(suite.n_cases):
            for model in range(suite.n_models):
                case_id, model_id = suite.case_id(case), suite.model_id(model)
                content = digest(suite.suite_id, case_id, _version(suite, night, case))
                parts = {
                    "case": content[:16],
                    "settings": digest("settings", repetition)[:16],
                    "endpoint": digest("endpoint", model_id)[:16],
                    "harness": digest("harness")[:16],
                }
                yield base | {
                    "model_id": model_id,
                    "case_id": case_id,
                    "prompt_id": case_id,
                    "repetition": repetition,
                    "trial_no": trial_no,
                    "model": model_id,
                    "case_hash": content,
                    "run_fingerprint": digest(*parts.values()),
                    "fingerprint_parts": parts,
                }
                trial_no += 1


def _version(suite: Suite, night: int, case: int) -> int:
    """Return how often the prompt of a case was changed by a night."""
    return sum(not one.cases or case in one.cases for one in suite.at(night, "prompt"))


def _results(
    suite: Suite, night: int, plan: Sequence[dict[str, Any]], trials: _Trials
) -> Iterator[dict[str, Any]]:
    outage = suite.outage(night)
    half = len(plan) // 2
    started_at_ms = BEGIN_MS + night * NIGHT_MS
    served = {
        suite.model_id(model): f"{suite.model_id(model)}-{1 + len(changes)}"
        for model in range(suite.n_models)
        for changes in [[one for one in suite.at(night, "served") if one.is_about(model)]]
    }
    for number, trial in enumerate(plan):
        if outage == "cut" and number >= half:
            return
        place = _place(suite, number)
        began = started_at_ms + number * 50
        line = RESULT | {name: trial[name] for name in SHARED}
        line |= {
            "started_at_ms": began,
            "ended_at_ms": began + int(trials.e2e_ms[place]),
            "requested_model": trial["model"],
            "raw_output": f"answer {night} {number}",
        }
        if outage == "down" or (outage == "half_down" and number >= half):
            yield line | FAILED["http_500"]
        elif trials.timed_out[place]:
            yield line | FAILED["timeout"]
        else:
            passed = bool(trials.passed[place])
            e2e_ms = int(trials.e2e_ms[place])
            yield line | {
                "e2e_ms": e2e_ms,
                "ttft_ms": e2e_ms // 4,
                "objective_pass": passed,
                "passed": passed,
                "served_model": served[trial["model_id"]],
                "cost_usd": float(trials.cost_usd[place]),
            }


def _place(suite: Suite, number: int) -> tuple[int, int, int]:
    """Return model, case and repetition of a line of the plan."""
    rest, model = divmod(number, suite.n_models)
    repetition, case = divmod(rest, suite.n_cases)
    return model, case, repetition


def _config(suite: Suite, night: int) -> RunConfig:
    names = [suite.model_id(model) for model in range(suite.n_models)]
    judges = len(suite.at(night, "judge"))
    is_judged = any(one.kind == "judge" for one in suite.events)
    return RunConfig(
        run_id=suite.run_id(night),
        started_at_ms=BEGIN_MS + night * NIGHT_MS,
        benchlake_version="0.1.0",
        suite_id=suite.suite_id,
        suite_title=suite.suite_id.title(),
        suite_path=f"{suite.suite_id}.yaml",
        run_profile_id="nightly",
        run_profile_path="nightly.yaml",
        execution_policy=ExecutionPolicy(run_repetitions=suite.repetitions),
        models=tuple(
            RunModel(
                model_id=name, label=None, provider="openai_chat", model=name, thinking_level=None,
                base_url="http://127.0.0.1:1", api_key_env=None, max_concurrency=1,
                request_options={}, resource_tag=name, settings={},
            )
            for name in names
        ),
        case_settings={},
        n_planned=suite.n_models * suite.n_cases * suite.repetitions,
        config_files={},
        allowed_hosts=(),
        warnings=(),
        judge_hash=digest("judge", judges) if is_judged else None,
    )  # fmt: skip


def _inventory(suite: Suite, night: int) -> Inventory:
    cores = 8 >> len(suite.at(night, "slower"))
    return Inventory(
        run_id=suite.run_id(night),
        created_at="2025-12-01T00:00:00Z",
        host=Host(uname="Linux", python="3.11", cpu_count=cores, memory_bytes=2**34),
        packages={},
        ollama_list="",
        ollama_models=(),
        ollama_store_du="",
        claude_version="",
        keys_present=(),
    )


def _templates() -> tuple[dict[str, Any], dict[str, Any], dict[str, dict[str, Any]]]:
    """Return a line of a plan, of a result that passed, and what failures change in it."""
    part, whole = "a" * 16, "a" * 64
    trial = PlannedTrial(
        run_id="r", suite_id="s", model_id="m", case_id="c", repetition=1, trial_no=0,
        provider="openai_chat", model="m", prompt_id="c", case_hash=whole, run_fingerprint=whole,
        fingerprint_parts=FingerprintParts(case=part, settings=part, endpoint=part, harness=part),
        validator_type="exact", is_scorable=True,
    )  # fmt: skip
    result = Result(
        run_id="r", provider="openai_chat", model="m", thinking_level=None, prompt_id="c",
        prompt_name=None, availability_status="ok", started_at_ms=1, ended_at_ms=2, e2e_ms=1,
        ttft_ms=1, success=True, failure_type=None, objective_pass=True, violation=None,
        input_tokens=10, output_tokens=20, raw_output="a", tool_calls=(), tool_call_count=0,
        tool_use_success=False, suite_id="s", case_id="c", model_id="m", repetition=1,
        case_hash=whole, run_fingerprint=whole, fingerprint_version=1, runner_type="llm_probe",
        status="success", passed=True, error_code=None, error_message=None, http_status=200,
        attempt_count=1, requested_model="m", served_model=None, served_provider=None,
        finish_reason="stop", reasoning_tokens=None, cached_input_tokens=None, cost_usd=None,
        cost_source="computed", token_source="api", validator_type="exact", checks_passed=0,
        checks_failed=0, checks_errored=0, checks=(), expected_tools=(), tool_call_source=None,
        tags=(), raw_output_truncated=False, artifact_path=None, reused_from_run_id=None,
        clock_late_ms=None,
    )  # fmt: skip
    return (
        trial.model_dump(mode="json"),
        result.model_dump(mode="json"),
        {name: _failed(result, name) for name in ("http_500", "timeout")},
    )


def _failed(result: Result, failure_type: str) -> dict[str, Any]:
    meaning = classify(failure_type)
    changed = {
        "availability_status": meaning.availability_status,
        "success": False,
        "failure_type": failure_type,
        "objective_pass": None,
        "passed": False if meaning.counts_against_model else None,
        "status": meaning.status,
        "e2e_ms": None,
        "ttft_ms": None,
        "input_tokens": None,
        "output_tokens": None,
        "cost_usd": None,
        "cost_source": None,
        "token_source": None,
        "raw_output": "",
        "finish_reason": None,
        "attempt_count": 3,
        "http_status": 500 if failure_type == "http_500" else None,
    }
    Result.model_validate(result.model_dump() | changed)
    return changed


PLAN, RESULT, FAILED = _templates()
SHARED = (
    "run_id", "suite_id", "model_id", "case_id", "repetition", "model", "prompt_id", "case_hash",
    "run_fingerprint",
)  # fmt: skip


SIZES = (0.03, 0.05, 0.08, 0.10, 0.12, 0.14, 0.16, 0.18, 0.20, 0.23, 0.26, 0.30)
"""Of the drops that are injected, as shares."""


def two_months(nights: int = 60, *, seed: int = 20261122) -> tuple[Suite, ...]:
    """Return suites in which twelve series and twelve cells drop by 3 to 30 points, and others in
    which a judge, prompts, a machine or a served model change, or requests fail for a night.
    """
    random = np.random.default_rng(seed)
    span = (12, nights - 10)
    drops = tuple(
        Happened("worse", int(random.integers(*span)), (model,), size)
        for model, size in enumerate(SIZES)
    )
    chosen = random.choice(200, size=len(SIZES), replace=False).tolist()
    cells = tuple(
        Happened("cell", int(random.integers(*span)), (one // 20,), size, (one % 20,))
        for one, size in zip(chosen, SIZES, strict=True)
    )
    third = nights // 3
    outages = outages_from(third - 3)
    suites = {
        "series": ((16, 30), (*drops, *outages)),
        "cells": ((10, 20), cells),
        "steady": ((3, 30), (*outages, Happened("timeouts", 4))),
        "judged": ((3, 30), (Happened("judge", third, size=0.15),)),
        "edited": ((3, 30), (Happened("prompt", third, size=0.30, cases=tuple(range(10))),)),
        "touched": ((3, 30), (Happened("prompt", third, size=0.30, cases=(3, 11, 17)),)),
        "rewritten": ((3, 30), (Happened("prompt", third, size=0.30),)),
        "served": ((3, 30), (Happened("served", third, (0,), 0.20),)),
        "moved": ((3, 30), (Happened("slower", third, size=1.4),)),
    }
    return tuple(
        Suite(name, n_models, n_cases, 3, nights, events, seed + place)
        for place, (name, ((n_models, n_cases), events)) in enumerate(suites.items(), start=1)
    )


def outages_from(night: int) -> tuple[Happened, ...]:
    """Return an outage of every kind, and one night of time-outs just before a second one."""
    return (
        Happened("down", night),
        Happened("half_down", night + 5),
        Happened("cut", night + 12),
        Happened("timeouts", night + 18),
        Happened("down", night + 19),
    )
