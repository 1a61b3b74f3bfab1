"""POST {base_url}/v1/messages: Anthropic's API, which llama.cpp, Ollama, vLLM and others speak too.

A system prompt stands apart from the conversation, an answer is blocks, and an answer has to be
limited. Cached tokens are beside the input there; ours are inside. Thoughts that a server has
signed are sent back before the calls that came of them, as it wants them.

Events are told apart by the `type` in their data, and unknown ones are passed over, since the API
grows; `message_stop` ends a good stream.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any, ClassVar

import orjson
from pydantic import JsonValue

from collect.http_client import Exchange
from collect.providers import http_reply
from collect.providers.base import Reply, Request, ToolCall, Usage
from collect.providers.http import OverHttp, events
from collect.providers.tool_wire import arguments_text, block_messages, block_tools

API_VERSION = "2023-06-01"

END = re.compile(rb'\ndata: ?\{ ?"type": ?"message_stop"[^\r\n]*\r?\n\r?\n')
"""What ends a stream: its last event, as a whole."""

REFUSALS = {
    "invalid_request_error": "http_400",
    "authentication_error": "http_401",
    "permission_error": "http_403",
    "not_found_error": "http_404",
    "request_too_large": "http_413",
    "rate_limit_error": "http_429",
    "api_error": "http_500",
    "timeout_error": "http_504",
    "overloaded_error": "http_529",
}
"""What an error would have been as a status, had it not come in a stream (D-A5)."""

USAGE = {
    "input_tokens": "input_tokens",
    "cached_input_tokens": "cache_read_input_tokens",
    "cache_write_tokens": "cache_creation_input_tokens",
    "output_tokens": "output_tokens",
}
"""Where the API says our counts; its input leaves out what was cached."""

CUT = frozenset({"max_tokens", "model_context_window_exceeded"})
UNFINISHED = frozenset({"refusal", "pause_turn"})
"""Why an answer ended that is none to be judged, and not for its length."""

DELTAS = {"text_delta": "text", "thinking_delta": "thinking", "input_json_delta": "partial_json"}
"""Where a piece of a block is; pieces of a call's arguments are JSON text."""

MAX_BLOCKS = 10_000


class MessageAnswer:
    """Collects one answer: from one object, or from the events of a stream."""

    def __init__(self) -> None:
        self._blocks: dict[int, dict[str, Any]] = {}
        self._pieces: dict[int, list[str]] = {}
        """Of each block that is streamed, what has come of it."""
        self._usage: dict[str, Any] = {}
        self._model: str | None = None
        self._stop_reason: str | None = None

    def message(self, message: Any) -> None:
        """Take a message in, or its beginning, which may leave its content out.

        Raises:
            Malformed: it is none.
        """
        content = message.get("content", []) if isinstance(message, dict) else None
        if not isinstance(message, dict) or not isinstance(content, list):
            what = "no message with a list of content"
            raise http_reply.Malformed(what)
        model = message.get("model")
        self._model = model if isinstance(model, str) else None
        self.end(message, message.get("usage"))
        for index, block in enumerate(content):
            self.open(index, block)

    def end(self, known: Any, usage: Any) -> None:
        """Take in why an answer ended, and what it counts; later counts replace earlier ones."""
        if isinstance(known, dict) and isinstance(reason := known.get("stop_reason"), str):
            self._stop_reason = reason
        if isinstance(usage, dict):
            self._usage |= {name: one for name, one in usage.items() if one is not None}

    def open(self, index: Any, block: Any) -> bool:
        """Begin a block; return whether it is content: a tool call is some.

        Raises:
            Malformed: it is none, or there are too many.
        """
        if not isinstance(block, dict) or type(index) is not int:
            what = "a block of content that is none"
            raise http_reply.Malformed(what)
        if len(self._blocks) >= MAX_BLOCKS:
            what = f"more than {MAX_BLOCKS:,} blocks of content"
            raise http_reply.Malformed(what)
        self._blocks[index] = dict(block)
        kind = block.get("type")
        return kind == "tool_use" or (kind == "text" and bool(_text(block, "text")))

    def more(self, index: Any, delta: Any) -> bool:
        """Take a piece of a block; return whether it is content of the answer.

        Raises:
            Malformed: it belongs to no block, or is no text.
        """
        if not isinstance(delta, dict) or type(index) is not int or index not in self._blocks:
            what = "a piece of a block that was not begun"
            raise http_reply.Malformed(what)
        kind = delta.get("type")
        if kind == "signature_delta":
            self._blocks[index]["signature"] = _text(delta, "signature")
        elif kind in DELTAS:
            piece = _text(delta, DELTAS[kind])
            self._pieces.setdefault(index, []).append(piece)
            return bool(piece) and kind != "thinking_delta"
        return False

    def _whole(self) -> list[dict[str, Any]]:
        """Return the blocks in their order, each with what has come of it."""
        found = []
        for index, block in sorted(self._blocks.items()):
            text = "".join(self._pieces.get(index, ()))
            kind = block.get("type")
            known = {}
            if kind == "tool_use" and text:
                known["input"] = text
            elif kind in ("text", "thinking"):
                known[kind] = _text(block, kind) + text
            found.append(block | known)
        return found

    def reply(self) -> Reply:
        """Return the answer; cut short or without text it is a failure of the model."""
        blocks = self._whole()
        calls = tuple(
            ToolCall(_text(one, "id"), name, arguments_text(one.get("input")) or "{}")
            for one in blocks
            if one.get("type") == "tool_use" and (name := _text(one, "name"))
        )
        thoughts: list[JsonValue] = [
            one for one in blocks if one.get("type") in ("thinking", "redacted_thinking")
        ]
        reply = Reply(
            text="".join(_text(one, "text") for one in blocks if one.get("type") == "text"),
            reasoning="".join(
                _text(one, "thinking") for one in blocks if one.get("type") == "thinking"
            ),
            tool_calls=calls,
            echo={"thoughts": thoughts} if thoughts and calls else {},
            finish_reason=self._stop_reason,
            served_model=self._model,
            usage=_usage(self._usage),
        )
        if self._stop_reason in CUT:
            return http_reply.cut_off(reply, self._stop_reason)
        if self._stop_reason in UNFINISHED:
            message = f"the server did not finish the answer: {self._stop_reason}"
            return reply.failed(
                "output_truncated", error_code=self._stop_reason, error_message=message
            )
        return http_reply.answered(reply)


def _usage(data: dict[str, Any]) -> Usage:
    """Return the counts, with cached tokens inside the input."""
    usage = http_reply.usage_of(data, USAGE)
    cached_tokens = (usage.cached_input_tokens or 0) + (usage.cache_write_tokens or 0)
    if usage.input_tokens is None or not cached_tokens:
        return usage
    return replace(usage, input_tokens=usage.input_tokens + cached_tokens)


def _text(data: dict[str, Any], name: str) -> str:
    """Return a field that is a text; null is none.

    Raises:
        Malformed: it is something else.
    """
    value = data.get(name)
    if value is not None and not isinstance(value, str):
        message = f"`{name}` is {type(value).__name__}, not text"
        raise http_reply.Malformed(message)
    return value or ""


def read_stream(exchange: Exchange) -> Reply:
    """Read a stream to `message_stop`; without it the answer cannot be trusted (D-A5)."""
    answer, first_token = MessageAnswer(), None
    try:
        for event, end in events(exchange.body()):
            data = orjson.loads(event)
            if not isinstance(data, dict):
                message = "an event that is no JSON object"
                raise http_reply.Malformed(message)
            has_content = False
            match data.get("type"):
                case "message_start":
                    answer.message(data.get("message"))
                case "content_block_start":
                    has_content = answer.open(data.get("index"), data.get("content_block"))
                case "content_block_delta":
                    has_content = answer.more(data.get("index"), data.get("delta"))
                case "message_delta":
                    answer.end(data.get("delta"), data.get("usage"))
                case "message_stop":
                    return replace(
                        answer.reply(),
                        e2e_ms=http_reply.since_written(exchange, exchange.moment_of(end)),
                        ttft_ms=http_reply.since_written(exchange, first_token),
                    )
                case _ if (error := http_reply.error_of(data)) != (None, None):
                    kind = REFUSALS.get(error[0] or "")
                    return http_reply.error_event(answer.reply(), *error, kind)
            if has_content and first_token is None:
                first_token = exchange.moment_of(end)
        return http_reply.no_end(answer.reply())
    except (http_reply.Malformed, orjson.JSONDecodeError) as exc:
        return http_reply.malformed(_readable(answer), exc)


def _readable(answer: MessageAnswer) -> Reply:
    """Return what had been read, as far as it is any answer."""
    try:
        return answer.reply()
    except http_reply.Malformed:
        return Reply()


class AnthropicMessages(OverHttp):
    """One model behind a server that speaks the Messages API."""

    path: ClassVar[str] = "/v1/messages"
    end: ClassVar[re.Pattern[bytes] | None] = END
    handed_on: ClassVar[frozenset[str]] = frozenset({"anthropic-beta"})

    def key_headers(self, api_key: str | None) -> dict[str, str]:
        """Return what says who asks, and in which version of the API."""
        key = {} if api_key is None else {"x-api-key": api_key}
        return key | {"anthropic-version": API_VERSION}

    def body(self, request: Request, *, stream: bool) -> dict[str, JsonValue]:
        """Return the body of a message; models think as much as `effort` allows.

        Level `none` switches thinking off. Budgets of older models are `request_options`.
        """
        body: dict[str, JsonValue] = {"model": self.model.model}
        body.update(block_messages(request.messages))
        level = self.model.thinking_level
        thinking: JsonValue = {"type": "disabled" if level == "none" else "adaptive"}
        settings: tuple[tuple[str, JsonValue], ...] = (
            ("max_tokens", request.max_tokens),
            ("temperature", request.temperature),
            ("top_p", request.top_p),
            ("thinking", None if level is None else thinking),
            ("output_config", None if level in (None, "none") else {"effort": level}),
        )
        body.update({name: value for name, value in settings if value is not None})
        if request.tools:
            body.update(block_tools(request))
        body["stream"] = stream
        return body

    def read_stream(self, exchange: Exchange) -> Reply:
        """Return what a stream of events says."""
        return read_stream(exchange)

    def read_whole(self, data: Any) -> Reply:
        """Return what one message says."""
        answer = MessageAnswer()
        answer.message({"content": None} | data if isinstance(data, dict) else data)
        return answer.reply()
