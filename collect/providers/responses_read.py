"""Reads the answer of the Responses API after it arrived: whole or streamed.

Events are told apart by the `type` in their data, and those of a type that is not known here are
passed over, since the API grows. The last event of a good stream holds the whole answer again.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import orjson

from collect.http_client import Exchange
from collect.providers.base import Reply
from collect.providers.http_reply import (
    Malformed,
    error_of,
    failure_type_of,
    malformed,
    no_end,
    said,
    since_written,
)
from collect.providers.openai_responses_parse import ResponseAnswer
from collect.providers.responses_verdict import REFUSALS
from collect.providers.sse import END_MARKER, events

TEXT_DELTAS = frozenset({"response.output_text.delta", "response.refusal.delta"})
"""What the model says to the user, a refusal too."""

REASONING_DELTAS = frozenset(
    {"response.reasoning_text.delta", "response.reasoning_summary_text.delta"}
)

LAST = {
    "response.completed": "completed",
    "response.incomplete": "incomplete",
    "response.failed": "failed",
}
"""Events after which nothing comes, and the status they tell of."""


def read_whole(data: Any) -> Reply:
    """Return an answer that is one object.

    Raises:
        Malformed: it is no response.
    """
    answer = ResponseAnswer()
    answer.finish(data, "completed")
    return answer.reply()


def read_stream(exchange: Exchange) -> Reply:
    """Read a stream to its last event; without one the answer cannot be trusted (D-A5)."""
    answer, first_token = ResponseAnswer(), None
    try:
        for event, end in events(exchange.body()):
            if event == END_MARKER:  # some servers add it after the last event
                continue
            data = orjson.loads(event)
            if not isinstance(data, dict):
                message = "an event that is no JSON object"
                raise Malformed(message)
            kind = data.get("type")
            if not isinstance(kind, str):
                kind = ""
            if kind in TEXT_DELTAS:
                has_content = answer.more_text(data.get("delta"))
            elif kind in REASONING_DELTAS:
                has_content = answer.more_reasoning(data.get("delta"))
            elif (status := LAST.get(kind)) is not None:
                answer.finish(data.get("response") or data, status)
                return replace(
                    answer.reply(),
                    e2e_ms=since_written(exchange, exchange.moment_of(end)),
                    ttft_ms=since_written(exchange, first_token),
                )
            elif failure := _error_event(data):
                return answer.reply().failed(**failure)
            else:
                has_content = answer.note(data)
            if has_content and first_token is None:
                first_token = exchange.moment_of(end)
    except (Malformed, orjson.JSONDecodeError) as exc:
        return malformed(answer.reply(), exc)
    return no_end(answer.reply())


def _error_event(data: dict[str, Any]) -> dict[str, Any] | None:
    """Return the failure that an event of the stream tells of, if it does.

    OpenAI has the code and the words beside the type, others have an error object.
    """
    code, text = error_of(data)
    if code is None and text is None:
        if data.get("type") != "error":
            return None
        code, text = error_of({"error": {"code": data.get("code"), "message": data.get("message")}})
    return {
        "failure_type": failure_type_of(code, REFUSALS.get(code or "", "stream_interrupted")),
        "error_code": code or "error_event",
        "error_message": said(text),
    }
