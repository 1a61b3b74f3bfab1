"""POST {base_url}/responses: OpenAI's newer API, which llama.cpp, vLLM and others speak too.

The conversation is sent whole and nothing is left with the server: `store` is false. There is no
seed and no name of who says a message; the configuration refuses what cannot be sent.

Tolerant of what servers leave out, strict about types: what is not what it should be is
`invalid_response`. Events are told apart by the `type` in their data, and unknown ones are passed
over, since the API grows; the last event of a good stream holds the whole answer again.
`finish_reason` is what the server says: the status `completed`, or the reason of an answer that is
incomplete. Some servers say `completed` of every answer, so what was asked for has a part in the
verdict.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar

import orjson
from pydantic import JsonValue

from collect.http_client import Exchange
from collect.providers import http_reply
from collect.providers.base import Prepared, Reply, Request, ToolCall
from collect.providers.http import END_MARKER, OverHttp, events
from collect.providers.tool_wire import arguments_text, response_items, response_tools
from schemas.redact import redact

REFUSALS = {
    "rate_limit_exceeded": "http_429",
    "insufficient_quota": "http_429",
    "server_error": "http_500",
}
"""Codes of a failed response which mean what an HTTP status means (D-A5).

The others, such as `invalid_prompt`, end the same however often they are asked again.
"""

USAGE = {
    "input_tokens": "input_tokens",
    "output_tokens": "output_tokens",
    "cached_input_tokens": "input_tokens_details.cached_tokens",
    "reasoning_tokens": "output_tokens_details.reasoning_tokens",
}
"""Where the API says our counts."""

TEXT_DELTAS = frozenset({"response.output_text.delta", "response.refusal.delta"})
"""What the model says to the user, a refusal too."""

REASONING_DELTAS = frozenset(
    {"response.reasoning_text.delta", "response.reasoning_summary_text.delta"}
)

LAST = {
    "response.completed": "completed",
    "response.incomplete": "incomplete",
    "response.failed": "failed",
}
"""Events after which nothing comes, and the status they tell of."""


@dataclass(frozen=True, slots=True)
class UnmarkedReply(Reply):
    """A reply of a server whose answers never say whether they were cut off."""

    @classmethod
    def of(cls, reply: Reply) -> UnmarkedReply:
        """Return a reply that says so."""
        return cls(**{one.name: getattr(reply, one.name) for one in fields(reply)})


def judged(reply: Reply, limit: JsonValue) -> Reply:
    """Return a reply in the light of what was asked for.

    llama.cpp says `completed` of an answer that it cut off as well, and its answers have no field
    `incomplete_details`. From such a server an answer as long as was allowed counts as cut off, so
    that a model is judged as through the chat API, which tells. This wrongs only an answer that
    ended by itself with the very last token. A server that sends the field is believed. A cut at
    the end of the context shows nowhere and stays unknown.

    The limit is the `max_output_tokens` of the request.
    """
    if reply.failure_type == "invalid_response" and reply.error_code is not None:
        return replace(reply, failure_type=_failure_type(reply.error_code))
    used = reply.usage.output_tokens
    if (
        not isinstance(reply, UnmarkedReply)
        or not isinstance(limit, int)
        or used is None
        or used < limit
    ):
        return reply
    if reply.failure_type not in {None, "empty_response"}:
        return reply
    message = f"the server says `completed`, but the answer has all of the {limit} tokens allowed"
    return reply.failed("output_truncated", error_code="max_output_tokens", error_message=message)


def incomplete(reply: Reply, details: Any) -> Reply:
    """Return an answer that the server itself calls unfinished, whatever the reason.

    Also one that a filter stopped: the provider did serve us (D-A5), what came is no whole
    answer to be judged, and asking again would end the same.
    """
    stated = details.get("reason") if isinstance(details, dict) else None
    reason = stated if isinstance(stated, str) else "incomplete"
    reply = replace(reply, finish_reason=reason)
    if reason == "max_output_tokens":
        return http_reply.cut_off(reply, reason)
    message = f"the server did not finish the answer: {http_reply.error_text(reason)}"
    return reply.failed("output_truncated", error_code=reason, error_message=message)


def failed(reply: Reply, response: dict[str, Any]) -> Reply:
    """Return an answer that the server itself calls failed; one without a code is its fault."""
    code, text = http_reply.error_of(response)
    return reply.failed(
        _failure_type(code or "server_error"),
        error_code=code,
        error_message=http_reply.error_text(text),
    )


def _failure_type(code: str) -> str:
    """Return what the code of a failed response means; some servers send an HTTP status."""
    if re.fullmatch(r"[45]\d\d", code):
        return f"http_{code}"
    return REFUSALS.get(code, "invalid_response")


class ResponseAnswer:
    """Collects one answer: from one object, or from the events of a stream."""

    def __init__(self) -> None:
        self._text: list[str] = []
        self._reasoning: list[str] = []
        self._calls: list[ToolCall] = []
        self._sealed: list[JsonValue] = []
        """Reasoning that only the server can read, which it wants back beside its calls."""
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
            raise http_reply.Malformed(message)
        self._response = response
        if status == "completed" and (stated := response.get("status")) is not None:
            status = stated if isinstance(stated, str) else "no text"
        if status not in ("completed", "incomplete", "failed"):
            message = f"a response with the status {redact(status)[:40]!r}"
            raise http_reply.Malformed(message)
        self._status = status
        output = response.get("output")
        if isinstance(output, list):
            self._output(output)
        elif status == "completed" and not (self._text or self._calls):
            message = "no output"
            raise http_reply.Malformed(message)

    def _output(self, output: list[Any]) -> None:
        no_text, no_reasoning, no_calls = not self._text, not self._reasoning, not self._calls
        for item in output:
            if not isinstance(item, dict):
                message = "an output item that is no JSON object"
                raise http_reply.Malformed(message)
            kind = item.get("type")
            if kind == "message" and no_text:
                self._text += _parts(item.get("content"))
            elif kind == "reasoning":
                if item.get("encrypted_content"):
                    self._sealed.append(item)
                if not no_reasoning:
                    continue
                self._reasoning += [*_parts(item.get("summary")), *_parts(item.get("content"))]
            elif kind == "function_call" and no_calls:
                self._call(item)

    def _call(self, item: dict[str, Any]) -> None:
        name = _text(item.get("name"))
        if name:
            arguments = arguments_text(item.get("arguments"))
            self._calls.append(ToolCall(_text(item.get("call_id")), name, arguments))

    def reply(self) -> Reply:
        """Return the answer; cut short or without text it is a failure of the model."""
        response = self._response
        model = response.get("model")
        reply = Reply(
            text="".join(self._text),
            reasoning="".join(self._reasoning),
            tool_calls=tuple(self._calls),
            echo={"reasoning": self._sealed} if self._sealed and self._calls else {},
            finish_reason=self._status,
            served_model=model if isinstance(model, str) else None,
            usage=http_reply.usage_of(response.get("usage"), USAGE),
        )
        if self._status == "failed":
            return failed(reply, response)
        if self._status == "incomplete":
            return incomplete(reply, response.get("incomplete_details"))
        if "incomplete_details" not in response:
            reply = UnmarkedReply.of(reply)
        return http_reply.answered(reply)


def _parts(parts: Any) -> Iterator[str]:
    """Yield the texts of the parts of a message or of reasoning, whatever their type.

    Raises:
        Malformed: they are no list of objects, or a text is none.
    """
    if parts is None:
        return
    if not isinstance(parts, list) or not all(isinstance(part, dict) for part in parts):
        message = "content that is no list of parts"
        raise http_reply.Malformed(message)
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
        raise http_reply.Malformed(message)
    return value


def read_stream(exchange: Exchange) -> Reply:
    """Read a stream to its last event; without one the answer cannot be trusted (D-A5)."""
    answer, first_token = ResponseAnswer(), None
    try:
        for event, end in events(exchange.body()):
            if event == END_MARKER:  # some servers add it after the last event
                continue
            data = orjson.loads(event)
            if not isinstance(data, dict):
                message = "an event that is no JSON object"
                raise http_reply.Malformed(message)
            kind = data.get("type")
            if not isinstance(kind, str):
                kind = ""
            if kind in TEXT_DELTAS:
                has_content = answer.more_text(data.get("delta"))
            elif kind in REASONING_DELTAS:
                has_content = answer.more_reasoning(data.get("delta"))
            elif (status := LAST.get(kind)) is not None:
                answer.finish(data.get("response") or data, status)
                return replace(
                    answer.reply(),
                    e2e_ms=http_reply.since_written(exchange, exchange.moment_of(end)),
                    ttft_ms=http_reply.since_written(exchange, first_token),
                )
            elif (error := _error_of(data)) is not None:
                return http_reply.error_event(answer.reply(), *error, REFUSALS.get(error[0] or ""))
            else:
                has_content = answer.note(data)
            if has_content and first_token is None:
                first_token = exchange.moment_of(end)
    except (http_reply.Malformed, orjson.JSONDecodeError) as exc:
        return http_reply.malformed(answer.reply(), exc)
    return http_reply.no_end(answer.reply())


def _error_of(data: dict[str, Any]) -> tuple[str | None, str | None] | None:
    """Return (code, message) of an event that tells of an error; None of any other.

    OpenAI has the code and the words beside the type, others have an error object.
    """
    error = http_reply.error_of(data)
    if error != (None, None):
        return error
    if data.get("type") != "error":
        return None
    return http_reply.error_of(
        {"error": {"code": data.get("code"), "message": data.get("message")}}
    )


class OpenAIResponses(OverHttp):
    """One model behind a server that speaks the Responses API."""

    path: ClassVar[str] = "/responses"
    end: ClassVar[re.Pattern[bytes] | None] = None  # the last event holds the whole answer again

    def body(self, request: Request, *, stream: bool) -> dict[str, JsonValue]:
        """Return the body of a response; a system message stays where it is in the input.

        Each message says its type, without which llama.cpp refuses an assistant's.
        """
        body: dict[str, JsonValue] = {
            "model": self.model.model,
            "input": [item for message in request.messages for item in response_items(message)],
        }
        level = self.model.thinking_level
        settings: tuple[tuple[str, JsonValue], ...] = (
            ("temperature", request.temperature),
            ("top_p", request.top_p),
            ("max_output_tokens", request.max_tokens),
            ("reasoning", None if level is None else {"effort": level}),
        )
        body.update({name: value for name, value in settings if value is not None})
        if request.tools and not request.withholds_tools:
            body.update(response_tools(request))
        if request.tools and level not in (None, "none"):
            # what the model thought before a call is not stored there, so it is sent along
            body["include"] = ["reasoning.encrypted_content"]
        if request.answer_schema is not None:
            schema: dict[str, JsonValue] = {"name": "answer", "strict": True}
            schema["schema"] = dict(request.answer_schema)
            body["text"] = {"format": {"type": "json_schema", **schema}}
        body["store"] = False
        body["stream"] = stream
        return body

    def read_stream(self, exchange: Exchange) -> Reply:
        """Return what a stream of events says."""
        return read_stream(exchange)

    def read_whole(self, data: Any) -> Reply:
        """Return what one response object says."""
        answer = ResponseAnswer()
        answer.finish(data, "completed")
        return answer.reply()

    async def _ask(self, prepared: Prepared, exchange: Exchange | None = None) -> Reply:
        return judged(
            await super()._ask(prepared, exchange), prepared.body.get("max_output_tokens")
        )
