"""From the JSON of a chat completion, whole or in pieces, to a Reply.

Tolerant of what servers really send: a null first delta, a usage chunk without choices, content
as a list of parts. Strict about types: what is not what it should be is `invalid_response`.
"""

from __future__ import annotations

from typing import Any

from collect.providers.base import Reply, Usage
from collect.providers.chat_calls import ToolCalls
from collect.providers.http_reply import Malformed, count_of, error_of, failure_type_of, kept, said

MOST_USD = 1e6
"""More is no cost of an answer."""


def usage_of(data: Any) -> Usage:
    """Return the usage object of the API in our terms."""
    if not isinstance(data, dict):
        return Usage()
    prompt = data.get("prompt_tokens_details")
    completion = data.get("completion_tokens_details")
    n_in, n_out = count_of(data, "prompt_tokens"), count_of(data, "completion_tokens")
    return Usage(
        input_tokens=n_in,
        output_tokens=n_out,
        cached_input_tokens=count_of(prompt, "cached_tokens"),
        reasoning_tokens=count_of(completion, "reasoning_tokens"),
        cache_write_tokens=count_of(prompt, "cache_write_tokens"),
        raw=kept(data),
        source=None if n_in is None and n_out is None else "api",
    )


def usd_of(data: Any, name: str) -> float | None:
    """Return a field of an object that is a sum of US dollars, else None."""
    sum_usd = data.get(name) if isinstance(data, dict) else None
    if isinstance(sum_usd, bool) or not isinstance(sum_usd, int | float):
        return None
    return float(sum_usd) if 0 <= sum_usd <= MOST_USD else None


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


class ChatAnswer:
    """Collects one answer: from one object, or from the chunks of a stream."""

    def __init__(self) -> None:
        self._text: list[str] = []
        self._reasoning: list[str] = []
        self._calls = ToolCalls()
        self._failure: tuple[str | None, str | None] = (None, None)
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
        if usage := get("usage"):
            self._usage = usage_of(usage)
        choices = get("choices")
        if choices is None and not whole and ("choices" in data or usage):
            return False
        if not isinstance(choices, list) or (whole and not choices):
            message = "no choices"
            raise Malformed(message)
        if not choices:
            return False
        if len(choices) > 1:
            message = f"{len(choices)} choices, and one was asked for"
            raise Malformed(message)
        choice = choices[0]
        inner = choice.get("message" if whole else "delta") if isinstance(choice, dict) else None
        if inner is None and not whole and isinstance(choice, dict):
            inner = {}
        if not isinstance(inner, dict):
            message = "a choice without a message"
            raise Malformed(message)
        if choice.get("index") not in (None, 0):
            message = f"a choice with the index {str(choice['index'])[:40]}, and one was asked for"
            raise Malformed(message)
        self._finish_reason = _text(choice.get("finish_reason")) or self._finish_reason
        if choice.get("error") is not None:
            self._failure = error_of(choice)
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
            self._calls.add(call, number)
        return True

    def more(self, name: str, text: str) -> bool:
        """Take one more piece of the field `name`; return whether it brought content."""
        if name == "content":
            self._text.append(text)
            return bool(text)
        self._reasoning.append(text)
        return False

    def reply(self) -> Reply:
        """Return the answer; cut short or without text it is a failure of the model."""
        calls = self._calls.done()
        reply = Reply(
            text="".join(self._text),
            reasoning="".join(self._reasoning),
            tool_calls=calls,
            finish_reason=self._finish_reason,
            served_model=self._model,
            served_provider=self._provider,
            usage=self._usage,
            cost_usd=usd_of(self._usage.raw, "cost"),
        )
        if self._finish_reason == "error" or self._failure != (None, None):
            code, words = self._failure
            return reply.failed(
                failure_type_of(code, "stream_interrupted"),
                error_code=code or "finish_reason_error",
                error_message=said(words, "the provider broke the answer off"),
            )
        if self._finish_reason == "length":
            message = "the answer was cut off at max_tokens or at the end of the context"
            return reply.failed("output_truncated", error_message=message)
        if reply.text.strip() or calls:
            return reply
        return reply.failed("empty_response", error_message="the answer holds no text")


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None
