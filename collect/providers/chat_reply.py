"""From the JSON of a chat completion, whole or in pieces, to a Reply.

Tolerant of what servers really send: a null first delta, a usage chunk without choices, content
as a list of parts. Strict about types: what is not what it should be is `invalid_response`.
"""

from __future__ import annotations

from typing import Any

from collect.providers.base import Reply, ToolCall, Usage
from schemas.base import MOST

MOST_USD = 1e6
"""More is no cost of an answer."""


class Malformed(ValueError):
    """The answer is not what the protocol says."""


def usage_of(data: Any) -> Usage:
    """Return the usage object of the API in our terms."""
    if not isinstance(data, dict):
        return Usage()
    prompt = data.get("prompt_tokens_details")
    completion = data.get("completion_tokens_details")
    return Usage(
        input_tokens=_count(data, "prompt_tokens"),
        output_tokens=_count(data, "completion_tokens"),
        cached_input_tokens=_count(prompt, "cached_tokens"),
        reasoning_tokens=_count(completion, "reasoning_tokens"),
        raw=data,
    )


def _count(data: Any, name: str) -> int | None:
    value = data.get(name) if isinstance(data, dict) else None
    return value if type(value) is int and 0 <= value <= MOST else None


def text_of(content: Any) -> str:
    """Return a message's content as text; a list of parts is joined."""
    if isinstance(content, str):
        return content
    if content is None:
        return ""
    if isinstance(content, list):
        parts = [part.get("text") for part in content if isinstance(part, dict)]
        return "".join(part for part in parts if isinstance(part, str))
    message = f"content is {type(content).__name__}, not text"
    raise Malformed(message)


def error_of(data: Any) -> tuple[str | None, str | None]:
    """Return (code, message) of an error object in any of its usual shapes."""
    error = data.get("error") if isinstance(data, dict) else None
    if isinstance(error, str):
        return None, error
    if not isinstance(error, dict):
        return None, None
    code = error.get("code") or error.get("type")
    message = error.get("message")
    return (None if code is None else str(code)), (None if message is None else str(message))


class ChatAnswer:
    """Collects one answer: from one object, or from the chunks of a stream."""

    def __init__(self) -> None:
        self._text: list[str] = []
        self._reasoning: list[str] = []
        self._calls: dict[int, dict[str, str]] = {}
        self._finish_reason: str | None = None
        self._model: str | None = None
        self._provider: str | None = None
        self._usage = Usage()

    def add(self, data: Any, *, whole: bool) -> bool:
        """Take one object in; return whether it brought content.

        Raises:
            Malformed: it is not a completion, or not a chunk of one.
        """
        if not isinstance(data, dict):
            message = "not a JSON object"
            raise Malformed(message)
        get = data.get
        self._model = _text(get("model")) or self._model
        self._provider = _text(get("provider")) or self._provider
        if (usage := get("usage")) is not None:
            self._usage = usage_of(usage)
        choices = get("choices")
        if not isinstance(choices, list) or (whole and not choices):
            message = "no choices"
            raise Malformed(message)
        if not choices:
            return False
        choice = choices[0]
        inner = choice.get("message" if whole else "delta") if isinstance(choice, dict) else None
        if inner is None and not whole and isinstance(choice, dict):
            inner = {}
        if not isinstance(inner, dict):
            message = "a choice without a message"
            raise Malformed(message)
        self._finish_reason = _text(choice.get("finish_reason")) or self._finish_reason
        return self._message(inner)

    def _message(self, message: dict[str, Any]) -> bool:
        get = message.get
        text = text_of(get("content"))
        if text:
            self._text.append(text)
        reasoning = get("reasoning_content") or get("reasoning")
        if isinstance(reasoning, str):
            self._reasoning.append(reasoning)
        calls = get("tool_calls")
        if not calls:
            return bool(text)
        for number, call in enumerate(calls if isinstance(calls, list) else []):
            self._call(call, number)
        return True

    def more(self, name: str, text: str) -> bool:
        """Take one more piece of the field `name`; return whether it brought content."""
        if name == "content":
            self._text.append(text)
            return bool(text)
        self._reasoning.append(text)
        return False

    def _call(self, call: Any, number: int) -> None:
        function = call.get("function") if isinstance(call, dict) else None
        if not isinstance(function, dict):
            return
        index = call.get("index")
        slot = self._calls.setdefault(
            index if isinstance(index, int) else number, {"id": "", "name": "", "arguments": ""}
        )
        slot["id"] = _text(call.get("id")) or slot["id"]
        slot["name"] += _text(function.get("name")) or ""
        slot["arguments"] += _text(function.get("arguments")) or ""

    def reply(
        self,
        *,
        http_status: int | None = None,
        e2e_ms: int | None = None,
        ttft_ms: int | None = None,
    ) -> Reply:
        """Return the answer; cut short or without text it is a failure of the model."""
        calls = tuple(
            ToolCall(call["id"], call["name"], call["arguments"])
            for _, call in sorted(self._calls.items())
            if call["name"]
        )
        reply = Reply(
            text="".join(self._text),
            reasoning="".join(self._reasoning),
            tool_calls=calls,
            finish_reason=self._finish_reason,
            served_model=self._model,
            served_provider=self._provider,
            usage=self._usage,
            cost_usd=_cost(self._usage.raw),
            http_status=http_status,
            e2e_ms=e2e_ms,
            ttft_ms=ttft_ms,
        )
        if self._finish_reason == "length":
            message = "the answer was cut off at max_tokens or at the end of the context"
            return reply.failed("output_truncated", error_message=message)
        if reply.text.strip() or calls:
            return reply
        return reply.failed("empty_response", error_message="the answer holds no text")


def _cost(usage: Any) -> float | None:
    """Return what the server says the answer did cost, in US dollars."""
    cost = usage.get("cost") if isinstance(usage, dict) else None
    if isinstance(cost, bool) or not isinstance(cost, int | float):
        return None
    return float(cost) if 0 <= cost <= MOST_USD else None


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None
