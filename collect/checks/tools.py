"""The validator that asks whether one of the expected tools was invoked."""

from __future__ import annotations

from pydantic import JsonValue

from collect.checks.base import Answer, Verdict, verdict
from collect.tools import tool_use
from schemas.config.validators import ToolInvocation


def tool_invocation(validator: ToolInvocation, answer: Answer) -> Verdict:
    """Pass when an expected tool was called; the output is read as it came, unstripped."""
    expected = list(validator.expected_tools)
    use = tool_use(answer.output, answer.api_tool_calls, expected)
    parsed: dict[str, JsonValue] = {
        "detected_tools": [*use.tool_calls],
        "count": len(use.tool_calls),
    }
    return verdict(use.tool_use_success, f"no_tool_invocation expected={expected}", parsed)
