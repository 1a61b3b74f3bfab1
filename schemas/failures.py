"""Every way a trial can fail, in one table: what it is called, whose fault it is, what follows.

D-A5: `availability_status` says whether the provider served us, not whether the model did
well. A failure of the model keeps `ok`. D-A6: the cause decides what counts against it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

AvailabilityStatus = Literal["ok", "skipped_unavailable", "auth_error", "rate_limited", "error"]
TrialStatus = Literal["success", "failed", "timed_out", "invalid", "provider_error"]
Cause = Literal["model", "provider", "infrastructure", "harness", "configuration"]


@dataclass(frozen=True)
class FailureClass:
    """What one failure_type means for the trial that ended with it."""

    availability_status: AvailabilityStatus
    status: TrialStatus
    cause: Cause
    retryable: bool = False

    @property
    def counts_against_model(self) -> bool:
        """Return whether the trial is a failed one rather than one without a verdict."""
        return self.cause == "model"


FAILURES: MappingProxyType[str, FailureClass] = MappingProxyType(
    {
        # the model's own
        "empty_response": FailureClass("ok", "invalid", "model"),
        "output_truncated": FailureClass("ok", "failed", "model"),
        "max_turns_exceeded": FailureClass("ok", "failed", "model"),
        "tool_calls_not_supported": FailureClass("ok", "invalid", "model"),
        "limit_exceeded": FailureClass("ok", "failed", "model"),
        "agent_error": FailureClass("ok", "failed", "model"),
        "timeout": FailureClass("error", "timed_out", "model", retryable=True),
        # the provider's
        "invalid_response": FailureClass("error", "provider_error", "provider"),
        "stream_interrupted": FailureClass("error", "provider_error", "provider", retryable=True),
        # between us and the provider
        "connection_error": FailureClass(
            "skipped_unavailable", "provider_error", "infrastructure", retryable=True
        ),
        "cli_missing": FailureClass("skipped_unavailable", "failed", "infrastructure"),
        "cli_error": FailureClass("error", "failed", "infrastructure"),
        "container_error": FailureClass("error", "failed", "infrastructure", retryable=True),
        "sandbox_missing": FailureClass("skipped_unavailable", "failed", "infrastructure"),
        "tool_unavailable": FailureClass("error", "failed", "infrastructure", retryable=True),
        # what the user wrote
        "api_key_missing": FailureClass("auth_error", "failed", "configuration"),
        "config_invalid": FailureClass("error", "invalid", "configuration"),
        "invalid_messages": FailureClass("error", "invalid", "configuration"),
        "hooks_disabled": FailureClass("error", "failed", "configuration"),
        # ours
        "collector_late": FailureClass("error", "timed_out", "harness", retryable=True),
        "exception": FailureClass("error", "failed", "harness"),
    }
)

SKIPPED_ON_REQUEST = "sandbox_missing"
"""Trials that were not made since `--skip-unevaluable` said so: no bad news of a run."""

UNACCEPTED_TIMEOUT = FailureClass("error", "timed_out", "provider", retryable=True)
"""A time-out before the endpoint had taken the whole request: not the model's (D-A6)."""

RETRYABLE_HTTP = frozenset({408, 409, 425, 429})
"""Client errors worth repeating; every 5xx is as well (D-E6)."""

HTTP_PATTERN = re.compile(r"http_([1-5]\d\d)")


def _http_class(code: int) -> FailureClass:
    if code in {401, 403}:
        return FailureClass("auth_error", "provider_error", "configuration")
    if code == 402:  # no credit left: nothing else will be answered either
        return FailureClass("error", "provider_error", "configuration")
    if code == 404:
        return FailureClass("skipped_unavailable", "provider_error", "configuration")
    if code == 429:
        return FailureClass("rate_limited", "provider_error", "provider", retryable=True)
    retryable = code in RETRYABLE_HTTP or code >= 500
    return FailureClass("error", "provider_error", "provider", retryable=retryable)


def classify(failure_type: str, *, accepted: bool = True) -> FailureClass:
    """Return what a failure_type means.

    Args:
        failure_type: one of `FAILURES`, or `http_<code>`.
        accepted: whether the endpoint had taken the whole request; decides whose a time-out is.

    Raises:
        KeyError: the name is in no table, which is a mistake of ours.
    """
    if match := HTTP_PATTERN.fullmatch(failure_type):
        return _http_class(int(match.group(1)))
    if failure_type == "timeout" and not accepted:
        return UNACCEPTED_TIMEOUT
    return FAILURES[failure_type]


def known_failure(failure_type: object) -> FailureClass | None:
    """Return what a failure_type means; None for one of a later version, or of another tool."""
    try:
        return classify(str(failure_type))
    except KeyError:
        return None


def is_open(failure_type: str | None) -> bool:
    """Return whether a trial that failed so is asked again when its run goes on (D-F2).

    Also one that nobody was asked for want of a key or of credit, and one of a kind that only a
    later version knows.
    """
    if failure_type in {"api_key_missing", "http_402"}:
        return True
    failure = known_failure(failure_type)
    return failure is None or failure.retryable
