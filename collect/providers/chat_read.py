"""Reads the answer of a chat completion after it arrived: whole, streamed, refused or cut short.

One plain function over an `Exchange`: nothing waits here, and no task is woken for a token. The
times come from the stamps that the transport took.
"""

from __future__ import annotations

import re
import time
from dataclasses import replace
from email.utils import parsedate_to_datetime
from typing import Any

import orjson

from collect.providers.base import Reply
from collect.providers.chat_delta import DeltaShape
from collect.providers.chat_reply import ChatAnswer, Malformed, error_of
from collect.providers.sse import END_MARKER, events
from collect.redact import redact
from collect.transport import Exchange

END = re.compile(rb'\ndata: ?(?:\[DONE\]|\{ ?"error": ?[{"])')
"""What ends a stream: its end marker, or an error event, after which nothing useful comes."""

NO_END = "no_end_marker"
"""The code of a stream that just stopped."""

ERROR_TEXT = 2_000
"""Characters kept of an error page; cut after keys were taken out, never through one."""

ERROR_BODY = 1_000_000
"""Bytes of an error page that are looked at."""


def read_answer(exchange: Exchange, failure: Reply | None = None) -> Reply:
    """Return what an exchange brought, with its times; what arrived before a failure is kept.

    Args:
        exchange: what passed over the wire.
        failure: why the exchange broke off, if it did. A status that refuses, and a stream that
            was wrong before it broke off, say more and come first.
    """
    status = exchange.status
    if status and not 200 <= status <= 299:
        return _refusal(exchange)
    is_stream = exchange.header(b"content-type").lower().startswith("text/event-stream")
    if failure is None or exchange.complete:  # a time-out in the very moment costs nothing
        return _read_stream(exchange) if is_stream else _read_whole(exchange)
    partial = Reply()
    if is_stream and failure.failure_type != "invalid_response":
        partial = _read_stream(exchange)
    if partial.failure_type is None or partial.error_code == NO_END:
        partial = partial.failed(
            failure.failure_type or "exception",
            error_code=failure.error_code,
            error_message=failure.error_message,
        )
    return replace(partial, http_status=status or None, accepted=exchange.accepted)


def _since_written(exchange: Exchange, moment: float | None) -> int | None:
    """Return whole milliseconds from the first request byte to `moment`."""
    if moment is None or exchange.written is None:
        return None
    return round((moment - exchange.written) * 1000)


def _read_whole(exchange: Exchange) -> Reply:
    """Return an answer that is one object; some servers send an error with status 200."""
    status = exchange.status
    try:
        data = orjson.loads(exchange.body())
        code, text = error_of(data)
        if code is None and text is None:
            answer = ChatAnswer()
            answer.add(data, whole=True)
            took = _since_written(exchange, exchange.last_byte)
            return answer.reply(http_status=status, e2e_ms=took)
    except (Malformed, orjson.JSONDecodeError) as exc:
        message = redact(str(exc))[:ERROR_TEXT]
        return Reply(http_status=status).failed("invalid_response", error_message=message)
    is_http = code is not None and re.fullmatch(r"[45]\d\d", code)
    failure_type = f"http_{code}" if is_http else "invalid_response"
    message = redact(text or "an error without words")[:ERROR_TEXT]
    return Reply(http_status=status).failed(failure_type, error_code=code, error_message=message)


def _read_stream(exchange: Exchange) -> Reply:
    """Read a stream to its end marker; without one the answer cannot be trusted (A5)."""
    answer, shape, first_token = ChatAnswer(), DeltaShape(), None
    status = exchange.status
    try:
        for event, end in events(exchange.body()):
            if (text := shape.text_of(event)) is not None:
                has_content = answer.more(shape.name, text)
            elif event == END_MARKER:
                return answer.reply(
                    http_status=status,
                    e2e_ms=_since_written(exchange, exchange.last_byte),
                    ttft_ms=_since_written(exchange, first_token),
                )
            else:
                data = orjson.loads(event)
                if b'"error"' in event and (failure := _error_event(data)):
                    return answer.reply(http_status=status).failed(**failure)
                has_content = answer.add(data, whole=False)
                shape.learn(event, data)
            if has_content and first_token is None:
                first_token = exchange.moment_of(end)
    except (Malformed, orjson.JSONDecodeError) as exc:
        message = redact(str(exc))[:ERROR_TEXT]
        return answer.reply(http_status=status).failed("invalid_response", error_message=message)
    return answer.reply(http_status=status).failed(
        "stream_interrupted",
        error_code=NO_END,
        error_message="the stream ended without its end marker",
    )


def _error_event(data: Any) -> dict[str, Any] | None:
    """Return the failure that an event of the stream tells of, if it does."""
    code, text = error_of(data)
    if code is None and text is None:
        return None
    return {
        "failure_type": "stream_interrupted",
        "error_code": code or "error_event",
        "error_message": redact(text or "an error without words")[:ERROR_TEXT],
    }


def _refusal(exchange: Exchange) -> Reply:
    """Turn an HTTP error into a reply, with the server's own words."""
    raw = exchange.body() if exchange.size <= ERROR_BODY else b""
    try:
        code, text = error_of(orjson.loads(raw))
    except orjson.JSONDecodeError:
        code, text = None, None
    status = exchange.status
    known = 100 <= status <= 599
    return Reply(
        http_status=status if known else None,
        failure_type=f"http_{status}" if known else "invalid_response",
        error_code=code,
        error_message=redact(text or raw.decode(errors="replace"))[:ERROR_TEXT] or None,
        retry_after_s=_retry_after(exchange.header(b"retry-after")),
    )


def _retry_after(value: str) -> float | None:
    """Return the seconds a server asks us to wait: a number or an HTTP date."""
    try:
        seconds = float(value)
    except ValueError:
        try:
            seconds = parsedate_to_datetime(value).timestamp() - time.time()
        except (ValueError, OverflowError):
            return None
    return max(0.0, seconds) if seconds < float("inf") else None
