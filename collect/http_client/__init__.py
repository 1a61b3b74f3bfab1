"""How bytes reach a model server and when: latency is stamped as they pass.

`WireTransport` is our own HTTP/1.1 for hundreds of requests in flight. `StockTransport` is httpx as
it comes, for proxies and HTTP/2; `httpx_client` is imported where it is used, since most runs need
none of it. Both fill the same `Exchange` and fail with the same `WireError`.
"""

from __future__ import annotations

from collect.http_client.connection import Deadline
from collect.http_client.errors import REFUSED, WireError
from collect.http_client.exchange import Exchange
from collect.http_client.pool import Target, Transport, WireTransport, needs_proxy

__all__ = [
    "REFUSED",
    "Deadline",
    "Exchange",
    "Target",
    "Transport",
    "WireError",
    "WireTransport",
    "needs_proxy",
]
