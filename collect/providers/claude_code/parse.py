"""From the lines that the Claude Code CLI writes (`--output-format stream-json`) to a Reply.

The first message of the stream is the answer. What the CLI makes of it afterwards is not: it asks
up to three more times when an answer was cut at max_tokens, once more when it held no text, takes
a stream without its end marker for whole, and its own result names the last block of text alone.
So a message that is cut or empty ends the CLI at once; of a good one its result is awaited, for
the tokens it counted and what they cost.

No time is read here: those are of the wire (`collect.providers.claude_wire`). The CLI's own ttft is
that of the first piece of thinking: 256 ms, measured against an endpoint that began to think at 250
and to answer at 300.
"""

from __future__ import annotations

import time
from typing import Any

import orjson
from pydantic import JsonValue

from collect.providers.base import Reply, ToolCall
from collect.providers.claude_code.process import Exit
from collect.providers.claude_failure import failure_of_exit, failure_of_result
from collect.providers.claude_usage import usage_of
from collect.providers.http_reply import no_end
from collect.providers.openai_chat_parse import usd_of

AFTER_S = 5.0
"""How long the CLI may take to say what an answer did cost, and to end."""

READ_S = 30.0
"""How long the CLI may take beyond that: it reads an answer once it is there as a whole."""

CUT = frozenset({"max_tokens", "model_context_window_exceeded"})
"""Stop reasons of an answer that is not whole."""


class ClaudeAnswer:
    """Collects one answer, line by line."""

    def __init__(self, timeout_s: float) -> None:
        """Begin.

        Args:
            timeout_s: how long the model may take, from the request on.
        """
        self._timeout_s = timeout_s
        self._has_asked = self._has_ended = False
        self._text: list[str] = []
        self._reasoning: list[str] = []
        self._calls: list[dict[str, str]] = []
        self._model: str | None = None
        self._stop_reason: str | None = None
        self._usage: dict[str, JsonValue] = {}
        self._result: dict[str, Any] | None = None
        self._retry_after_s: float | None = None
        self._started = False

    def add(self, line: bytes) -> float | None:
        """Take in a line; return how long the CLI may go on, if that changes.

        Lines that are not its own, and of kinds not known here, are passed over.
        """
        if not line.startswith(b"{"):
            return None
        try:
            data = orjson.loads(line)
        except orjson.JSONDecodeError:
            return None
        kind = data.get("type")
        if kind == "stream_event" and not self._has_ended:
            return self._event(_object(data.get("event")))
        if kind == "system" and data.get("status") == "requesting" and not self._has_asked:
            self._has_asked = True
            return self._timeout_s + READ_S
        if kind == "rate_limit_event":
            self._retry_after_s = _until_reset(_object(data.get("rate_limit_info")))
        if kind == "result":
            self._result = data
        return None

    def _event(self, event: dict[str, Any]) -> float | None:
        kind = event.get("type")
        if kind == "message_start":
            message = _object(event.get("message"))
            self._started = True
            self._model = _text(message.get("model")) or None
            self._usage.update(_object(message.get("usage")))
        elif kind == "content_block_start":
            block = _object(event.get("content_block"))
            if block.get("type") == "tool_use":
                call = {"id": _text(block.get("id")), "name": _text(block.get("name")), "json": ""}
                self._calls.append(call)
        elif kind == "content_block_delta":
            self._delta(_object(event.get("delta")))
        elif kind == "message_delta":
            self._stop_reason = _text(_object(event.get("delta")).get("stop_reason")) or None
            self._usage.update(_object(event.get("usage")))
            if self._stop_reason in CUT or (self._stop_reason and not self._holds_something()):
                self._has_ended = True
                return 0.0
        elif kind == "message_stop":
            self._has_ended = True
            return AFTER_S
        return None

    def _delta(self, delta: dict[str, Any]) -> None:
        if text := _text(delta.get("text")):
            self._text.append(text)
        self._reasoning.append(_text(delta.get("thinking")))
        if self._calls:
            self._calls[-1]["json"] += _text(delta.get("partial_json"))

    def _holds_something(self) -> bool:
        return bool(self._calls) or any(text.strip() for text in self._text)

    def reply(self, exit_: Exit, *, is_own_host: bool) -> Reply:
        """Return what the CLI brought.

        Args:
            exit_: how it ended.
            is_own_host: the endpoint is the vendor's; for any other the CLI makes a cost up.
        """
        result = self._result or {}
        reply = Reply(
            text="".join(self._text),
            reasoning="".join(self._reasoning),
            tool_calls=tuple(ToolCall(one["id"], one["name"], one["json"]) for one in self._calls),
            finish_reason=self._stop_reason,
            served_model=self._model,
            usage=usage_of(result.get("modelUsage"), self._usage if self._stop_reason else {}),
            cost_usd=usd_of(result, "total_cost_usd") if is_own_host else None,
            retry_after_s=self._retry_after_s,
            accepted=self._has_asked,
        )
        if self._has_ended:
            return _judged(reply)
        if exit_.ended_by_us and not exit_.too_much:
            limit = f"{self._timeout_s:g} s" if self._has_asked else "the time a start may take"
            message = f"no complete answer within {limit}"
            return reply.failed("timeout", error_code="timeout", error_message=message)
        if self._result is None:
            return failure_of_exit(reply, exit_)
        return no_end(reply) if self._started else failure_of_result(reply, self._result)


def _judged(reply: Reply) -> Reply:
    """Return a whole message as an answer, or as a failure of the model's."""
    if reply.finish_reason in CUT:
        message = "the answer was cut off at max_tokens or at the end of the context"
        return reply.failed("output_truncated", error_message=message)
    if reply.finish_reason == "tool_use":
        message = "the model asked for a tool where there is none, and for another turn"
        return reply.failed("max_turns_exceeded", error_message=message)
    if reply.text.strip():
        return reply
    return reply.failed("empty_response", error_message="the answer holds no text")


def _until_reset(info: dict[str, Any]) -> float | None:
    """Return the seconds until a limit that is used up begins anew."""
    resets_at = info.get("resetsAt")
    if info.get("status") != "rejected" or type(resets_at) is not int:
        return None
    return max(0.0, resets_at - time.time())


def _object(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""
