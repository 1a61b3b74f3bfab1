"""What an answer of the Responses API amounts to when it failed, or ended before its end.

Some servers say `completed` of every answer, so what was asked for has a part in it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, fields, replace
from typing import Any

from pydantic import JsonValue

from collect.providers.base import Reply
from collect.providers.http_reply import error_of, said

REFUSALS = {
    "rate_limit_exceeded": "http_429",
    "insufficient_quota": "http_429",
    "server_error": "http_500",
}
"""Codes of a failed response which mean what an HTTP status means (D-A5).

The others, such as `invalid_prompt`, end the same however often they are asked again.
"""


@dataclass(frozen=True, slots=True)
class Untold(Reply):
    """A reply of a server whose answers never say whether they were cut off."""

    @classmethod
    def of(cls, reply: Reply) -> Untold:
        """Return a reply that says so."""
        return cls(**{one.name: getattr(reply, one.name) for one in fields(reply)})


def judged(reply: Reply, limit: JsonValue) -> Reply:
    """Return a reply in the light of what was asked for.

    llama.cpp says `completed` of an answer that it cut off as well, and its answers have no field
    `incomplete_details`. From such a server an answer as long as was allowed counts as cut off, so
    that a model is judged as through the chat API, which tells. This wrongs only an answer that
    ended by itself with the very last token. A server that sends the field is believed. A cut at
    the end of the context shows nowhere and stays unknown.

    Args:
        reply: as it was read.
        limit: the `max_output_tokens` of the request, if it had any.
    """
    if reply.failure_type == "invalid_response" and reply.error_code is not None:
        return replace(reply, failure_type=_failure_type(reply.error_code))
    used = reply.usage.output_tokens
    if not isinstance(reply, Untold) or not isinstance(limit, int) or used is None or used < limit:
        return reply
    if reply.failure_type not in {None, "empty_response"}:
        return reply
    message = f"the server says `completed`, but the answer has all of the {limit} tokens allowed"
    return reply.failed("output_truncated", error_code="max_output_tokens", error_message=message)


def incomplete(reply: Reply, details: Any) -> Reply:
    """Return an answer that the server itself calls unfinished, whatever the reason.

    Also one that a filter stopped: the provider did serve us (D-A5), what came is no whole
    answer to be judged, and asking again would end the same.
    """
    stated = details.get("reason") if isinstance(details, dict) else None
    reason = stated if isinstance(stated, str) else "incomplete"
    if reason == "max_output_tokens":
        message = "the answer was cut off at max_output_tokens or at the end of the context"
    else:
        message = f"the server did not finish the answer: {said(reason)}"
    return replace(reply, finish_reason=reason).failed(
        "output_truncated", error_code=reason, error_message=message
    )


def failed(reply: Reply, response: dict[str, Any]) -> Reply:
    """Return an answer that the server itself calls failed; one without a code is its fault."""
    code, text = error_of(response)
    return reply.failed(
        _failure_type(code or "server_error"), error_code=code, error_message=said(text)
    )


def _failure_type(code: str) -> str:
    """Return what the code of a failed response means; some servers send an HTTP status."""
    if re.fullmatch(r"[45]\d\d", code):
        return f"http_{code}"
    return REFUSALS.get(code, "invalid_response")
