"""Session files of Codex (`rollout-*.jsonl`) as entries: each answer has its own tokens there.

An answer is what came of one request: thoughts, texts and calls in a row. `token_usage_record`
ends it, by the server's id; older versions have `token_count` alone, which says what the last
request used. A `token_count` whose total has not grown is about something else. The oldest have a
line about the session and then the items as they are, without times and tokens.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from schemas.formats.agent_logs.lines import (
    Line,
    arguments_of,
    counts_of,
    fields,
    members,
    moment,
    text_of,
)
from schemas.formats.agent_logs.log import (
    Entry,
    LoggedCall,
    count,
    exit_code,
    json_object,
    milliseconds,
    string,
)

OF_USAGE = {
    "input_tokens": "input_tokens",
    "cached_input_tokens": "cached_input_tokens",
    "cache_write_input_tokens": "cache_write_tokens",
    "output_tokens": "output_tokens",
    "reasoning_output_tokens": "reasoning_tokens",
}
"""Cached ones are inside the input, reasoning inside the output."""

EXITED = re.compile(r"^(?:Process exited with code|Exit code:) (-?\d{1,10})$", re.MULTILINE)

COPIED_MS = 1_000
"""A line so much older than its session was taken over from another one."""


@dataclass(slots=True)
class _Answer:
    """An answer while its lines are read."""

    marks: dict[str, Any]
    said: list[str] = field(default_factory=list)
    thought: list[str] = field(default_factory=list)
    calls: list[LoggedCall] = field(default_factory=list)
    usage: dict[str, int] | None = None
    response_id: str | None = None

    def entry(self) -> Entry:
        return Entry(
            kind="assistant",
            text="\n".join(one for one in self.said if one),
            reasoning="\n".join(one for one in self.thought if one),
            calls=tuple(self.calls),
            usage=self.usage,
            response_id=self.response_id,
            **self.marks,
        )


class Rollout:
    """The entries of one session while its lines are read."""

    def __init__(self) -> None:
        """Begin without any."""
        self.session_id = ""
        self.parent_id: str | None = None
        """The session that started it."""
        self._items: list[Entry | _Answer] = []
        self._open: _Answer | None = None
        self._unpaid: _Answer | None = None
        """The last answer whose tokens are not known."""
        self._total: dict[str, int] = {}
        """As `token_count` said it last."""
        self._has_records = False
        self._ended: dict[str, tuple[int | None, int | None]] = {}
        """Exit code and time of commands, by call."""
        self._began = 0
        self._model: str | None = None
        """Which the turn asks."""

    def take(self, source: str, line: Line) -> None:
        """Take a line in."""
        at = moment(line.get("timestamp"))
        marks: dict[str, Any] = {"source": source, "at_ms": at}
        marks["is_copied"] = 0 < at < self._began - COPIED_MS
        payload = fields(line.get("payload"))
        match line.get("type"):
            case "session_meta":
                self._meta(payload, at)
            case "response_item":
                self._item(payload, marks)
            case "token_usage_record":
                self._has_records = True
                self._paid(payload.get("usage"), string(payload.get("response_id")), marks)
            case "compacted":
                self._close()
                text = string(payload.get("message"))
                self._items.append(Entry(kind="compaction", text=text, **marks))
            case "turn_context":
                self._model = string(payload.get("model")) or self._model
            case "event_msg":
                self._event(payload, marks)
            case _ if is_of_oldest(line):
                self._oldest(line, marks)

    def entries(self) -> Iterator[Entry]:
        """Yield what was read."""
        for item in self._items:
            if isinstance(item, _Answer):
                yield item.entry()
            elif item.kind == "tool_result" and item.call_id in self._ended:
                code, took = self._ended[item.call_id]
                code = item.exit_code if code is None else code
                took = item.duration_ms if took is None else took
                yield replace(
                    item, exit_code=code, duration_ms=took, is_error=code not in (None, 0)
                )
            else:
                yield item

    def _meta(self, payload: Line, at: int) -> None:
        if not self.session_id:
            self.session_id = string(payload.get("id"))
            if isinstance(payload.get("source"), dict):
                self.parent_id = string(payload.get("parent_thread_id"))
            self._began = at

    def _oldest(self, line: Line, marks: dict[str, Any]) -> None:
        if "type" in line:
            self._item(line, marks)
        else:
            self._meta(line, marks["at_ms"])

    def _item(self, item: Line, marks: dict[str, Any]) -> None:
        kind = string(item.get("type"))
        if kind == "message" and item.get("role") != "assistant":
            self._close()
            if text := text_of(item.get("content")):
                entry_kind = "user" if _is_of_user(item) else "system"
                self._items.append(Entry(kind=entry_kind, text=text, **marks))  # type: ignore[arg-type]
        elif kind in ("message", "reasoning"):
            answer = self._answer(marks)
            answer.said.append(text_of(item.get("content")) if kind == "message" else "")
            if kind == "reasoning":
                answer.thought += [text_of(item.get("summary")), text_of(item.get("content"))]
        elif kind.endswith("_call"):
            self._answer(marks).calls.append(_call(kind, item))
        elif kind.endswith("_call_output"):
            self._close()
            self._items.append(_result(item, marks))

    def _answer(self, marks: dict[str, Any]) -> _Answer:
        if self._open is None:
            self._open = self._unpaid = self._begun(marks)
            self._items.append(self._open)
        return self._open

    def _begun(self, marks: dict[str, Any]) -> _Answer:
        return _Answer({**marks, "requested_model": self._model})

    def _close(self) -> None:
        self._open = None

    def _paid(self, usage: object, name: str, marks: dict[str, Any]) -> None:
        """Note what an answer used; one of which there is nothing else is an answer too."""
        answer = self._unpaid or self._begun(marks)
        if self._unpaid is None:
            self._items.append(answer)
        answer.usage = counts_of(usage, OF_USAGE) or None
        answer.response_id = name or None
        self._open = self._unpaid = None

    def _event(self, event: Line, marks: dict[str, Any]) -> None:
        match event.get("type"):
            case "token_count":
                info = fields(event.get("info"))
                total = counts_of(info.get("total_token_usage"), OF_USAGE)
                last = info.get("last_token_usage")
                if not self._has_records and total != self._total and isinstance(last, dict):
                    self._paid(last, "", marks)
                    self._total = total
            case "item_completed":
                item = fields(event.get("item"))
                if item.get("type") == "CommandExecution":
                    self._ran(string(item.get("id")), item)
            case "exec_command_end":
                self._ran(string(event.get("call_id")), event)
            case "task_complete" | "turn_aborted" | "error" as kind:
                self._close()
                self._unpaid = None
                failure = fields(event.get("error")) or (event if kind == "error" else {})
                what = string(failure.get("message"))
                if kind == "turn_aborted":
                    what = f"the turn was ended: {string(event.get('reason'))}"
                if what:
                    known = {**marks, "requested_model": self._model}
                    self._items.append(Entry(kind="error", error=what, **known))

    def _ran(self, call_id: str, command: Line) -> None:
        took = fields(command.get("duration"))
        seconds, nanos = count(took.get("secs")), count(took.get("nanos"))
        took_ms = milliseconds(seconds * 1000 + nanos / 1e6) if took else None
        self._ended[call_id] = exit_code(command.get("exit_code")), took_ms


def is_of_oldest(line: Line) -> bool:
    """Return whether a line is one of a session file of the first versions, without an envelope."""
    if "payload" in line:
        return False
    if "type" not in line:
        return isinstance(line.get("id"), str) and "timestamp" in line
    kind = string(line.get("type"))
    return kind in ("message", "reasoning") or kind.endswith(("_call", "_call_output"))


def _is_of_user(item: Line) -> bool:
    """Return whether somebody said it; what surrounds the agent is told in the user's name too."""
    if item.get("role") != "user":
        return False
    about = fields(item.get("internal_chat_message_metadata_passthrough"))
    provenances = [
        fields(one.get("provenance")).get("type")
        for one in members(about.get("content_item_metadata"))
    ]
    if provenances:
        return "user" in provenances
    return not text_of(item.get("content")).lstrip().startswith("<environment_context>")


def _call(kind: str, item: Line) -> LoggedCall:
    call_id = string(item.get("call_id")) or string(item.get("id"))
    if kind == "function_call":
        arguments = arguments_of(item.get("arguments"))
        return LoggedCall(call_id, string(item.get("name")), arguments)
    if kind == "custom_tool_call":
        return LoggedCall(call_id, string(item.get("name")), {"input": item.get("input")})
    return LoggedCall(call_id, kind.removesuffix("_call"), item.get("action"))


def _result(item: Line, marks: Mapping[str, Any]) -> Entry:
    output = item.get("output")
    text = text_of(output) or text_of(fields(output).get("content"))
    code = EXITED.search(text[:1_000])
    exited = None if code is None else exit_code(int(code[1]))
    took = None
    if text.startswith('{"output":') and (older := json_object(text)) is not None:
        about = fields(older.get("metadata"))
        text, exited = string(older["output"]), exit_code(about.get("exit_code"))
        seconds = milliseconds(about.get("duration_seconds"))
        took = None if seconds is None else milliseconds(about["duration_seconds"] * 1000)
    return Entry(
        kind="tool_result",
        text=text,
        call_id=string(item.get("call_id")),
        exit_code=exited,
        duration_ms=took,
        is_error=exited not in (None, 0),
        **marks,
    )
