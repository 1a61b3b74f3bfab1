"""From the lines that the Claude Code CLI writes (`--output-format stream-json`) to a Reply.

The first message of the stream is the answer. What the CLI makes of it afterwards is not: it asks
up to three more times when an answer was cut at max_tokens, once more when it held no text, takes
a stream without its end marker for whole, and its own result names the last block of text alone.
So the CLI is ended at once after a message that is cut or empty; after a good one its result is
awaited, for the counted tokens and their cost.

Why there is no answer follows the table of D-A5: `is_error` tells, and the exit code; `subtype`
stays "success" for every error of the API. The text of a result is the CLI's own there, never the
model's, so it may be searched, for whole phrases.

No time is read here: those are of the wire (`collect.providers.claude_code.proxy`). The CLI's own
ttft is that of the first piece of thinking: 256 ms, measured against an endpoint that began to
think at 250 and to answer at 300.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterable
from typing import Any

import orjson
from pydantic import JsonValue

from collect.providers.base import Reply, ToolCall, Usage
from collect.providers.claude_code.process import Exit
from collect.providers.http_reply import count_of, cut_off, error_text, no_end
from collect.providers.openai_chat import usd_of

NOT_LOGGED_IN = re.compile(r"(?i)\bnot logged in\b|\bplease run /login\b")
LIMIT = re.compile(
    r"(?i)\b(?:rate|usage|session|weekly|hourly|daily|monthly|spend(?:ing)?|plan)[ -]limits?\b"
    r"|\bhit your [\w ]{0,40}limit\b|\bquota\b|\bcredit balance\b|\bout of (?:extra )?usage\b"
)
"""What a CLI says that is out of quota; `rate` in `generate` is no such thing."""
NO_CONNECTION = re.compile(
    r"(?i)\bunable to connect\b|ConnectionRefused|FailedToOpenSocket|ECONNREFUSED|ENOTFOUND"
)
BROKEN_OFF = re.compile(r"ECONNRESET|(?i:stream ended without|socket connection was closed)")
TIMED_OUT = re.compile(r"(?i)\btimed out\b")
NO_ANSWER = re.compile(r"(?i)\bJSON Parse error\b|\bmalformed response\b|\binvalid response\b")

BY_TEXT = (
    (NOT_LOGGED_IN, "api_key_missing"),
    (BROKEN_OFF, "stream_interrupted"),
    (NO_CONNECTION, "connection_error"),
    (TIMED_OUT, "timeout"),
    (NO_ANSWER, "invalid_response"),
    (LIMIT, "http_429"),
)
"""For a result without a status; the first that is found counts."""

ANSI = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-Z\\-_])")
"""Escape sequences for terminals (ECMA-48)."""

OF_MODELS = ("inputTokens", "cacheReadInputTokens", "cacheCreationInputTokens", "outputTokens")
OF_MESSAGE = (
    "input_tokens",
    "cache_read_input_tokens",
    "cache_creation_input_tokens",
    "output_tokens",
)
"""Names of the same four counts in both places."""

AFTER_S = 5.0
"""How long the CLI may take to say what an answer did cost, and to end."""

READ_S = 30.0
"""How long the CLI may take beyond that: it reads an answer once it is there as a whole."""

CUT = frozenset({"max_tokens", "model_context_window_exceeded"})
"""Stop reasons of an answer that is not whole."""


def failure_of_result(partial: Reply, result: dict[str, Any]) -> Reply:
    """Return why a result of the CLI holds no answer."""
    status = result.get("api_error_status")
    subtype = result.get("subtype")
    errors = result.get("errors")
    words = result.get("result") or (errors[0] if isinstance(errors, list) and errors else None)
    text = error_text(words if isinstance(words, str) else None)
    if type(status) is int and 400 <= status <= 599:
        limited = status in {400, 402, 403} and LIMIT.search(text)
        return partial.failed(
            "http_429" if limited else f"http_{status}",
            http_status=status,
            error_code="usage_limit" if limited else None,
            error_message=text,
        )
    if subtype == "error_max_turns":
        return partial.failed("max_turns_exceeded", error_code=subtype, error_message=text)
    if result.get("is_error") is not True:
        text = error_text(f"the command answered by itself, without asking the model: {text}")
        return partial.failed("cli_error", error_message=text, accepted=False)
    for pattern, failure_type in BY_TEXT:
        if pattern.search(text):
            return partial.failed(failure_type, error_message=text)
    code = subtype if isinstance(subtype, str) and subtype != "success" else None
    return partial.failed("cli_error", error_code=code, error_message=text)


def failure_of_exit(partial: Reply, exit_: Exit) -> Reply:
    """Return why the CLI ended without a result, in its own last words."""
    if exit_.too_much:
        why = "it wrote more than an answer can be"
    elif exit_.code is not None and exit_.code < 0:
        why = f"it was killed by signal {-exit_.code}"
    elif exit_.code is None:
        why = "it never ran"
    else:
        why = f"it ended with code {exit_.code} and no result"
    last_words = ANSI.sub("", exit_.stderr).strip()
    text = error_text(f"{why}: {last_words}" if last_words else why)
    return partial.failed("cli_error", error_code="no_result", error_message=text, accepted=False)


def usage_of(models: Any, message: dict[str, JsonValue]) -> Usage:
    """Return the tokens of an answer.

    Args:
        models: `modelUsage` of the CLI's result: all that it spent, by model, helpers too.
        message: `usage` of the message's own events, for an answer that has no such result.
    """
    if isinstance(models, dict) and models:
        counts = [one for one in models.values() if isinstance(one, dict)]
        return _summed(counts, OF_MODELS, models, "model_usage")
    return _summed([message], OF_MESSAGE, message, "usage") if message else Usage()


def _summed(
    counts: list[dict[str, JsonValue]], names: tuple[str, ...], raw: JsonValue, source: str
) -> Usage:
    """Return sums; the API leaves cached tokens out of its input tokens, we count them in."""

    def total(name: str) -> int | None:
        return _sum(count_of(one, name) for one in counts)

    fresh, read, written, output = (total(name) for name in names)
    return Usage(
        input_tokens=None if fresh is None else _sum((fresh, read, written)),
        output_tokens=output,
        cached_input_tokens=read,
        cache_write_tokens=written,
        raw=raw,
        source=source,
    )


def _sum(counts: Iterable[int | None]) -> int | None:
    known = [count for count in counts if count is not None]
    return sum(known) if known else None


class ClaudeAnswer:
    """Collects one answer, line by line."""

    def __init__(self, timeout_s: float) -> None:
        """Begin; the model may take so long, from the request on."""
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
        """Return what the CLI brought; for any host but the vendor's it makes a cost up."""
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
        return cut_off(reply)
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
