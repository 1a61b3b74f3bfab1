"""A trial as its hooks are given it, of a run under way and of one that is stored."""

from __future__ import annotations

import mimetypes
from collections.abc import Iterable, Mapping
from typing import Any

from pydantic import JsonValue

from collect.checks.left import Trial
from collect.config import LoadedCase
from collect.execute.spec import RunSpec
from collect.hooks.artifact import HookError, HookSubject, OutputArtifact
from collect.providers.base import Outcome
from collect.runners.base import Execution
from schemas.failures import known_failure
from schemas.run.config import RunConfig
from schemas.run.result import Result
from schemas.run.trace import Artifact

ORACLE = "oracle"
"""In place of the ids of what there is no run of."""

IDS = ("run_id", "suite_id", "model_id")
TIMES = ("started_at_ms", "ended_at_ms", "attempt_count")
TOKENS = ("input_tokens", "output_tokens", "reasoning_tokens", "cached_input_tokens")
"""Fields that have one name in a trial under way, in its line, and in what a hook is given."""


def executed_subject(execution: Execution, trial: Trial, spec: RunSpec) -> HookSubject:
    """Return a trial that was just made.

    Args:
        execution: what happened.
        trial: what its checks look at.
        spec: of the run.
    """
    planned, outcome, usage = execution.trial, execution.outcome, execution.outcome.usage
    model = next(one for one in spec.models if one.model_id == planned.model_id)
    names = {*model.settings, *execution.case.settings}
    return HookSubject(
        **_of_case(execution.case, trial),
        **_named(planned, IDS),
        **_named(execution, TIMES),
        **_of_answer(outcome),
        **_named(usage, TOKENS),
        run_profile_id=spec.run_profile_id,
        requested_model=planned.model,
        gateway=planned.provider,
        settings={name: model.setting(name, execution.case) for name in names},
        cache_write_tokens=usage.cache_write_tokens,
        cost_usd=outcome.cost_usd,
        raw_usage=usage.raw,
        trace=execution.trace,
    )


def stored_subject(
    result: Result, artifact: Artifact | None, case: LoadedCase, trial: Trial, config: RunConfig
) -> HookSubject:
    """Return a trial as a run folder has it.

    Args:
        result: its line.
        artifact: its trace; None: it is lost, and the hook finds none.
        case: that was asked, with the checks of now.
        trial: what its checks look at.
        config: of the run.
    """
    model = next((one for one in config.models if one.model_id == result.model_id), None)
    layers = ({} if model is None else model.settings, config.case_settings.get(result.case_id, {}))
    settings = {name: one.value for layer in layers for name, one in layer.items()}
    events = () if artifact is None else artifact.trace
    return HookSubject(
        **_of_case(case, trial),
        **_named(result, (*IDS, *TIMES, *TOKENS)),
        **_of_answer(result),
        run_profile_id=config.run_profile_id,
        requested_model=result.requested_model,
        gateway=result.provider,
        settings=settings,
        cost_usd=result.cost_usd if result.cost_source == "provider" else None,
        raw_usage=None if artifact is None else artifact.usage,
        trace=[event.model_dump(mode="json") for event in events],
    )


def oracle_subject(case: LoadedCase, trial: Trial, text: str) -> HookSubject:
    """Return an answer that no model gave, as the oracle of a case tries it.

    Args:
        case: whose checks are tried.
        trial: what they look at.
        text: the answer.
    """
    final: dict[str, JsonValue] = {"event_type": "final_output", "content": text}
    return HookSubject(
        **_of_case(case, trial), run_id=ORACLE, suite_id=ORACLE, model_id=ORACLE, trace=[final]
    )


def _named(source: object, names: Iterable[str]) -> dict[str, Any]:
    return {name: getattr(source, name) for name in names}


def _of_answer(source: Outcome | Result) -> dict[str, Any]:
    """Return what a server said of an answer, and why there is none."""
    return {
        **_named(source, ("served_provider", "served_model", "finish_reason")),
        "provider_metadata": {"status_code": source.http_status},
        "error": _error(source.failure_type, source.error_code, source.error_message),
    }


def _of_case(case: LoadedCase, trial: Trial) -> dict[str, Any]:
    """Return what is the same of a trial wherever it is: of its case, and what it left."""
    metadata: dict[str, JsonValue] = {"input_context": case.context.model_dump(mode="json")}
    return {
        "case_id": case.case_id,
        "status": trial.status,
        "runner_type": case.runner_type,
        "request_metadata": metadata,
        "output_artifacts": [*_outputs(trial)],
        "tool_names": case.context.llm_probe.tools,
        "snapshot": trial.snapshot,
        "case_folder": case.folder,
        "hook_hashes": dict(case.hooks),
    }


def _outputs(trial: Trial) -> list[OutputArtifact]:
    found = trial.output_artifacts
    if not found or trial.workspace is None:
        return []
    entries: Mapping[str, Any] = {one.path: one for one in trial.workspace.entries}
    return [
        OutputArtifact(
            artifact_id=one.artifact_id,
            artifact_type=one.artifact_type,
            path=one.path,
            media_type=mimetypes.guess_type(one.path)[0],
            byte_size=None if (entry := entries.get(one.path)) is None else entry.size,
            sha256=None if entry is None else entry.sha256,
        )
        for one in found
    ]


def _error(failure_type: str | None, code: str | None, message: str | None) -> HookError | None:
    if failure_type is None:
        return None
    failure = known_failure(failure_type)
    return HookError(
        code=failure_type,
        message=message or "",
        retryable=failure is not None and failure.retryable,
        provider_code=code,
    )
