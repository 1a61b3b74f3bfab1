"""What a failed run of personal_agent_eval is called here.

Its codes say where its own code gave up; ours say whose fault it was (D-A6).
"""

from __future__ import annotations

import re

from analyze.imports.pae_document import Document

BY_CODE = {
    "timeout": "timeout",
    "openclaw_timeout": "timeout",
    "transport_error": "connection_error",
    "invalid_response": "invalid_response",
    "runner_configuration_error": "api_key_missing",  # raised for nothing else
    "message_resolution_failed": "invalid_messages",
    "invalid_messages": "invalid_messages",
    "empty_output": "empty_response",
    "tool_calls_not_supported": "tool_calls_not_supported",
    "openclaw_config_invalid": "config_invalid",
    "openclaw_execution_failed": "container_error",
}

BY_STATUS = {
    "timed_out": "timeout",
    "provider_error": "invalid_response",
    "invalid": "config_invalid",
    "failed": "exception",
}
"""For codes that only a later version knows."""

HTTP_CODE = re.compile(r"[1-5]\d\d")

OUT_OF_TURNS = re.compile(r"\bmax_turns\b")
"""In the message: the turns ran out, which has no code of its own."""


def failure_of(run: Document) -> str | None:
    """Return the failure_type of a run; None for a success.

    A status that contradicts the error beside it counts more than the error.
    """
    status = run.text("status")
    code = run.text("error", "code") or ""
    if status == "success":
        if run.at("error") is not None:
            run.note("contradiction", "a success with an error; taken as a success", "error")
        return None
    if status not in BY_STATUS:
        run.note("bad_value", f"the status {status!r} is unknown; taken as failed", "status")
        status = "failed"
    if HTTP_CODE.fullmatch(code):
        return f"http_{code}"
    if code in BY_CODE:
        return BY_CODE[code]
    if OUT_OF_TURNS.search(run.text("error", "message") or ""):
        return "max_turns_exceeded"
    sent = run.at("error", "metadata", "status_code")
    if status == "provider_error" and type(sent) is int and 400 <= sent <= 599:
        return f"http_{sent}"
    return BY_STATUS[status]
