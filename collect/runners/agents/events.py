"""From an agent's log and the calls on the wire to the events of a trace, each answer once.

The wire knows when an answer came, what it cost and who gave it; the log knows what the agent did
with it. They meet by the id of the answer, else by its calls or its text. A call that belongs to no
entry (a summary, a title, a retry) is an event of its own.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from pydantic import JsonValue

from collect.config import ResolvedModel
from collect.runners.agents.wire import WireCall
from collect.runners.trace import Trace
from collect.runners.turns import note_reply, turn_facts
from schemas.base import MAX_QUANTITY
from schemas.formats.agent_logs.events import events_of, in_order, marks_of, said
from schemas.formats.agent_logs.log import AgentLog, Entry, LoggedCall, Trajectory

Note = Callable[[], None]
Sign = tuple[str, str | tuple[str, ...]]
"""By what an entry and a call are known to belong together."""

Timed = tuple[int, Note]
"""A moment in ms since the epoch, and what writes the events of it."""


def note_log(
    trace: Trace, log: AgentLog, calls: Sequence[WireCall], model: ResolvedModel
) -> int | None:
    """Write what happened in a trial into its trace, in the order of time.

    Args:
        trace: of the trial.
        log: that the agent has left.
        calls: of the agent to the model, in order.
        model: of the suite, for prices.

    Returns:
        The wall time of tools in ms; None: none was called.
    """
    notes = _Notes(trace, dict(enumerate(calls)), model)
    streams = [list(notes.of_trajectory(one)) for one in log.trajectories]
    streams.append(list(notes.rest()))
    for _, write in in_order(streams):
        write()
    for note in log.notes:
        trace.runner("session_unread", reason=note)
    trace.stamp()
    return notes.tool_ms


@dataclass
class _Notes:
    """Writes events, and knows which calls have found their entry."""

    trace: Trace
    calls: dict[int, WireCall]
    """By number, in order; those that have found their entry are gone."""
    model: ResolvedModel
    tool_ms: int | None = None
    _by_sign: dict[Sign, deque[int]] = field(default_factory=dict)
    """Numbers of calls: an agent can write a million messages."""

    def __post_init__(self) -> None:
        """Find the signs of each call."""
        for number, call in self.calls.items():
            reply = call.reply
            signs: list[Sign] = [("text", reply.text)]
            signs.append(("calls", tuple(one.call_id for one in reply.tool_calls)))
            if call.response_id is not None:
                signs.append(("id", call.response_id))
            if reply.failure_type is not None:
                signs.append(("failed", ""))
            for sign in signs:
                self._by_sign.setdefault(sign, deque()).append(number)

    def of_trajectory(self, trajectory: Trajectory) -> Iterator[Timed]:
        """Yield what the entries of a trajectory say."""
        asked = 0
        for entry in trajectory.entries:
            marks = marks_of(entry, trajectory.path)
            moment = entry.at_ms
            if entry.kind == "assistant":
                call = None if entry.is_copied else self._call_of(entry)
                asked = moment if call is None else call.ended_ms
                yield asked, self._answer(entry, call, asked, marks)
            else:
                yield moment, self._noted(entry, moment, asked, marks)

    def rest(self) -> Iterator[Timed]:
        """Yield the calls that belong to no entry."""
        for call in list(self.calls.values()):
            yield call.ended_ms, self._answer(None, call, call.ended_ms, {})

    def _call_of(self, entry: Entry) -> WireCall | None:
        """Return the call that an answer came from, which is taken then."""
        ids = tuple(one.call_id for one in entry.calls)
        signs: list[Sign] = [] if entry.response_id is None else [("id", entry.response_id)]
        if ids:
            signs.append(("calls", ids))
        elif entry.text:
            signs.append(("text", entry.text))
        if entry.is_failed:
            signs.append(("failed", ""))
        for sign in signs:
            numbers = self._by_sign.get(sign, deque())
            while numbers:
                if (call := self.calls.pop(numbers.popleft(), None)) is not None:
                    return call
        return None

    def _answer(
        self,
        entry: Entry | None,
        call: WireCall | None,
        moment: int,
        marks: dict[str, JsonValue],
    ) -> Note:
        def write() -> None:
            trace = self.trace
            trace.stamp(moment, marks)
            if call is None:
                if entry is not None:
                    trace.add(events_of(entry))
                return
            note_reply(trace, call.reply, turn_facts(call.reply, self.model))
            raw = {one.call_id: one.arguments for one in call.reply.tool_calls}
            if entry is None:  # the log has nothing of it
                calls = [LoggedCall(one.call_id, one.name, None) for one in call.reply.tool_calls]
                trace.add(said(call.reply.text, calls, raw))
            else:
                trace.add(said(entry.text, entry.calls, raw))

        return write

    def _noted(self, entry: Entry, moment: int, asked: int, marks: dict[str, JsonValue]) -> Note:
        took_ms = None
        if entry.kind == "tool_result":
            took_ms = entry.duration_ms
            if took_ms is None and moment and asked:
                took_ms = min(max(0, moment - asked), MAX_QUANTITY)
            if not entry.is_copied:
                self.tool_ms = (self.tool_ms or 0) + (took_ms or 0)

        def write() -> None:
            self.trace.stamp(moment, marks)
            self.trace.add(events_of(entry, took_ms))

        return write
