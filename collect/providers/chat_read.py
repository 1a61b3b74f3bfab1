"""Reads the answer of a chat completion after it arrived: whole or streamed.

Plain functions over what passed: nothing waits here, and no task is woken for a token. The times
come from the stamps that the transport took.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import orjson

from collect.http_client import Exchange
from collect.providers.base import Reply
from collect.providers.chat_delta import DeltaShape
from collect.providers.http_reply import (
    Malformed,
    error_of,
    failure_type_of,
    malformed,
    no_end,
    said,
    since_written,
)
from collect.providers.openai_chat_parse import ChatAnswer
from collect.providers.sse import END_MARKER, events

END = re.compile(rb'[\r\n](?:\xef\xbb\xbf)?data: ?(?:\[DONE\]|\{ ?"error": ?[{"])')
"""What ends a stream: its end marker, or an error event, after which nothing useful comes.

It may be all there is, behind the mark of a byte order."""


def read_whole(data: Any) -> Reply:
    """Return an answer that is one object.

    Raises:
        Malformed: it is no completion.
    """
    answer = ChatAnswer()
    answer.add(data, whole=True)
    return answer.reply()


def read_stream(exchange: Exchange) -> Reply:
    """Read a stream to its end marker; without one the answer cannot be trusted (D-A5)."""
    answer, shape, first_token = ChatAnswer(), DeltaShape(), None
    try:
        for event, end in events(exchange.body()):
            if (text := shape.text_of(event)) is not None:
                has_content = answer.more(shape.name, text)
            elif event == END_MARKER:
                return replace(
                    answer.reply(),
                    e2e_ms=since_written(exchange, exchange.last_byte),
                    ttft_ms=since_written(exchange, first_token),
                )
            else:
                data = orjson.loads(event)
                if b'"error"' in event and (failure := _error_event(data)):
                    return answer.reply().failed(**failure)
                has_content = answer.add(data, whole=False)
                shape.learn(event, data)
            if has_content and first_token is None:
                first_token = exchange.moment_of(end)
    except (Malformed, orjson.JSONDecodeError) as exc:
        return malformed(answer.reply(), exc)
    return no_end(answer.reply())


def _error_event(data: Any) -> dict[str, Any] | None:
    """Return the failure that an event of the stream tells of, if it does."""
    code, text = error_of(data)
    if code is None and text is None:
        return None
    return {
        "failure_type": failure_type_of(code, "stream_interrupted"),
        "error_code": code or "error_event",
        "error_message": said(text),
    }
