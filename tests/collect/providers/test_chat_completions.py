"""The provider against real sockets: what is sent, what is read, and what each fault becomes."""

import asyncio
import time

import httpx
import pytest

from collect.http_client.httpx_client import FAILURES
from collect.providers.base import Request
from collect.providers.openai_chat import ChatCompletions
from schemas.failures import classify
from tests.support import wire_model
from tests.support.wire_model import HTTPX, model

MESSAGES = ({"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hi."})


def ask(base_url, *, key=None, times=1, stream=True, timeout_s=5.0, settings=(), **fields):
    """Ask once, or several times over one provider; return the last reply."""
    return wire_model.ask(
        lambda: ChatCompletions(model(base_url, **fields), key),
        MESSAGES,
        times=times,
        stream=stream,
        timeout_s=timeout_s,
        settings=settings,
    )


# ---- what is sent


def test_the_request_is_what_the_api_says(endpoint):
    settings = {"temperature": 0.7, "top_p": 0.9, "max_tokens": 32, "seed": 7}

    ask(endpoint.base_url, key="k-1", settings=settings, thinking_level="low")

    (request,) = endpoint.requests
    assert request.line == "POST /v1/chat/completions HTTP/1.1"
    assert request.headers["authorization"] == "Bearer k-1"
    assert request.headers["content-type"] == "application/json"
    assert request.body == {
        "model": "real-m",
        "messages": list(MESSAGES),
        "temperature": 0.7,
        "top_p": 0.9,
        "max_tokens": 32,
        "seed": 7,
        "reasoning_effort": "low",
        "stream": True,
        "stream_options": {"include_usage": True},
    }


def test_settings_left_out_are_left_to_the_server(endpoint):
    ask(endpoint.base_url, request_options={"min_p": 0.1, "stream_options": None})

    assert endpoint.requests[0].body == {
        "model": "real-m",
        "messages": list(MESSAGES),
        "stream": True,
        "stream_options": None,
        "min_p": 0.1,
    }
    assert "authorization" not in endpoint.requests[0].headers


# ---- what is read


def test_a_stream_is_read_with_its_first_token_time_and_usage(endpoint, answers):
    def script(wire, request):
        wire.open_stream()
        first = {"choices": [{"delta": {"role": "assistant", "content": None}}]}
        wire.send(answers.sse(first, end=False))
        wire.sleep(0.2)
        wire.send(answers.sse(answers.chunk("Hel"), end=False))
        wire.sleep(0.2)
        details = {
            "prompt_tokens": 9,
            "completion_tokens": 4,
            "prompt_tokens_details": {"cached_tokens": 5},
            "completion_tokens_details": {"reasoning_tokens": 2},
        }
        last = {"model": "served-m", "choices": [], "usage": details, "provider": "up"}
        wire.send(answers.sse(answers.chunk("lo"), answers.chunk(finish="stop"), last))
        wire.close()

    endpoint.script = script

    reply = ask(endpoint.base_url)

    assert reply.failure_type is None
    assert reply.text == "Hello"
    assert (reply.served_model, reply.served_provider) == ("served-m", "up")
    assert reply.finish_reason == "stop"
    assert (reply.usage.input_tokens, reply.usage.output_tokens) == (9, 4)
    assert (reply.usage.cached_input_tokens, reply.usage.reasoning_tokens) == (5, 2)
    assert reply.usage.source == "api"
    assert 200 <= reply.ttft_ms < reply.e2e_ms, "a null delta is no token"
    assert reply.e2e_ms >= 400


def test_an_answer_that_is_not_streamed_has_no_first_token_time(endpoint, answers):
    endpoint.script = lambda wire, request: wire.answer(answers.whole("Hi."))

    reply = ask(endpoint.base_url, stream=False)

    assert (reply.text, reply.ttft_ms, reply.failure_type) == ("Hi.", None, None)
    assert reply.e2e_ms is not None
    assert endpoint.requests[0].body["stream"] is False
    assert "stream_options" not in endpoint.requests[0].body


def test_a_server_that_ignores_stream_is_read_all_the_same(endpoint, answers):
    endpoint.script = lambda wire, request: wire.answer(answers.whole("Hi."))

    assert ask(endpoint.base_url).text == "Hi."


def test_a_server_that_refuses_to_stream_is_asked_once_without(endpoint, answers):
    def script(wire, request):
        if request.body["stream"]:
            wire.answer({"error": {"message": "stream is not supported"}}, status=400)
        else:
            wire.answer(answers.whole("Hi."))

    endpoint.script = script

    reply = ask(endpoint.base_url, times=2)

    assert reply.text == "Hi."
    assert [request.body["stream"] for request in endpoint.requests] == [True, False, False]


def test_waiting_for_a_connection_is_not_booked_to_the_model(endpoint, answers):
    def script(wire, request):
        wire.sleep(0.3)
        wire.stream(answers.stream_of("ok"))

    endpoint.script = script

    async def three_at_once():
        only_one = model(endpoint.base_url, max_concurrency=1, settings=HTTPX)
        provider = ChatCompletions(only_one, None)
        began = time.perf_counter()
        request = Request(MESSAGES, 5.0, stream=True)
        prepared = provider.prepare(request)
        replies = await asyncio.gather(*(provider.ask(prepared) for _ in range(3)))
        took = time.perf_counter() - began
        await provider.aclose()
        return replies, took

    replies, took = asyncio.run(three_at_once())

    assert took >= 0.9, "one connection: one after another"
    assert max(reply.e2e_ms for reply in replies) < 600


def test_tool_calls_of_the_api_are_put_together_from_their_pieces(endpoint, answers):
    def call(index, **fields):
        delta = {"tool_calls": [{"index": index, **fields}]}
        return {"choices": [{"delta": delta}]}

    pieces = [
        call(0, id="c1", function={"name": "exec_shell", "arguments": ""}),
        call(0, function={"arguments": '{"command":'}),
        call(1, id="c2", function={"name": "read_file", "arguments": "{}"}),
        call(0, function={"arguments": ' "free -h"}'}),
    ]
    endpoint.script = lambda wire, request: wire.stream(
        answers.sse(*pieces, answers.chunk(finish="tool_calls"))
    )

    reply = ask(endpoint.base_url)

    assert reply.failure_type is None, "a tool call without text is an answer"
    assert [(one.name, one.arguments) for one in reply.tool_calls] == [
        ("exec_shell", '{"command": "free -h"}'),
        ("read_file", "{}"),
    ]


# ---- faults


def scripted(endpoint, wire_script, **options):
    endpoint.script = wire_script
    return ask(endpoint.base_url, **options)


ERROR = {"error": {"code": "overloaded", "message": "try later"}}


@pytest.mark.parametrize("status", [400, 401, 403, 404, 408, 429, 500, 503, 302])
def test_a_status_code_is_kept_with_the_servers_words(endpoint, status):
    reply = scripted(endpoint, lambda wire, request: wire.answer(ERROR, status=status))

    assert reply.failure_type == f"http_{status}"
    assert (reply.http_status, reply.error_code) == (status, "overloaded")
    assert reply.error_message == "try later"
    assert len(endpoint.requests) == 1, "a redirect is not followed: the key would go along"


@pytest.mark.parametrize(
    ("value", "low", "high"),
    [("7", 7, 7), ("0.5", 0.5, 0.5), ("-3", 0, 0), ("soon", None, None), ("inf", None, None),
     ("Wed, 21 Oct 2015 07:28:00 GMT", 0, 0)],
)  # fmt: skip
def test_retry_after_is_read_as_seconds_or_date(endpoint, value, low, high):
    headers = [f"Retry-After: {value}"]
    reply = scripted(
        endpoint, lambda wire, request: wire.answer(ERROR, status=429, headers=headers)
    )

    if low is None:
        assert reply.retry_after_s is None
    else:
        assert low <= reply.retry_after_s <= high


def never_ends(wire, request):
    wire.open_stream()
    for _ in range(100):
        wire.send(b": still here\n\n")
        wire.sleep(0.05)


def big(wire, request):
    wire.open_stream()
    for _ in range(40):
        wire.send(b"data: " + b"x" * 1_000_000)


def cut_stream(wire, request):
    wire.open_stream()
    wire.send(b'data: {"choices": [{"delta": {"content": "par"}}]}\n\n')
    wire.close()


def reset_stream(wire, request):
    wire.open_stream()
    wire.send(b'data: {"choices": [{"delta": {"content": "par"}}]}\n\n')
    wire.sleep(0.05)
    wire.reset()


def short_body(wire, request):
    wire.send(b"HTTP/1.1 200 X\r\nContent-Length: 99\r\n\r\n{")
    wire.close()


FAULTS = {
    "hang": (lambda wire, request: wire.sleep(3), "timeout"),
    "stream that never ends": (never_ends, "timeout"),
    "reset before the answer": (lambda wire, request: wire.reset(), "stream_interrupted"),
    "closed before the answer": (lambda wire, request: wire.close(), "stream_interrupted"),
    "reset in the stream": (reset_stream, "stream_interrupted"),
    "no end marker": (cut_stream, "stream_interrupted"),
    "short body": (short_body, "stream_interrupted"),
    "truncated JSON": (lambda w, r: w.answer(b'{"choices": ['), "invalid_response"),
    "not JSON": (lambda w, r: w.answer(b"<html>hi</html>"), "invalid_response"),
    "no choices": (lambda w, r: w.answer({"choices": []}), "invalid_response"),
    "choices null": (lambda w, r: w.answer({"choices": None}), "invalid_response"),
    "content a number": (
        lambda w, r: w.answer({"choices": [{"message": {"content": 5}}]}),
        "invalid_response",
    ),
    "a list": (lambda w, r: w.answer(b"[]"), "invalid_response"),
    "invalid UTF-8": (
        lambda w, r: w.answer(b'{"choices": [{"message": {"content": "\xff"}}]}'),
        "invalid_response",
    ),
    "half an event": (lambda w, r: w.stream(b"data: {\n\n"), "invalid_response"),
    "too large": (big, "invalid_response"),
    "empty text": (
        lambda w, r: w.answer({"choices": [{"message": {"content": " \n"}}]}),
        "empty_response",
    ),
    "null text": (
        lambda w, r: w.answer({"choices": [{"message": {"content": None}}]}),
        "empty_response",
    ),
    "empty stream": (lambda w, r: w.stream(b"data: [DONE]\n\n"), "empty_response"),
    "cut by length": (
        lambda w, r: w.answer(
            {"choices": [{"message": {"content": "a b"}, "finish_reason": "length"}]}
        ),
        "output_truncated",
    ),
    "error event": (
        lambda w, r: w.stream(b'data: {"error": {"message": "boom", "code": 5}}\n\n'),
        "stream_interrupted",
    ),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_each_fault_becomes_its_failure_type(endpoint, fault):
    script, failure_type = FAULTS[fault]

    reply = scripted(endpoint, script, timeout_s=1.0)

    assert reply.failure_type == failure_type
    assert classify(reply.failure_type, accepted=reply.accepted)
    assert reply.error_message
    finished = failure_type in {"empty_response", "output_truncated"}
    assert (reply.e2e_ms is not None) is finished, "only what the server finished has a duration"


@pytest.mark.parametrize("after", ["reset", "held open", "chunk torn"])
def test_what_comes_after_the_end_marker_costs_nothing(endpoint, answers, after):
    def script(wire, request):
        if after == "chunk torn":
            wire.send(b"HTTP/1.1 200 X\r\nContent-Type: Text/Event-Stream\r\n"
                      b"Transfer-Encoding: chunked\r\n\r\n")  # fmt: skip
            raw = answers.stream_of("all of it")
            wire.send(f"{len(raw):x}\r\n".encode() + raw + b"\r\n")
            wire.close()
            return
        wire.open_stream()
        wire.send(answers.stream_of("all of it"))
        wire.sleep(0.1 if after == "reset" else 3)
        wire.reset()

    reply = scripted(endpoint, script, timeout_s=2.0)

    assert (reply.failure_type, reply.text) == (None, "all of it")
    assert reply.e2e_ms < 1000


def test_an_error_with_status_200_keeps_its_words_and_code(endpoint):
    body = {"error": {"code": 429, "message": "slow down"}}
    reply = scripted(endpoint, lambda wire, request: wire.answer(body))
    assert (reply.failure_type, reply.error_message) == ("http_429", "slow down")

    reply = scripted(endpoint, lambda wire, request: wire.answer({"error": "odd"}))
    assert (reply.failure_type, reply.error_message) == ("invalid_response", "odd")


def test_a_status_that_is_none_is_an_invalid_response(endpoint):
    reply = scripted(endpoint, lambda wire, request: wire.answer({}, status=999))

    assert (reply.failure_type, reply.http_status) == ("invalid_response", None)


@pytest.mark.parametrize("count", [2**63, 2**62, -1, 1.5, "7", True])
def test_a_number_of_tokens_that_cannot_be_is_unknown(endpoint, answers, count):
    body = answers.whole("hi", usage={"prompt_tokens": count, "completion_tokens": 3})

    reply = scripted(endpoint, lambda wire, request: wire.answer(body))

    assert (reply.usage.input_tokens, reply.usage.output_tokens) == (None, 3)


def test_every_request_in_flight_is_asked_again_when_streaming_is_refused(endpoint, answers):
    def script(wire, request):
        wire.sleep(0.1)
        if request.body["stream"]:
            wire.answer({"error": {"message": "stream is not supported"}}, status=400)
        else:
            wire.answer(answers.whole("Hi."))

    endpoint.script = script

    async def three_at_once():
        provider = ChatCompletions(model(endpoint.base_url, max_concurrency=3), None)
        request = Request(MESSAGES, 5.0, stream=True)
        prepared = provider.prepare(request)
        replies = await asyncio.gather(*(provider.ask(prepared) for _ in range(3)))
        await provider.aclose()
        return replies

    replies = asyncio.run(three_at_once())

    assert [reply.text for reply in replies] == ["Hi."] * 3
    assert sum(len(reply.notes) for reply in replies) == 1, "said once"


def test_a_proxy_is_not_used_for_this_machine(endpoint, free_port, monkeypatch):
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, f"http://127.0.0.1:{free_port}")

    assert ask(endpoint.base_url, key="k").failure_type is None


def test_what_arrived_before_a_cut_is_kept(endpoint):
    assert scripted(endpoint, cut_stream).text == "par"


def test_a_time_out_is_the_models_once_the_request_was_taken(endpoint, free_port):
    reply = scripted(endpoint, lambda wire, request: wire.sleep(3), timeout_s=0.3)
    assert reply.failure.cause == "model"
    assert reply.failure.counts_against_model

    assert classify("timeout", accepted=False).cause == "provider"


def test_a_refused_connection_is_unavailable(free_port):
    reply = ask(f"http://127.0.0.1:{free_port}/v1")

    assert reply.failure_type == "connection_error"
    assert reply.failure.availability_status == "skipped_unavailable"
    assert reply.error_message


def test_events_may_be_cut_anywhere(endpoint, answers):
    raw = answers.stream_of("naïve Grüße 你好")

    def script(wire, request):
        wire.open_stream()
        for at in range(len(raw)):
            wire.send(raw[at : at + 1])
        wire.close()

    endpoint.script = script

    assert ask(endpoint.base_url).text == "naïve Grüße 你好"


def test_carriage_returns_comments_and_a_missing_last_blank_line_are_fine(endpoint):
    raw = (
        b': hello\r\ndata: {"choices": [{"delta": {"content": "ok"}}]}\r\n\r\n'
        b"event: x\r\nid: 3\r\n\r\ndata:[DONE]"
    )
    assert scripted(endpoint, lambda wire, request: wire.stream(raw)).text == "ok"


def test_every_error_of_httpx_has_its_row():
    """A new error class in httpx must be placed, not raised at a user."""

    def leaves(kind):
        below = kind.__subclasses__()
        return {leaf for one in below for leaf in leaves(one)} if below else {kind}

    placed = tuple(FAILURES)
    unplaced = {
        leaf.__name__
        for leaf in leaves(httpx.TransportError) | {httpx.DecodingError, httpx.TooManyRedirects}
        if not issubclass(leaf, placed)
    }
    assert unplaced == set()
    assert {classify(failure_type).status for failure_type, _ in FAILURES.values()}


def test_a_stream_that_was_refused_was_a_request_too(endpoint, answers):
    def script(wire, request):
        if request.body["stream"]:
            wire.answer({"error": {"message": "stream is not supported"}}, status=400)
        else:
            wire.answer(answers.whole("Hi."))

    endpoint.script = script

    assert ask(endpoint.base_url).requests == len(endpoint.requests) == 2


@pytest.mark.parametrize("field", ["code", "message", "type"])
@pytest.mark.parametrize("status", [200, 500])
def test_an_error_nested_beyond_all_reason_is_the_servers(endpoint, field, status):
    deep = "[" * 1_000 + "]" * 1_000
    raw = f'{{"error": {{"{field}": {deep}}}}}'.encode()
    endpoint.script = lambda wire, request: wire.answer(raw, status=status)

    reply = ask(endpoint.base_url)

    assert reply.failure_type == ("invalid_response" if status == 200 else "http_500")
    assert reply.failure.cause == "provider"
