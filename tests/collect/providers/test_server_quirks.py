"""What llama.cpp, Ollama, vLLM and LM Studio really send, read without loss and without blame."""

import asyncio
import json

import pytest

from collect.providers.base import Request
from collect.providers.openai_chat import ChatCompletions
from tests.support.wire_model import model

MESSAGES = ({"role": "user", "content": "Hi."},)


def ask(endpoint, raw, *, stream=True, **fields):
    """Return what becomes of an answer that is these bytes, this JSON value, or as scripted."""
    if raw is not None:
        endpoint.script = lambda wire, request: (
            wire.stream(raw) if isinstance(raw, bytes) else wire.answer(raw)
        )

    async def go():
        provider = ChatCompletions(model(endpoint.base_url, **fields), None)
        try:
            request = Request(MESSAGES, 5.0, stream)
            return await provider.ask(provider.prepare(request))
        finally:
            await provider.aclose()

    return asyncio.run(go())


def lines(*objects, end="data: [DONE]\n\n", prefix="data: ", newline="\n"):
    events = [f"{prefix}{json.dumps(one)}{newline}{newline}" for one in objects]
    return ("".join(events) + end).encode()


def delta(finish=None, *, outer=(), **fields):
    choice = {"index": 0, "delta": fields, "finish_reason": finish}
    return {
        "id": "c",
        "object": "chat.completion.chunk",
        "model": "real-m",
        "choices": [choice],
    } | (dict(outer))


USAGE = {"prompt_tokens": 9, "completion_tokens": 2, "total_tokens": 11}
LAST = {"id": "c", "model": "real-m", "choices": [], "usage": USAGE}


def check(reply, text="Hello"):
    assert reply.failure_type is None, reply.error_message
    assert (reply.text, reply.notes) == (text, ())
    assert (reply.usage.input_tokens, reply.usage.output_tokens) == (9, 2)
    assert (reply.usage.source, reply.served_model) == ("api", "real-m")


# ---- the shapes of a stream

STREAMS = {
    "llama.cpp: a null first delta, timings beside the usage": lines(
        delta(role="assistant", content=None),
        delta(content="Hel"),
        delta(content="lo"),
        delta("stop"),
        LAST | {"timings": {"prompt_ms": 3.1, "predicted_ms": 9.9, "cache_n": 0}},
    ),
    "older llama.cpp: usage in the chunk that ends the answer": lines(
        delta(content="Hel"),
        delta(content="lo"),
        delta("stop", outer={"usage": USAGE}),
    ),
    "Ollama: the role in every delta, usage null until the end": lines(
        delta(role="assistant", content="Hel", outer={"usage": None}),
        delta(role="assistant", content="lo", outer={"usage": None}),
        delta("stop", role="assistant", content="", outer={"usage": None}),
        LAST,
    ),
    "vLLM: usage in every chunk, an empty first delta": lines(
        delta(role="assistant", content="", outer={"usage": {"prompt_tokens": 9}}),
        delta(content="Hel", outer={"usage": USAGE | {"completion_tokens": 1}}),
        delta(content="lo", outer={"usage": USAGE}),
        delta("stop", content="", outer={"usage": USAGE}),
        LAST,
    ),
    "LM Studio: usage null, reasons empty, a system fingerprint": lines(
        delta("", role="assistant", content="Hel", outer={"system_fingerprint": "f"}),
        delta("", role="assistant", content="lo", outer={"system_fingerprint": "f"}),
        delta("stop"),
        LAST,
    ),
    "proxies: empty usage before and after the real one": lines(
        delta(content="Hel", outer={"usage": {}}),
        delta(content="lo", outer={"usage": USAGE}),
        delta("stop", outer={"usage": {}}),
    ),
    "a delta of null, and none at all": lines(
        {"model": "real-m", "choices": [{"delta": None}]},
        {"model": "real-m", "choices": [{"index": 0}]},
        delta(content="Hello"),
        LAST,
    ),
    "choices null in the usage chunk": lines(delta(content="Hello"), LAST | {"choices": None}),
    "no choices in the usage chunk": lines(delta(content="Hello"), {"usage": USAGE}),
    "an error of null in every chunk": lines(
        delta(content="Hel", outer={"error": None}), delta(content="lo"), LAST | {"error": {}}
    ),
    "no reason for the end": lines({"choices": [{"delta": {"content": "Hello"}}]}, LAST),
    "content as a list of parts": lines(
        delta(content=[{"type": "text", "text": "Hel"}, {"type": "image"}]),
        delta(content="lo"),
        LAST,
    ),
    "carriage returns": lines(
        delta(content="Hel"), delta(content="lo"), LAST, newline="\r\n", end="data: [DONE]\r\n\r\n"
    ),
    "no space after the colon": lines(
        delta(content="Hel"), delta(content="lo"), LAST, prefix="data:", end="data:[DONE]\n\n"
    ),
    "no blank line after the end": lines(delta(content="Hello"), LAST, end="data: [DONE]"),
    "comments and pings that keep the line open": b": ping - 12:00\n\n:\n\n"
    + lines(delta(content="Hel"), end="")
    + b": ping\r\n\r\nevent: ping\n\n"
    + lines(delta(content="lo"), LAST),
    "a byte order mark": b"\xef\xbb\xbf" + lines(delta(content="Hello"), LAST),
}


@pytest.mark.parametrize("shape", STREAMS)
def test_every_shape_of_a_stream_is_read(endpoint, shape):
    reply = ask(endpoint, STREAMS[shape])

    check(reply)
    assert reply.ttft_ms is not None


def test_a_chunk_that_is_neither_content_nor_usage_is_not_passed_over(endpoint):
    reply = ask(endpoint, lines({"detail": "Not Found"}))

    assert reply.failure_type == "invalid_response", "a model must not be blamed for it"


def test_blanks_that_keep_the_line_open_before_a_whole_answer_are_fine(endpoint):
    message = {"role": "assistant", "content": "Hello"}
    whole = LAST | {"choices": [{"message": message, "finish_reason": "stop"}]}
    endpoint.script = lambda wire, request: wire.answer(b" \n\n  " + json.dumps(whole).encode())

    check(ask(endpoint, None, stream=False))


def test_usage_that_no_json_text_can_hold_costs_its_trace_and_not_the_run(endpoint):
    deep = {}
    for _ in range(300):
        deep = {"deep": deep}

    reply = ask(endpoint, lines(delta(content="Hello"), LAST | {"usage": USAGE | {"x": deep}}))

    check(reply)
    assert reply.usage.raw is None


def test_arguments_that_no_json_text_can_hold_are_an_invalid_response(endpoint):
    deep = {}
    for _ in range(300):
        deep = {"deep": deep}

    reply = ask(endpoint, lines(delta(tool_calls=[call("t", deep, index=0)])))

    assert reply.failure_type == "invalid_response"


# ---- reasoning


@pytest.mark.parametrize("field", ["reasoning_content", "reasoning"])
@pytest.mark.parametrize("stream", [True, False])
def test_reasoning_is_read_under_either_name(endpoint, field, stream):
    if stream:
        raw = lines(
            delta(role="assistant", content="", **{field: "We"}),
            delta(role="assistant", content="", **{field: " think"}),
            delta(role="assistant", content=None, **{field: "."}),
            delta(role="assistant", content="Hello", **{field: None}),
            delta("stop", content=""),
            LAST,
        )
    else:
        message = {"role": "assistant", "content": "Hello", field: "We think."}
        raw = LAST | {"choices": [{"message": message, "finish_reason": "stop"}]}

    reply = ask(endpoint, raw, stream=stream, thinking_level="high")

    check(reply)
    assert reply.reasoning == "We think."


def test_reasoning_under_both_names_at_once_is_read_once(endpoint):
    both = [{"reasoning": piece, "reasoning_content": piece} for piece in ("We", " think.")]

    reply = ask(endpoint, lines(*(delta(**one) for one in both), delta(content="Hello"), LAST))

    check(reply)
    assert reply.reasoning == "We think."


def test_reasoning_is_no_first_token(endpoint):
    reply = ask(endpoint, lines(delta(reasoning="Hm."), delta("stop", content="")))

    assert reply.failure_type == "empty_response"
    assert (reply.reasoning, reply.ttft_ms) == ("Hm.", None)


# ---- tool calls


def call(name=None, arguments=None, **fields):
    function = {"name": name, "arguments": arguments}
    return fields | {
        "function": {key: value for key, value in function.items() if value is not None}
    }


TWO = [("get_weather", '{"city":"Oslo"}'), ("get_time", '{"zone":"UTC"}')]
A, B = (call(name, arguments, type="function") for name, arguments in TWO)

TOOL_STREAMS = {
    "Ollama: one chunk each, every index 0": [
        [A | {"index": 0, "id": "a"}],
        [B | {"index": 0, "id": "b"}],
    ],
    "older Ollama: one chunk each, no index": [[A | {"id": "a"}], [B | {"id": "b"}]],
    "no index and no id": [[A], [B]],
    "all in one chunk, no index": [[A, B]],
    "all in one chunk, every index 0": [[A | {"index": 0, "id": "a"}, B | {"index": 0, "id": "b"}]],
    "arguments as objects": [
        [call("get_weather", {"city": "Oslo"}, index=0, id="a")],
        [call("get_time", {"zone": "UTC"}, index=1, id="b")],
    ],
    "pieces, turn by turn": [
        [call("get_weather", "", index=0, id="a"), call("get_time", "", index=1, id="b")],
        [call(None, '{"city":', index=0), call(None, '{"zone":', index=1)],
        [call(None, '"Oslo"}', index=0), call(None, '"UTC"}', index=1)],
    ],
    "the name and the id again in every piece": [
        [call("get_weather", '{"city":', index=0, id="a")],
        [call("get_weather", '"Oslo"}', index=0, id="a")],
        [call("get_time", '{"zone":"UTC"}', index=1, id="b")],
    ],
    "a new id with every piece": [
        [call("get_weather", "", index=0, id="a")],
        [call(None, '{"city":', index=0, id="a2")],
        [call("", '"Oslo"}', index=0, id="a3")],
        [call("get_time", '{"zone":"UTC"}', index=1, id="b")],
    ],
    "empty ids after the first": [
        [call("get_weather", '{"city":', index=0, id="a")],
        [call("", '"Oslo"}', index=0, id="")],
        [call("get_time", '{"zone":"UTC"}', index=1, id="b")],
    ],
    "pieces at an index that is used again": [
        [call("get_weather", "", index=0, id="a")],
        [call(None, '{"city":"Oslo"}', index=0)],
        [call("get_time", "", index=0, id="b")],
        [call(None, '{"zone":"UTC"}', index=0)],
    ],
    "what is no call between them": [
        ["odd", {"index": 0}, {"function": "odd"}],
        [A | {"index": 0, "id": "a"}],
        [B | {"index": 1, "id": "b"}],
    ],
}


@pytest.mark.parametrize("shape", TOOL_STREAMS)
def test_tool_calls_stay_apart_and_whole(endpoint, shape):
    chunks = [delta(content="", tool_calls=calls) for calls in TOOL_STREAMS[shape]]

    reply = ask(endpoint, lines(*chunks, delta("tool_calls"), LAST))

    check(reply, text="")
    assert [(one.name, one.arguments) for one in reply.tool_calls] == TWO
    if any(call.get("id") for calls in TOOL_STREAMS[shape] for call in calls if "odd" not in call):
        assert [one.call_id for one in reply.tool_calls] == ["a", "b"]
    assert reply.ttft_ms is not None, "a tool call is content"


@pytest.mark.parametrize("has_index", [True, False])
def test_tool_calls_of_a_whole_answer_stay_apart(endpoint, has_index):
    calls = [A | {"id": "a"}, B | {"id": "b"}]
    if has_index:
        calls = [one | {"index": 0} for one in calls]
    message = {"role": "assistant", "content": None, "tool_calls": calls}
    raw = LAST | {"choices": [{"message": message, "finish_reason": "tool_calls"}]}

    reply = ask(endpoint, raw, stream=False)

    assert [(one.name, one.arguments) for one in reply.tool_calls] == TWO


@pytest.mark.parametrize("call_id", [None, "same"])
def test_tool_calls_of_a_whole_answer_are_one_each_whatever_they_share(endpoint, call_id):
    calls = [one | {"index": 0, "id": call_id} for one in (A, B)]
    message = {"role": "assistant", "content": None, "tool_calls": calls}
    raw = LAST | {"choices": [{"message": message, "finish_reason": "tool_calls"}]}

    reply = ask(endpoint, raw, stream=False)

    assert [(one.name, one.arguments) for one in reply.tool_calls] == TWO


@pytest.mark.parametrize(
    ("arguments", "kept"), [(["Oslo"], '["Oslo"]'), (7, "7"), (False, "false"), (None, "")]
)
@pytest.mark.parametrize("stream", [True, False])
def test_arguments_that_are_no_object_are_kept_as_they_came(endpoint, arguments, kept, stream):
    calls = [call("get_weather", arguments, index=0, id="a")]
    message = {"role": "assistant", "content": None, "tool_calls": calls}
    raw = LAST | {"choices": [{"message": message, "finish_reason": "tool_calls"}]}
    if stream:
        raw = lines(delta(content="", tool_calls=calls), delta("tool_calls"), LAST)

    reply = ask(endpoint, raw, stream=stream)

    assert [one.arguments for one in reply.tool_calls] == [kept]


# ---- errors behind a status of 200

ERRORS = {
    "llama.cpp": (
        lines({"error": {"code": 500, "message": "boom", "type": "server_error"}}, end=""),
        ("http_500", "500"),
    ),
    "vLLM": (
        lines({"error": {"message": "boom", "type": "BadRequestError", "code": 400}}),
        ("http_400", "400"),
    ),
    "older vLLM": (
        lines({"object": "error", "message": "boom", "type": "BadRequestError", "code": 400}),
        ("http_400", "400"),
    ),
    "Ollama": (
        lines(
            {"error": {"message": "boom", "type": "api_error", "param": None, "code": None}}, end=""
        ),
        ("stream_interrupted", "api_error"),
    ),
    "LM Studio, with the name of the event": (
        b"event: error\n" + lines({"error": {"message": "boom"}, "message": "boom"}, end=""),
        ("stream_interrupted", "error_event"),
    ),
    "a bare text": (lines({"error": "boom"}, end=""), ("stream_interrupted", "error_event")),
    "a bare text in a whole answer": ({"error": "boom"}, ("invalid_response", None)),
    "a whole answer": (
        {"error": {"code": 503, "message": "boom", "type": "unavailable_error"}},
        ("http_503", "503"),
    ),
    "a code that is a text": (
        lines({"error": {"message": "boom", "code": "429"}}, end=""),
        ("http_429", "429"),
    ),
}


@pytest.mark.parametrize("server", ERRORS)
@pytest.mark.parametrize("started", [True, False])
def test_an_error_behind_a_good_status_keeps_its_words_and_code(endpoint, server, started):
    raw, expected = ERRORS[server]
    if started and isinstance(raw, bytes):
        raw = lines(delta(role="assistant", content="par"), end="") + raw

    reply = ask(endpoint, raw)

    assert (reply.failure_type, reply.error_code) == expected
    assert reply.error_message == "boom"
    assert not reply.failure.counts_against_model
    assert reply.http_status == 200
    if started and isinstance(raw, bytes):
        assert reply.text == "par", "what had arrived is kept"


def test_an_error_that_older_llama_cpp_hides_is_at_least_no_answer(endpoint):
    raw = lines(delta(content="par"), end="") + b'error: {"code":500,"message":"boom"}\n\n'

    reply = ask(endpoint, raw)

    assert (reply.failure_type, reply.error_code) == ("stream_interrupted", "no_end_marker")
