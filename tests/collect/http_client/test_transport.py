"""The pool of connections against real sockets: reuse, limits, cuts, and what it leaves behind."""

import asyncio
import gzip
import re
import shutil
import socket
import ssl
import subprocess
import threading
import time
import zlib
from itertools import pairwise

import pytest
import uvloop

from collect.http_client import Exchange, Target, WireError, WireTransport
from collect.http_client.errors import (
    MAX_BODY_BYTES,
    BodyError,
    BodyTooLarge,
    ConnectError,
    ConnectTimeout,
    ProtocolError,
    ReadError,
    WriteError,
)

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi"
MARKER = re.compile(rb"\ndata: \[DONE\]")


LOOPS = {"asyncio": asyncio.run, "uvloop": uvloop.run}


@pytest.fixture(autouse=True, params=LOOPS)
def loop_in_use(request, monkeypatch):
    """Everything holds on both event loops."""
    monkeypatch.setitem(LOOPS, "in use", LOOPS[request.param])


def run(main):
    return LOOPS["in use"](main)


class Server:
    """Speaks raw bytes: `script(reader, writer, number)` answers one request after the other."""

    def __init__(self, script):
        self.script = script
        self.connections = 0
        self.requests = []
        self.gone = 0

    async def _serve(self, reader, writer):
        self.connections += 1
        number = self.connections
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                length = int(re.search(rb"(?i)content-length: (\d+)", head)[1])
                self.requests.append(head)
                if await self.script(reader, writer, number, length) == "stop":
                    break
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            self.gone += 1
        finally:
            writer.close()

    async def __aenter__(self):
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0, limit=2**22)
        self.port = self._server.sockets[0].getsockname()[1]
        self.target = Target.of(f"http://127.0.0.1:{self.port}/v1/x", {"A": "b"})
        return self

    async def __aexit__(self, *_):
        self._server.close()


def answering(raw, then=None):
    """Return a script that reads the request and sends `raw`."""

    async def script(reader, writer, number, length):
        await reader.readexactly(length)
        for piece in raw if isinstance(raw, list) else [raw]:
            writer.write(piece)
            await writer.drain()
            await asyncio.sleep(0.01 if isinstance(raw, list) else 0)
        if then == "reset":
            writer.transport.abort()
        return "stop" if then else None

    return script


async def post(pool, target, body=b"{}", end=None, exchange=None):
    exchange = exchange or Exchange(end)
    await pool.post(target, body, exchange)
    return exchange


async def remaining(pool):
    """Return how many connections stay; on a busy machine it takes a moment until all are gone."""
    deadline = time.monotonic() + 2
    while pool.open_connections and time.monotonic() < deadline:  # noqa: ASYNC110 - the pool tells nobody
        await asyncio.sleep(0.01)
    return pool.open_connections


def once(raw, then=None, end=None, *, gone=False):
    """Send one request; return the exchange, the error if any, and how many connections stay."""

    async def go():
        pool, exchange, wrong = WireTransport(), Exchange(end), None
        async with Server(answering(raw, then)) as server:
            try:
                async with asyncio.timeout(5):
                    await pool.post(server.target, b"{}", exchange)
            except (WireError, TimeoutError) as exc:
                wrong = exc
            await asyncio.sleep(0.02)
            left = await remaining(pool) if gone else pool.open_connections
            await pool.aclose()
            assert pool.open_connections == 0
        return exchange, wrong, left

    return run(go())


# ---- reuse


def test_a_request_is_sent_as_it_should_and_its_stamps_are_in_order():
    async def go():
        pool = WireTransport()
        async with Server(answering(OK)) as server:
            exchange = await post(pool, server.target, b'{"a":1}')
            await pool.aclose()
        return server, exchange

    server, exchange = run(go())

    (head,) = server.requests
    lines = head.decode().split("\r\n")
    assert lines[0] == "POST /v1/x HTTP/1.1"
    assert f"Host: 127.0.0.1:{server.port}" in lines
    assert [line for line in lines if "content-length" in line.lower()] == ["Content-Length: 7"]
    assert (exchange.status, exchange.body(), exchange.accepted) == (200, b"hi", True)
    assert exchange.written <= exchange.first_byte <= exchange.last_byte


def test_one_connection_serves_one_request_after_the_other():
    async def go():
        pool = WireTransport()
        async with Server(answering(OK)) as server:
            for _ in range(5):
                await post(pool, server.target)
            await pool.aclose()
            return server.connections

    assert run(go()) == 1


def test_a_connection_that_the_server_closed_while_idle_is_not_used():
    async def go():
        pool = WireTransport()
        async with Server(answering(OK, then="close")) as server:
            for _ in range(3):
                exchange = await post(pool, server.target)
                await asyncio.sleep(0.02)
                assert pool.open_connections == 0
            await pool.aclose()
            return server.connections, exchange.body()

    assert run(go()) == (3, b"hi")


def closing_at(request_no, after_s=0.0):
    """Return a script that closes each connection at its n-th request instead of answering it."""
    seen = {}

    async def script(reader, writer, number, length):
        await reader.readexactly(length)
        seen[number] = seen.get(number, 0) + 1
        if seen[number] == request_no:
            await asyncio.sleep(after_s)
            return "stop"
        writer.write(OK)
        return None

    return script


def test_a_connection_that_is_closed_just_as_it_is_used_again_costs_nothing():
    async def go():
        pool = WireTransport()
        async with Server(closing_at(2)) as server:
            answers = [(await post(pool, server.target)).body() for _ in range(4)]
            await pool.aclose()
            return server.connections, answers

    assert run(go()) == (4, [b"hi"] * 4)


def test_the_stamps_of_a_request_that_is_sent_once_more_begin_there():
    async def go():
        pool = WireTransport()
        async with Server(closing_at(2, after_s=0.2)) as server:
            await post(pool, server.target)
            began = time.perf_counter()
            exchange = await post(pool, server.target)
            await pool.aclose()
            return exchange.written - began

    assert run(go()) > 0.15


def test_a_new_connection_that_is_closed_is_an_error():
    async def go():
        pool = WireTransport()
        async with Server(closing_at(1)) as server:
            with pytest.raises(ProtocolError, match="before its answer"):
                await post(pool, server.target)
            await pool.aclose()
            return server.connections

    assert run(go()) == 1


@pytest.mark.parametrize(
    "said", [b"HTTP/1.1 102 Processing\r\n\r\n", b"what is this", b"HTTP/1.1 200 OK\r\nA: b"]
)
def test_a_request_that_the_server_has_answered_in_any_way_is_not_sent_twice(said):
    answered = []

    async def script(reader, writer, number, length):
        await reader.readexactly(length)
        answered.append(number)
        writer.write(OK if len(answered) == 1 else said)
        return None if len(answered) == 1 else "stop"

    async def go():
        pool = WireTransport()
        async with Server(script) as server:
            await post(pool, server.target)
            exchange = Exchange()
            with pytest.raises(WireError):
                await post(pool, server.target, exchange=exchange)
            await pool.aclose()
            return len(server.requests), exchange.requests

    assert run(go()) == (2, 1)


def test_a_request_that_is_sent_once_more_is_counted_twice():
    async def go():
        pool = WireTransport()
        async with Server(closing_at(2)) as server:
            counts = [(await post(pool, server.target)).requests for _ in range(3)]
            await pool.aclose()
            return counts

    assert run(go()) == [1, 2, 2]


def test_a_request_that_the_server_worked_on_for_a_while_is_not_sent_twice(monkeypatch):
    monkeypatch.setattr("collect.http_client.pool.STALE_S", 0.05)

    async def go():
        pool = WireTransport()
        async with Server(closing_at(2, after_s=0.2)) as server:
            await post(pool, server.target)
            with pytest.raises(ProtocolError, match="before its answer"):
                await post(pool, server.target)
            await pool.aclose()
            return server.connections, len(server.requests)

    assert run(go()) == (1, 2)


def test_a_connection_that_lay_idle_for_long_is_not_used(monkeypatch):
    monkeypatch.setattr("collect.http_client.pool.MAX_IDLE_S", 0.05)

    async def go():
        pool = WireTransport()
        async with Server(answering(OK)) as server:
            await asyncio.gather(*(post(pool, server.target) for _ in range(3)))
            await asyncio.sleep(0.1)
            await post(pool, server.target)
            await asyncio.sleep(0.02)
            left = pool.open_connections
            await pool.aclose()
            return server.connections, left

    assert run(go()) == (4, 1), "the older ones go with it"


@pytest.mark.parametrize("junk", [b"junk", OK, b"HTTP/1.1 408 Request Timeout\r\n\r\n"])
@pytest.mark.parametrize("at_once", [True, False])
def test_what_nobody_asked_for_ends_the_connection_and_not_the_answer(junk, at_once):
    exchange, wrong, left = once(OK + junk if at_once else [OK, junk], gone=True)

    assert (exchange.body(), wrong, left) == (b"hi", None, 0)


@pytest.mark.peers
def test_three_hundred_at_once_get_their_own_answers_at_their_true_latency():
    async def script(reader, writer, number, length):
        body = await reader.readexactly(length)
        await asyncio.sleep(0.2)
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (length, body))

    async def go():
        pool = WireTransport()
        async with Server(script) as server:
            bodies = [b"%d" % number for number in range(300)]
            first = await asyncio.gather(*(post(pool, server.target, one) for one in bodies))
            again = await asyncio.gather(*(post(pool, server.target, one) for one in bodies))
            await pool.aclose()
            return server.connections, bodies, first, again

    connections, bodies, first, again = run(go())

    assert connections == 300
    for answers in (first, again):
        assert [one.body() for one in answers] == bodies
    took = [(one.last_byte - one.written) * 1000 for one in again]
    assert min(took) >= 199
    assert max(took) <= 1000, "one after another they would take a minute"


def test_a_request_that_is_cancelled_takes_its_connection_with_it():
    async def script(reader, writer, number, length):
        await reader.readexactly(length)
        if number == 1:
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nsome")
            await writer.drain()
            await asyncio.sleep(2)
        writer.write(OK)

    async def go():
        pool, cut = WireTransport(), Exchange()
        async with Server(script) as server:
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.5):
                    await post(pool, server.target, exchange=cut)
            left = await remaining(pool)
            after = await post(pool, server.target)
            await pool.aclose()
        return cut, left, after

    cut, left, after = run(go())

    assert (cut.body(), cut.complete, cut.accepted, left) == (b"some", False, True, 0)
    assert after.body() == b"hi", "and the pool is as it was"


def test_the_one_who_waits_is_woken_once_while_the_stamps_are_those_of_the_arrival():
    pieces = [b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"]
    pieces += [b"1\r\n%d\r\n" % number for number in range(5)]

    async def script(reader, writer, number, length):
        await reader.readexactly(length)
        for piece in pieces:
            writer.write(piece)
            await asyncio.sleep(0.05)
        writer.write(b"0\r\n\r\n")

    async def go():
        pool = WireTransport()
        async with Server(script) as server:
            exchange = await post(pool, server.target)
            await pool.aclose()
        return exchange

    exchange = run(go())
    moments = sorted({exchange.moment_of(n) for n in range(1, exchange.size + 1)})

    assert len(moments) == 5
    assert all(0.03 < later - one < 0.3 for one, later in pairwise(moments))


# ---- reading


SIZED = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n"
CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n"
GOOD = {
    "nothing to say": (b"HTTP/1.1 204 No Content\r\n\r\n", b""),
    "not modified": (b"HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n", b""),
    "interim answers": (b"HTTP/1.1 100 C\r\n\r\nHTTP/1.1 103 X\r\nLink: x\r\n\r\n" + OK, b"hi"),
    "chunks": (CHUNKED + b"\r\n1\r\nh\r\n1\r\ni\r\n0\r\n\r\n", b"hi"),
    "chunks with extensions": (CHUNKED + b"\r\n2;a=b\r\nhi\r\n0;c\r\n\r\n", b"hi"),
    "trailers": (CHUNKED + b"\r\n2\r\nhi\r\n0\r\nDigest: x\r\nMore: y\r\n\r\n", b"hi"),
    "no reason phrase": (b"HTTP/1.1 200\r\nContent-Length: 2\r\n\r\nhi", b"hi"),
    "byte by byte": ([bytes([byte]) for byte in OK], b"hi"),
    "identity": (SIZED + b"Content-Encoding: identity\r\n\r\nhi", b"hi"),
}  # fmt: skip


@pytest.mark.parametrize("name", GOOD)
def test_an_answer_is_read_however_it_is_framed(name):
    raw, body = GOOD[name]

    exchange, wrong, left = once(raw)

    assert (exchange.body(), wrong, exchange.complete) == (body, None, True)
    assert left == 1, "and its connection is kept"


@pytest.mark.parametrize(
    "head",
    [b"HTTP/1.0 200 OK\r\n\r\n", b"HTTP/1.1 200 OK\r\n\r\n",
     b"HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\n",
     b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\n"],
)  # fmt: skip
def test_an_answer_may_end_with_its_connection(head):
    exchange, wrong, left = once([head, b"h", b"i"], then="close")

    assert (exchange.body(), wrong, left) == (b"hi", None, 0)


MALFORMED = {
    "no HTTP": b"<html>hello</html>",
    "status of letters": b"HTTP/1.1 2x0 OK\r\n\r\n",
    "status of two digits": b"HTTP/1.1 99 OK\r\n\r\n",
    "another version": b"HTTP/2.0 200 OK\r\nContent-Length: 2\r\n\r\nhi",
    "line feeds only": b"HTTP/1.1 200 OK\nContent-Length: 2\n\nhi",
    "a space in a header": b"HTTP/1.1 200 OK\r\nContent Length: 2\r\n\r\nhi",
    "a folded header": b"HTTP/1.1 200 OK\r\nA: b\r\n c\r\nContent-Length: 2\r\n\r\nhi",
    "a null in a header": b"HTTP/1.1 200 OK\r\nA: \x00\r\n\r\n",
    "two equal lengths": b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 2\r\n\r\nhi",
    "two lengths": b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\nhi",
    "a negative length": b"HTTP/1.1 200 OK\r\nContent-Length: -2\r\n\r\nhi",
    "a length beyond counting": b"HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999\r\n\r\n",
    "a length and chunks": CHUNKED + b"Content-Length: 2\r\n\r\n2\r\nhi\r\n0\r\n\r\n",
    "chunks and a length": SIZED + b"Transfer-Encoding: chunked\r\n\r\n",
    "a chunk size of letters": CHUNKED + b"\r\nzz\r\nhi\r\n",
    "a negative chunk": CHUNKED + b"\r\n-2\r\nhi\r\n",
    "a chunk beyond counting": CHUNKED + b"\r\nfffffffffffffffff\r\nhi\r\n",
    "a chunk longer than said": CHUNKED + b"\r\n1\r\nhi\r\n0\r\n\r\n",
    "another transfer coding": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n",
    "another protocol": b"HTTP/1.1 101 Switch\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\nabc",
    "long headers": b"HTTP/1.1 200 OK\r\nA: " + b"x" * 70_000 + b"\r\nContent-Length: 2\r\n\r\nhi",
    "endless headers": b"HTTP/1.1 200 OK\r\n" + b"A: b\r\n" * 60_000,
    "endless trailers": CHUNKED + b"\r\n2\r\nhi\r\n0\r\n" + b"A: b\r\n" * 200_000,
}  # fmt: skip


@pytest.mark.parametrize("name", MALFORMED)
def test_what_is_no_answer_is_an_error_and_never_a_guess(name):
    exchange, wrong, left = once(MALFORMED[name])

    assert isinstance(wrong, ProtocolError), wrong
    assert (exchange.complete, left) == (False, 0)


HALF = b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf"


@pytest.mark.parametrize(
    ("raw", "then", "kind", "kept"),
    [
        (b"", "close", ProtocolError, b""),
        (b"", "reset", ReadError, b""),
        (b"HTTP/1.1 200 OK\r\nContent-Le", "close", ProtocolError, b""),
        ([HALF], "close", ProtocolError, b"half"),
        ([HALF], "reset", ReadError, b"half"),
        ([CHUNKED + b"\r\n4\r\nhalf\r\n"], "close", ProtocolError, b"half"),
    ],
)  # fmt: skip
def test_a_cut_keeps_what_had_arrived(raw, then, kind, kept):
    exchange, wrong, left = once(raw, then)

    if then == "reset":  # the kernel may say either, depending on what it has read
        assert isinstance(wrong, ReadError | ProtocolError)
    else:
        assert isinstance(wrong, kind)
    assert (exchange.body(), exchange.complete, exchange.accepted, left) == (kept, False, True, 0)


# ---- limits and encodings


def test_a_body_that_says_it_is_too_large_is_not_even_read():
    raw = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % (MAX_BODY_BYTES + 1)
    exchange, wrong, left = once(raw)

    assert isinstance(wrong, BodyTooLarge)
    assert "32,000,000 bytes" in str(wrong)
    assert (exchange.size, left) == (0, 0)


def test_a_body_that_grows_too_large_is_cut_off():
    _, wrong, left = once([CHUNKED + b"\r\n"] + [b"f4240\r\n" + b"x" * 1_000_000 + b"\r\n"] * 33)

    assert isinstance(wrong, BodyTooLarge)
    assert left == 0


def encoded(coding, body):
    head = b"HTTP/1.1 200 OK\r\nContent-Encoding: %s\r\nContent-Length: %d\r\n\r\n"
    return head % (coding, len(body)) + body


def raw_deflate(data):
    packer = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    return packer.compress(data) + packer.flush()


@pytest.mark.parametrize(
    ("coding", "pack"),
    [(b"gzip", gzip.compress), (b"deflate", zlib.compress), (b"deflate", raw_deflate)],
)
def test_a_server_that_compresses_unasked_is_read(coding, pack):
    exchange, wrong, _ = once(encoded(coding, pack(b"hello " * 1000)))

    assert (exchange.body(), wrong) == (b"hello " * 1000, None)


def test_a_small_body_that_unpacks_to_a_huge_one_is_cut_off():
    exchange, wrong, _ = once(encoded(b"gzip", gzip.compress(bytes(MAX_BODY_BYTES * 3))))

    assert isinstance(wrong, BodyTooLarge)
    assert exchange.size == 0


@pytest.mark.parametrize(("coding", "body"), [(b"br", b"abc"), (b"gzip", b"not gzip at all")])
def test_an_encoding_that_cannot_be_read_is_said(coding, body):
    _, wrong, left = once(encoded(coding, body))

    assert isinstance(wrong, BodyError)
    assert left == 0


# ---- the end marker


@pytest.mark.parametrize(
    "pieces", [[b"data: x\n\ndata: [DONE]\n\n"], [b"data: x\n\nda", b"ta: [DO", b"NE]\n\n"]]
)
def test_an_end_marker_ends_an_answer_that_the_server_leaves_open(pieces):
    async def script(reader, writer, number, length):
        await reader.readexactly(length)
        writer.write(b"HTTP/1.1 200 OK\r\n\r\n")
        for piece in pieces:
            writer.write(piece)
            await asyncio.sleep(0.02)
        await asyncio.sleep(60)

    async def go():
        pool, began = WireTransport(), time.perf_counter()
        async with Server(script) as server:
            exchange = await post(pool, server.target, end=MARKER)
            took = time.perf_counter() - began
            await pool.aclose()
        return exchange, took

    exchange, took = run(go())

    assert exchange.complete
    assert took < 30
    assert exchange.last_byte == exchange.moment_of(exchange.size), "the marker's arrival counts"


def test_an_end_marker_in_the_midst_of_a_line_is_text():
    body = b'data: "say data: [DONE] now"\n\n'
    raw = [CHUNKED + b"\r\n", b"%x\r\n%s\r\n" % (len(body), body), b"2\r\nhi\r\n0\r\n\r\n"]
    exchange, wrong, left = once(raw, end=MARKER)

    assert (exchange.body(), wrong, left) == (body + b"hi", None, 1)


# ---- sending


def test_a_large_request_counts_as_accepted_once_it_has_left():
    async def slow(reader, writer, number, length):
        writer.transport.pause_reading()
        await looked.wait()
        writer.transport.resume_reading()
        await reader.readexactly(length)
        taken.set()
        await looked_again.wait()
        writer.write(OK)

    looked, taken, looked_again = asyncio.Event(), asyncio.Event(), asyncio.Event()

    async def go():
        pool, exchange = WireTransport(), Exchange()
        async with Server(slow) as server:
            task = asyncio.create_task(pool.post(server.target, bytes(20_000_000), exchange))
            await asyncio.sleep(0.1)
            early = exchange.accepted
            looked.set()
            await taken.wait()
            await asyncio.sleep(0.05)
            late = exchange.accepted
            looked_again.set()
            await task
            await pool.aclose()
        return early, late, exchange.body()

    assert run(go()) == (False, True, b"hi")


def test_a_request_that_was_not_taken_whole_is_a_write_error_or_a_time_out():
    async def deaf(reader, writer, number, length):
        writer.transport.pause_reading()
        await asyncio.sleep(0.2)
        writer.transport.abort()
        return "stop"

    async def go():
        pool, cut, late = WireTransport(), Exchange(), Exchange()
        async with Server(deaf) as server:
            with pytest.raises(WriteError):
                await pool.post(server.target, bytes(20_000_000), cut)
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.05):
                    await pool.post(server.target, bytes(20_000_000), late)
            await asyncio.sleep(0.02)
            assert pool.open_connections == 0
        return cut.accepted, late.accepted

    assert run(go()) == (False, False)


def test_an_answer_before_the_request_was_read_is_taken_and_the_connection_is_not():
    async def hasty(reader, writer, number, length):
        writer.transport.pause_reading()
        writer.write(b"HTTP/1.1 413 Too Large\r\nContent-Length: 2\r\n\r\nno")
        await asyncio.sleep(0.5)
        return "stop"

    async def go():
        pool = WireTransport()
        async with Server(hasty) as server:
            exchange = await post(pool, server.target, bytes(20_000_000))
            await asyncio.sleep(0.02)
            left = pool.open_connections
            await pool.aclose()
        return exchange, left

    exchange, left = run(go())

    assert (exchange.status, exchange.body(), exchange.accepted, left) == (413, b"no", False, 0)


# ---- connecting


def test_a_connection_that_cannot_be_made_says_why(free_port):
    async def ask(url, connect_s=10.0):
        pool, exchange = WireTransport(connect_s=connect_s), Exchange()
        try:
            await pool.post(Target.of(url, {}), b"{}", exchange)
        finally:
            assert (pool.open_connections, exchange.written) == (0, None)
            await pool.aclose()

    with pytest.raises(ConnectError, match=str(free_port)):
        run(ask(f"http://127.0.0.1:{free_port}/"))
    with pytest.raises(ConnectError):
        run(ask("http://no-such-host.invalid/"))
    with socket.socket() as silent:  # takes no TLS handshake
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        with pytest.raises(ConnectTimeout, match=r"0\.2 s"):
            run(ask(f"https://127.0.0.1:{silent.getsockname()[1]}/", 0.2))


@pytest.mark.parametrize("url", ["ftp://a/b", "a/b", "http:///x"])
def test_an_address_that_is_none_is_refused(url):
    with pytest.raises(ValueError, match="neither http nor https"):
        Target.of(url, {})


@pytest.fixture(scope="module")
def certificate(tmp_path_factory):
    """A certificate for localhost that vouches for itself, and its key."""
    if shutil.which("openssl") is None:
        pytest.skip("openssl is not installed")
    folder = tmp_path_factory.mktemp("tls")
    key, cert = folder / "key.pem", folder / "cert.pem"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1",
         "-nodes", "-days", "2", "-subj", "/CN=localhost", "-addext",
         "subjectAltName=DNS:localhost", "-keyout", key, "-out", cert],
        check=True, capture_output=True,
    )  # fmt: skip
    return key, cert


def over_tls(certificate, host):
    async def go():
        key, cert = certificate
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(cert, key)
        context.set_alpn_protocols(["h2", "http/1.1"])
        spoken = []

        async def serve(reader, writer):
            spoken.append(writer.get_extra_info("ssl_object").selected_alpn_protocol())
            try:
                while head := await reader.readuntil(b"\r\n\r\n"):
                    length = int(re.search(rb"Content-Length: (\d+)", head)[1])
                    await reader.readexactly(length)
                    writer.write(OK)
            except (asyncio.IncompleteReadError, ConnectionError):
                writer.close()

        server = await asyncio.start_server(serve, "127.0.0.1", 0, ssl=context)
        port = server.sockets[0].getsockname()[1]
        pool = WireTransport()
        try:
            target = Target.of(f"https://{host}:{port}/", {})
            answers = [await post(pool, target, bytes(size)) for size in (2, 3_000_000, 2)]
            return spoken, answers
        finally:
            await pool.aclose()
            server.close()
            await asyncio.sleep(0.05)

    return run(go())


def test_tls_is_spoken_with_whom_the_system_trusts(certificate, monkeypatch):
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate[1]))

    spoken, answers = over_tls(certificate, "localhost")

    assert spoken == ["http/1.1"], "one connection for all"
    assert [(one.body(), one.accepted) for one in answers] == [(b"hi", True)] * 3


@pytest.mark.parametrize(("trusted", "host"), [(False, "localhost"), (True, "127.0.0.1")])
def test_tls_is_refused_to_a_stranger_or_another_name(certificate, monkeypatch, trusted, host):
    if trusted:
        monkeypatch.setenv("SSL_CERT_FILE", str(certificate[1]))

    with pytest.raises(ConnectError, match="certificate"):
        over_tls(certificate, host)


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_a_request_is_on_its_way_before_anybody_else_has_a_turn(certificate, monkeypatch, scheme):
    """Else the time that other tasks take would be booked to the model."""
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate[1]))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate[1], certificate[0])
    arrived = []
    listening = socket.create_server(("127.0.0.1", 0))

    def serve():
        sock, _ = listening.accept()
        with context.wrap_socket(sock, server_side=True) if scheme == "https" else sock as wire:
            for _ in range(2):
                wire.recv(65_536)
                arrived.append(time.perf_counter())
                wire.sendall(OK)

    async def go():
        pool = WireTransport()
        target = Target.of(f"{scheme}://localhost:{listening.getsockname()[1]}/", {})
        await post(pool, target)
        exchange = Exchange()
        task = asyncio.create_task(pool.post(target, b"{}", exchange))
        await asyncio.sleep(0)
        time.sleep(0.5)  # noqa: ASYNC251 - the busy neighbour
        await task
        await pool.aclose()
        return exchange.written

    thread = threading.Thread(target=serve)
    thread.start()
    written = run(go())
    thread.join(5)
    listening.close()

    assert written <= arrived[1] < written + 0.4
