"""From the JSON of the Responses API, whole or in pieces, to a Reply.

Tolerant of what servers leave out, strict about types: what is not what it should be is
`invalid_response`. `finish_reason` is what the server says: the status `completed`, or the reason
of an answer that is incomplete.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from collect.providers.base import Reply, ToolCall, Usage
from collect.providers.http_reply import Malformed, count_of, kept
from collect.providers.responses_verdict import Untold, failed, incomplete
from schemas.redact import redact


def usage_of(data: Any) -> Usage:
    """Return the usage object of the API in our terms."""
    if not isinstance(data, dict):
        return Usage()
    n_in, n_out = count_of(data, "input_tokens"), count_of(data, "output_tokens")
    return Usage(
        input_tokens=n_in,
        output_tokens=n_out,
        cached_input_tokens=count_of(data.get("input_tokens_details"), "cached_tokens"),
        reasoning_tokens=count_of(data.get("output_tokens_details"), "reasoning_tokens"),
        raw=kept(data),
        source=None if n_in is None and n_out is None else "api",
    )


class ResponseAnswer:
    """Collects one answer: from one object, or from the events of a stream."""

    def __init__(self) -> None:
        self._text: list[str] = []
        self._reasoning: list[str] = []
        self._calls: list[ToolCall] = []
        self._response: dict[str, Any] = {}
        self._status: str | None = None

    def more_text(self, delta: Any) -> bool:
        """Take a piece of text; return whether there is something in it."""
        self._text.append(text := _text(delta))
        return bool(text)

    def more_reasoning(self, delta: Any) -> bool:
        """Take a piece of reasoning, which is no content."""
        self._reasoning.append(_text(delta))
        return False

    def note(self, event: dict[str, Any]) -> bool:
        """Take any other event; return whether it brought content: a tool call is some."""
        if isinstance(response := event.get("response"), dict):
            self._response = response
        item = event.get("item")
        if not isinstance(item, dict) or item.get("type") != "function_call":
            return False
        if event.get("type") == "response.output_item.done":
            self._call(item)
        return True

    def finish(self, response: Any, status: str) -> None:
        """Take the object of the whole answer; what was streamed is not read from it again.

        Args:
            response: the object.
            status: what the event says; vLLM says `completed` of an object that says otherwise.

        Raises:
            Malformed: it is no response, or one that is not finished.
        """
        if not isinstance(response, dict):
            message = "not a JSON object"
            raise Malformed(message)
        self._response = response
        if status == "completed" and (stated := response.get("status")) is not None:
            status = stated if isinstance(stated, str) else "no text"
        if status not in ("completed", "incomplete", "failed"):
            message = f"a response with the status {redact(status)[:40]!r}"
            raise Malformed(message)
        self._status = status
        output = response.get("output")
        if isinstance(output, list):
            self._output(output)
        elif status == "completed" and not (self._text or self._calls):
            message = "no output"
            raise Malformed(message)

    def _output(self, output: list[Any]) -> None:
        no_text, no_reasoning, no_calls = not self._text, not self._reasoning, not self._calls
        for item in output:
            if not isinstance(item, dict):
                message = "an output item that is no JSON object"
                raise Malformed(message)
            kind = item.get("type")
            if kind == "message" and no_text:
                self._text += _parts(item.get("content"))
            elif kind == "reasoning" and no_reasoning:
                self._reasoning += [*_parts(item.get("summary")), *_parts(item.get("content"))]
            elif kind == "function_call" and no_calls:
                self._call(item)

    def _call(self, item: dict[str, Any]) -> None:
        name = _text(item.get("name"))
        if name:
            call_id, arguments = _text(item.get("call_id")), _text(item.get("arguments"))
            self._calls.append(ToolCall(call_id, name, arguments))

    def reply(self) -> Reply:
        """Return the answer; cut short or without text it is a failure of the model."""
        response = self._response
        model = response.get("model")
        reply = Reply(
            text="".join(self._text),
            reasoning="".join(self._reasoning),
            tool_calls=tuple(self._calls),
            finish_reason=self._status,
            served_model=model if isinstance(model, str) else None,
            usage=usage_of(response.get("usage")),
        )
        if self._status == "failed":
            return failed(reply, response)
        if self._status == "incomplete":
            return incomplete(reply, response.get("incomplete_details"))
        if "incomplete_details" not in response:
            reply = Untold.of(reply)
        if reply.text.strip() or reply.tool_calls:
            return reply
        return reply.failed("empty_response", error_message="the answer holds no text")


def _parts(parts: Any) -> Iterator[str]:
    """Yield the texts of the parts of a message or of reasoning, whatever their type.

    Raises:
        Malformed: they are no list of objects, or a text is none.
    """
    if parts is None:
        return
    if not isinstance(parts, list) or not all(isinstance(part, dict) for part in parts):
        message = "content that is no list of parts"
        raise Malformed(message)
    for part in parts:
        yield _text(part.get("text"))
        yield _text(part.get("refusal"))


def _text(value: Any) -> str:
    """Return a piece of text; null is none.

    Raises:
        Malformed: it is something else.
    """
    if value is None:
        return ""
    if not isinstance(value, str):
        message = f"text is {type(value).__name__}, not text"
        raise Malformed(message)
    return value
