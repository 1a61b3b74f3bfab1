"""One try at a trial: its invocations, how each ended, and what that makes of the trial.

A turn that fails, or takes too long, is the last one. What fails on the wire is told by the wire,
since the agent puts it in words of its own; what the agent was ended by is told by the sandbox.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from pydantic import JsonValue

from collect.providers.base import Reply, ToolCall, Usage
from collect.runners.agents.wire import CUT_OFF, AgentWire, WireCall
from collect.runners.turns import summed
from collect.sandbox.base import Completed, Folders
from schemas.config.command_agent import Meaning

LIMITS = {
    "time": "timeout",
    "memory": "limit_exceeded",
    "processes": "limit_exceeded",
    "workspace": "limit_exceeded",
    "output": "limit_exceeded",
}
"""What ended an agent, as the sandbox says it, to the failure that it is."""

OF_MEANING = {
    "limit": "limit_exceeded",
    "agent_error": "agent_error",
    "infrastructure": "cli_error",
}
"""What an exit code means, as its agent's configuration says, to the failure that it is."""

MAX_SAID_CHARS = 2_000


@dataclass(frozen=True, slots=True)
class TurnResult:
    """What an invocation said."""

    text: str = ""
    """The agent's answer; empty: none."""
    problem: str = ""
    """What went wrong in its own words."""
    out: str = ""
    err: str = ""
    payload: Mapping[str, Any] | None = None
    """The JSON object that it printed, in place of `out`."""
    meaning: Meaning | None = None
    """Of its exit code, where somebody has said so."""


@dataclass
class Attempt:
    """One try at a trial, as far as it came."""

    program: str
    """What runs, for messages."""
    wire: AgentWire
    folders: Folders
    agent_id: str
    session_id: str
    door: Path
    """Folder of the socket by which the agent asks its model."""
    address: str = ""
    """Where the agent asks the model, inside."""
    config: dict[str, Any] = field(default_factory=dict)
    """What it was given to read."""
    turns: list[dict[str, JsonValue]] = field(default_factory=list)
    """What each invocation printed, and how it ended."""
    usage_texts: list[str] = field(default_factory=list)
    """What stood after each turn where the agent tells its tokens."""
    usage: Usage | None = None
    """That the agent tells of itself; None: it does not."""
    logged_calls: tuple[ToolCall, ...] = ()
    """Of its own log, for where none of its requests came by the door."""
    cost_usd: float | None = None
    text: str = ""
    turns_completed: int = 0
    ended_by: str = "exit"
    """`exit`, `error`, the limit that was reached, or why no turn was sent."""
    failure: Reply | None = None
    phases: dict[str, int] = field(default_factory=dict)
    _n_calls_before: int = 0
    """Requests of the turns before the last."""

    @property
    def was_answered(self) -> bool:
        """Whether the model has said anything, so that another try would be a second chance.

        A thought is something: it is billed, and may be all that it had room for.
        """
        return _says_anything(self.wire.calls)

    @property
    def _was_heard(self) -> bool:
        """Whether the server had taken a request; known once the way to it is closed."""
        return any(call.reply.accepted for call in self.wire.calls)

    @property
    def may_be_repeated(self) -> bool:
        """Whether another try would be no second chance of the model's, and no second time-out."""
        return not (self.is_limited or self.was_answered)

    @property
    def is_limited(self) -> bool:
        """Whether a limit ended it."""
        return self.ended_by in LIMITS

    def fail(self, failure_type: str, message: str, code: str | None = None) -> None:
        """Note why it ended before its time."""
        self.failure = Reply().failed(
            failure_type, error_code=code or failure_type, error_message=message
        )

    def note_turn(
        self, began_ms: int, completed: Completed, said: TurnResult, seconds: float
    ) -> None:
        """Take in how an invocation ended.

        Args:
            began_ms: when, in ms since the epoch.
            completed: what the sandbox says.
            said: what the agent has said.
            seconds: that it had.
        """
        self.turns.append(
            {
                "turn_index": len(self.turns),
                "began_ms": began_ms,
                "wall_ms": completed.wall_ms,
                "cpu_ms": completed.cpu_ms,
                "peak_memory_bytes": completed.peak_memory_bytes,
                "oom_kills": completed.oom_kills,
                "returncode": completed.exit_code,
                "timed_out": completed.ended_by == "time",
                "ended_by": completed.ended_by,
                "stdout": "" if said.payload is not None else said.out,
                "stderr": said.err,
                "payload": None if said.payload is None else dict(said.payload),
            }
        )
        if completed.ended_by in LIMITS:
            self._limited(completed.ended_by, seconds)
        elif (broken := self._broken_wire()) is not None:
            self.ended_by = "error"
            self.failure = broken
        elif said.meaning == "done" or (said.meaning is None and completed.exit_code == 0):
            self.turns_completed += 1
            self.text = said.text
        else:
            self._failed(completed, said)
        self._n_calls_before = len(self.wire.calls)

    def _limited(self, limit: str, seconds: float) -> None:
        """Note a limit: the model's, unless all its time went by with failures of its server."""
        self.ended_by = limit
        is_late = limit == "time"
        if is_late and not _says_anything(self.wire.calls[self._n_calls_before :]):
            self.failure = self._broken_wire(self._n_calls_before)
            if self.failure is not None:
                return
        what = f"no end within {seconds:.0f} s" if is_late else f"the limit of {limit} was reached"
        code = "agent_timeout" if is_late else limit
        self.fail(LIMITS[limit], f"turn {len(self.turns)}: {what}", code)

    def _failed(self, completed: Completed, said: TurnResult) -> None:
        """Note an end that is none of an agent that did its work."""
        self.ended_by = "error"
        words = said.problem or completed.stderr.data.decode("utf-8", "replace").strip()
        is_signal = completed.exit_code is None
        ended = f"signal {completed.signal}" if is_signal else f"exit code {completed.exit_code}"
        what = f"{self.program} ended with {ended}: {words or 'without a word'}"
        # one that had begun its work may have ended itself: what it has left decides
        failure_type = "agent_error" if self.was_answered else "cli_error"
        if said.meaning is not None:
            failure_type = OF_MEANING[said.meaning]
            self.text = said.text
        self.fail(failure_type, what[:MAX_SAID_CHARS], f"exit_{completed.exit_code}")

    def _broken_wire(self, since: int = 0) -> Reply | None:
        """Return the last answer of the server, where that failed for no fault of the model's.

        Args:
            since: number of the first request that counts.
        """
        if len(self.wire.calls) <= since:
            return None
        reply = self.wire.calls[-1].reply
        failure = reply.failure
        is_ours = failure is None or failure.cause == "model" or reply.error_code == CUT_OFF
        return None if is_ours else reply

    def _declared(self) -> Reply:
        """Return what is known of a trial without a request by the door."""
        if self.usage is None:
            return Reply(accepted=False)
        return Reply(usage=self.usage, cost_usd=self.cost_usd, accepted=True)

    def outcome(self) -> Reply:
        """Return what came of the trial: the last text, with the numbers of the wire."""
        replies = [call.reply for call in self.wire.calls]
        whole = summed(replies) if replies else self._declared()
        text = self.text or next((one.text for one in reversed(replies) if one.text.strip()), "")
        calls = tuple(
            ToolCall(call.call_id, call.name, call.arguments)
            for one in replies
            for call in one.tool_calls
        )
        whole = replace(
            whole, text=text, tool_calls=calls if replies else self.logged_calls, reasoning="",
            failure_type=None, error_code=None, error_message=None,
        )  # fmt: skip
        if (why := self.failure) is not None:
            return replace(
                whole,
                failure_type=why.failure_type,
                error_code=why.error_code,
                error_message=why.error_message,
                accepted=why.accepted if self.ended_by != "time" else self._was_heard,
                retry_after_s=why.retry_after_s,
            )
        if text.strip():
            return whole
        return whole.failed("empty_response", error_message="the agent ended without a text")


def _says_anything(calls: Sequence[WireCall]) -> bool:
    replies = (call.reply for call in calls)
    return any(
        one.text or one.tool_calls or one.reasoning or one.usage.output_tokens for one in replies
    )


def ms_since(began: float) -> int:
    """Return whole ms since a moment of `time.perf_counter`."""
    return round((time.perf_counter() - began) * 1000)
