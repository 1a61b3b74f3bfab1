"""An answer over HTTP: the same however its bytes arrive, and no other than the peer reads."""

import asyncio
import ssl
from functools import cache

import httpcore

from collect.http_client import Exchange, Target, WireError
from collect.http_client.connection import Connection
from collect.http_client.httpx_client import StockTransport
from collect.providers.openai_chat import END
from tests.fuzz.inputs import cuts

WORDS = [
    b"HTTP/1.1 200 OK\r\n",
    b"HTTP/1.1 ",
    b"HTTP/1.0 200 OK\r\n",
    b"HTTP/1.1 100 Continue\r\n\r\n",
    b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n",
    b"HTTP/1.1 204 No Content\r\n",
    b"HTTP/1.1 304 Not Modified\r\n",
    b"HTTP/1.1 503 \r\n",
    b"Content-Length: 5\r\n",
    b"Content-Length: 0\r\n",
    b"Content-Length: 99999999999\r\n",
    b"Content-Length: -1\r\n",
    b"Content-Length: +5\r\n",
    b"Content-Length: 5, 5\r\n",
    b"Content-Length: 0x5\r\n",
    b"Transfer-Encoding: chunked\r\n",
    b"Transfer-Encoding: gzip, chunked\r\n",
    b"Transfer-Encoding: identity\r\n",
    b"Content-Encoding: gzip\r\n",
    b"Content-Encoding: deflate\r\n",
    b"Content-Encoding: br\r\n",
    b"Connection: close\r\n",
    b"Connection: keep-alive\r\n",
    b"\r\n",
    b"\n",
    b"\r",
    b"5\r\nhello\r\n",
    b"0\r\n\r\n",
    b"0\r\nTrailer: x\r\n\r\n",
    b"ffffffffffffffff\r\n",
    b"hello",
    b": ",
    b"\0",
    b" ",
    b"\x1f\x8b\x08",
    b"data: [DONE]\n\n",
]

_loop = asyncio.new_event_loop()
_target = Target.of("http://127.0.0.1:1/v1/x", {})


@cache
def _stock():
    return StockTransport(max_connections=1, trust_env=False)


def check(data):
    """However the bytes arrive, the answer is one; where the peer has one too, it is the same."""
    for end in (END, None):
        ours = {_loop.run_until_complete(_received(pieces, end)) for pieces in cuts(data)}
        assert len(ours) == 1, f"the answer depends on how it was cut: {ours}"
    (mine,) = ours
    theirs = _loop.run_until_complete(_with_httpx(data))
    if mine[0] == theirs[0] == "whole":
        assert mine == theirs, "the two transports read different answers"


@cache
def _tls():
    """One for all: the pool would load every root certificate of the machine."""
    return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)


class _Transport(asyncio.Transport):
    """Takes what is written and sends it nowhere."""

    def __init__(self):
        super().__init__()
        self._closing = False

    def set_write_buffer_limits(self, high=None, low=None):
        pass

    def get_write_buffer_size(self):
        return 0

    def write(self, data):
        pass

    def is_closing(self):
        return self._closing

    def abort(self):
        self._closing = True


async def _received(pieces, end):
    """Return what an answer is for us, when it comes in these pieces and then ends."""
    outcome = []

    def wake(waiting, wrong):
        outcome.append(wrong)
        waiting.set_result(None)

    connection = Connection(lambda _: None, wake)
    connection.connection_made(_Transport())
    exchange = Exchange(end)
    connection.send(b"POST", exchange)
    for piece in pieces:
        connection.data_received(piece)
    connection.eof_received()
    connection.connection_lost(None)
    assert len(outcome) == 1, "who waits is woken once"
    return _facts(exchange, outcome[0])


async def _with_httpx(data):
    backend = httpcore.AsyncMockBackend([data])
    pool = httpcore.AsyncConnectionPool(network_backend=backend, ssl_context=_tls())
    _stock()._client._transport._pool = pool
    exchange, wrong = Exchange(), None
    try:
        await _stock().post(_target, b"POST", exchange)
    except WireError as exc:
        wrong = exc
    await pool.aclose()
    return _facts(exchange, wrong)


def _facts(exchange, wrong):
    if wrong is not None:
        assert isinstance(wrong, WireError), f"not one of ours: {wrong!r}"
        return "broken", wrong.failure_type, wrong.code
    assert exchange.complete
    return "whole", exchange.status, exchange.body()
