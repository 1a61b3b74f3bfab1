"""POST {base_url}/chat/completions: Ollama, llama.cpp, vLLM, LM Studio, OpenAI.

Streaming is the default, since only a stream shows the time to the first token. e2e_ms starts
when the first request byte is written, so waiting for a connection is not booked to the model.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import replace

import orjson
from pydantic import JsonValue

from collect.config import ResolvedModel
from collect.config.loaded import as_json
from collect.providers.base import Prepared, Reply, Request
from collect.providers.chat_read import END, ERROR_TEXT, read_answer
from collect.redact import redact
from collect.transport import (
    Exchange,
    Target,
    Transport,
    WireError,
    WireTransport,
    needs_proxy,
)
from collect.turns import Turns
from schemas.errors import ConfigError, Problem

MANY_CHUNKS = 2_000
"""Pieces of an answer above which it is read beside the event loop, which others wait for."""

STREAM_REFUSED = "the server refuses `stream`: asked without, time to first token is unknown"


class ChatCompletions:
    """One model behind an OpenAI-compatible server."""

    def __init__(
        self, model: ResolvedModel, api_key: str | None, turns: Turns | None = None
    ) -> None:
        """Open nothing yet.

        Args:
            model: whom to ask, and where; its setting `transport` may ask for httpx, and a proxy
                of the environment is reached through it too.
            api_key: sent as a bearer token.
            turns: in which finished answers are handed over.

        Raises:
            ConfigError: the address or the proxy that the environment names cannot be used.
        """
        headers = {
            "Accept": "*/*",
            "Accept-Encoding": "identity",
            "User-Agent": "benchlake",
            "Content-Type": "application/json",
        }
        if api_key is not None:
            headers["Authorization"] = f"Bearer {api_key}"
        self._model = model
        self._streams = True
        self._target = _target(f"{model.base_url}/chat/completions", headers)
        wanted = model.settings.get("transport")
        stock = wanted is not None and wanted.value == "httpx"
        proxied = not model.is_loopback and needs_proxy(self._target.url)
        self._transport = _stock(model) if stock or proxied else WireTransport(turns)

    async def aclose(self) -> None:
        """Close every connection."""
        await self._transport.aclose()

    def prepare(self, request: Request) -> Prepared:
        """Return the body as it is sent; settings left out are the server's to choose."""
        model = self._model
        body: dict[str, JsonValue] = {
            "model": model.model,
            "messages": [as_json(message) for message in request.messages],
        }
        settings = (
            ("temperature", request.temperature),
            ("top_p", request.top_p),
            ("max_tokens", request.max_tokens),
            ("seed", request.seed),
            ("reasoning_effort", model.thinking_level),
        )
        body.update({name: value for name, value in settings if value is not None})
        body["stream"] = stream = request.stream and self._streams
        if stream:
            body["stream_options"] = {"include_usage": True}
        body.update(model.request_options)
        return Prepared(request, body, orjson.dumps(body))

    async def ask(self, prepared: Prepared) -> Reply:
        """Send one request; a server that refuses to stream is asked once more without."""
        if prepared.body["stream"] and not self._streams:
            prepared = self.prepare(prepared.request)
        reply = await self._ask(prepared)
        if prepared.body["stream"] is True and _refuses_stream(reply):
            notes = (STREAM_REFUSED,) if self._streams else ()  # said by the first that finds out
            self._streams = False
            reply = await self._ask(self.prepare(prepared.request))
            return replace(reply, notes=(*reply.notes, *notes))
        return reply

    async def _ask(self, prepared: Prepared) -> Reply:
        exchange = Exchange(END if prepared.body["stream"] else None)
        timeout_s = prepared.request.timeout_s
        failure = None
        try:
            async with asyncio.timeout(timeout_s):
                await self._transport.post(self._target, prepared.raw, exchange)
        except TimeoutError:
            message = f"no complete answer within {timeout_s:g} s"
            failure = Reply(failure_type="timeout", error_code="timeout", error_message=message)
        except WireError as exc:
            failure = _failure(exc, exchange)
        if len(exchange.chunks) > MANY_CHUNKS:
            return await asyncio.to_thread(read_answer, exchange, failure)
        return read_answer(exchange, failure)


def _failure(exc: WireError, exchange: Exchange) -> Reply:
    failure_type = exc.failure_type
    if failure_type == "stream_interrupted" and not exchange.accepted:
        failure_type = "connection_error"
    return Reply(
        failure_type=failure_type, error_code=exc.code, error_message=redact(str(exc))[:ERROR_TEXT]
    )


def _refuses_stream(reply: Reply) -> bool:
    said = (reply.error_message or "").lower()
    return reply.failure_type in {"http_400", "http_422", "http_501"} and "stream" in said


def _target(url: str, headers: Mapping[str, str]) -> Target:
    try:
        return Target.of(url, headers)
    except ValueError as exc:
        raise ConfigError([Problem(None, f"`{url}` cannot be asked: {exc}")]) from exc


def _stock(model: ResolvedModel) -> Transport:
    """Return httpx as it comes; a proxy is no part of this machine."""
    from collect.transport.stock import StockTransport  # noqa: PLC0415 - rarely needed, slow to load

    try:
        return StockTransport(
            max_connections=model.max_concurrency, trust_env=not model.is_loopback
        )
    except (ImportError, ValueError) as exc:
        what = f"the proxy that the environment names cannot be used: {exc}"
        raise ConfigError([Problem(None, what)]) from exc
