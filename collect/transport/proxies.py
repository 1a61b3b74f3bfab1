"""Whether an address is reached through a proxy."""

from __future__ import annotations

import urllib.request
from urllib.parse import urlsplit


def needs_proxy(url: str) -> bool:
    """Return whether the environment names a proxy for this address."""
    where = urlsplit(url)
    proxies = urllib.request.getproxies()
    if not (proxies.get(where.scheme) or proxies.get("all")):
        return False
    return not urllib.request.proxy_bypass(where.netloc)
