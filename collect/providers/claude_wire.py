"""What passed between the Claude Code CLI and the server: times, status, and whether it was whole.

The CLI says less: it tells no status of a good answer, does not notice a stream that ends without
its end marker, and times itself. Its own words stay for what only it knows.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import orjson

from collect.http_client import Exchange
from collect.providers.base import NOT_READ, Reply
from collect.providers.claude_code.proxy import Call
from collect.providers.http_reply import (
    Malformed,
    broken,
    error_of,
    failure_type_of,
    malformed,
    no_end,
    read_answer,
    said,
    since_written,
)
from collect.providers.sse import events


def with_the_wire(reply: Reply, call: Call) -> Reply:
    """Return what the CLI brought, with the facts of the wire.

    Args:
        reply: as the CLI told it.
        call: what passed the door for it.
    """
    exchange = call.exchange
    if exchange is None:  # the CLI never asked
        return replace(reply, accepted=False)
    failure = None if call.failure is None else broken(call.failure, exchange)
    if failure is None and not exchange.complete:  # we ended the CLI before its answer was there
        return replace(reply, accepted=exchange.accepted)
    wire = read_answer(exchange, failure, _read_stream, _read_whole)
    facts = replace(
        reply,
        http_status=wire.http_status,
        e2e_ms=wire.e2e_ms,
        ttft_ms=wire.ttft_ms,
        accepted=exchange.accepted,
        requests=max(1, exchange.requests),
        retry_after_s=wire.retry_after_s if wire.retry_after_s is not None else reply.retry_after_s,
    )
    if wire.failure_type is None and reply.failure_type == "timeout":
        message = "the answer was there in time, and the command did not read it to its end"
        return facts.failed("cli_error", error_code=NOT_READ, error_message=message)
    is_limit = reply.failure_type == "http_429"  # the CLI knows a used-up plan by its words
    if wire.failure_type is None or is_limit:
        return facts
    return facts.failed(
        wire.failure_type, error_code=wire.error_code, error_message=wire.error_message
    )


def _read_stream(exchange: Exchange) -> Reply:
    """Return the times of a stream of the Messages API, or why it is not whole.

    llama.cpp leaves `message_start` out of an answer that begins with a character of several
    tokens; the CLI can make nothing of that.
    """
    first_text, has_begun = None, False
    try:
        for event, end in events(exchange.body()):
            data = orjson.loads(event)
            kind = data.get("type") if isinstance(data, dict) else None
            if kind == "message_start":
                has_begun = True
            elif kind == "content_block_delta":
                delta = data.get("delta")
                if first_text is None and isinstance(delta, dict) and delta.get("text"):
                    first_text = exchange.moment_of(end)
            elif kind == "message_stop":
                if not has_begun:
                    return malformed(Reply(), Malformed("a message that never began"))
                return Reply(
                    e2e_ms=since_written(exchange, exchange.moment_of(end)),
                    ttft_ms=since_written(exchange, first_text),
                )
            elif kind == "error":
                code, text = error_of(data)
                failure_type = failure_type_of(code, "stream_interrupted")
                return Reply().failed(
                    failure_type, error_code=code or "error_event", error_message=said(text)
                )
    except orjson.JSONDecodeError as exc:
        return malformed(Reply(), exc)
    return no_end(Reply())


def _read_whole(data: Any) -> Reply:
    """Refuse what is no stream: the CLI asks for nothing else."""
    what = "a JSON object" if isinstance(data, dict) else type(data).__name__
    message = f"{what} came where a stream was asked for"
    raise Malformed(message)
