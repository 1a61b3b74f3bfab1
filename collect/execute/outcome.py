"""From what happened in a trial and what the checks say to its line in results.jsonl."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import orjson
from pydantic import JsonValue

from collect.checks.base import Verdict
from collect.checks.declarative import Trial, run_check
from collect.execute.budget import cost_of
from collect.runners.base import Execution
from collect.tools import ToolUse
from schemas.base import SCHEMA_VERSION
from schemas.config.prices import NANO, Price
from schemas.config.suite import Routing
from schemas.redact import redact, redact_json
from schemas.run.result import RAW_OUTPUT_LIMIT, CheckResult, CostSource, Result, cut

NO_VERDICT = Verdict(objective_pass=None, violation=None, parsed_output=None)
NO_TOOLS = ToolUse(tool_calls=(), tool_call_source=None, tool_use_success=False)


SHORT_TEXT = 4_000
"""Bytes kept of what a server says about itself or an error."""


def bounded(parsed: JsonValue) -> JsonValue:
    """Return what a validator extracted, at most as long as raw_output; longer JSON is dropped."""
    if isinstance(parsed, str):
        return cut(parsed)[0]
    if isinstance(parsed, dict) and isinstance(text := parsed.get("text"), str):
        parsed = parsed | {"text": cut(text)[0]}
    return parsed if len(orjson.dumps(parsed)) <= 2 * RAW_OUTPUT_LIMIT else None


@lru_cache(maxsize=1024)
def _clean(text: str | None) -> str | None:
    """Return a short text from outside, without secrets; the same ones come again and again."""
    return None if text is None else cut(redact(text), SHORT_TEXT)[0]


def passed_of(
    execution: Execution, verdict: Verdict, checks: Sequence[CheckResult] = ()
) -> bool | None:
    """Return the one verdict that every view uses (D-A9), without a judge.

    False for a failure of the model's own; null for any other failure and where the case has
    nothing to judge by, so that what is counted never depends on how a trial ended. A check that
    could not look leaves the verdict open, whatever the others found: else a trial without it
    could only fail.
    """
    failure = execution.reply.failure
    if not execution.trial.is_scorable:
        return None
    if failure is not None:
        return False if failure.counts_against_model else None
    if any(check.outcome == "error" for check in checks):
        return None
    parts = [check.outcome == "passed" for check in checks]
    if verdict.objective_pass is not None:
        parts.append(verdict.objective_pass)
    return all(parts) if parts else None


def checks_of(execution: Execution, n_tool_calls: int) -> tuple[CheckResult, ...]:
    """Return what the case's checks found; a trial that the model never saw is not checked."""
    failure = execution.reply.failure
    if failure is not None and not failure.counts_against_model:
        return ()
    trial = Trial(
        final_text=execution.reply.text,
        n_tool_calls=n_tool_calls,
        status="success" if failure is None else failure.status,
        folder=execution.case.folder,
    )
    hindered = dict(execution.case.unevaluable)
    return tuple(
        run_check(check, trial, hindered.get(check.check_id)) for check in execution.case.checks
    )


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
    trial, case, reply = execution.trial, execution.case, execution.reply
    failure = reply.failure
    success = failure is None
    raw_output, truncated = cut(redact(reply.text))
    usage = reply.usage
    outcomes = Counter(check.outcome for check in checks)
    cost_nano = cost_of(execution, price)
    source: CostSource = "provider" if reply.cost_usd is not None else "computed"
    return Result(
        run_id=trial.run_id,
        provider=trial.provider,
        model=trial.model,
        thinking_level=trial.thinking_level,
        prompt_id=trial.prompt_id,
        prompt_name=trial.prompt_name,
        availability_status="ok" if failure is None else failure.availability_status,
        started_at_ms=execution.started_at_ms,
        ended_at_ms=execution.ended_at_ms,
        e2e_ms=reply.e2e_ms,
        ttft_ms=reply.ttft_ms,
        success=success,
        failure_type=reply.failure_type,
        objective_pass=verdict.objective_pass,
        violation=_clean(verdict.violation),
        input_tokens=usage.input_tokens,
        output_tokens=usage.output_tokens,
        raw_output=raw_output,
        parsed_output=bounded(redact_json(verdict.parsed_output)),
        tool_calls=tuple(redact(name) for name in tool_use.tool_calls),
        tool_call_count=len(tool_use.tool_calls),
        tool_use_success=tool_use.tool_use_success,
        suite_id=trial.suite_id,
        case_id=trial.case_id,
        model_id=trial.model_id,
        repetition=trial.repetition,
        case_hash=trial.case_hash,
        run_fingerprint=trial.run_fingerprint,
        fingerprint_version=trial.fingerprint_version,
        runner_type=trial.runner_type,
        status="success" if failure is None else failure.status,
        passed=passed_of(execution, verdict, checks),
        error_code=_clean(reply.error_code),
        error_message=_clean(reply.error_message),
        http_status=reply.http_status,
        attempt_count=execution.attempt_count,
        requested_model=trial.model,
        served_model=_clean(reply.served_model),
        served_provider=_clean(reply.served_provider),
        finish_reason=_clean(reply.finish_reason),
        reasoning_tokens=usage.reasoning_tokens,
        cached_input_tokens=usage.cached_input_tokens,
        cost_usd=None if cost_nano is None else cost_nano / NANO,
        cost_source=None if cost_nano is None else source,
        token_source=usage.source,
        validator_type=trial.validator_type,
        checks_passed=outcomes["passed"],
        checks_failed=outcomes["failed"],
        checks_errored=outcomes["error"],
        checks=tuple(checks),
        expected_tools=case.expected_tools,
        tool_call_source=tool_use.tool_call_source,
        tags=case.tags,
        raw_output_truncated=truncated,
        artifact_path=artifact_path,
        reused_from_run_id=None,
        clock_late_ms=execution.clock_late_ms,
        routing=routing,
        elapsed_ms=elapsed_ms,
    )


def artifact_of(execution: Execution) -> dict[str, Any]:
    """Return the trial's whole trace, in the shape of `schemas.run.trace.Artifact`."""
    trial = execution.trial
    return {
        "schema_version": SCHEMA_VERSION,
        "run_id": trial.run_id,
        "model_id": trial.model_id,
        "case_id": trial.case_id,
        "repetition": trial.repetition,
        "wall_ms": execution.wall_ms,
        "request": execution.request,
        "usage": execution.reply.usage.raw,
        "trace": execution.trace,
    }
