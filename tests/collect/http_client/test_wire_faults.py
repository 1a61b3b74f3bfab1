"""Every fault a server can send over the wire, and what the provider makes of it."""

import asyncio
import gzip
import json

import pytest

from collect.providers.base import Request
from collect.providers.openai_chat import ChatCompletions
from schemas.failures import classify
from tests.support.endpoint import chunk, sse, stream_of, whole
from tests.support.wire_model import HTTPX, model

pytestmark = pytest.mark.peers

TEXT = "All of it."
PARTIAL = sse(chunk("par"), chunk("tial"), end=False)
TOO_LARGE = "the answer is larger than 32,000,000 bytes"


def ask(endpoint, *, stream, stock, timeout_s=10):
    """Ask twice over one provider: the fault, and whether the next request is harmed by it."""

    async def go():
        provider = ChatCompletions(model(endpoint.base_url, settings=HTTPX if stock else {}), "key")
        first, second = (
            provider.prepare(Request(({"role": "user", "content": "hi"},), limit_s, stream))
            for limit_s in (timeout_s, 10)  # however busy the machine is, the second has time
        )
        try:
            reply = await provider.ask(first)
            await asyncio.sleep(0.1)  # for a server that closes after it promised to stay
            endpoint.script = lambda wire, request: wire.stream(stream_of("next"))
            following = await provider.ask(second)
        finally:
            await provider.aclose()
        assert (following.failure_type, following.text) == (None, "next")
        return reply

    return asyncio.run(go())


def frames(raw, size=7):
    pieces = [raw[at : at + size] for at in range(0, len(raw), size)]
    return b"".join([b"%x\r\n%s\r\n" % (len(one), one) for one in pieces])


def head(*lines, version="1.1", status=200, kind="text/event-stream"):
    first = [f"HTTP/{version} {status} X", f"Content-Type: {kind}", *lines]
    return "\r\n".join([*first, "", ""]).encode()


HANG_S = 6
"""How long a connection is held that says nothing more."""


def sends(*pieces, then="close"):
    """Return a script that sends pieces, a little apart, and ends the connection."""

    def script(wire, request):
        for piece in pieces:
            wire.send(piece)
            wire.sleep(0.05)
        if then == "hang":
            wire.sleep(HANG_S)
        wire.reset() if then == "reset" else wire.close()

    return script


def drip(wire, request):
    wire.send(head("Connection: close"))
    for at in range(0, len(PARTIAL), 8):
        wire.send(PARTIAL[at : at + 8])
        wire.sleep(0.01)
    while True:
        wire.send(b": still here\n\n")
        wire.sleep(0.05)


def huge(wire, request):
    wire.send(head("Transfer-Encoding: chunked"))
    block = b"data: " + b"x" * 999_994
    for _ in range(100):
        wire.send(b"%x\r\n%s\r\n" % (len(block), block))


CHUNKS = "Transfer-Encoding: chunked"
ANSWER = stream_of(TEXT)
JSON = json.dumps(whole(TEXT)).encode()
ZIPPED = gzip.compress(ANSWER)
SPLIT = [chunk("par"), chunk("tial")]

FAULTS = {
    "429": (lambda w, r: w.answer({}, status=429, headers=["Retry-After: 3"]), "http_429", ""),
    "500": (lambda w, r: w.answer(b"oops", status=500), "http_500", ""),
    "a status whose body is cut": (
        sends(head("Content-Length: 99", status=503) + b"half"), "http_503", ""),
    "a status whose body hangs": (
        sends(head("Content-Length: 99", status=503), then="hang"), "http_503", ""),
    "redirect": (
        lambda w, r: w.answer(b"", status=307, headers=["Location: /v1/x"]), "http_307", ""),
    "reset before the answer": (sends(then="reset"), "stream_interrupted", ""),
    "closed before the answer": (sends(), "stream_interrupted", ""),
    "reset in the answer": (
        sends(head(CHUNKS), frames(PARTIAL), then="reset"), "stream_interrupted", "partial"),
    "closed in the answer": (
        sends(head(CHUNKS), frames(PARTIAL)), "stream_interrupted", "partial"),
    "no end marker": (
        sends(head(CHUNKS), frames(PARTIAL) + b"0\r\n\r\n"), "stream_interrupted", "partial"),
    "hang before the answer": (sends(then="hang"), "timeout", ""),
    "hang in the answer": (sends(head(CHUNKS), frames(PARTIAL), then="hang"), "timeout", "partial"),
    "slow drip": (drip, "timeout", "partial"),
    "error event": (
        sends(head(CHUNKS), frames(PARTIAL + sse({"error": {"message": "boom"}}, end=False)),
              then="hang"),
        "stream_interrupted", "partial"),
    "error event among others": (
        lambda w, r: w.stream(sse(*SPLIT, {"choices": [], "error": "boom"})),
        "stream_interrupted", "partial"),
    "truncated JSON": (lambda w, r: w.answer(JSON[:-9]), "invalid_response", ""),
    "truncated event": (
        lambda w, r: w.stream(PARTIAL + b'data: {"choices": [\n\ndata: [DONE]\n\n'),
        "invalid_response", "partial"),
    "empty body": (lambda w, r: w.answer(b""), "invalid_response", ""),
    "empty answer": (lambda w, r: w.answer(whole("")), "empty_response", ""),
    "empty stream": (lambda w, r: w.stream(b""), "stream_interrupted", ""),
    "a page": (
        lambda w, r: w.answer(b"<html>hi</html>", content_type="text/html"),
        "invalid_response", ""),
    "invalid UTF-8": (
        lambda w, r: w.stream(PARTIAL + b'data: {"choices": [{"delta": {"content": "\xff"}}]}\n\n'
                              b"data: [DONE]\n\n"),
        "invalid_response", "partial"),
    "100 MB": (huge, "invalid_response", ""),
    "100 MB announced": (
        sends(head("Content-Length: 100000000"), PARTIAL, then="hang"), "invalid_response", ""),
    "an unknown encoding": (
        sends(head("Content-Encoding: br", "Content-Length: 3") + b"abc"), "invalid_response", ""),
    "duplicate chunks": (
        lambda w, r: w.stream(sse(*SPLIT, *SPLIT)), None, "partialpartial"),
    "wrong content type": (
        lambda w, r: w.answer(JSON, content_type="text/plain"), None, TEXT),
    "Connection: close": (sends(head("Connection: close") + ANSWER), None, TEXT),
    "chunked with trailers": (
        sends(head(CHUNKS) + frames(ANSWER) + b"0\r\nDigest: x\r\n\r\n"), None, TEXT),
    "HTTP/1.0": (sends(head(version="1.0"), ANSWER), None, TEXT),
    "gzip": (
        sends(head("Content-Encoding: gzip", f"Content-Length: {len(ZIPPED)}") + ZIPPED),
        None, TEXT),
}  # fmt: skip
ENDED_BY_THE_CLOCK = {
    "a status whose body hangs", "hang before the answer", "hang in the answer", "slow drip"
}  # fmt: skip


@pytest.mark.parametrize("stock", [False, True], ids=["ours", "httpx"])
@pytest.mark.parametrize("fault", FAULTS)
def test_each_fault_has_its_failure_type_and_keeps_what_arrived(endpoint, fault, stock):
    script, failure_type, text = FAULTS[fault]
    endpoint.script = script

    timeout_s = 1.5 if fault in ENDED_BY_THE_CLOCK else 10
    reply = ask(endpoint, stream=True, stock=stock, timeout_s=timeout_s)

    assert (reply.failure_type, reply.text) == (failure_type, text)
    assert reply.accepted
    if failure_type is not None:
        assert classify(failure_type, accepted=reply.accepted)
    finished = failure_type in {None, "empty_response"}
    assert (reply.e2e_ms is not None) is finished
    if fault.startswith("100 MB"):
        assert reply.error_message == TOO_LARGE
    if fault == "429":
        assert reply.retry_after_s == 3


@pytest.mark.parametrize("fault", ["hang in the answer", "error event", "100 MB announced"])
def test_a_fault_is_known_as_soon_as_it_is_certain(endpoint, fault):
    script, failure_type, _ = FAULTS[fault]
    endpoint.script = script

    async def go():
        provider = ChatCompletions(model(endpoint.base_url), None)
        prepared = provider.prepare(Request(({"role": "user", "content": "hi"},), 1.0, stream=True))
        loop = asyncio.get_running_loop()
        began = loop.time()
        reply = await provider.ask(prepared)
        took = loop.time() - began
        await provider.aclose()
        return reply, took

    reply, took = asyncio.run(go())

    assert reply.failure_type == failure_type
    assert (took >= 1.0) is (failure_type == "timeout")


def test_texts_that_look_like_protocol_are_texts(endpoint):
    pieces = ["data: [DONE]", "\ndata: [DONE]\n\n", '{"error": {"message": "x"}}', '"},{"', "\\",
              "ü€😀", "a\u2028b", "", "[DONE]", '","role":"x', "\r\n\r\n"]  # fmt: skip
    endpoint.script = lambda wire, request: wire.stream(sse(*map(chunk, pieces)))

    assert ask(endpoint, stream=True, stock=False).text == "".join(pieces)


def test_events_that_differ_in_more_than_their_text_are_read_in_full(endpoint):
    def delta(**fields):
        return {"model": "m", "choices": [{"index": 0, "delta": fields}]}

    events = [
        delta(reasoning_content="th"),
        delta(reasoning_content="ink"),
        delta(content="a"),
        delta(content="b"),
        delta(content="c", reasoning="!"),
        delta(content=[{"type": "text", "text": "d"}]),
        delta(content="e") | {"model": "other"},
        delta(content="f") | {"usage": {"prompt_tokens": 1, "completion_tokens": 2}},
        delta(content="g") | {"usage": {"prompt_tokens": 1, "completion_tokens": 3}},
        delta(content="h", tool_calls=[{"index": 0, "function": {"name": "t", "arguments": "{"}}]),
        delta(content="i", tool_calls=[{"index": 0, "function": {"arguments": "}"}}]),
        delta(content="j") | {"choices": [{"delta": {"content": "j"}, "finish_reason": "stop"}]},
    ]
    endpoint.script = lambda wire, request: wire.stream(sse(*events))

    reply = ask(endpoint, stream=True, stock=False)

    assert (reply.text, reply.reasoning) == ("abcdefghij", "think!")
    assert (reply.served_model, reply.finish_reason) == ("m", "stop")
    assert reply.usage.output_tokens == 3
    assert [(call.name, call.arguments) for call in reply.tool_calls] == [("t", "{}")]


def test_an_answer_of_very_many_tokens_is_read_beside_the_loop(endpoint):
    def script(wire, request):
        wire.send(head(CHUNKS))
        for number in range(3_000):
            event = sse(chunk(f"{number} "), end=False)
            wire.send(b"%x\r\n%s\r\n" % (len(event), event))
        wire.send(frames(sse(chunk(finish="stop")), 1000) + b"0\r\n\r\n")

    endpoint.script = script

    reply = ask(endpoint, stream=True, stock=False)

    assert reply.text == "".join(f"{number} " for number in range(3_000))
    assert 0 <= reply.ttft_ms <= reply.e2e_ms
