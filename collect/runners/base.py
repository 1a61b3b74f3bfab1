"""What a runner leaves behind: everything that happened in one trial, not yet judged."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Protocol

from pydantic import JsonValue

from collect.config import LoadedCase
from collect.providers.base import Reply
from schemas.artifact import (
    FinalOutputEvent,
    MessageEvent,
    RunnerEvent,
    ToolCallEvent,
    TraceEvent,
)
from schemas.case import Role
from schemas.trial import PlannedTrial


def now_ms() -> int:
    """Return the wall clock in ms since the epoch."""
    return time.time_ns() // 1_000_000


@dataclass
class Trace:
    """The events of a trial in the order they happened."""

    events: list[TraceEvent] = field(default_factory=list)

    def message(self, role: Role, content: str, name: str | None = None) -> None:
        """Note a message that was sent or received."""
        self.events.append(
            MessageEvent(
                sequence=len(self.events),
                at_ms=now_ms(),
                role=role,
                content=content,
                name=name,
            )
        )

    def tool_call(self, call_id: str, name: str, arguments: str) -> None:
        """Note a tool the model asked for."""
        event = ToolCallEvent(
            sequence=len(self.events),
            at_ms=now_ms(),
            call_id=call_id,
            tool_name=name,
            raw_arguments=arguments,
        )
        self.events.append(event)

    def runner(self, name: str, **detail: JsonValue) -> None:
        """Note what the runner did."""
        self.events.append(
            RunnerEvent(sequence=len(self.events), at_ms=now_ms(), name=name, detail=detail)
        )

    def final_output(self, content: str) -> None:
        """Note the text the trial is judged by."""
        self.events.append(
            FinalOutputEvent(sequence=len(self.events), at_ms=now_ms(), content=content)
        )


@dataclass(frozen=True, slots=True)
class Execution:
    """One trial as it was executed."""

    trial: PlannedTrial
    case: LoadedCase
    reply: Reply
    attempt_count: int
    started_at_ms: int
    ended_at_ms: int
    wall_ms: int
    request: dict[str, JsonValue]
    trace: tuple[TraceEvent, ...]
    clock_late_ms: int | None = None


class Runner(Protocol):
    """Executes trials of one model."""

    async def run(self, trial: PlannedTrial, case: LoadedCase) -> Execution:
        """Execute one trial; whatever the other side does is in what is returned."""

    async def aclose(self) -> None:
        """Let go of what the runner holds."""


def not_asked(trial: PlannedTrial, case: LoadedCase, reply: Reply) -> Execution:
    """Return a trial for which no request was made, and why."""
    now = now_ms()
    trace = Trace()
    trace.runner("not_asked", reason=reply.error_message)
    return Execution(trial, case, reply, 0, now, now, 0, {}, tuple(trace.events))
