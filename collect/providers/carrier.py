"""What carries a model's requests: our own HTTP/1.1, or httpx where it is asked for or needed."""

from __future__ import annotations

from collections.abc import Mapping

from collect.config import ResolvedModel
from collect.http_client import Target, Transport, WireTransport, needs_proxy
from collect.http_client.completion_queue import Turns
from schemas.errors import ConfigError, Problem


def target_of(url: str, headers: Mapping[str, str]) -> Target:
    """Return where requests are posted to.

    Raises:
        ConfigError: the address cannot be used.
    """
    try:
        return Target.of(url, headers)
    except ValueError as exc:
        raise ConfigError([Problem(None, f"`{url}` cannot be asked: {exc}")]) from exc


def carrier_of(model: ResolvedModel, turns: Turns | None) -> Transport:
    """Return what carries the requests of a model.

    Args:
        model: its setting `transport` may ask for httpx, and a proxy of the environment is reached
            through it too; a proxy is no part of this machine.
        turns: in which finished answers are handed over.

    Raises:
        ConfigError: the proxy that the environment names cannot be used.
    """
    wanted = model.settings.get("transport")
    stock = wanted is not None and wanted.value == "httpx"
    proxied = not model.is_loopback and needs_proxy(model.base_url)
    return _stock(model) if stock or proxied else WireTransport(turns)


def _stock(model: ResolvedModel) -> Transport:
    """Return httpx as it comes; a proxy is no part of this machine."""
    from collect.http_client.httpx_client import StockTransport  # noqa: PLC0415 - rarely needed, slow to load

    try:
        return StockTransport(
            max_connections=model.max_concurrency, trust_env=not model.is_loopback
        )
    except (ImportError, ValueError) as exc:
        what = f"the proxy that the environment names cannot be used: {exc}"
        raise ConfigError([Problem(None, what)]) from exc
