"""Reads the HTTP answer of a chat completion: whole, streamed, or refused.

Raises what the connection raises and `Malformed` for what is no answer; the provider turns both
into failures.
"""

from __future__ import annotations

import asyncio
import contextlib
import re
import time
from collections.abc import AsyncIterator
from email.utils import parsedate_to_datetime
from typing import Any

import httpx
import orjson

from collect.providers.base import Reply
from collect.providers.chat_reply import ChatAnswer, Malformed, error_of
from collect.providers.sse import EventReader

MAX_BODY = 32_000_000
"""Bytes of an answer; more is not an answer."""

ERROR_TEXT = 2_000
"""Characters kept of an error page."""

AFTER_THE_END_S = 0.05
"""How long a server may take to close a stream whose end marker has arrived."""


class Watch:
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


def whole_reply(data: Any) -> Reply:
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


async def read_body(response: httpx.Response, limit: int = MAX_BODY) -> bytes:
    """Return the whole body.

    Raises:
        Malformed: it is larger than `limit` bytes.
    """
    body = bytearray()
    async for chunk in response.aiter_bytes():
        body += chunk
        if len(body) > limit:
            message = f"the answer is larger than {limit:,} bytes"
            raise Malformed(message)
    return bytes(body)


async def read_stream(response: httpx.Response, watch: Watch) -> Reply:
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


async def refusal(response: httpx.Response) -> Reply:
    """Turn an HTTP error into a reply, with the server's own words."""
    try:
        raw = await read_body(response, limit=1_000_000)
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
