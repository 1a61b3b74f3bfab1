"""One connection: sends a request, reads the answer, and wakes its waiter once.

The parser is llhttp, which is strict: two lengths, a length beside chunks, a bad chunk size or
header are errors, never guesses.

The end of a request's time comes only once all that has arrived is read: a collector that was
stopped, suspended or overloaded wakes up to expired deadlines and unread sockets. An event loop
handles the deadlines first, so answers that arrived in time would be lost.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from types import TracebackType
from typing import cast

import httptools

from collect.http_client.errors import BodyError, ProtocolError, ReadError, WireError, WriteError
from collect.http_client.exchange import MAX_HEAD_BYTES, Exchange

AFTER_THE_END_S = 0.05
"""How long a server may take to end an answer whose end marker has arrived."""


MAX_PIECES_PER_READ = 2_000
"""Pieces in one read, after which other connections are looked at before this one goes on."""

Wake = Callable[[asyncio.Future[None], Exception | None], None]
"""Finishes the future of the one who waits, when it is his turn."""

MAX_QUIET_PASSES = 10
"""Passes of the event loop, each with a look at every socket, that bring nothing more."""

MAX_PASSES = 1_000
"""Passes in all: a server that never ends its answer has to stop somewhere."""


class Connection(asyncio.Protocol):
    """One keep-alive connection; carries one exchange at a time."""

    def __init__(self, released: Callable[[Connection], None], wake: Wake) -> None:
        self.closed: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        """Done once the connection is gone."""
        self.idle_since = 0.0
        """When it became free, on the clock of the stamps."""
        self._released = released
        self._wake = wake
        self._transports: tuple[asyncio.Transport, ...] = ()
        self._transport: asyncio.Transport | None = None
        self._exchange: Exchange | None = None
        self._waiting: asyncio.Future[None] | None = None
        self._parser = httptools.HttpResponseParser(self)
        self._headers: dict[bytes, bytes] = {}
        self._head_size = self._trailer_size = 0
        self._pieces: list[bytes] = []
        self._now = 0.0
        self._framed = self._in_body = self._message_ended = self._marked = False
        self._keep = False
        self._wrong: WireError | None = None
        self._timer: asyncio.TimerHandle | None = None

    # ---- the asking side

    def attach(self, *transports: asyncio.BaseTransport) -> None:
        """Use these transports, the outermost first; writes reach the kernel at once."""
        self._transports = cast("tuple[asyncio.Transport, ...]", transports)
        self._transport = self._transports[0]
        for one in self._transports:
            one.set_write_buffer_limits(high=0)

    def send(self, request: bytes, exchange: Exchange) -> asyncio.Future[None]:
        """Write a request; the future is done when its answer is complete or has failed."""
        assert self._transport is not None
        self._exchange = exchange
        self._waiting = waiting = asyncio.get_running_loop().create_future()
        exchange.written = time.perf_counter()
        exchange.requests += 1
        self._transport.write(request)
        self._note_accepted()
        return waiting

    def abandon(self, exchange: Exchange) -> None:
        """Give up on an exchange that is still under way, and on the connection with it."""
        if self._exchange is exchange:
            self._note_accepted()
            self._reset()
            self.abort()

    def abort(self) -> None:
        """Close at once."""
        if self._transport is not None:
            self._transport.abort()

    @property
    def is_usable(self) -> bool:
        """Return whether another request can be sent."""
        return self._transport is not None and not self._transport.is_closing()

    def _note_accepted(self) -> None:
        exchange = self._exchange
        if exchange is None or exchange.accepted:
            return
        exchange.accepted = self.is_usable and not any(
            one.get_write_buffer_size() for one in self._transports
        )

    # ---- what the event loop reports

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Take the transport of a new connection."""
        self.attach(transport)

    def resume_writing(self) -> None:
        """Learn that a large request has left."""
        self._note_accepted()

    def data_received(self, data: bytes) -> None:
        """Read what arrived; this is the moment that counts."""
        self._now = time.perf_counter()
        exchange = self._exchange
        if exchange is None:  # nobody asked
            self.abort()
            return
        exchange.heard = True
        if not exchange.accepted:
            self._note_accepted()
        wrong: WireError | None = None
        try:
            self._feed(data)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade, WireError) as exc:
            self._keep = False
            if not self._message_ended:
                wrong = self._wrong or ProtocolError(f"not HTTP/1.1: {exc}")
        try:
            self._take_in(exchange)
        except BodyError as exc:
            self._keep = False
            wrong = exc
        if wrong is not None:
            self._end(wrong)
        elif self._message_ended:
            self._end(None)
        elif self._head_size > MAX_HEAD_BYTES:
            self._end(_too_long())
        elif self._marked and self._timer is None:
            loop = asyncio.get_running_loop()
            self._timer = loop.call_later(AFTER_THE_END_S, self._end, None)

    def _feed(self, data: bytes) -> None:
        """Parse what arrived; a head ends within its limit, however it was cut on its way."""
        room = MAX_HEAD_BYTES - self._head_size
        if not self._in_body and len(data) > room:
            self._head_size = MAX_HEAD_BYTES
            self._parser.feed_data(data[:room])
            if not self._in_body:
                self._stop(_too_long())
            data = data[room:]
            self._head_size = 0
        self._head_size += len(data)
        self._parser.feed_data(data)

    def _take_in(self, exchange: Exchange) -> None:
        """Hand on what one read brought of the body, in one go however small its chunks are."""
        pieces = self._pieces
        if not pieces:
            return
        self._pieces = []
        if len(pieces) > MAX_PIECES_PER_READ and self._transport is not None:
            self._transport.pause_reading()
            asyncio.get_running_loop().call_soon(self._read_on)
        data = pieces[0] if len(pieces) == 1 else b"".join(pieces)
        if exchange.add(self._now, data, len(pieces)):
            self._marked = True

    def _read_on(self) -> None:
        if self._transport is not None and not self._transport.is_closing():
            self._transport.resume_reading()

    def eof_received(self) -> None:
        """Learn that the server sends no more."""
        self._cut(None)

    def connection_lost(self, exc: Exception | None) -> None:
        """Learn that the connection is gone."""
        self._cut(exc)
        if not self.closed.done():
            self.closed.set_result(None)

    def _cut(self, exc: Exception | None) -> None:
        exchange = self._exchange
        if exchange is None:
            self.abort()
        elif self._marked or (exc is None and self._in_body and not self._framed):
            self._now = time.perf_counter()
            self._end(None)
        elif not exchange.accepted:
            self._end(WriteError(f"cut while the request was sent: {exc or 'closed'}"))
        elif exc is not None:
            self._end(ReadError(str(exc) or type(exc).__name__))
        else:
            where = "in the middle of" if exchange.status else "before"
            self._end(ProtocolError(f"the server closed {where} its answer"))

    def _end(self, wrong: Exception | None) -> None:
        """Hand the answer over, and the connection back if it is clean."""
        exchange, waiting = self._exchange, self._waiting
        assert exchange is not None
        assert waiting is not None
        if self._marked:  # what comes after the end costs nothing
            wrong = None
        if wrong is None:
            exchange.finish(self._now)
        keep = self._keep and self._message_ended and exchange.accepted and self.is_usable
        self._reset()
        if keep and wrong is None:
            self.idle_since = self._now
            self._released(self)
        else:
            self.abort()
        self._wake(waiting, wrong)

    def _reset(self) -> None:
        """Forget the exchange."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._exchange = self._waiting = None
        self._headers, self._pieces = {}, []
        self._head_size = self._trailer_size = 0
        self._framed = self._in_body = self._message_ended = self._marked = self._keep = False

    # ---- what the parser reports

    def on_message_begin(self) -> None:
        """Refuse a second answer to one request."""
        if self._message_ended:
            self._stop(ProtocolError("two answers to one request"))

    def on_header(self, name: bytes, value: bytes) -> None:
        """Take one header, or one trailer, which nobody reads."""
        if self._in_body:
            self._trailer_size += len(name) + len(value)
            if self._trailer_size > MAX_HEAD_BYTES:
                self._stop(_too_long())
        else:
            self._headers[name.lower()] = value

    def on_headers_complete(self) -> None:
        """Take the head of an answer."""
        exchange, headers = self._exchange, self._headers
        assert exchange is not None
        status = self._parser.get_status_code()
        if self._parser.get_http_version() not in {"1.1", "1.0"}:
            self._stop(ProtocolError("an unknown version of HTTP"))
        if status < 200:
            return
        try:
            exchange.begin(status, headers)
        except BodyError as exc:
            self._stop(exc)
        self._headers = {}
        self._in_body = True
        self._framed = b"content-length" in headers
        if coding := headers.get(b"transfer-encoding"):
            self._framed = True
            if coding.strip().lower() != b"chunked":
                self._stop(ProtocolError("an unknown transfer encoding"))

    def on_body(self, body: bytes) -> None:
        """Take a piece of the body, already without its chunk frame."""
        self._head_size = 0
        self._pieces.append(body)

    def on_message_complete(self) -> None:
        """Note the end of an answer; an interim one (1xx) is followed by the real one."""
        if self._in_body:
            self._message_ended = True
            self._keep = self._parser.should_keep_alive()
        self._headers = {}

    def _stop(self, wrong: WireError) -> None:
        self._wrong = wrong
        raise wrong


def _too_long() -> ProtocolError:
    return ProtocolError(f"headers are longer than {MAX_HEAD_BYTES:,} bytes")


class Deadline:
    """Ends an exchange that takes too long, as `asyncio.timeout` does.

    Args:
        seconds: from the moment it is entered; None: no end.
        exchange: fills while there is something to read.

    Raises:
        TimeoutError: at its exit, when the time was up.
    """

    def __init__(self, seconds: float | None, exchange: Exchange) -> None:
        self._seconds = seconds
        self._exchange = exchange
        self._loop = asyncio.get_running_loop()
        self._limit = asyncio.timeout(None)
        self._next: asyncio.Handle | None = None
        self._before: tuple[int, int] | None = None
        self._passes = self._quiet = 0

    async def __aenter__(self) -> None:
        await self._limit.__aenter__()
        if self._seconds is not None:
            self._next = self._loop.call_later(self._seconds, self._look)

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._next is not None:
            self._next.cancel()
        await self._limit.__aexit__(kind, error, traceback)

    def _look(self) -> None:
        """End the exchange, unless the last pass brought something."""
        now = self._exchange.status, self._exchange.size
        self._quiet = self._quiet + 1 if now == self._before else 0
        self._before = now
        self._passes += 1
        if self._quiet >= MAX_QUIET_PASSES or self._passes >= MAX_PASSES:
            self._next = None
            self._limit.reschedule(self._loop.time())
        else:
            self._next = self._loop.call_soon(self._look)
