"""Why a sample ended without a score that counts, in our own names of failures.

An error of a sample is one of the harness, the sandbox or the provider: the tool ends a sample that
the model could not do by a score. A limit is one of the model, but for an operator's hand.
"""

from __future__ import annotations

import re
from typing import Any

from analyze.importers.inspect.values import Json, mapping, words

BY_LIMIT = {
    "context": "limit_exceeded",
    "time": "timeout",
    "working": "timeout",
    "message": "max_turns_exceeded",
    "turn": "max_turns_exceeded",
    "token": "limit_exceeded",
    "cost": "limit_exceeded",
    "custom": "limit_exceeded",
    "operator": "exception",
}

INVALIDATED = "config_invalid"
"""Of a sample that somebody declared invalid after the fact: it has no verdict."""

HTTP_STATUS = re.compile(
    r"(?:error code|status[ _]?code|http(?:/\d\.\d)?|status)\W{0,4}([45]\d\d)\b", re.IGNORECASE
)

KINDS: tuple[tuple[str, re.Pattern[str]], ...] = tuple(
    (failure, re.compile(pattern, re.IGNORECASE))
    for failure, pattern in (
        ("http_429", r"RateLimitError|ResourceExhausted|TooManyRequests|\b429\b"),
        ("http_401", r"AuthenticationError|\b401 Unauthorized"),
        ("http_403", r"PermissionDenied(?:Error)?"),
        ("api_key_missing", r"environment variable not (?:set|found)|No \w*API_KEY"),
        ("container_error", r"docker|sandbox|compose|kubernetes|\bpod\b|container"),
        ("stream_interrupted", r"ReadTimeout|APITimeoutError|RemoteProtocolError|IncompleteRead"),
        ("connection_error", r"ConnectError|ConnectTimeout|Connection\w{0,9}Error|NameResolution"),
        ("http_503", r"ServiceUnavailable|OverloadedError"),
        ("http_500", r"InternalServerError"),
        ("invalid_messages", r"BadRequestError"),
        ("invalid_response", r"JSONDecodeError.*(?:response|completion)"),
        ("config_invalid", r"PrerequisiteError"),
    )
)  # fmt: skip
"""What an error is, by its message; the first that fits."""

HEAD_CHARS = 2_000
CODE = re.compile(r"[A-Za-z_][\w.]{0,99}(?=\()|[A-Za-z_][\w.]{0,99}(?:Error|Exception)\b")


def failure_of(sample: Json) -> str | None:
    """Return the failure of a sample; None where it came to its end."""
    if (error := sample.get("error")) is not None:
        return _error_failure(message_of(error))
    if sample.get("invalidation") is not None:
        return INVALIDATED
    if (limit := limit_of(sample)) is not None:
        return BY_LIMIT.get(limit, "limit_exceeded")
    return None


def limit_of(sample: Json) -> str | None:
    """Return the kind of limit that ended a sample; a summary has it as a text alone."""
    limit = sample.get("limit")
    return words(limit.get("type")) if isinstance(limit, dict) else words(limit)


def said_of(sample: Json) -> tuple[str | None, str | None]:
    """Return a code and the words of a failure."""
    if (error := sample.get("error")) is not None:
        message = message_of(error)
        code = CODE.search(message[:HEAD_CHARS])
        return (code[0] if code else "error"), message or None
    if (invalidation := sample.get("invalidation")) is not None:
        details = mapping(invalidation)
        said = (words(details.get(name)) for name in ("reason", "author"))
        return "invalidated", ", by ".join(filter(None, said)) or None
    if (limit := limit_of(sample)) is not None:
        details = mapping(sample.get("limit"))
        most = details.get("limit")
        reason = words(details.get("reason"))
        return f"limit_{limit}", reason or (None if most is None else f"the limit was {most}")
    return None, None


def message_of(error: Any) -> str:
    """Return the message of an error, which a summary has as a text alone."""
    return error if isinstance(error, str) else words(mapping(error).get("message")) or ""


def _error_failure(message: str) -> str:
    head = message[:HEAD_CHARS]
    if match := HTTP_STATUS.search(head):
        return f"http_{match[1]}"
    return next((failure for failure, pattern in KINDS if pattern.search(head)), "exception")
