"""What a hook is given of a trial: one JSON object, in the shape that hooks were first written for.

A run that is under way and one that is stored fill the same `HookSubject`, so that a hook finds the
same in both. What nobody knows is null, and never left out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from pydantic import JsonValue

from schemas.failures import TrialStatus

SCHEMA_VERSION = 1
"""Of the shape."""

Fact = dict[str, JsonValue]

EVENT_FIELDS: Mapping[str, tuple[str, ...]] = {
    "message": ("role", "content", "name"),
    "tool_call": ("call_id", "tool_name", "raw_arguments", "parsed_arguments"),
    "tool_result": ("call_id", "status", "output"),
    "runner": ("name", "detail"),
    "final_output": ("content",),
}
"""Of each `event_type` of a trace what has a place of its own; what else is known is metadata."""

PARAMETERS = (
    "temperature", "top_p", "max_tokens", "seed", "max_turns", "timeout_seconds", "retries",
    "tool_choice",
)  # fmt: skip
"""Names of `execution_parameters`, as settings have them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputArtifact:
    """A file that a trial recorded as its output."""

    artifact_id: str
    artifact_type: str
    path: str
    """Below the snapshot."""
    media_type: str | None = None
    byte_size: int | None = None
    sha256: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class HookError:
    """Why a trial was no success."""

    code: str
    """A `failure_type` of `schemas.failures`, or the server's own finer code."""
    message: str
    error_type: str = "benchlake"
    """Who said so."""
    retryable: bool = False
    provider_code: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class HookSubject:
    """A trial as hooks look at it, and where its files and those of its case are.

    Times are ms since the epoch; token counts are of the whole trial.
    """

    run_id: str
    case_id: str
    suite_id: str
    model_id: str
    status: TrialStatus
    run_profile_id: str | None = None
    runner_type: str = "llm_probe"
    queued_at_ms: int | None = None
    started_at_ms: int | None = None
    ended_at_ms: int | None = None
    duration_ms: int | None = None
    """None: of the two times before."""
    requested_model: str | None = None
    gateway: str | None = None
    """The transport, as `openai_chat`."""
    settings: Mapping[str, JsonValue] = field(default_factory=dict)
    """Those in force, by the names of a run profile."""
    request_metadata: Mapping[str, JsonValue] = field(default_factory=dict)
    served_provider: str | None = None
    served_model: str | None = None
    request_id: str | None = None
    response_id: str | None = None
    finish_reason: str | None = None
    native_finish_reason: str | None = None
    provider_metadata: Mapping[str, JsonValue] = field(default_factory=dict)
    input_tokens: int | None = None
    output_tokens: int | None = None
    reasoning_tokens: int | None = None
    cached_input_tokens: int | None = None
    cache_write_tokens: int | None = None
    cost_usd: float | None = None
    raw_usage: JsonValue = None
    trace: Sequence[Mapping[str, JsonValue]] = ()
    """Events of `schemas.run.trace`, as the JSON objects they are."""
    output_artifacts: Sequence[OutputArtifact] = ()
    error: HookError | None = None
    attempt_count: int = 1
    tool_names: Sequence[str] = ()
    """Tools that were offered."""
    runner_metadata: Mapping[str, JsonValue] = field(default_factory=dict)
    snapshot: Path | None = None
    """Folder of the files that the trial left; None: it left none."""
    case_folder: Path | None = None
    """Where test.yaml lies; None for an entry of a prompt list."""
    hook_hashes: Mapping[str, str] = field(default_factory=dict)
    """Of a check by its id: sha256 of the hook file's text when the case was loaded."""


def artifact_of(subject: HookSubject, workspace: str) -> Fact:
    """Return what a hook is given.

    Args:
        subject: the trial.
        workspace: where the hook finds its files.
    """
    is_known = subject.input_tokens is not None and subject.output_tokens is not None
    return {
        "identity": {
            "schema_version": SCHEMA_VERSION,
            "run_id": subject.run_id,
            "case_id": subject.case_id,
            "suite_id": subject.suite_id,
            "run_profile_id": subject.run_profile_id,
            "runner_type": subject.runner_type,
        },
        "status": subject.status,
        "timing": _timing(subject),
        "request": {
            "requested_model": subject.requested_model,
            "gateway": subject.gateway,
            "execution_parameters": {name: subject.settings.get(name) for name in PARAMETERS},
            "metadata": dict(subject.request_metadata),
        },
        "provider": {
            "gateway": subject.gateway,
            "provider_name": subject.served_provider,
            "provider_model_id": subject.served_model,
            "request_id": subject.request_id,
            "response_id": subject.response_id,
            "finish_reason": subject.finish_reason,
            "native_finish_reason": subject.native_finish_reason,
            "metadata": dict(subject.provider_metadata),
        },
        "usage": {
            "normalized": {
                "input_tokens": subject.input_tokens,
                "output_tokens": subject.output_tokens,
                "total_tokens": (subject.input_tokens or 0) + (subject.output_tokens or 0)
                if is_known
                else None,
                "reasoning_tokens": subject.reasoning_tokens,
                "cached_input_tokens": subject.cached_input_tokens,
                "cache_write_tokens": subject.cache_write_tokens,
            },
            "cost_usd": subject.cost_usd,
            "raw_provider_usage": subject.raw_usage,
        },
        "trace": [_event(number, event) for number, event in enumerate(subject.trace)],
        "output_artifacts": [_output(one, workspace) for one in subject.output_artifacts],
        "error": _error(subject),
        "runner_metadata": {
            **subject.runner_metadata,
            "attempt_count": subject.attempt_count,
            "model_id": subject.model_id,
            "tool_capable": bool(subject.tool_names),
            "tool_names": list(subject.tool_names),
        },
    }


def _timing(subject: HookSubject) -> Fact:
    began, ended, duration_ms = subject.started_at_ms, subject.ended_at_ms, subject.duration_ms
    if duration_ms is None and began is not None and ended is not None:
        duration_ms = max(0, ended - began)
    return {
        "queued_at": _utc(began if subject.queued_at_ms is None else subject.queued_at_ms),
        "started_at": _utc(began),
        "completed_at": _utc(ended),
        "duration_seconds": None if duration_ms is None else duration_ms / 1000,
    }


def _utc(at_ms: int | None) -> str | None:
    """Return a time as `2026-03-01T12:00:00.250Z`."""
    if at_ms is None:
        return None
    at = datetime.fromtimestamp(at_ms / 1000, UTC)
    return at.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _event(number: int, event: Mapping[str, JsonValue]) -> Fact:
    """Return an event of a trace; its number is that of its place."""
    event_type = str(event["event_type"])
    names = EVENT_FIELDS[event_type]
    outer = {"sequence", "event_type", *names}
    metadata: Fact = {
        name: value for name, value in event.items() if name not in outer and value is not None
    }
    return {
        "sequence": number,
        "event_type": event_type,
        "timestamp": None,
        **{name: event.get(name) for name in names},
        "metadata": metadata,
    }


def _output(output: OutputArtifact, workspace: str) -> Fact:
    return {
        "artifact_id": output.artifact_id,
        "artifact_type": output.artifact_type,
        "uri": Path(workspace, output.path).as_uri(),
        "media_type": output.media_type,
        "byte_size": output.byte_size,
        "sha256": output.sha256,
        "metadata": {"workspace_relative_path": output.path},
    }


def _error(subject: HookSubject) -> Fact | None:
    """Return the error of a trial, which is there exactly where it is no success."""
    if subject.status == "success":
        return None
    error = subject.error or HookError(code=subject.status, message="")
    return {
        "code": error.code,
        "message": error.message,
        "error_type": error.error_type,
        "retryable": error.retryable,
        "provider_code": error.provider_code,
        "metadata": {},
    }
