"""One trial is one answer: whatever a server sends, and whatever pieces it comes in."""

import asyncio
import json
import time
import tracemalloc
from codecs import BOM_UTF8

import pytest

from collect.http_client import Exchange, WireError, WireTransport
from collect.http_client.errors import MAX_PIECES
from collect.http_client.exchange import MAX_EXACT_STAMPS
from collect.providers.openai_chat import ChatCompletions
from collect.providers.openai_responses import OpenAIResponses
from tests.support.endpoint import chunk, sse, stream_of, usage, whole
from tests.support.wire_model import HTTPX, ask, model

HELLO = ({"role": "user", "content": "hi"},)
STOCK = pytest.mark.parametrize("stock", [False, True], ids=["ours", "httpx"])


def asked(endpoint, *, stock=False, stream=True, provider=ChatCompletions, **options):
    settings = HTTPX if stock else {}
    return ask(
        lambda: provider(model(endpoint.base_url, settings=settings), None),
        HELLO,
        stream=stream,
        **options,
    )


# ---- choices


def choice(index, text, key="delta"):
    return {"index": index, key: {"content": text}, "finish_reason": None}


SEVERAL = {
    "in one chunk": (
        sse({"choices": [choice(0, "a"), choice(1, "b")]}),
        ""),
    "in chunks of their own": (
        sse({"choices": [choice(0, "a")]}, {"choices": [choice(1, "b")]}, chunk(finish="stop")),
        "a"),
    "the second alone": (sse({"choices": [choice(1, "b")]}, chunk(finish="stop")), ""),
    "many that differ in their index alone": (
        sse(*({"choices": [choice(n % 8, "x")]} for n in range(64)), chunk(finish="stop")),
        "x"),
}  # fmt: skip


@pytest.mark.parametrize("name", SEVERAL)
def test_streamed_choices_are_never_mixed_into_one_answer(endpoint, name):
    raw, text = SEVERAL[name]
    endpoint.script = lambda wire, request: wire.stream(raw)

    reply = asked(endpoint)

    assert (reply.failure_type, reply.text) == ("invalid_response", text)
    assert "one was asked for" in reply.error_message


@pytest.mark.parametrize("choices", [[choice(0, "a", "message"), choice(1, "b", "message")],
                                     [choice(1, "b", "message")]])  # fmt: skip
def test_a_whole_answer_of_several_choices_is_none(endpoint, choices):
    body = {"model": "m", "choices": choices, "usage": usage()}
    endpoint.script = lambda wire, request: wire.answer(body)

    assert asked(endpoint, stream=False).failure_type == "invalid_response"


# ---- lines


def split_at_line_ends(raw):
    """Return a stream cut between every CR and LF."""
    pieces = raw.split(b"\r\n")
    return [piece + b"\r" if n == 0 else b"\n" + piece + b"\r" for n, piece in enumerate(pieces)]


PLAIN = stream_of("Hello there.")
LINES = {
    "CR": [PLAIN.replace(b"\n", b"\r")],
    "CR LF": [PLAIN.replace(b"\n", b"\r\n")],
    "CR LF split over two chunks": [*split_at_line_ends(PLAIN.replace(b"\n", b"\r\n"))[:-1], b"\n"],
    "all three": [PLAIN.replace(b"\n", b"\r", 3).replace(b"\n", b"\r\n", 3)],
    "a mark of the byte order": [BOM_UTF8 + PLAIN],
    "a mark of the byte order in pieces": [BOM_UTF8[:1], BOM_UTF8[1:] + PLAIN[:3], PLAIN[3:]],
    "comments": [b": hi\r" + PLAIN.replace(b"data", b":data: [DONE]\n: x\ndata")],
    "no space": [PLAIN.replace(b"data: ", b"data:")],
    "several lines of data": [
        b"\r".join(b"data: " + line for line in json.dumps(chunk("Hello there."), indent=1).encode()
                   .split(b"\n")) + b"\r\r" + sse(chunk(finish="stop"), {"choices": [],
                                                                        "usage": usage()})],
    "fields of events": [PLAIN.replace(b"data", b"event: x\rid: 7\rretry: 5\rdata")],
    "data without a colon": [b"data\n\n" + PLAIN],
}  # fmt: skip


def chunked(pieces):
    return b"".join(b"%x\r\n%s\r\n" % (len(one), one) for one in pieces if one)


HEAD = b"HTTP/1.1 200 X\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"


@STOCK
@pytest.mark.parametrize("lines", LINES)
def test_every_way_to_end_a_line_is_read_and_the_end_is_known_at_once(endpoint, lines, stock):
    def script(wire, request):
        wire.send(HEAD)
        for piece in LINES[lines]:
            wire.send(chunked([piece]))
            wire.sleep(0.002 if len(LINES[lines]) > 1 else 0)
        wire.sleep(60)  # the body never ends: its end marker does

    endpoint.script = script
    began = time.monotonic()

    reply = asked(endpoint, stock=stock)

    assert (reply.failure_type, reply.text) == (None, "Hello there.")
    assert reply.usage.output_tokens == 3
    assert 0 <= reply.ttft_ms <= reply.e2e_ms
    assert time.monotonic() - began < 30


@STOCK
def test_lines_that_end_in_cr_are_read_by_the_responses_api_too(endpoint, stock):
    output = [{"type": "message", "content": [{"type": "output_text", "text": "Hi."}]}]
    last = {"model": "m", "status": "completed", "output": output}
    done = {"type": "response.completed", "response": last}
    delta = {"type": "response.output_text.delta", "delta": "Hi."}
    raw = BOM_UTF8 + sse(delta, done, end=False).replace(b"\n", b"\r")
    endpoint.script = lambda wire, request: wire.stream(raw)

    reply = asked(endpoint, stock=stock, provider=OpenAIResponses)

    assert (reply.failure_type, reply.text) == (None, "Hi.")
    assert reply.ttft_ms is not None


# ---- pieces


def one_byte_frames(raw):
    return b"".join(b"1\r\n%c\r\n" % byte for byte in raw)


@STOCK
def test_an_answer_in_single_bytes_is_an_answer(endpoint, stock):
    text = "word " * 2_000 + "end"
    whole_answer = json.dumps(whole(text)).encode()
    is_stream = {True: sse(chunk(text), chunk(finish="stop")), False: whole_answer}

    def script(wire, request):
        raw = is_stream[request.body["stream"]]
        kind = b"text/event-stream" if request.body["stream"] else b"application/json"
        wire.send(HEAD.replace(b"text/event-stream", kind) + one_byte_frames(raw) + b"0\r\n\r\n")

    endpoint.script = script

    for stream in (True, False):
        assert asked(endpoint, stock=stock, stream=stream).text == text


@STOCK
def test_an_answer_in_more_pieces_than_any_has_is_none(endpoint, stock, monkeypatch):
    monkeypatch.setattr("collect.http_client.exchange.MAX_PIECES", 5_000)
    frames = one_byte_frames(b"data: x\n" * 1_000)
    endpoint.script = lambda wire, request: wire.send(HEAD + frames)

    reply = asked(endpoint, stock=stock)

    assert reply.failure_type == "invalid_response"
    assert reply.error_message == f"the answer came in more than {MAX_PIECES:,} pieces"


def test_single_bytes_take_no_more_memory_than_their_bytes():
    """What is kept of a piece beside its bytes, in both ways to take it in."""

    class Server(asyncio.Protocol):
        def connection_made(self, transport):
            self.transport = transport

        def data_received(self, data):
            frames = one_byte_frames(b"x" * 10_000)
            self.transport.write(HEAD + frames * 30 + b"0\r\n\r\n")

    async def go():
        from collect.http_client import Target

        server = await asyncio.get_running_loop().create_server(Server, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        pool, exchange = WireTransport(), Exchange()
        tracemalloc.start()
        await pool.post(Target.of(f"http://127.0.0.1:{port}/", {}), b"{}", exchange)
        kept, _ = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        await pool.aclose()
        server.close()
        return exchange, kept

    exchange, kept = asyncio.run(go())

    assert (exchange.size, exchange.pieces) == (300_000, 300_000)
    assert kept < 4_000_000, "a stamp for each would be ten times that"


def test_stamps_are_exact_at_first_and_close_together_later():
    exchange = Exchange()
    exchange.begin(200, {})
    for number in range(3 * MAX_EXACT_STAMPS):
        exchange.add(number / 10_000, b"x")

    assert exchange.moment_of(1) == 0.0
    assert exchange.moment_of(MAX_EXACT_STAMPS) == (MAX_EXACT_STAMPS - 1) / 10_000
    last = exchange.moment_of(exchange.size)
    assert (3 * MAX_EXACT_STAMPS - 1) / 10_000 - last < 0.001
    moments = {exchange.moment_of(size) for size in range(1, exchange.size + 1)}
    assert len(moments) < 1.2 * MAX_EXACT_STAMPS + 1


def test_too_many_pieces_end_an_exchange():
    exchange = Exchange()
    exchange.begin(200, {})
    exchange.add(0.0, b"x", MAX_PIECES)

    with pytest.raises(WireError, match="more than 1,000,000 pieces"):
        exchange.add(0.0, b"x")
