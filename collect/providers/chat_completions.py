"""POST {base_url}/chat/completions: Ollama, llama.cpp, vLLM, LM Studio, OpenAI.

Streaming is the default, since only a stream shows the time to the first token. e2e_ms starts
when the first request byte is written, so waiting for a connection is not booked to the model.
"""

from __future__ import annotations

import asyncio
import time
from dataclasses import replace

import httpx
import orjson
from pydantic import JsonValue

from collect.config import ResolvedModel
from collect.config.loaded import as_json
from collect.providers.base import Reply, Request
from collect.providers.chat_read import (
    ERROR_TEXT,
    Watch,
    read_body,
    read_stream,
    refusal,
    whole_reply,
)
from collect.providers.chat_reply import Malformed
from collect.providers.sse import EventTooLarge
from schemas.errors import ConfigError, Problem

COMPLETE = frozenset({None, "empty_response", "output_truncated"})
"""Outcomes of an exchange that the server finished: it has a duration."""

STREAM_REFUSED = "the server refuses `stream`: asked without, time to first token is unknown"

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


class ChatCompletions:
    """One model behind an OpenAI-compatible server."""

    def __init__(self, model: ResolvedModel, api_key: str | None) -> None:
        headers = {"Content-Type": "application/json", "Accept-Encoding": "identity"}
        if api_key is not None:
            headers["Authorization"] = f"Bearer {api_key}"
        limit = model.max_concurrency
        self._model = model
        self._url = f"{model.base_url}/chat/completions"
        self._streams = True
        try:
            self._client = httpx.AsyncClient(
                headers=headers,
                timeout=None,  # one wall clock around the whole request, below  # noqa: S113
                follow_redirects=False,  # a redirect would carry the key to another host
                trust_env=not model.is_loopback,  # a proxy is no part of this machine
                limits=httpx.Limits(max_connections=limit, max_keepalive_connections=limit),
            )
        except (ImportError, ValueError, httpx.InvalidURL) as exc:
            what = f"the proxy that the environment names cannot be used: {exc}"
            raise ConfigError([Problem(None, what)]) from exc

    async def aclose(self) -> None:
        """Close every connection."""
        await self._client.aclose()

    def body(self, request: Request) -> dict[str, JsonValue]:
        """Return the body as it is sent; settings left out are the server's to choose."""
        stream = request.stream and self._streams
        body: dict[str, JsonValue] = {
            "model": self._model.model,
            "messages": [as_json(message) for message in request.messages],
        }
        sampling = {
            "temperature": request.temperature,
            "top_p": request.top_p,
            "max_tokens": request.max_tokens,
            "seed": request.seed,
            "reasoning_effort": self._model.thinking_level,
        }
        body |= {name: value for name, value in sampling.items() if value is not None}
        body["stream"] = stream
        if stream:
            body["stream_options"] = {"include_usage": True}
        return body | dict(self._model.request_options)

    async def ask(self, request: Request) -> Reply:
        """Send one request; a server that refuses to stream is asked once more without."""
        body = self.body(request)
        reply = await self._ask(body, request.timeout_s)
        if body["stream"] is True and _refuses_stream(reply):
            notes = (STREAM_REFUSED,) if self._streams else ()  # said by the first that finds out
            self._streams = False
            reply = await self._ask(self.body(request), request.timeout_s)
            return replace(reply, notes=(*reply.notes, *notes))
        return reply

    async def _ask(self, body: dict[str, JsonValue], timeout_s: float) -> Reply:
        watch = Watch()
        try:
            async with asyncio.timeout(timeout_s):
                reply = await self._exchange(orjson.dumps(body), watch)
        except TimeoutError:
            message = f"no complete answer within {timeout_s:g} s"
            return Reply(accepted=watch.accepted).failed(
                "timeout", error_code="timeout", error_message=message
            )
        except httpx.HTTPError as exc:
            return _failure(exc, watch)
        except httpx.InvalidURL as exc:
            return Reply(accepted=False).failed("config_invalid", error_message=str(exc))
        if reply.failure_type not in COMPLETE:
            return reply
        ended = watch.since_written(watch.ended or time.perf_counter())
        return replace(reply, e2e_ms=ended, ttft_ms=watch.since_written(watch.first_token))

    async def _exchange(self, body: bytes, watch: Watch) -> Reply:
        async with self._client.stream(
            "POST", self._url, content=body, extensions={"trace": watch.trace}
        ) as response:
            if not response.is_success:
                return await refusal(response)
            try:
                content_type = response.headers.get("content-type", "").lower()
                if content_type.startswith("text/event-stream"):
                    reply = await read_stream(response, watch)
                else:
                    reply = whole_reply(orjson.loads(await read_body(response)))
            except (Malformed, EventTooLarge, orjson.JSONDecodeError) as exc:
                reply = Reply().failed("invalid_response", error_message=str(exc)[:ERROR_TEXT])
            return replace(reply, http_status=reply.http_status or response.status_code)


def _failure(exc: httpx.HTTPError, watch: Watch) -> Reply:
    kind = next((known for known in type(exc).__mro__ if known in FAILURES), None)
    if kind is None:
        raise exc
    failure_type, code = FAILURES[kind]
    if failure_type == "stream_interrupted" and not watch.accepted:
        failure_type = "connection_error"
    text = str(exc) or type(exc).__name__
    return Reply(accepted=watch.accepted).failed(
        failure_type, error_code=code, error_message=text[:ERROR_TEXT]
    )


def _refuses_stream(reply: Reply) -> bool:
    said = (reply.error_message or "").lower()
    return reply.failure_type in {"http_400", "http_422", "http_501"} and "stream" in said
