"""From a session and the calls on the wire to the events of a trace, each answer once.

The wire knows when an answer came, what it cost and who gave it; the session knows what the agent
did with it. They meet by the id of the answer, else by its calls or its text. A call that belongs
to no message (a summary, a title, a retry) is an event of its own.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from operator import itemgetter
from typing import Any

import orjson
from pydantic import JsonValue

from collect.config import ResolvedModel
from collect.runners.openclaw.session import Line, Session, Sessions
from collect.runners.openclaw.wire import WireCall
from collect.runners.trace import Trace
from collect.runners.turns import note_reply, turn_facts
from schemas.base import MAX_QUANTITY

MAIN = "main"

COPIED_MS = 1_000
"""A message so much older than its session was taken over from another one."""

FAILED = frozenset({"error", "aborted"})
"""How openclaw says that an answer never came."""

Note = Callable[[], None]
Sign = tuple[str, str | tuple[str, ...]]
"""By what a message and a call are known to belong together."""

Timed = tuple[int, Note]
"""A moment in ms since the epoch, and what writes the events of it."""


def note_session(
    trace: Trace, sessions: Sessions, calls: Sequence[WireCall], model: ResolvedModel
) -> int | None:
    """Write what happened in a trial into its trace, in the order of time.

    Args:
        trace: of the trial.
        sessions: that the agent has left.
        calls: of the agent to the model, in order.
        model: of the suite, for prices.

    Returns:
        The wall time of tools in ms; None: none was called.
    """
    notes = _Notes(trace, dict(enumerate(calls)), model)
    paths = {} if sessions.main is None else {sessions.main.session_id: MAIN}
    streams = []
    for session in (*([] if sessions.main is None else [sessions.main]), *sessions.others):
        if session.parent is not None:
            paths[session.session_id] = f"{paths.get(session.parent, MAIN)}/{session.session_id}"
        streams.append(list(_in_order(notes.of_session(session, paths[session.session_id]))))
    streams.append(list(_in_order(notes.rest())))
    for _, write in heapq.merge(*streams, key=itemgetter(0)):
        write()
    for note in sessions.notes:
        trace.runner("session_unread", reason=note)
    trace.stamp()
    return notes.tool_ms


def _in_order(events: Iterable[Timed]) -> Iterator[Timed]:
    """Yield events whose moments never go back: their order is what is known best."""
    latest = 0
    for moment, write in events:
        latest = max(latest, moment)
        yield latest, write


@dataclass
class _Notes:
    """Writes events, and knows which calls have found their message."""

    trace: Trace
    calls: dict[int, WireCall]
    """By number, in order; those that have found their message are gone."""
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

    def of_session(self, session: Session, path: str) -> Iterator[Timed]:
        """Yield what the lines of a session say."""
        began, asked = _moment(session.lines[0]) if session.lines else 0, 0
        for number, line in enumerate(session.lines, start=1):
            moment = _moment(line)
            kind, message = line.get("type"), line.get("message")
            marks: dict[str, JsonValue] = {"source": f"{session.source}#{number}"}
            if path != MAIN:
                marks["trajectory"] = path
            if moment < began - COPIED_MS:
                marks["is_copied_context"] = True
            if kind == "compaction":
                yield moment, self._compaction(line, moment, marks)
            elif kind == "message" and isinstance(message, dict):
                role = message.get("role")
                if role == "assistant":
                    is_copied = "is_copied_context" in marks
                    call = None if is_copied else self._call_of(message)
                    asked = moment if call is None else call.ended_ms
                    yield asked, self._answer(message, call, asked, marks)
                elif role == "toolResult":
                    yield moment, self._result(message, moment, asked, marks)
                else:
                    yield moment, self._message(message, moment, marks)

    def rest(self) -> Iterator[Timed]:
        """Yield the calls that belong to no message."""
        for call in list(self.calls.values()):
            yield call.ended_ms, self._answer({}, call, call.ended_ms, {})

    def _call_of(self, message: Mapping[str, Any]) -> WireCall | None:
        """Return the call that an answer came from, which is taken then."""
        name, ids = message.get("responseId"), tuple(one[0] for one in _calls_in(message))
        text = _text_of(message)
        signs: list[Sign] = [("id", name)] if isinstance(name, str) else []
        if ids:
            signs.append(("calls", ids))
        elif text:
            signs.append(("text", text))
        if _is_failed(message):
            signs.append(("failed", ""))
        for sign in signs:
            numbers = self._by_sign.get(sign, deque())
            while numbers:
                if (call := self.calls.pop(numbers.popleft(), None)) is not None:
                    return call
        return None

    def _answer(
        self,
        message: Mapping[str, Any],
        call: WireCall | None,
        moment: int,
        marks: dict[str, JsonValue],
    ) -> Note:
        def write() -> None:
            trace = self.trace
            trace.stamp(moment, marks)
            said, asked = _text_of(message), _calls_in(message)
            if call is not None:
                note_reply(trace, call.reply, turn_facts(call.reply, self.model))
                raw = {one.call_id: one.arguments for one in call.reply.tool_calls}
                if not message:  # the session has nothing of it
                    said = call.reply.text
                    asked = [(one.call_id, one.name, None) for one in call.reply.tool_calls]
            else:
                raw = {}
                self._untimed(message)
            if said:
                trace.message("assistant", said)
            for call_id, name, arguments in asked:
                text = raw.get(call_id)
                text = orjson.dumps(arguments).decode() if text is None else text
                parsed = {} if arguments is None else {"parsed_arguments": arguments}
                trace.tool_call(call_id, name, text, **parsed)

        return write

    def _untimed(self, message: Mapping[str, Any]) -> None:
        """Note an answer that was not seen on the wire, by what the session says of it."""
        if _is_failed(message):
            what = _string(message.get("errorMessage")) or "openclaw has no answer"
            self.trace.runner("error", failure_type="agent_error", error_message=what)
            return
        usage = message.get("usage")
        counts = usage if isinstance(usage, dict) else {}
        sent = [_count(counts.get(name)) for name in ("input", "cacheRead", "cacheWrite")]
        used: dict[str, JsonValue] = {}
        if any(sent) or _count(counts.get("output")):
            used = {
                "usage": {
                    "input_tokens": sum(sent),
                    "cached_input_tokens": sent[1],
                    "cache_write_tokens": sent[2],
                    "output_tokens": _count(counts.get("output")),
                    "usage_cached": "inside",
                    "usage_counts": "delta",
                }
            }
        finish = _string(message.get("stopReason")) or None
        self.trace.runner("provider_reply", finish_reason=finish, **used)

    def _result(
        self, message: Mapping[str, Any], moment: int, asked: int, marks: dict[str, JsonValue]
    ) -> Note:
        details = message.get("details")
        known = details if isinstance(details, dict) else {}
        took = known.get("durationMs")
        took_ms = min(max(0, moment - asked), MAX_QUANTITY)
        if isinstance(took, int | float) and not isinstance(took, bool) and 0 <= took < 2**40:
            took_ms = round(took)
        if "is_copied_context" not in marks:
            self.tool_ms = (self.tool_ms or 0) + took_ms
        code = known.get("exitCode")
        facts: dict[str, JsonValue] = {"duration_ms": took_ms}
        if isinstance(code, int) and not isinstance(code, bool) and abs(code) < 2**31:
            facts["exit_code"] = code

        def write() -> None:
            self.trace.stamp(moment, marks)
            self.trace.tool_result(
                _string(message.get("toolCallId")),
                _text_of(message),
                is_error=message.get("isError") is True,
                **facts,
            )

        return write

    def _message(
        self, message: Mapping[str, Any], moment: int, marks: dict[str, JsonValue]
    ) -> Note:
        role = "system" if message.get("role") == "system" else "user"

        def write() -> None:
            self.trace.stamp(moment, marks)
            self.trace.message("system" if role == "system" else "user", _text_of(message))

        return write

    def _compaction(self, line: Line, moment: int, marks: dict[str, JsonValue]) -> Note:
        facts: dict[str, JsonValue] = {"summary": _string(line.get("summary"))}
        if before := _count(line.get("tokensBefore")):
            facts["tokens_before"] = before

        def write() -> None:
            self.trace.stamp(moment, marks)
            self.trace.runner("compaction", **facts)

        return write


def _moment(line: Line) -> int:
    """Return when a line was written, in ms since the epoch; 0: it does not say."""
    message = line.get("message")
    if isinstance(message, dict) and message.get("role") != "assistant":
        at = message.get("timestamp")
        if isinstance(at, int) and not isinstance(at, bool) and 0 <= at < 2**53:
            return at
    try:
        return max(0, round(datetime.fromisoformat(str(line.get("timestamp"))).timestamp() * 1000))
    except (ValueError, OverflowError):
        return 0


def _is_failed(message: Mapping[str, Any]) -> bool:
    return _string(message.get("stopReason")) in FAILED


def _parts(message: Mapping[str, Any], kind: str) -> Iterator[Mapping[str, Any]]:
    content = message.get("content")
    for part in content if isinstance(content, list) else ():
        if isinstance(part, dict) and part.get("type") == kind:
            yield part


def _text_of(message: Mapping[str, Any]) -> str:
    content = message.get("content")
    if isinstance(content, str):
        return content
    return "\n".join(_string(part.get("text")) for part in _parts(message, "text"))


def _calls_in(message: Mapping[str, Any]) -> list[tuple[str, str, JsonValue]]:
    """Return id, tool and arguments of each call."""
    return [
        (_string(part.get("id")), _string(part.get("name")), part.get("arguments", {}))
        for part in _parts(message, "toolCall")
    ]


def _string(value: object) -> str:
    return value if isinstance(value, str) else ""


def _count(value: object) -> int:
    is_number = isinstance(value, int) and not isinstance(value, bool)
    return value if is_number and 0 <= value <= MAX_QUANTITY else 0  # type: ignore[operator,return-value]
