"""What an agent's own log says of a trial, whichever agent wrote it and in whatever form.

A reader of one form makes entries of it; what was seen on the wire is put beside them later. An
agent may write what it likes, so nothing here is believed further than it has to be.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import orjson
from pydantic import JsonValue

from schemas.base import MAX_QUANTITY

MAIN = "main"
"""The trajectory of the agent itself; one that it started is `main/<name>`."""

SPARE_LEVELS = 64
"""Of those that may be nested in a JSON text; what is ours stands around an agent's."""

EntryKind = Literal["user", "system", "assistant", "tool_result", "compaction", "error"]


class LoggedCall(NamedTuple):
    """A tool that an answer calls."""

    call_id: str
    name: str
    arguments: JsonValue


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One thing that the log says; an answer with its calls is one."""

    kind: EntryKind
    source: str
    """`file#line`."""
    at_ms: int = 0
    """When, in ms since the epoch; 0: it does not say."""
    text: str = ""
    """Of a compaction the summary."""
    reasoning: str = ""
    calls: tuple[LoggedCall, ...] = ()
    response_id: str | None = None
    """By which the server knows the answer."""
    finish_reason: str | None = None
    is_failed: bool = False
    """The answer never came."""
    error: str = ""
    """Why it did not."""
    served_model: str | None = None
    requested_model: str | None = None
    """Which the agent says that it asked; None: it does not say."""
    usage: Mapping[str, int] | None = None
    """Of this answer alone, by the names of `schemas.run.step`, cached ones inside the input and
    reasoning inside the output; None: it does not say."""
    cost_usd: float | None = None
    call_id: str = ""
    """Of the call that a result belongs to."""
    is_error: bool = False
    exit_code: int | None = None
    duration_ms: int | None = None
    """Of a tool; None: it does not say."""
    tokens_before: int | None = None
    is_copied: bool = False
    """Taken over from an earlier session: nothing of it happened, or was paid for, here."""


@dataclass(frozen=True, slots=True)
class Trajectory:
    """What one agent did: the main one, or one that it started."""

    path: str
    entries: Sequence[Entry]


@dataclass(frozen=True, slots=True)
class AgentLog:
    """All that is known from a log."""

    trajectories: tuple[Trajectory, ...] = ()
    notes: tuple[str, ...] = ()
    """What could not be read, a sentence each."""

    @property
    def calls(self) -> Iterator[LoggedCall]:
        """Of all trajectories; none that was taken over from an earlier session."""
        for trajectory in self.trajectories:
            for entry in trajectory.entries:
                yield from () if entry.is_copied else entry.calls


def string(value: object) -> str:
    """Return a text, or an empty one for anything else."""
    return value if isinstance(value, str) else ""


def count(value: object) -> int:
    """Return a quantity that can be stored, or 0 for anything else."""
    if isinstance(value, bool) or not isinstance(value, int):
        return 0
    return value if 0 <= value <= MAX_QUANTITY else 0


def exit_code(value: object) -> int | None:
    """Return an exit code that can be stored; None: it is none."""
    if isinstance(value, bool) or not isinstance(value, int):
        return None
    return value if abs(value) < 2**31 else None


def milliseconds(value: object) -> int | None:
    """Return a time that a tool may have taken; None: it is none."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return round(value) if 0 <= value < 2**40 else None


def json_object(raw: bytes | str) -> dict[str, Any] | None:
    """Return a JSON object; None: it is none, or nested so deeply that a reader would refuse it.

    The reader of traces takes 200 levels, of which a trace's own are some; the writer takes 254.
    """
    try:
        found = orjson.loads(raw)
        if isinstance(found, dict):
            wrapped: Any = found
            for _ in range(SPARE_LEVELS):
                wrapped = [wrapped]
            orjson.dumps(wrapped)
            return found
    except (orjson.JSONDecodeError, TypeError):
        pass
    return None
