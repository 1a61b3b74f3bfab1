"""httpx as it comes, for proxies and HTTP/2: slower, and stamped when a task wakes up.

Whether the environment names a proxy for an address is told here, too.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from importlib.util import find_spec

import httpx

from collect.http_client.connection import AFTER_THE_END_S
from collect.http_client.errors import REFUSED, WireError, is_refusal
from collect.http_client.exchange import Exchange
from collect.http_client.pool import Target

MAX_PIECES_PER_TURN = 256
"""Pieces of an answer that are taken in before others have a turn."""

FAILURES: dict[type[httpx.HTTPError], tuple[str, str]] = {
    httpx.TimeoutException: ("timeout", "timeout"),
    httpx.ConnectError: ("connection_error", "connect"),
    httpx.RemoteProtocolError: ("stream_interrupted", "protocol"),
    httpx.ReadError: ("stream_interrupted", "read"),
    httpx.WriteError: ("connection_error", "write"),
    httpx.CloseError: ("connection_error", "close"),
    httpx.ProxyError: ("connection_error", "proxy"),
    httpx.UnsupportedProtocol: ("connection_error", "protocol"),
    httpx.LocalProtocolError: ("exception", "local_protocol"),
    httpx.DecodingError: ("invalid_response", "encoding"),
    httpx.TooManyRedirects: ("invalid_response", "redirect"),
}
"""httpx error to (failure_type, error_code); the nearest ancestor counts."""


class StockTransport:
    """An httpx client that fills an `Exchange`."""

    def __init__(self, *, max_connections: int, trust_env: bool) -> None:
        """Open nothing yet.

        Raises:
            ImportError: a proxy needs a package that is not installed.
            ValueError: a proxy's address is none.
        """
        try:
            self._client = httpx.AsyncClient(
                http2=find_spec("h2") is not None,
                timeout=None,  # one wall clock around the whole request is the caller's  # noqa: S113
                follow_redirects=False,  # a redirect would carry the key to another host
                trust_env=trust_env,
                limits=httpx.Limits(
                    max_connections=max_connections, max_keepalive_connections=max_connections
                ),
            )
        except httpx.InvalidURL as exc:
            raise ValueError(str(exc)) from exc

    async def aclose(self) -> None:
        """Close every connection."""
        await self._client.aclose()

    async def post(self, target: Target, body: bytes, exchange: Exchange) -> None:
        """Send a request and fill `exchange`.

        Raises:
            WireError: the exchange failed; it keeps what had arrived.
        """
        try:
            await self._post(target, body, exchange)
        except httpx.HTTPError as exc:
            kind = next((known for known in type(exc).__mro__ if known in FAILURES), None)
            if kind is None:
                raise
            failure_type, code = FAILURES[kind]
            if kind is httpx.ConnectError and is_refusal(exc):
                code = REFUSED
            raise WireError(str(exc) or type(exc).__name__, failure_type, code) from exc

    async def _post(self, target: Target, body: bytes, exchange: Exchange) -> None:
        async def trace(event: str, _info: object) -> None:
            if event.endswith("send_request_headers.started"):
                exchange.written = time.perf_counter()
            elif event.endswith("send_request_body.complete"):
                exchange.accepted = True

        async with self._client.stream(
            "POST", target.url, headers=target.headers, content=body, extensions={"trace": trace}
        ) as response:
            headers = {name.lower(): value for name, value in response.headers.raw}
            exchange.begin(response.status_code, headers)
            await _read(response, exchange)


async def _read(response: httpx.Response, exchange: Exchange) -> None:
    """Read the body; what follows its end marker costs little and may fail."""
    pieces = response.aiter_raw()
    async for data in pieces:
        if exchange.add(time.perf_counter(), data):
            break
        if (
            exchange.pieces % MAX_PIECES_PER_TURN == 0
        ):  # what is read already would be read without a pause
            await asyncio.sleep(0)
    exchange.finish(time.perf_counter())
    with contextlib.suppress(TimeoutError, httpx.HTTPError):
        async with asyncio.timeout(AFTER_THE_END_S):
            async for _ in pieces:
                pass
