"""A log beside what was seen on the wire: each answer once, as the wire counted it."""

import orjson
import pytest

from collect.providers.base import Reply, ToolCall, Usage
from collect.runners.agents.wire import WireCall
from tests.support.agent_logs import log_of, noted

CLAUDE, OPENCODE = "claude-2.1.197", "opencode-1.18.33"
SESSIONS = {
    "claude session": ("claude", f"{CLAUDE}-session.jsonl"),
    "claude printed": ("claude", f"{CLAUDE}-printed-1.jsonl", f"{CLAUDE}-printed-2.jsonl"),
    "codex session": ("codex", "codex-0.171.0-session.jsonl"),
    "opencode": ("opencode", f"{OPENCODE}-printed-1.jsonl", f"{OPENCODE}-printed-2.jsonl"),
    "mini-swe-agent": ("mini-swe-agent", "mini-swe-agent-2.4.6-submitted.json"),
}


@pytest.fixture
def model(project):
    project.case()
    return project.load().models[0]


def wire_calls(entries):
    """Return what the wire saw of answers, whose tokens are told apart from those of the log."""
    for number, entry in enumerate(one for one in entries if one.kind == "assistant"):
        calls = [
            ToolCall(one.call_id, one.name, orjson.dumps(one.arguments).decode())
            for one in entry.calls
        ]
        usage = Usage(1_000 + number, 500, source="usage")
        reply = Reply(text=entry.text, tool_calls=tuple(calls), usage=usage)
        yield WireCall(reply, entry.at_ms, entry.at_ms + 1, response_id=entry.response_id)


@pytest.mark.parametrize("name", SESSIONS)
def test_each_answer_is_one_and_counted_on_the_wire(model, name):
    form, *samples = SESSIONS[name]
    log = log_of(form, *samples)
    calls = list(wire_calls(log.trajectories[0].entries))

    events, _ = noted(log, model, calls)

    replies = [one for one in events if one.get("name") == "provider_reply"]
    used = [one["detail"]["usage"]["input_tokens"] for one in replies]
    assert used == [1_000 + number for number in range(len(calls))]
    assert len([one for one in events if one["event_type"] == "tool_call"]) == sum(
        len(one.reply.tool_calls) for one in calls
    )
