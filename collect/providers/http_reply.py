"""What every HTTP answer has in common: its times, an error page, a break in the middle.

A provider has two functions that read a good answer: one for a single JSON object and one for a
stream of events.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from email.utils import parsedate_to_datetime
from typing import Any

import orjson

from collect.http_client import Exchange, WireError
from collect.providers.base import Reply, Usage
from schemas.base import MAX_QUANTITY
from schemas.redact import redact

NO_END = "no_end_marker"
"""The code of a stream that just stopped."""

STATUS = re.compile(r"[45]\d\d")
"""A code of an error that is an HTTP status."""

MAX_ERROR_CHARS = 2_000
"""Characters kept of an error page; cut after keys were taken out, never through one."""

MAX_ERROR_BYTES = 1_000_000
"""Bytes of an error page that are looked at."""


class Malformed(ValueError):
    """The answer is not what the protocol says."""


StreamReader = Callable[[Exchange], Reply]
"""Reads a stream of events to its end; one without its end has the error_code `NO_END`."""

ObjectReader = Callable[[Any], Reply]
"""Reads an answer that is one JSON value; raises `Malformed`."""


def read_answer(
    exchange: Exchange, failure: Reply | None, stream: StreamReader, whole: ObjectReader
) -> Reply:
    """Return what an exchange brought, with its times; what arrived before a failure is kept.

    Args:
        exchange: what passed over the wire.
        failure: why the exchange broke off, if it did. A status that refuses, a stream that was
            wrong before it broke off, and one that had come to its end say more and come first.
        stream: reads server-sent events.
        whole: reads one JSON value.
    """
    status = exchange.status
    if status and not 200 <= status <= 299:
        return _refusal(exchange)
    is_stream = exchange.header(b"content-type").lower().startswith("text/event-stream")
    if failure is None or exchange.complete:  # a time-out in the very moment costs nothing
        if is_stream:
            return replace(stream(exchange), http_status=status)
        return _read_whole(exchange, whole)
    partial = Reply()
    if is_stream and failure.failure_type != "invalid_response":
        partial = stream(exchange)
    if partial.e2e_ms is None and (partial.failure_type is None or partial.error_code == NO_END):
        partial = partial.failed(
            failure.failure_type or "exception",
            error_code=failure.error_code,
            error_message=failure.error_message,
        )
    return replace(partial, http_status=status or None, accepted=exchange.accepted)


def since_written(exchange: Exchange, moment: float | None) -> int | None:
    """Return whole milliseconds from the first request byte to `moment`."""
    if moment is None or exchange.written is None:
        return None
    return round((moment - exchange.written) * 1000)


def no_end(reply: Reply) -> Reply:
    """Return what a stream brought that ended without its end marker (D-A5)."""
    return reply.failed(
        "stream_interrupted",
        error_code=NO_END,
        error_message="the stream ended without its end marker",
    )


def broken(exc: WireError, exchange: Exchange) -> Reply:
    """Return why an exchange broke off; before the whole request was taken nobody was reached."""
    failure_type = exc.failure_type
    if failure_type == "stream_interrupted" and not exchange.accepted:
        failure_type = "connection_error"
    return Reply(failure_type=failure_type, error_code=exc.code, error_message=error_text(str(exc)))


def answered(reply: Reply) -> Reply:
    """Return an answer that came to its end; one without text or a call is the model's failure."""
    if reply.text.strip() or reply.tool_calls:
        return reply
    return reply.failed("empty_response", error_message="the answer holds no text")


def cut_off(reply: Reply, error_code: str | None = None) -> Reply:
    """Return an answer that was cut off where its length was limited."""
    message = f"the answer was cut off at {error_code or 'max_tokens'} or at the end of the context"
    return reply.failed("output_truncated", error_code=error_code, error_message=message)


def error_event(reply: Reply, code: str | None, text: str | None, kind: str | None = None) -> Reply:
    """Return what had come before an event of the stream told of an error.

    Its `kind` is the failure_type of a code that is no status; None: the stream broke off.
    """
    return reply.failed(
        failure_type_of(code, kind or "stream_interrupted"),
        error_code=code or "error_event",
        error_message=error_text(text),
    )


def malformed(reply: Reply, exc: Exception) -> Reply:
    """Return what had been read before an answer stopped making sense."""
    return reply.failed("invalid_response", error_message=error_text(str(exc)))


def error_text(text: str | None, otherwise: str = "an error without words") -> str:
    """Return what a server said of an error, without secrets and not too long."""
    return redact(text or otherwise)[:MAX_ERROR_CHARS]


def error_of(data: Any) -> tuple[str | None, str | None]:
    """Return (code, message) of an error object in any of its usual shapes.

    A router says little itself: the words of the upstream, which it hands on beside its own, say
    what was wrong.
    """
    error = data.get("error") if isinstance(data, dict) else None
    if isinstance(error, str):
        return None, error
    if error is None and isinstance(data, dict) and data.get("object") == "error":
        error = data  # older vLLM
    if not isinstance(error, dict):
        return None, None
    code, message = _plain(error.get("code") or error.get("type")), _plain(error.get("message"))
    words = None if message is None else f"{message}{_upstream(error.get('metadata'))}"
    return code, words


def failure_type_of(code: str | None, otherwise: str) -> str:
    """Return what a failure is that a server tells of although its status is good.

    A code that is a status says what the status itself would have said (D-A5), were it not
    too late to send one.
    """
    return f"http_{code}" if code and STATUS.fullmatch(code) else otherwise


def count_of(data: Any, name: str) -> int | None:
    """Return a field of an object that is a number of tokens, else None."""
    value = data.get(name) if isinstance(data, dict) else None
    return value if type(value) is int and 0 <= value <= MAX_QUANTITY else None


def usage_of(data: Any, places: Mapping[str, str]) -> Usage:
    """Return a usage object in our terms; `places` says where a count is: `name`, `object.name`."""
    if not isinstance(data, dict):
        return Usage()
    counts: dict[str, Any] = {
        count: count_of(data.get(part) if part else data, name)
        for count, place in places.items()
        for part, _, name in (place.rpartition("."),)
    }
    is_known = counts["input_tokens"] is not None or counts["output_tokens"] is not None
    return Usage(**counts, raw=trace_value(data), source="api" if is_known else None)


def trace_value(data: Any) -> Any:
    """Return a JSON value for the trace; one nested too deeply for any JSON text is dropped."""
    try:
        orjson.dumps(data)
    except orjson.JSONEncodeError:
        return None
    return data


def _plain(value: Any) -> str | None:
    """Return a value as text, whatever it is; nested too deeply, only that."""
    try:
        return None if value is None else str(value)
    except RecursionError:
        return "nested too deeply"


def _upstream(metadata: Any) -> str:
    """Return who answered a router with an error and what it said; never what was asked of it."""
    if not isinstance(metadata, dict):
        return ""
    raw = metadata.get("raw") or metadata.get("reasons")
    if isinstance(raw, dict | list):
        try:
            raw = orjson.dumps(raw).decode()
        except orjson.JSONEncodeError:
            raw = "nested too deeply"
    parts = [one for one in (metadata.get("provider_name"), raw) if isinstance(one, str) and one]
    return f" ({': '.join(parts)})" if parts else ""


def _read_whole(exchange: Exchange, whole: ObjectReader) -> Reply:
    """Return an answer that is one object; some servers send an error with status 200."""
    try:
        data = orjson.loads(exchange.body())
        code, text = error_of(data)
        if code is None and text is None:
            e2e_ms = since_written(exchange, exchange.last_byte)
            return replace(whole(data), http_status=exchange.status, e2e_ms=e2e_ms)
    except (Malformed, orjson.JSONDecodeError) as exc:
        return malformed(Reply(http_status=exchange.status), exc)
    return Reply(
        http_status=exchange.status,
        failure_type=failure_type_of(code, "invalid_response"),
        error_code=code,
        error_message=error_text(text),
    )


def _refusal(exchange: Exchange) -> Reply:
    """Turn an HTTP error into a reply, with the server's own words."""
    raw = exchange.body() if exchange.size <= MAX_ERROR_BYTES else b""
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
        error_message=error_text(text or raw.decode(errors="replace"), "") or None,
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
