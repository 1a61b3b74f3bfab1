"""Why the Claude Code CLI brought no answer: its result and its exit, by the table of D-A5.

`is_error` tells, and the exit code; `subtype` stays "success" for every error of the API. The text
of a result is the CLI's own there, never the model's, so it may be searched, for whole phrases.
"""

from __future__ import annotations

import re
from typing import Any

from collect.providers.base import Reply
from collect.providers.claude_code.process import Exit
from collect.providers.http_reply import said

NOT_LOGGED_IN = re.compile(r"(?i)\bnot logged in\b|\bplease run /login\b")
LIMIT = re.compile(
    r"(?i)\b(?:rate|usage|session|weekly|hourly|daily|monthly|spend(?:ing)?|plan)[ -]limits?\b"
    r"|\bhit your [\w ]{0,40}limit\b|\bquota\b|\bcredit balance\b|\bout of (?:extra )?usage\b"
)
"""What a CLI says that is out of quota; `rate` in `generate` is no such thing."""
NO_CONNECTION = re.compile(
    r"(?i)\bunable to connect\b|ConnectionRefused|FailedToOpenSocket|ECONNREFUSED|ENOTFOUND"
)
BROKEN_OFF = re.compile(r"ECONNRESET|(?i:stream ended without|socket connection was closed)")
TIMED_OUT = re.compile(r"(?i)\btimed out\b")
NO_ANSWER = re.compile(r"(?i)\bJSON Parse error\b|\bmalformed response\b|\binvalid response\b")

BY_TEXT = (
    (NOT_LOGGED_IN, "api_key_missing"),
    (BROKEN_OFF, "stream_interrupted"),
    (NO_CONNECTION, "connection_error"),
    (TIMED_OUT, "timeout"),
    (NO_ANSWER, "invalid_response"),
    (LIMIT, "http_429"),
)
"""For a result without a status; the first that is found counts."""

ANSI = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-Z\\-_])")
"""Escape sequences for terminals (ECMA-48)."""


def failure_of_result(partial: Reply, result: dict[str, Any]) -> Reply:
    """Return why a result of the CLI holds no answer.

    Args:
        partial: what had arrived.
        result: its `result` line.
    """
    status = result.get("api_error_status")
    subtype = result.get("subtype")
    errors = result.get("errors")
    words = result.get("result") or (errors[0] if isinstance(errors, list) and errors else None)
    text = said(words if isinstance(words, str) else None)
    if type(status) is int and 400 <= status <= 599:
        limited = status in {400, 402, 403} and LIMIT.search(text)
        return partial.failed(
            "http_429" if limited else f"http_{status}",
            http_status=status,
            error_code="usage_limit" if limited else None,
            error_message=text,
        )
    if subtype == "error_max_turns":
        return partial.failed("max_turns_exceeded", error_code=subtype, error_message=text)
    if result.get("is_error") is not True:
        text = said(f"the command answered by itself, without asking the model: {text}")
        return partial.failed("cli_error", error_message=text, accepted=False)
    for pattern, failure_type in BY_TEXT:
        if pattern.search(text):
            return partial.failed(failure_type, error_message=text)
    code = subtype if isinstance(subtype, str) and subtype != "success" else None
    return partial.failed("cli_error", error_code=code, error_message=text)


def failure_of_exit(partial: Reply, exit_: Exit) -> Reply:
    """Return why the CLI ended without a result, in its own last words."""
    if exit_.too_much:
        why = "it wrote more than an answer can be"
    elif exit_.code is not None and exit_.code < 0:
        why = f"it was killed by signal {-exit_.code}"
    elif exit_.code is None:
        why = "it never ran"
    else:
        why = f"it ended with code {exit_.code} and no result"
    last_words = ANSI.sub("", exit_.stderr).strip()
    text = said(f"{why}: {last_words}" if last_words else why)
    return partial.failed("cli_error", error_code="no_result", error_message=text, accepted=False)
