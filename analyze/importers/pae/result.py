"""One run file of personal_agent_eval as a line of ours, with its trace.

`e2e_ms` stays null: its clock runs around the whole trial, with retries, tools and containers. That
time is the trace's `wall_ms`. Its codes of failures say where its own code gave up; ours say whose
fault it was (D-A6).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from analyze.importers.base import Traced
from analyze.importers.defaults import result_of
from analyze.importers.lenient import free
from analyze.importers.pae.evaluations import Judged
from analyze.importers.pae.files import Document, Key
from analyze.importers.pae.trace import events_of, final_text, request_of, tools_of, trace_of
from schemas.failures import classify
from schemas.run.result import CostSource
from schemas.run.trace import Artifact

BY_CODE = {
    "timeout": "timeout",
    "openclaw_timeout": "timeout",
    "transport_error": "connection_error",
    "invalid_response": "invalid_response",
    "runner_configuration_error": "api_key_missing",  # raised for nothing else
    "message_resolution_failed": "invalid_messages",
    "invalid_messages": "invalid_messages",
    "empty_output": "empty_response",
    "tool_calls_not_supported": "tool_calls_not_supported",
    "openclaw_config_invalid": "config_invalid",
    "openclaw_execution_failed": "container_error",
}

BY_STATUS = {
    "timed_out": "timeout",
    "provider_error": "invalid_response",
    "invalid": "config_invalid",
    "failed": "exception",
}
"""For codes that only a later version knows."""

HTTP_CODE = re.compile(r"[1-5]\d\d")

OUT_OF_TURNS = re.compile(r"\bmax_turns\b")
"""In the message: the turns ran out, which has no code of its own."""

UNKNOWN = "pae"
"""Provider of a trial whose file names none."""

OPENCLAW = "openclaw"
MAX_USD = 1e6
MAX_SECONDS = 1e9


def failure_of(run: Document) -> str | None:
    """Return the failure_type of a run; None for a success.

    A status that contradicts the error beside it counts more than the error.
    """
    status = run.text("status")
    code = run.text("error", "code") or ""
    if status == "success":
        if run.at("error") is not None:
            run.note("contradiction", "a success with an error; taken as a success", "error")
        return None
    if status not in BY_STATUS:
        run.note("bad_value", f"the status {status!r} is unknown; taken as failed", "status")
        status = "failed"
    if HTTP_CODE.fullmatch(code):
        return f"http_{code}"
    if code in BY_CODE:
        return BY_CODE[code]
    if OUT_OF_TURNS.search(run.text("error", "message") or ""):
        return "max_turns_exceeded"
    sent = run.at("error", "metadata", "status_code")
    if status == "provider_error" and type(sent) is int and 400 <= sent <= 599:
        return f"http_{sent}"
    return BY_STATUS[status]


class RequestedModel(NamedTuple):
    """Who was asked, as far as a file says it."""

    provider: str
    model: str


class Times(NamedTuple):
    """When a trial was, in ms; the last is how long it took."""

    started_at: int
    ended_at: int
    wall: int


@dataclass(frozen=True)
class Trial:
    """A trial's place.

    Attributes:
        written_at_ms: when its file was written, for a file without times.
        has_checks: whether there is anything in its case to judge by.
    """

    run_id: str
    suite_id: str
    model_id: str
    case_id: str
    key: Key
    written_at_ms: int
    has_checks: bool


def requested_model_of(run: Document, model_folder: str) -> RequestedModel:
    """Return the gateway and the model string of a run."""
    gateway = run.text("request", "gateway") or run.text("provider", "gateway")
    return RequestedModel(
        gateway or UNKNOWN, run.text("request", "requested_model") or model_folder
    )


def started_at(run: Document) -> int | None:
    """Return when a run began, if it says so."""
    begun = run.moment_ms("timing", "started_at")
    return run.moment_ms("timing", "queued_at") if begun is None else begun


def traced_of(run: Document, trial: Trial, judged: Judged) -> Traced:
    """Return the line and the trace of one trial."""
    times = _times(run, trial.written_at_ms)
    failure = failure_of(run)
    asked = requested_model_of(run, trial.key.model)
    place: dict[str, Any] = {
        "run_id": trial.run_id,
        "model_id": trial.model_id,
        "case_id": trial.case_id,
        "repetition": trial.key.repetition,
    }
    tools = () if failure else tools_of(run)
    checks = judged.checks
    result = result_of(
        failure_type=failure,
        **place,
        provider=asked.provider,
        model=asked.model,
        prompt_id=trial.key.case,
        started_at_ms=times.started_at,
        ended_at_ms=times.ended_at,
        violation=None if failure else _violation(judged),
        raw_output=final_text(run),
        parsed_output=judged.parsed,
        tool_calls=tools,
        tool_call_count=len(tools),
        tool_call_source="api" if tools else None,
        suite_id=trial.suite_id,
        runner_type=_runner_type(run, asked),
        passed=_passed(failure, trial, judged),
        checks_passed=checks.passed,
        checks_failed=checks.failed,
        checks_errored=checks.errored,
        error_code=None if failure is None else run.text("error", "code"),
        error_message=None if failure is None else run.text("error", "message"),
        http_status=_http_status(run, failure),
        attempt_count=_attempts(run, failure),
        served_model=run.text("provider", "provider_model_id"),
        served_provider=run.text("provider", "provider_name"),
        finish_reason=run.text("provider", "finish_reason"),
        **_usage(run, asked),
    )
    artifact = Artifact(
        **place,
        wall_ms=times.wall,
        request=request_of(run),
        usage=free(run.at("usage", "raw_provider_usage")),
        trace=trace_of(run, times.started_at),
    )
    return Traced(result, artifact)


def _times(run: Document, written_at_ms: int) -> Times:
    """Return the times of a trial; what is missing follows from the others, or from its file's."""
    begin, end = started_at(run), run.moment_ms("timing", "completed_at")
    seconds = run.number("timing", "duration_seconds", most=MAX_SECONDS)
    took = None if seconds is None else round(seconds * 1000)
    if begin is None and end is None:
        run.note("no_time", "has no time; the file's own time is taken", "timing")
        end = written_at_ms
    if begin is None:
        assert end is not None
        begin = max(end - (took or 0), 0)
    if end is None:
        end = begin + (took or 0)
    if end < begin:
        run.note("contradiction", "ended before it began; taken as ended at once", "timing")
        end = begin
    return Times(begin, end, end - begin if took is None else took)


def _passed(failure: str | None, trial: Trial, judged: Judged) -> bool | None:
    if failure is None:
        return judged.passed
    return False if trial.has_checks and classify(failure).counts_against_model else None


def _violation(judged: Judged) -> str | None:
    checks = judged.checks
    if judged.passed is not False:
        return None
    return f"{checks.failed + checks.errored} of {sum(checks)} checks did not pass"


def _runner_type(run: Document, asked: RequestedModel) -> str:
    if run.text("identity", "runner_type") == OPENCLAW or asked.provider == OPENCLAW:
        return "openclaw"
    return "llm_probe"


def _http_status(run: Document, failure: str | None) -> int | None:
    if failure is not None:
        code = failure.removeprefix("http_")
        return int(code) if HTTP_CODE.fullmatch(code) else None
    return run.whole("provider", "metadata", "status_code", least=100, most=599)


def _attempts(run: Document, failure: str | None) -> int:
    """Return how many requests were made; turns of an agent, where nobody counted."""
    if failure == "api_key_missing":
        return 0
    counted = run.whole("runner_metadata", "attempt_count")
    if counted is not None:
        return counted
    names = [event.get("name") for event in events_of(run)]
    n_turns = names.count("agent_invoked")
    return n_turns or (1 if failure is None else 0)


def _usage(run: Document, asked: RequestedModel) -> dict[str, Any]:
    """Return tokens and cost.

    OpenClaw counts what came from a cache apart from the input; here it is part of it. The cost of
    such a run comes from a table of prices, that of any other from the provider.
    """
    tokens = {
        name: run.whole("usage", "normalized", name)
        for name in (
            "input_tokens",
            "output_tokens",
            "reasoning_tokens",
            "cached_input_tokens",
        )
    }
    is_agent = asked.provider == OPENCLAW
    if is_agent and tokens["input_tokens"] is not None:
        written = run.whole("usage", "normalized", "cache_write_tokens")
        tokens["input_tokens"] += (tokens["cached_input_tokens"] or 0) + (written or 0)
    source: Literal["usage", "api"] = "usage" if is_agent else "api"
    cost = run.number("usage", "cost_usd", most=MAX_USD)
    who: CostSource = "computed" if is_agent else "provider"
    return tokens | {
        "token_source": None if set(tokens.values()) == {None} else source,
        "cost_usd": cost,
        "cost_source": None if cost is None else who,
    }
