"""Our own HTTP/1.1: keep-alive connections on asyncio, with nothing between socket and stamp.

There is no queue: the caller decides how many requests are in flight. The connection used last is
used first, so that few stay in use and the others may close. Host, request line and headers of an
address are encoded once, as bytes.

Answers are handed over one per pass of the event loop (`CompletionQueue`). When many arrive
together, judging and writing them in one go would keep the loop from the sockets, and the answers
that arrive meanwhile would look late. Between two of them the loop looks at its sockets, so that
bytes are stamped when they come.
"""

from __future__ import annotations

import asyncio
import ssl
import time
from collections import defaultdict, deque
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol
from urllib.parse import quote, urlsplit

from collect.http_client.connection import Connection
from collect.http_client.errors import (
    ConnectError,
    ConnectRefused,
    ConnectTimeout,
    WireError,
    is_refusal,
)
from collect.http_client.exchange import Exchange

Origin = tuple[str, str, int]
"""Scheme, host, port: what a connection can be shared by."""

PATH_SAFE = "/%:@!$&'()*+,;=~"
"""What stands in a path as it is (RFC 3986, section 3.3), and what is encoded already."""

PORTS = {"http": 80, "https": 443}

MAX_IDLE_S = 4.0
"""How long a connection may lie idle and be used again; many servers close at 5 s."""

STALE_S = 1.0
"""A reused connection that breaks within this time had already been closed by the server."""

CONNECT_TIMEOUT_S = 10.0
"""How long a connection may take, TLS included."""

CLOSE_TIMEOUT_S = 1.0
"""How long closing may take before we stop looking."""


class CompletionQueue:
    """Wakes those who wait one at a time, in the order they came."""

    def __init__(self) -> None:
        self._waiting: deque[tuple[asyncio.Future[None], Exception | None]] = deque()
        self._moving = False

    def wake(self, waiting: asyncio.Future[None], wrong: Exception | None = None) -> None:
        """Finish a future when its turn has come, with an exception if there is one."""
        self._waiting.append((waiting, wrong))
        if not self._moving:
            self._moving = True
            loop = waiting.get_loop()
            loop.call_soon(self._next, loop)

    async def wait_turn(self) -> None:
        """Wait for the next turn."""
        turn = asyncio.get_running_loop().create_future()
        self.wake(turn)
        await turn

    def _next(self, loop: asyncio.AbstractEventLoop) -> None:
        while self._waiting:
            waiting, wrong = self._waiting.popleft()
            if waiting.done():  # whoever waited has gone
                continue
            if wrong is None:
                waiting.set_result(None)
            else:
                waiting.set_exception(wrong)
            loop.call_soon(self._next, loop)
            return
        self._moving = False


@dataclass(frozen=True, slots=True)
class Target:
    """One address that requests are posted to."""

    url: str
    headers: Mapping[str, str]
    origin: Origin
    head: bytes
    """The request up to the value of Content-Length."""

    @classmethod
    def of(cls, url: str, headers: Mapping[str, str]) -> Target:
        """Return the target of a URL.

        Raises:
            ValueError: it is none, or is neither http nor https.
        """
        where = urlsplit(url)
        if where.scheme not in PORTS or not where.hostname:
            message = f"`{where.scheme or 'nothing'}` is neither http nor https"
            raise ValueError(message)
        host = where.hostname if ":" in where.hostname else _ascii(where.hostname)
        named = f"[{host}]" if ":" in host else host
        named += f":{where.port}" if where.port is not None else ""
        path = quote(where.path or "/", safe=PATH_SAFE)
        if where.query:
            path += "?" + quote(where.query, safe=PATH_SAFE + "?")
        lines = [f"POST {path} HTTP/1.1", f"Host: {named}"]
        lines += [f"{name}: {value}" for name, value in headers.items()]
        lines += ["Connection: keep-alive", "Content-Length: "]
        head = "\r\n".join(lines).encode("ascii")
        return cls(url, headers, (where.scheme, host, where.port or PORTS[where.scheme]), head)

    def request(self, body: bytes) -> bytes:
        """Return a whole request."""
        return b"%s%d\r\n\r\n%s" % (self.head, len(body), body)


class Transport(Protocol):
    """What carries requests."""

    async def post(self, target: Target, body: bytes, exchange: Exchange) -> None:
        """Send a request and fill `exchange` with what comes back.

        Raises:
            WireError: the exchange failed; it keeps what had arrived.
        """

    async def aclose(self) -> None:
        """Close every connection."""


def _ascii(host: str) -> str:
    return host if host.isascii() else host.encode("idna").decode("ascii")


class WireTransport:
    """A pool of connections to any number of origins."""

    def __init__(
        self, completions: CompletionQueue | None = None, *, connect_s: float = CONNECT_TIMEOUT_S
    ) -> None:
        """Open nothing yet; others may share the queue in which answers are handed over."""
        self._connect_s = connect_s
        self._ssl_context: ssl.SSLContext | None = None
        self._idle: defaultdict[Origin, list[Connection]] = defaultdict(list)
        self._open: set[Connection] = set()
        self._completions = completions or CompletionQueue()

    @property
    def open_connections(self) -> int:
        """Return how many connections there are, idle or not."""
        return len(self._open)

    async def post(self, target: Target, body: bytes, exchange: Exchange) -> None:
        """Send a request and fill `exchange`; the caller is woken once, at the end.

        A server may close a connection just as it is used again, and has hardly read what is sent
        then; llama.cpp does so after every stream. Such a request is sent once more, over a new
        connection, and its stamps begin there. (A server that reads a request and closes within
        `STALE_S` without a byte is asked twice.)

        Raises:
            WireError: the exchange failed; it keeps what had arrived.
        """
        request = target.request(body)
        connection = self._take(target.origin)
        if connection is not None:
            try:
                await self._send(connection, request, exchange)
            except WireError:
                if exchange.heard or not self._is_stale(exchange):
                    raise
                exchange.restart()
            else:
                return
        connection = await self._connect(target.origin)
        try:
            await self._completions.wait_turn()
        except asyncio.CancelledError:
            connection.abort()
            raise
        if not connection.is_usable:
            message = f"{target.url}: the server closed the connection before it was asked"
            raise ConnectError(message)
        await self._send(connection, request, exchange)

    @staticmethod
    async def _send(connection: Connection, request: bytes, exchange: Exchange) -> None:
        try:
            await connection.send(request, exchange)
        except asyncio.CancelledError:
            connection.abandon(exchange)
            raise

    @staticmethod
    def _is_stale(exchange: Exchange) -> bool:
        """Return whether the server can hardly have read a request that it did not answer."""
        written = exchange.written
        return written is not None and time.perf_counter() - written < STALE_S

    async def aclose(self) -> None:
        """Close every connection and wait until they are gone."""
        connections = tuple(self._open)
        for connection in connections:
            connection.abort()
        self._idle.clear()
        if connections:
            await asyncio.wait([one.closed for one in connections], timeout=CLOSE_TIMEOUT_S)

    def _take(self, origin: Origin) -> Connection | None:
        """Return the idle connection that was used last, if it is fresh enough."""
        idle = self._idle[origin]
        while idle:
            connection = idle.pop()
            if not connection.is_usable:
                continue
            if time.perf_counter() - connection.idle_since < MAX_IDLE_S:
                return connection
            for one in (connection, *idle):  # the rest is older still
                one.abort()
            idle.clear()
        return None

    async def _connect(self, origin: Origin) -> Connection:
        scheme, host, port = origin
        loop = asyncio.get_running_loop()
        connection = Connection(self._idle[origin].append, self._completions.wake)
        self._open.add(connection)
        connection.closed.add_done_callback(lambda _: self._open.discard(connection))
        try:
            async with asyncio.timeout(self._connect_s):
                tcp, _ = await loop.create_connection(lambda: connection, host, port)
                if scheme == "https":
                    tls = await loop.start_tls(tcp, connection, self._trust(), server_hostname=host)
                    if tls is None:
                        message = "the connection was lost during the TLS handshake"
                        raise ConnectError(message)
                    connection.attach(tls, tcp)
        except BaseException as exc:
            connection.abort()
            self._open.discard(connection)
            if isinstance(exc, TimeoutError):
                message = f"no connection to {host}:{port} within {self._connect_s:g} s"
                raise ConnectTimeout(message) from exc
            if isinstance(exc, OSError | ValueError):
                message = f"{host}:{port}: {exc}"
                kind = ConnectRefused if is_refusal(exc) else ConnectError
                raise kind(message) from exc
            raise
        return connection

    def _trust(self) -> ssl.SSLContext:
        if self._ssl_context is None:
            import httpx  # noqa: PLC0415 - it knows where certificates are; plain http needs none

            self._ssl_context = httpx.create_ssl_context()
            self._ssl_context.set_alpn_protocols(["http/1.1"])
        return self._ssl_context


def needs_proxy(url: str) -> bool:
    """Return whether the environment names a proxy for this address."""
    from urllib.request import getproxies, proxy_bypass  # noqa: PLC0415 - loads another client

    where = urlsplit(url)
    proxies = getproxies()
    if not (proxies.get(where.scheme) or proxies.get("all")):
        return False
    return not proxy_bypass(where.netloc)
