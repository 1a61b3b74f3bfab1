"""One GET that changes nothing, for `collect doctor`: what came back, or why nothing did.

Redirects are not followed and the environment's proxies are used, exactly as in a run, so that the
result is what a run would get.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Literal

import httpx
import orjson
from pydantic import JsonValue

from collect.http_client import needs_proxy
from collect.http_client.errors import causes, words_of_error

GET_TIMEOUT_S = 8.0
"""Of one GET, name look-up, TLS and body together."""

MAX_BODY_BYTES = 16_000_000
"""Bytes of an answer; the longest list of models known is below a million."""

Trouble = Literal["refused", "dns", "tls", "timeout", "proxy", "network", "protocol", "too_large"]


@dataclass(frozen=True, slots=True)
class GetResult:
    """What one GET brought."""

    url: str
    ms: float
    """From the call to the last byte; connecting is part of it."""
    status: int | None = None
    trouble: Trouble | None = None
    """Why there is no whole answer."""
    error: str = ""
    """The same in the words of the network."""
    headers: Mapping[str, str] = field(default_factory=dict)
    """Names in lower case."""
    body: bytes = b""
    data: JsonValue = None
    """The body as JSON; None when it is none."""
    wall_s: float = 0.0
    """Our wall clock when the answer began, seconds since 1970."""

    @property
    def is_good(self) -> bool:
        """Return whether JSON came with a status that means success."""
        return self.status is not None and 200 <= self.status <= 299 and self.data is not None


class ProbeClient:
    """Asks one address and those beside it, over one set of connections."""

    def __init__(self, base_url: str, *, is_loopback: bool) -> None:
        """Open nothing yet; no proxy is asked for an address of this machine."""
        self._proxied = not is_loopback and needs_proxy(base_url)
        self._client: httpx.AsyncClient | None = None
        self._why_not = ""
        try:
            self._client = httpx.AsyncClient(
                timeout=GET_TIMEOUT_S,
                follow_redirects=False,
                trust_env=self._proxied,
                verify=_trust(),
            )
        except (ImportError, ValueError, httpx.InvalidURL) as exc:  # the proxy's address or kind
            self._why_not = str(exc)

    async def aclose(self) -> None:
        """Close the connections."""
        if self._client is not None:
            await self._client.aclose()

    async def get(self, url: str, headers: Mapping[str, str]) -> GetResult:
        """Return what a GET brings; never raises for the other side."""
        started = time.perf_counter()

        def trouble(kind: Trouble, exc: BaseException) -> GetResult:
            ms = (time.perf_counter() - started) * 1000
            return GetResult(url, ms, trouble=kind, error=words_of_error(exc))

        if self._client is None:
            return GetResult(url, 0.0, trouble="proxy", error=self._why_not)
        try:
            async with asyncio.timeout(GET_TIMEOUT_S):
                return await _get(self._client, url, headers, started)
        except (TimeoutError, httpx.TimeoutException) as exc:
            return trouble("timeout", exc)
        except httpx.ProxyError as exc:
            return trouble("proxy", exc)
        except (httpx.RemoteProtocolError, httpx.DecodingError) as exc:
            return trouble("protocol", exc)
        except _TooLargeError as exc:
            return trouble("too_large", exc)
        except (httpx.HTTPError, httpx.InvalidURL, OSError, ValueError) as exc:
            kind = _kind(exc)
            behind = self._proxied and kind in {"refused", "dns", "network"}
            return trouble("proxy" if behind else kind, exc)


async def _get(
    client: httpx.AsyncClient, url: str, headers: Mapping[str, str], started: float
) -> GetResult:
    sent = {"Accept": "application/json", "User-Agent": "benchlake", **headers}
    async with client.stream("GET", url, headers=sent) as response:
        wall_s = time.time()
        body = bytearray()
        async for piece in response.aiter_bytes():
            body += piece
            if len(body) > MAX_BODY_BYTES:
                raise _TooLargeError
    try:
        data: JsonValue = orjson.loads(body)
    except orjson.JSONDecodeError:
        data = None
    return GetResult(
        url,
        (time.perf_counter() - started) * 1000,
        status=response.status_code,
        headers={name.lower(): value for name, value in response.headers.items()},
        body=bytes(body),
        data=data,
        wall_s=wall_s,
    )


@cache
def _trust() -> ssl.SSLContext:
    """Return the certificates that every address is checked against; loading them takes a while."""
    return httpx.create_ssl_context()


class _TooLargeError(Exception):
    def __str__(self) -> str:
        return f"the answer is larger than {MAX_BODY_BYTES:,} bytes"


def _kind(exc: BaseException) -> Trouble:
    """Return what lies below an error of the network."""
    for cause in causes(exc):
        if isinstance(cause, socket.gaierror):
            return "dns"
        if isinstance(cause, ssl.SSLError):
            return "tls"
        if isinstance(cause, ConnectionRefusedError):
            return "refused"
    return "network"
