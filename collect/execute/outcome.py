"""From what happened in a trial and what the checks say to its line in results.jsonl."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import fields
from functools import lru_cache
from operator import attrgetter
from typing import Any

import orjson
from pydantic import JsonValue

from collect.checks.base import Verdict
from collect.config.runners import RUNNERS
from collect.execute.budget import cost_of
from collect.providers.base import Outcome, Usage
from collect.runners.base import Execution
from collect.tools import ToolUse
from schemas.base import SCHEMA_VERSION
from schemas.config.prices import NANO, Price
from schemas.config.suite import Routing
from schemas.failures import FailureClass
from schemas.redact import redact, redact_json, redacts_shapes
from schemas.run.config import PlannedTrial
from schemas.run.result import MAX_RAW_OUTPUT_BYTES, CheckResult, CostSource, Result, cut

NO_VERDICT = Verdict(objective_pass=None, violation=None, parsed_output=None)
NO_TOOLS = ToolUse(tool_calls=(), tool_call_source=None, tool_use_success=False)

OF_OTHERS = ("error_code", "error_message", "served_model", "served_provider", "finish_reason")
"""What others said, perhaps with secrets in it."""


def _reader(names: Iterable[str]) -> Callable[[object], dict[str, Any]]:
    """Return what reads values under these names, which takes a third of asking one by one."""
    known = tuple(names)
    values = attrgetter(*known)
    return lambda source: dict(zip(known, values(source), strict=True))


COLUMNS = Result.model_fields.keys() - {"record_type", "tool_calls", "cost_usd", *OF_OTHERS}
of_trial = _reader(COLUMNS & PlannedTrial.model_fields.keys())
of_execution = _reader(COLUMNS & {field.name for field in fields(Execution)})
of_outcome = _reader(COLUMNS & {field.name for field in fields(Outcome)})
of_usage = _reader(COLUMNS & {field.name for field in fields(Usage)})
"""What these have under the name of a column, and a line says as it is."""

OF_AGENT = ("turns", "turns_completed", "ended_by", "phases", "workspace")
"""Of an execution, what a single question has none of."""

MAX_TEXT_BYTES = 4_000
"""Bytes kept of a server's error or description."""


def bounded(parsed: JsonValue) -> JsonValue:
    """Return what a validator extracted, at most as long as raw_output; longer JSON is dropped."""
    if isinstance(parsed, str):
        return cut(parsed)[0]
    if isinstance(parsed, dict) and isinstance(text := parsed.get("text"), str):
        parsed = parsed | {"text": cut(text)[0]}
    return parsed if len(orjson.dumps(parsed)) <= 2 * MAX_RAW_OUTPUT_BYTES else None


def _clean(text: str | None) -> str | None:
    """Return a short text from outside, without secrets."""
    return None if text is None else _cleaned(text, redacts_shapes())


@lru_cache(maxsize=1024)
def _cleaned(text: str, _redacts_shapes: bool) -> str:
    """Return the same; the same texts come again and again."""
    return cut(redact(text), MAX_TEXT_BYTES)[0]


def passed_of(
    execution: Execution, verdict: Verdict, checks: Sequence[CheckResult] = ()
) -> bool | None:
    """Return the one verdict that every view uses (D-A9), without a judge.

    False for a failure of the model's own; null for any other failure and where the case has
    nothing to judge by, so that what is counted never depends on how a trial ended. A check that
    could not look leaves the verdict open, whatever the others found: else a trial without it
    could only fail.
    """
    if not execution.trial.is_scorable:
        return None
    runner_type = execution.trial.runner_type
    return decided(execution.outcome.failure, runner_type, verdict.objective_pass, checks)


def decided(
    failure: FailureClass | None,
    runner_type: str,
    objective_pass: bool | None,
    checks: Sequence[CheckResult],
) -> bool | None:
    """Return the verdict on what came of a case that can have one: an answer, or a failure."""
    if failure is None:
        return joined(objective_pass, checks)
    if not failure.counts_against_model:
        return None
    # an agent may have done its work before it was ended: then its checks decide
    return joined(None, checks) if RUNNERS[runner_type].is_agent and checks else False


def joined(objective_pass: bool | None, checks: Sequence[CheckResult]) -> bool | None:
    """Return the verdict on an answer: what its validator and its checks come to together."""
    if any(check.outcome == "error" for check in checks):
        return None
    parts = [check.outcome == "passed" for check in checks]
    if objective_pass is not None:
        parts.append(objective_pass)
    return all(parts) if parts else None


def result_of(
    execution: Execution,
    verdict: Verdict,
    tool_use: ToolUse,
    artifact_path: str | None,
    *,
    checks: Sequence[CheckResult] = (),
    price: Price | None = None,
    routing: Routing | None = None,
    elapsed_ms: int | None = None,
) -> Result:
    """Return the trial's line; verdict and tools of a failed trial are empty (D-A7)."""
    outcome, failure = execution.outcome, execution.outcome.failure
    raw_output, truncated = cut(redact(outcome.text))
    found = Counter(check.outcome for check in checks)
    cost_nano = cost_of(execution, price)
    source: CostSource = "provider" if outcome.cost_usd is not None else "computed"
    return Result(
        **of_trial(execution.trial),
        **of_execution(execution),
        **of_outcome(outcome),
        **of_usage(outcome.usage),
        **{name: _clean(getattr(outcome, name)) for name in OF_OTHERS},
        availability_status="ok" if failure is None else failure.availability_status,
        success=failure is None,
        objective_pass=verdict.objective_pass,
        violation=_clean(verdict.violation),
        raw_output=raw_output,
        parsed_output=bounded(redact_json(verdict.parsed_output)),
        tool_calls=tuple(redact(name) for name in tool_use.tool_calls),
        tool_call_count=len(tool_use.tool_calls),
        tool_use_success=tool_use.tool_use_success,
        status="success" if failure is None else failure.status,
        passed=passed_of(execution, verdict, checks),
        requested_model=execution.trial.model,
        cost_usd=None if cost_nano is None else cost_nano / NANO,
        cost_source=None if cost_nano is None else source,
        token_source=outcome.usage.source,
        checks_passed=found["passed"],
        checks_failed=found["failed"],
        checks_errored=found["error"],
        checks=tuple(checks),
        tool_call_source=tool_use.tool_call_source,
        raw_output_truncated=truncated,
        artifact_path=artifact_path,
        reused_from_run_id=None,
        routing=routing,
        elapsed_ms=elapsed_ms,
    )


def artifact_of(execution: Execution) -> dict[str, Any]:
    """Return the trial's whole trace, in the shape of `schemas.run.trace.Artifact`."""
    trial = execution.trial
    of_agent = {name: value for name in OF_AGENT if (value := getattr(execution, name))}
    return {
        "schema_version": SCHEMA_VERSION,
        "run_id": trial.run_id,
        "model_id": trial.model_id,
        "case_id": trial.case_id,
        "repetition": trial.repetition,
        "wall_ms": execution.wall_ms,
        "request": execution.request,
        "usage": execution.outcome.usage.raw,
        "trace": execution.trace,
        **of_agent,
    }
