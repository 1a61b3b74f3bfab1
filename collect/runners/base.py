"""What a runner leaves behind: everything that happened in one trial, not yet judged."""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Protocol

from pydantic import JsonValue

from collect.config import LoadedCase
from collect.http_client.pool import CompletionQueue
from collect.limits import Slot
from collect.providers.base import Outcome
from collect.runners.loop_clock import LoopClock
from schemas.config.case import Role
from schemas.run.config import PlannedTrial

TraceObject = dict[str, JsonValue]
"""One event of `schemas.run.trace.TraceEvent`, as the JSON object it becomes."""


def now_ms() -> int:
    """Return the wall clock in ms since the epoch."""
    return time.time_ns() // 1_000_000


class Trace:
    """The events of a trial in the order they happened, in the shape of `schemas.run.trace`.

    Plain objects: a run makes thousands a second, and each is checked when it is read.
    """

    def __init__(self) -> None:
        self.events: list[TraceObject] = []

    def _note(self, event_type: str, **fields: JsonValue) -> None:
        stamp: TraceObject = {
            "sequence": len(self.events),
            "at_ms": now_ms(),
            "event_type": event_type,
        }
        self.events.append(stamp | fields)

    def message(self, role: Role, content: str, name: str | None = None) -> None:
        """Note a message that was sent or received."""
        self._note("message", role=role, content=content, name=name)

    def tool_call(self, call_id: str, name: str, arguments: str) -> None:
        """Note a tool the model asked for."""
        self._note("tool_call", call_id=call_id, tool_name=name, raw_arguments=arguments)

    def runner(self, name: str, **detail: JsonValue) -> None:
        """Note what the runner did."""
        self._note("runner", name=name, detail=detail)

    def tool_result(self, call_id: str, output: JsonValue, *, is_error: bool = False) -> None:
        """Note what a tool returned."""
        status = "error" if is_error else "success"
        self._note("tool_result", call_id=call_id, status=status, output=output)

    def retry(self, attempt: int, outcome: Outcome, wait_s: float) -> None:
        """Note a wait before the next request."""
        self.runner(
            "retry_scheduled",
            attempt=attempt,
            failure_type=outcome.failure_type,
            error_message=outcome.error_message,
            wait_ms=round(wait_s * 1000),
        )

    def final_output(self, content: str) -> None:
        """Note the text the trial is judged by."""
        self._note("final_output", content=content)


@dataclass(frozen=True, slots=True, kw_only=True)
class Execution:
    """One trial as it was executed."""

    trial: PlannedTrial
    case: LoadedCase
    outcome: Outcome
    attempt_count: int = 1
    """Requests made; 0 when none was."""
    started_at_ms: int
    ended_at_ms: int
    wall_ms: int = 0
    request: dict[str, JsonValue] = field(default_factory=dict)
    """Its settings; the messages are the trace's."""
    trace: list[TraceObject]
    clock_late_ms: int | None = None
    turns: int | None = None
    """Requests and answers of the conversation; None: the runner does not count them."""
    phases: dict[str, int] = field(default_factory=dict)
    """What the runner spent its time on: a name to whole ms."""
    workspace: str | None = None
    """Folder of the trial's files, below the run's."""


@dataclass(frozen=True, slots=True)
class RunnerContext:
    """What the runners of a run share."""

    run_dir: Path
    clock: LoopClock
    completions: CompletionQueue


class Runner(Protocol):
    """Executes the trials of one model whose cases name its kind."""

    async def run(self, trial: PlannedTrial, case: LoadedCase, slot: Slot) -> Execution:
        """Execute one trial; whatever the other side does is in what is returned.

        The trial holds its slot, and gives it up while it waits before a retry.
        """

    async def warm_up(self) -> Outcome:
        """Make one request whose answer is not counted, so that the first trial is like others.

        Asked only of a kind that warms up.
        """

    async def aclose(self) -> None:
        """Let go of what the runner holds."""


def mistaken(execution: Execution, error_message: str) -> Execution:
    """Return a trial that a mistake of ours, or of a package, leaves without a verdict."""
    outcome = replace(
        execution.outcome, failure_type="exception", error_code=None, error_message=error_message
    )
    return replace(execution, outcome=outcome)


def unsent_execution(
    trial: PlannedTrial,
    case: LoadedCase,
    failure_type: str,
    error_message: str,
    error_code: str | None = None,
) -> Execution:
    """Return a trial for which no request was made, and why."""
    now = now_ms()
    trace = Trace()
    trace.runner("not_asked", reason=error_message)
    return Execution(
        trial=trial,
        case=case,
        outcome=Outcome(
            failure_type=failure_type,
            error_code=error_code,
            error_message=error_message,
            accepted=False,
        ),
        attempt_count=0,
        started_at_ms=now,
        ended_at_ms=now,
        trace=trace.events,
    )
