"""Where a model is asked, worked out once: host, request line and headers as bytes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol
from urllib.parse import quote, urlsplit

from collect.http_client.exchange import Exchange

Origin = tuple[str, str, int]
"""Scheme, host, port: what a connection can be shared by."""

PATH_SAFE = "/%:@!$&'()*+,;=~"
"""What stands in a path as it is (RFC 3986, section 3.3), and what is encoded already."""

PORTS = {"http": 80, "https": 443}


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
