"""The events of one trace to rows of steps and of their text.

A trace may be another tool's, so nothing of an event is taken for granted: a value of the wrong
type or out of range is null, an event of an unknown kind is no step. What an answer cost in tokens,
money and time stands in the event of the reply, and belongs to the message that follows it; an
answer without a text is a message of no length.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import orjson

from schemas.base import MAX_QUANTITY
from schemas.io.normal_text import NORM_VERSION, normal_text
from schemas.lake.rows.tool_effects import act_of
from schemas.run.result import cut
from schemas.run.step import MAIN, MAX_TEXT_BYTES, Step

Row = dict[str, Any]

EMPTY: Row = dict.fromkeys(Step.model_fields)

MAX_TIME_MS = 2**53
MAX_EXIT = 2**31
MAX_USD = 1e6

MAX_PART = 4_000
"""Steps that are Python objects at one moment, some KB each."""

SHORT = 256
"""Characters of a name that are kept."""

ROLES = frozenset({"system", "user", "assistant", "tool"})

TOKENS = (
    "input_tokens",
    "cached_input_tokens",
    "cache_write_tokens",
    "output_tokens",
    "reasoning_tokens",
)

COST_SOURCES = frozenset({"provider", "computed"})

CODE = r"(?<![.\w])(?<!\w:)%s\b"
"""The status of an answer, and no number of a line: `file.py:429`."""

BUSY = re.compile(rf"{CODE % 429}|too many requests|rate.?limit", re.IGNORECASE)
DOWN = re.compile(rf"{CODE % 503}|service unavailable|overloaded", re.IGNORECASE)
"""In what a tool says of its error: an attempt may be made again."""

SAID_BUSY = re.compile(r"429[^\n]{0,9}too many requests|returned error: 429", re.IGNORECASE)
SAID_DOWN = re.compile(
    r"503[^\n]{0,9}service (?:temporarily )?unavailable|returned error: 503", re.IGNORECASE
)
"""The same of a command, whose output may speak of anything: in the words of HTTP and of curl."""

MARKS = frozenset({"compaction", "limit", "error"})
"""Events of a runner that are steps under their own name."""


def steps_of(
    events: Sequence[object],
    source: str,
    models: tuple[str | None, str | None],
    most: int = MAX_PART,
) -> Iterator[Steps]:
    """Yield the steps of a trace, in its order, a part at a time.

    Args:
        events: of the trace, as they were read.
        source: where it was read: file#offset.
        models: that was asked for, and that served the trial as its result says.
        most: steps of a part.
    """
    known = [event for event in events if isinstance(event, dict)]
    steps = TraceSteps(source, models, has_replies=any(map(_is_reply, known)))
    for event in known:
        steps.take(event)
        if len(steps.made.rows) >= most:
            yield steps.hand_over()
    steps.end()
    yield steps.hand_over()


class Steps(NamedTuple):
    """Rows of steps that follow each other, and their texts."""

    rows: list[Row]
    texts: list[tuple[int, str, bool]]
    """Number of the step, its text, and whether that was cut."""


class TraceSteps:
    """The steps of a trace while its events are read.

    Args:
        source: where the trace lies.
        models: that was asked for, and that served the trial.
        has_replies: its runner noted every answer of the model as an event; else turns are told
            from what follows on what.
    """

    def __init__(
        self, source: str, models: tuple[str | None, str | None], *, has_replies: bool
    ) -> None:
        self.made = Steps([], [])
        """Since the last part was handed over."""
        self._n_steps = 0
        self._source = source
        self._requested, self._served = models
        self._has_replies = has_replies
        self._turns: dict[str, int] = {}
        self._said: dict[str, str | None] = {}
        """By trajectory: kind of its last step, where that is part of an answer of the model."""
        self._calls: dict[str, str] = {}
        """Tools by call_id."""
        self._replies: dict[str, tuple[Mapping[str, Any], Row]] = {}
        """By trajectory: event and facts of an answer whose message has not come yet."""
        self._final: Mapping[str, Any] | None = None
        self._has_answer = False
        """Of the agent that was asked; those that it started answer to it."""
        self._has_text = False

    def take(self, event: Mapping[str, Any]) -> None:
        """Take the next event in."""
        kind = event.get("event_type")
        read = READERS.get(kind) if isinstance(kind, str) else None
        if read is not None:
            read(self, event, _name(event.get("trajectory")) or MAIN)

    def end(self) -> None:
        """Write down what is still open; a final output stands for messages that nobody noted."""
        if self._final is not None:
            is_answered = self._has_answer or MAIN in self._replies
            if not is_answered or (not self._has_text and _text(self._final.get("content"))):
                self._message({**self._final, "role": "assistant"}, MAIN)
        for path in list(self._replies):
            self._flush(path)

    def hand_over(self) -> Steps:
        """Return the steps since the last part."""
        part, self.made = self.made, Steps([], [])
        return part

    def _message(self, event: Mapping[str, Any], path: str) -> None:
        role = _name(event.get("role"))
        text = _text(event.get("content"))
        if role != "assistant":
            self._add("message", event, path, text, role=role if role in ROLES else None)
            self._said[path] = None
        elif event.get("name") == "reasoning":
            self._begin_turn(path, "reasoning")
            self._add("reasoning", event, path, text, role=role)
        else:
            self._begin_turn(path, "message")
            if path == MAIN and self._turns.get(path):
                self._has_answer, self._has_text = True, self._has_text or bool(text)
            _, facts = self._replies.pop(path, (event, {}))
            self._add("message", event, path, text, role=role, **facts)

    def _begin_turn(self, path: str, kind: str) -> None:
        """Count a turn where a part of an answer begins one, and no event of a reply says so."""
        last = self._said.get(path)
        is_new = last is None if kind == "tool_call" else last != "reasoning"
        if is_new and not self._has_replies:
            self._turns[path] = self._turns.get(path, 0) + 1
        self._said[path] = kind

    def _flush(self, path: str) -> None:
        """Write an answer down whose text never came."""
        if path in self._replies:
            event, facts = self._replies.pop(path)
            self._has_answer |= path == MAIN
            self._add("message", event, path, "", role="assistant", **facts)

    def _tool_call(self, event: Mapping[str, Any], path: str) -> None:
        self._flush(path)
        self._begin_turn(path, "tool_call")
        raw = _text(event.get("raw_arguments"))
        tool, call_id = _name(event.get("tool_name")), _name(event.get("call_id"))
        if call_id is not None and tool is not None:
            self._calls[call_id] = tool
        parsed = event.get("parsed_arguments")
        act = act_of(tool or "", _object(raw) if parsed is None else parsed)
        self._add(
            "tool_call", event, path, raw,
            tool=tool,
            call_id=call_id,
            effect="wait" if event.get("is_polling") is True else act.effect,
            target_hash=None if act.path is None else hash_of(act.path),
            args_hash=hash_of(raw),
            text_hash=None,
        )  # fmt: skip

    def _tool_result(self, event: Mapping[str, Any], path: str) -> None:
        self._flush(path)
        self._said[path] = None
        output, shown = event.get("output"), event.get("shown")
        kept = output if isinstance(output, str) else _json(output)
        call_id, ended_by = _name(event.get("call_id")), _name(event.get("ended_by"))
        exit_code = _number(event.get("exit_code"), -MAX_EXIT, MAX_EXIT)
        is_limited = ended_by not in {None, "exit"}
        is_error = event.get("status") == "error" or exit_code not in {None, 0} or is_limited
        error_class = ended_by if is_limited else _error_of(kept, exit_code) if is_error else None
        took, ended = _number(event.get("duration_ms")), _time(event.get("at_ms"))
        size, truncated = len(kept.encode()), event.get("truncated")
        produced, stored = _number(event.get("produced_bytes")), _number(event.get("stored_bytes"))
        self._add(
            "tool_result", event, path, shown if isinstance(shown, str) else kept,
            tool=self._calls.get(call_id or ""),
            call_id=call_id,
            result_hash=hash_of(kept),
            result_norm_hash=_hash(normal_text(kept)),
            norm_version=NORM_VERSION,
            text_hash=None,
            produced_bytes=size if produced is None else produced,
            stored_bytes=size if stored is None else stored,
            shown_bytes=_number(event.get("shown_bytes")),
            truncated=truncated if isinstance(truncated, bool) else None,
            is_error=is_error,
            error_class=error_class,
            exit_code=exit_code,
            duration_ms=took,
            started_at_ms=_before(ended, took),
            ended_at_ms=ended,
        )  # fmt: skip

    def _final_output(self, event: Mapping[str, Any], _: str) -> None:
        self._final = event

    def _runner(self, event: Mapping[str, Any], path: str) -> None:
        name, given = _name(event.get("name")), event.get("detail")
        detail: Mapping[str, Any] = given if isinstance(given, dict) else {}
        if name == "provider_reply":
            self._flush(path)
            self._turns[path] = self._turns.get(path, 0) + 1
            self._replies[path] = event, _reply(event, detail)
        elif name in {"provider_error", "retry_scheduled"}:
            self._flush(path)
            self._add(
                "error", event, path, _text(detail.get("error_message")),
                **_reply(event, detail),
                is_error=True,
                error_class=_name(detail.get("failure_type")),
                wait_ms=_number(detail.get("wait_ms")),
            )  # fmt: skip
        elif name == "final_answer_forced":
            self._flush(path)
            self._add("limit", event, path, "", error_class="max_turns")
        elif name in MARKS:
            self._flush(path)
            said = detail.get("limit") or detail.get("failure_type")
            self._add(
                name, event, path, _json(detail),
                is_error=name == "error",
                error_class=_name(said),
            )  # fmt: skip

    def _add(self, kind: str, event: Mapping[str, Any], path: str, text: str, **facts: Any) -> None:
        at, ended = _time(event.get("at_ms")), _time(event.get("ended_at_ms"))
        size = len(text.encode())
        self._n_steps += 1
        row = EMPTY.copy()
        row.update(
            trajectory=path,
            step_no=self._n_steps,
            turn_no=self._turns.get(path, 0),
            kind=kind,
            requested_model=self._requested,
            text_hash=hash_of(text) if text else None,
            produced_bytes=size,
            stored_bytes=size,
            is_error=False,
            started_at_ms=at,
            ended_at_ms=at if ended is None else ended,
            is_copied_context=event.get("is_copied_context") is True,
            source=_name(event.get("source"), 4 * SHORT) or self._source,
        )
        row.update(facts)
        if row["role"] == "assistant" and row["turn_no"] and row["served_model"] is None:
            row["served_model"] = self._served
        self.made.rows.append(row)
        if text:
            self.made.texts.append((self._n_steps, *cut(text, MAX_TEXT_BYTES)))


READERS: Mapping[str, Callable[[TraceSteps, Mapping[str, Any], str], None]] = {
    "message": TraceSteps._message,
    "tool_call": TraceSteps._tool_call,
    "tool_result": TraceSteps._tool_result,
    "runner": TraceSteps._runner,
    "final_output": TraceSteps._final_output,
}
"""By the type of the event."""


def _is_reply(event: Mapping[str, Any]) -> bool:
    return event.get("event_type") == "runner" and event.get("name") == "provider_reply"


def _reply(event: Mapping[str, Any], detail: Mapping[str, Any]) -> Row:
    """Return what the event of a reply says of tokens, money and time."""
    given = detail.get("usage")
    usage: Mapping[str, Any] = given if isinstance(given, dict) else {}
    tokens = {name: _number(usage.get(name)) for name in TOKENS}
    cost, source = _usd(detail.get("cost_usd")), _name(detail.get("cost_source"))
    has_tokens = any(one is not None for one in tokens.values())
    is_counted = has_tokens or cost is not None
    cached, counts = _name(usage.get("usage_cached")), _name(usage.get("usage_counts"))
    took, ended = _number(detail.get("e2e_ms")), _time(event.get("at_ms"))
    asked = _name(detail.get("requested_model"))
    return {
        **tokens,
        **({} if asked is None else {"requested_model": asked}),
        "served_model": _name(detail.get("served_model")),
        "usage_cached": cached if cached in {"inside", "beside"} and has_tokens else None,
        "usage_counts": counts if counts in {"delta", "cumulative"} and is_counted else None,
        "cost_usd": cost,
        "cost_source": source if cost is not None and source in COST_SOURCES else None,
        "started_at_ms": _before(ended, took),
        "ended_at_ms": ended,
        "duration_ms": took,
        "is_copied_context": event.get("is_copied_context") is True,
    }


def hash_of(text: str) -> str:
    """Return the first 16 hex digits of the sha256 of a text."""
    return _hash(text.encode())


def _hash(raw: bytes) -> str:
    return hashlib.sha256(raw).hexdigest()[:16]


def _error_of(said: str, exit_code: int | None) -> str:
    head = said[:1_000]
    is_command = exit_code not in {None, 0}
    busy, down = (SAID_BUSY, SAID_DOWN) if is_command else (BUSY, DOWN)
    if busy.search(head):
        return "rate_limited"
    if down.search(head):
        return "unavailable"
    return "exit_code" if is_command else "tool_error"


def _number(value: object, least: int = 0, most: int = MAX_QUANTITY) -> int | None:
    is_number = isinstance(value, int) and not isinstance(value, bool)
    return value if is_number and least <= value <= most else None  # type: ignore[operator,return-value]


def _usd(value: object) -> float | None:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return float(value) if is_number and 0 <= value <= MAX_USD else None  # type: ignore[operator,arg-type]


def _time(value: object) -> int | None:
    return _number(value, 0, MAX_TIME_MS)


def _before(ended: int | None, took: int | None) -> int | None:
    return None if ended is None else max(0, ended - (took or 0))


def _name(value: object, most: int = SHORT) -> str | None:
    if not isinstance(value, str) or not value:
        return None
    return value[:most]


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _json(value: object) -> str:
    try:
        return orjson.dumps(value).decode()
    except TypeError:  # nested more deeply than any writer of ours goes
        return ""


def _object(raw: str) -> object:
    try:
        return orjson.loads(raw)
    except ValueError:
        return None
