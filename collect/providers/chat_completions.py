"""POST {base_url}/chat/completions: Ollama, llama.cpp, vLLM, LM Studio, OpenAI.

Streaming is the default, since only a stream shows the time to the first token. e2e_ms starts
when the first request byte is written, so waiting for a connection is not booked to the model.
"""

from __future__ import annotations

import asyncio
import contextlib
import re
import time
from collections.abc import AsyncIterator
from dataclasses import replace
from email.utils import parsedate_to_datetime
from typing import Any

import httpx
import orjson
from pydantic import JsonValue

from collect.config import ResolvedModel
from collect.config.loaded import as_json
from collect.providers.base import Reply, Request
from collect.providers.chat_reply import ChatAnswer, Malformed, error_of
from collect.providers.sse import EventReader, EventTooLarge
from schemas.errors import ConfigError, Problem

MAX_BODY = 32_000_000
"""Bytes of an answer; more is not an answer."""

ERROR_TEXT = 2_000
"""Characters kept of an error page."""

COMPLETE = frozenset({None, "empty_response", "output_truncated"})
"""Outcomes of an exchange that the server finished: it has a duration."""

AFTER_THE_END_S = 0.05
"""How long a server may take to close a stream whose end marker has arrived."""

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


class _Watch:
    """Stamps of one request, on the monotonic clock, in seconds."""

    def __init__(self) -> None:
        self.written: float | None = None
        self.accepted = False
        self.first_token: float | None = None
        self.ended: float | None = None

    async def trace(self, event: str, _info: object) -> None:
        """Take the moments that the connection reports."""
        if event.endswith("send_request_headers.started"):
            self.written = time.perf_counter()
        elif event.endswith("send_request_body.complete"):
            self.accepted = True

    def since_written(self, moment: float | None) -> int | None:
        """Return whole milliseconds from the first request byte to `moment`."""
        if moment is None or self.written is None:
            return None
        return round((moment - self.written) * 1000)


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
        watch = _Watch()
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

    async def _exchange(self, body: bytes, watch: _Watch) -> Reply:
        async with self._client.stream(
            "POST", self._url, content=body, extensions={"trace": watch.trace}
        ) as response:
            if not response.is_success:
                return await _refusal(response)
            try:
                content_type = response.headers.get("content-type", "").lower()
                if content_type.startswith("text/event-stream"):
                    reply = await _read_stream(response, watch)
                else:
                    reply = _whole(orjson.loads(await _read_body(response)))
            except (Malformed, EventTooLarge, orjson.JSONDecodeError) as exc:
                reply = Reply().failed("invalid_response", error_message=str(exc)[:ERROR_TEXT])
            return replace(reply, http_status=reply.http_status or response.status_code)


def _whole(data: Any) -> Reply:
    """Return an answer that is one object; some servers send an error with status 200."""
    code, text = error_of(data)
    if code is not None or text is not None:
        is_http = code is not None and re.fullmatch(r"[45]\d\d", code)
        failure_type = f"http_{code}" if is_http else "invalid_response"
        message = (text or "an error without words")[:ERROR_TEXT]
        return Reply().failed(failure_type, error_code=code, error_message=message)
    answer = ChatAnswer()
    answer.add(data, whole=True)
    return answer.reply()


async def _read_body(response: httpx.Response, limit: int = MAX_BODY) -> bytes:
    body = bytearray()
    async for chunk in response.aiter_bytes():
        body += chunk
        if len(body) > limit:
            message = f"the answer is larger than {limit:,} bytes"
            raise Malformed(message)
    return bytes(body)


async def _read_stream(response: httpx.Response, watch: _Watch) -> Reply:
    """Read a stream to its end marker; without one the answer cannot be trusted (A5)."""
    answer, events, size = ChatAnswer(), EventReader(), 0
    chunks = response.aiter_bytes()
    async for chunk in chunks:
        arrived = time.perf_counter()
        size += len(chunk)
        if size > MAX_BODY:
            message = f"the stream is larger than {MAX_BODY:,} bytes"
            raise Malformed(message)
        for event in events.feed(chunk):
            if event == b"[DONE]":
                watch.ended = arrived
                await _drain(chunks)
                return answer.reply()
            data = orjson.loads(event)
            code, text = error_of(data)
            if text is not None or code is not None:
                return answer.reply().failed(
                    "stream_interrupted", error_code=code or "error_event", error_message=text
                )
            if answer.add(data, whole=False) and watch.first_token is None:
                watch.first_token = arrived
    if events.rest() == b"[DONE]":
        return answer.reply()
    return answer.reply().failed(
        "stream_interrupted",
        error_code="no_end_marker",
        error_message="the stream ended without its end marker",
    )


async def _drain(chunks: AsyncIterator[bytes]) -> None:
    """Read what follows the end marker, so that the connection can be used again; it may fail."""
    with contextlib.suppress(TimeoutError, httpx.HTTPError):
        async with asyncio.timeout(AFTER_THE_END_S):
            async for _ in chunks:
                pass


async def _refusal(response: httpx.Response) -> Reply:
    """Turn an HTTP error into a reply, with the server's own words."""
    try:
        raw = await _read_body(response, limit=1_000_000)
    except (Malformed, httpx.HTTPError):
        raw = b""
    data: Any = None
    try:
        data = orjson.loads(raw)
    except orjson.JSONDecodeError:
        data = None
    code, text = error_of(data)
    status = response.status_code
    known = 100 <= status <= 599
    return Reply(
        http_status=status if known else None,
        failure_type=f"http_{status}" if known else "invalid_response",
        error_code=code,
        error_message=(text or raw.decode(errors="replace"))[:ERROR_TEXT] or None,
        retry_after_s=_retry_after(response.headers.get("retry-after")),
    )


def _retry_after(value: str | None) -> float | None:
    """Return the seconds a server asks us to wait: a number or an HTTP date."""
    if value is None:
        return None
    try:
        seconds = float(value)
    except ValueError:
        try:
            seconds = parsedate_to_datetime(value).timestamp() - time.time()
        except (ValueError, OverflowError):
            return None
    return max(0.0, seconds) if seconds < float("inf") else None


def _failure(exc: httpx.HTTPError, watch: _Watch) -> Reply:
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
