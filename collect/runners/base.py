"""What a runner leaves behind: everything that happened in one trial, not yet judged."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Protocol

from pydantic import JsonValue

from collect.config import LoadedCase, ResolvedModel
from collect.http_client.pool import CompletionQueue
from collect.limits import Slot
from collect.plan.fingerprint import seed_of
from collect.providers.base import Outcome, Request
from collect.runners.loop_clock import LoopClock
from collect.runners.tools.toolbox import Toolbox
from collect.runners.trace import Trace, TraceObject
from schemas.run.config import PlannedTrial
from schemas.run.trace import now_ms


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
    tool_ms: int | None = None
    """Wall time of tools, which is no time of the model's; None: none was called."""
    turns_completed: int | None = None
    """Turns of the case that an agent came to the end of; None: it is no agent's."""
    ended_by: str | None = None
    """Of an agent: `exit`, `error`, or the limit that ended it."""
    phases: dict[str, int] = field(default_factory=dict)
    """What the runner spent its time on: a name to whole ms."""
    workspace: str | None = None
    """Folder of what the trial has left, below the run's; its files are in `workspace/` there."""


@dataclass(frozen=True, slots=True)
class RunnerContext:
    """What the runners of a run share."""

    run_dir: Path
    clock: LoopClock
    completions: CompletionQueue
    toolbox: Toolbox = field(default_factory=Toolbox)
    hosts: dict[str, object] = field(default_factory=dict)
    """Where agents are at home, by the kind of their runner; opened before the first trial."""


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


def number_of(model: ResolvedModel, case: LoadedCase, name: str) -> float | None:
    """Return a setting that is a number; None: it is not given."""
    value = model.setting(name, case)
    return value if isinstance(value, int | float) else None


def request_of(
    model: ResolvedModel, case: LoadedCase, repetition: int, *, timeout_s: float
) -> Request:
    """Return the first request of a trial, with the settings that hold for each of its requests."""
    max_tokens = number_of(model, case, "max_tokens")
    return Request(
        messages=case.messages,
        timeout_s=timeout_s,
        stream=model.setting("stream", case) is not False,
        temperature=number_of(model, case, "temperature"),
        top_p=number_of(model, case, "top_p"),
        max_tokens=None if max_tokens is None else int(max_tokens),
        seed=seed_of(model, case, repetition),
    )


def retries_of(model: ResolvedModel, case: LoadedCase) -> int:
    """Return how often a trial may be repeated after its first try."""
    retries = model.setting("retries", case)
    return retries if isinstance(retries, int) else 0


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
