"""POST {base_url}/chat/completions: Ollama, llama.cpp, vLLM, LM Studio, OpenAI.

An answer is read after it arrived, by plain functions over what passed: no task is woken for a
token, and times come from the stamps that the transport took. Tolerant of what servers really send:
a null first delta, a usage chunk without choices, content as a list of parts. Strict about types:
what is not what it should be is `invalid_response`.

Tool calls: the API gives each an index and its id and name once. Ollama gives every call the index
0, or none, and sends each in one piece; others say the name again, or a new id without a name, with
each piece of the same call.

Streams: each token comes with some hundred bytes of JSON that never change. Two events that are
equal before and after one value differ in this value only, since any JSON value may be replaced by
another. So the first event is parsed whole, and of the following ones only the text.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import orjson
from pydantic import JsonValue

from collect.http_client import Exchange
from collect.providers import http_reply
from collect.providers.base import Reply, Request, ToolCall, Usage
from collect.providers.http import END_MARKER, OverHttp, events
from collect.providers.tool_wire import (
    arguments_text,
    chat_message,
    chat_tools,
    joined_details,
)

MAX_USD = 1e6
"""More is no cost of an answer."""

USAGE = {
    "input_tokens": "prompt_tokens",
    "output_tokens": "completion_tokens",
    "cached_input_tokens": "prompt_tokens_details.cached_tokens",
    "reasoning_tokens": "completion_tokens_details.reasoning_tokens",
    "cache_write_tokens": "prompt_tokens_details.cache_write_tokens",
}
"""Where the API says our counts."""

TEXTS = frozenset({"content", "reasoning_content", "reasoning"})
"""Fields of a delta that hold a piece of text."""

END = re.compile(rb'[\r\n](?:\xef\xbb\xbf)?data: ?(?:\[DONE\]|\{ ?"error": ?[{"])')
"""What ends a stream: its end marker, or an error event, after which nothing useful comes.

It may be all there is, behind the mark of a byte order."""


@dataclass(slots=True)
class _Call:
    """A tool call as far as its pieces came."""

    call_id: str = ""
    name: str = ""
    arguments: str = ""

    def is_over(self, call_id: str, name: str, *, has_index: bool) -> bool:
        """Return whether a piece that comes in the place of this call begins another one."""
        if not name or not self.name or (call_id and call_id == self.call_id):
            return False
        return bool(call_id) or not has_index


class ToolCalls:
    """The tool calls of one answer, in the order in which they began."""

    def __init__(self) -> None:
        self._calls: list[_Call] = []
        self._open: dict[tuple[bool, int], _Call] = {}

    def add(self, piece: Any, number: int, *, whole: bool) -> None:
        """Take a call or a piece of one in; what is neither is passed over.

        Args:
            piece: an item of `tool_calls`.
            number: its place in that list, which stands in for an index left out.
            whole: it is a call for itself, whatever it has for an index.

        Raises:
            Malformed: arguments that no JSON text can hold.
        """
        function = piece.get("function") if isinstance(piece, dict) else None
        if not isinstance(function, dict):
            return
        index = piece.get("index")
        has_index = isinstance(index, int)
        call_id, name = _text(piece.get("id")) or "", _text(function.get("name")) or ""
        place = (has_index, index if isinstance(index, int) else number)
        call = None if whole else self._open.get(place)
        if call is None or call.is_over(call_id, name, has_index=has_index):
            call = self._open[place] = _Call()
            self._calls.append(call)
        call.call_id = call.call_id or call_id
        if name != call.name:
            call.name += name
        call.arguments += arguments_text(function.get("arguments"))

    def done(self) -> tuple[ToolCall, ...]:
        """Return the calls that have a name."""
        return tuple(
            ToolCall(one.call_id, one.name, one.arguments) for one in self._calls if one.name
        )


def usd_of(data: Any, name: str) -> float | None:
    """Return a field of an object that is a sum of US dollars, else None."""
    sum_usd = data.get(name) if isinstance(data, dict) else None
    if isinstance(sum_usd, bool) or not isinstance(sum_usd, int | float):
        return None
    return float(sum_usd) if 0 <= sum_usd <= MAX_USD else None


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
    raise http_reply.Malformed(message)


class ChatAnswer:
    """Collects one answer: from one object, or from the chunks of a stream."""

    def __init__(self) -> None:
        self._text: list[str] = []
        self._reasoning: list[str] = []
        self._reasoning_field = ""
        self._details: list[JsonValue] = []
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
            raise http_reply.Malformed(message)
        get = data.get
        self._model = _text(get("model")) or self._model
        self._provider = _text(get("provider")) or self._provider
        if usage := get("usage"):
            self._usage = http_reply.usage_of(usage, USAGE)
        choices = get("choices")
        if choices is None and not whole and ("choices" in data or usage):
            return False
        if not isinstance(choices, list) or (whole and not choices):
            message = "no choices"
            raise http_reply.Malformed(message)
        if not choices:
            return False
        if len(choices) > 1:
            message = f"{len(choices)} choices, and one was asked for"
            raise http_reply.Malformed(message)
        choice = choices[0]
        inner = choice.get("message" if whole else "delta") if isinstance(choice, dict) else None
        if inner is None and not whole and isinstance(choice, dict):
            inner = {}
        if not isinstance(inner, dict):
            message = "a choice without a message"
            raise http_reply.Malformed(message)
        if choice.get("index") not in (None, 0):
            message = f"a choice with the index {str(choice['index'])[:40]}, and one was asked for"
            raise http_reply.Malformed(message)
        self._finish_reason = _text(choice.get("finish_reason")) or self._finish_reason
        if choice.get("error") is not None:
            self._failure = http_reply.error_of(choice)
        return self._message(inner, whole=whole)

    def _message(self, message: dict[str, Any], *, whole: bool) -> bool:
        get = message.get
        text = text_of(get("content"))
        if text:
            self._text.append(text)
        for name in ("reasoning_content", "reasoning"):
            if isinstance(reasoning := get(name), str) and reasoning:
                self.more(name, reasoning)
                break
        if isinstance(details := get("reasoning_details"), list):
            self._details += details
        calls = get("tool_calls")
        if not calls:
            return bool(text)
        for number, call in enumerate(calls if isinstance(calls, list) else []):
            self._calls.add(call, number, whole=whole)
        return True

    def more(self, name: str, text: str) -> bool:
        """Take one more piece of the field `name`; return whether it brought content."""
        if name == "content":
            self._text.append(text)
            return bool(text)
        self._reasoning_field = name
        self._reasoning.append(text)
        return False

    def _echo(self) -> dict[str, JsonValue]:
        """Return what a model that reasons between its calls wants to see again."""
        if self._details:
            return {"reasoning_details": joined_details(self._details)}
        if self._reasoning_field:
            return {self._reasoning_field: "".join(self._reasoning)}
        return {}

    def reply(self) -> Reply:
        """Return the answer; cut short or without text it is a failure of the model."""
        reply = Reply(
            text="".join(self._text),
            reasoning="".join(self._reasoning),
            tool_calls=(calls := self._calls.done()),
            echo=self._echo() if calls else {},
            finish_reason=self._finish_reason,
            served_model=self._model,
            served_provider=self._provider,
            usage=self._usage,
            cost_usd=usd_of(self._usage.raw, "cost"),
        )
        if self._finish_reason == "error" or self._failure != (None, None):
            code, words = self._failure
            return reply.failed(
                http_reply.failure_type_of(code, "stream_interrupted"),
                error_code=code or "finish_reason_error",
                error_message=http_reply.error_text(words, "the provider broke the answer off"),
            )
        return (
            http_reply.cut_off(reply)
            if self._finish_reason == "length"
            else http_reply.answered(reply)
        )


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None


class DeltaShape:
    """What surrounds the text in the last event that was read in full."""

    def __init__(self) -> None:
        self.name = ""
        """The field that the text belongs to."""
        self._before = b""
        self._after = b""

    def learn(self, event: bytes, data: Any) -> None:
        """Take the shape of an event whose delta holds text and nothing else."""
        self._before = b""
        choices = data.get("choices")
        delta = choices[0].get("delta") if choices else None
        if not delta:
            return
        full = [name for name, value in delta.items() if value and name != "role"]
        if len(full) != 1 or full[0] not in TEXTS or not isinstance(delta[full[0]], str):
            return
        field = b'"%s":' % full[0].encode()
        if event.count(field) != 1:
            return
        start = event.index(field) + len(field)
        start += event.startswith(b" ", start)
        text = orjson.dumps(delta[full[0]])
        if event.startswith(text, start):
            self.name = full[0]
            self._before, self._after = event[:start], event[start + len(text) :]

    def text_of(self, event: bytes) -> str | None:
        """Return the text of an event of this shape, None for any other."""
        before, after = self._before, self._after
        if not before or not event.startswith(before) or not event.endswith(after):
            return None
        try:
            text = orjson.loads(event[len(before) : len(event) - len(after)])
        except orjson.JSONDecodeError:
            return None
        return text if isinstance(text, str) else None


def read_stream(exchange: Exchange) -> Reply:
    """Read a stream to its end marker; without one the answer cannot be trusted (D-A5)."""
    answer, shape, first_token = ChatAnswer(), DeltaShape(), None
    try:
        for event, end in events(exchange.body()):
            if (text := shape.text_of(event)) is not None:
                has_content = answer.more(shape.name, text)
            elif event == END_MARKER:
                return replace(
                    answer.reply(),
                    e2e_ms=http_reply.since_written(exchange, exchange.last_byte),
                    ttft_ms=http_reply.since_written(exchange, first_token),
                )
            else:
                data = orjson.loads(event)
                if b'"error"' in event and (error := http_reply.error_of(data)) != (None, None):
                    return http_reply.error_event(answer.reply(), *error)
                has_content = answer.add(data, whole=False)
                shape.learn(event, data)
            if has_content and first_token is None:
                first_token = exchange.moment_of(end)
    except (http_reply.Malformed, orjson.JSONDecodeError) as exc:
        return http_reply.malformed(answer.reply(), exc)
    return http_reply.no_end(answer.reply())


class ChatCompletions(OverHttp):
    """One model behind an OpenAI-compatible server."""

    path: ClassVar[str] = "/chat/completions"
    end: ClassVar[re.Pattern[bytes] | None] = END

    def body(self, request: Request, *, stream: bool) -> dict[str, JsonValue]:
        """Return a chat completion's body."""
        body: dict[str, JsonValue] = {
            "model": self.model.model,
            "messages": [chat_message(message) for message in request.messages],
        }
        settings = (
            ("temperature", request.temperature),
            ("top_p", request.top_p),
            ("max_tokens", request.max_tokens),
            ("seed", request.seed),
            ("reasoning_effort", self.model.thinking_level),
        )
        body.update({name: value for name, value in settings if value is not None})
        if request.tools:
            body.update(self.tools(request))
        if request.answer_schema is not None:
            schema: dict[str, JsonValue] = {"name": "answer", "strict": True}
            schema["schema"] = dict(request.answer_schema)
            body["response_format"] = {"type": "json_schema", "json_schema": schema}
        body["stream"] = stream
        if stream:
            body["stream_options"] = {"include_usage": True}
        return body

    def tools(self, request: Request) -> dict[str, JsonValue]:
        """Return the part of the body that offers tools.

        Withheld ones are left out: Ollama passes `tool_choice` over.
        """
        return {} if request.withholds_tools else chat_tools(request)

    def read_stream(self, exchange: Exchange) -> Reply:
        """Return what a stream of chunks says."""
        return read_stream(exchange)

    def read_whole(self, data: Any) -> Reply:
        """Return what one completion says."""
        answer = ChatAnswer()
        answer.add(data, whole=True)
        return answer.reply()
