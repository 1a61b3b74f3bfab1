"""What agents leave of a trial, as a runner says it, where it is stored and how it is shown."""

import json
from unittest.mock import ANY

import pytest

from collect.config.runners import RUNNERS, RunnerKind
from collect.execute.collector import Collector
from collect.execute.spec import RunRequest, new_spec
from collect.providers.base import Outcome, ToolCall, Usage
from collect.runners.base import Execution
from collect.runners.trace import Trace
from tests.golden.exchange import FOLDER
from tests.support.analyze_cli import call
from tests.support.forked_mirror import forked_mirrors
from tests.support.kept_run import Kept

CLAUDE = FOLDER / "claude_code_cli" / "plain.stdout.jsonl"
"""What the real CLI wrote, 2.1.197."""

SAID = {
    "payloads": [{"text": "DONE. The report has 16 bytes.", "mediaUrl": None}],
    "meta": {
        "durationMs": 12_700,
        "agentMeta": {"sessionId": "s1", "provider": "local", "model": "small"},
        "stopReason": "stop",
        "toolSummary": {"calls": 2, "tools": ["write", "read"], "failures": 1},
    },
}
"""What `openclaw agent --local --json` prints, but for what no row has."""


def _turn(*content, stop="stop", **usage):
    return {"role": "assistant", "content": list(content), "usage": usage, "stopReason": stop}


def _call(call_id, name, **arguments):
    return {"type": "toolCall", "id": call_id, "name": name, "arguments": arguments}


def _text(text):
    return {"type": "text", "text": text}


def _returned(call_id, text, *, is_error=False):
    content = [_text(text)]
    return {"role": "toolResult", "toolCallId": call_id, "content": content, "isError": is_error}


MESSAGES = (
    {"role": "user", "content": [_text("Write a report.")]},
    _turn(
        _call("c1", "write", path="report.md", content="sixteen bytes..."),
        stop="toolUse", input=1_900, output=40, cacheRead=0,
    ),
    _returned("c1", "Successfully wrote 16 bytes to report.md"),
    _turn(
        _text("Let me look."), _call("c2", "read", path="raport.md"),
        stop="toolUse", input=60, output=30, cacheRead=1_900,
    ),
    _returned("c2", "no such file", is_error=True),
    _turn(_text("DONE. The report has 16 bytes."), input=80, output=12, cacheRead=1_990),
)  # fmt: skip
SESSION = [
    {"type": "session", "version": 3, "id": "s1", "cwd": "/ws"},
    {"type": "model_change", "provider": "local", "modelId": "small"},
    *({"type": "message", "message": message} for message in MESSAGES),
]
"""Lines of `state/agents/main/sessions/s1.jsonl` of version 2026.5.28."""


class Recorded:
    """A runner whose trials are what was recorded of one."""

    def __init__(self, came):
        self._came = came

    async def run(self, trial, case, place):
        trace = Trace()
        outcome, facts = self._came(trace)
        trace.final_output(outcome.text)
        return Execution(
            trial=trial, case=case, outcome=outcome, started_at_ms=1_000, ended_at_ms=14_000,
            wall_ms=13_000, trace=trace.events, **facts,
        )  # fmt: skip

    async def aclose(self): ...


def of_claude(trace):
    """Return what the CLI's own result says of a trial of one turn without tools."""
    lines = [json.loads(line) for line in CLAUDE.read_text().splitlines()]
    (init,) = (one for one in lines if one.get("subtype") == "init")
    (result,) = (one for one in lines if one["type"] == "result")
    for one in lines:
        if one["type"] == "assistant":
            trace.message("assistant", one["message"]["content"][0]["text"])
    used = result["usage"]
    outcome = Outcome(
        text=result["result"],
        finish_reason=result["stop_reason"],
        served_model=init["model"],
        usage=Usage(used["input_tokens"], used["output_tokens"], raw=used, source="usage"),
        cost_usd=result["total_cost_usd"],
        e2e_ms=result["duration_ms"],
        ttft_ms=result["ttft_ms"],
    )
    return outcome, {
        "turns": result["num_turns"],
        "phases": {"start": result["time_to_request_ms"], "agent": result["duration_ms"]},
    }


def of_openclaw(trace):
    """Return what a session of three turns and two tool calls says."""
    messages = [line["message"] for line in SESSION if line["type"] == "message"]
    turns = [one for one in messages if one["role"] == "assistant"]
    calls = []
    for one in messages:
        for part in one["content"]:
            if part["type"] == "toolCall":
                arguments = json.dumps(part["arguments"])
                calls.append(ToolCall(part["id"], part["name"], arguments))
                trace.tool_call(part["id"], part["name"], arguments)
            elif one["role"] == "toolResult":
                trace.tool_result(one["toolCallId"], part["text"], is_error=one["isError"])
            else:
                trace.message(one["role"], part["text"])
    used = [one["usage"] for one in turns]
    cached = sum(one["cacheRead"] for one in used)
    meta = SAID["meta"]
    outcome = Outcome(
        text=SAID["payloads"][0]["text"],
        tool_calls=tuple(calls),
        finish_reason=meta["stopReason"],
        served_model=meta["agentMeta"]["model"],
        usage=Usage(
            sum(one["input"] for one in used) + cached,
            sum(one["output"] for one in used),
            cached_input_tokens=cached, raw=used, source="usage",
        ),
    )  # fmt: skip
    return outcome, {
        "attempt_count": len(turns),
        "turns": len(turns),
        "phases": {"container": 300, "agent": meta["durationMs"]},
        "workspace": "workspaces/m/one/1",
    }


def of_claude_runner(model, context):
    return Recorded(of_claude)


def of_openclaw_runner(model, context):
    return Recorded(of_openclaw)


class Silent:
    def begin(self, report): ...

    def result(self, result): ...

    def note(self, text): ...

    def end(self): ...


@pytest.fixture
def ran(project, tmp_path, monkeypatch):
    """Make a run of one trial, executed by a runner of the test; return row, trace and page."""

    def run(came, **case):
        kind = RunnerKind(f"{__name__}:{came.__name__}_runner")
        monkeypatch.setitem(RUNNERS.own, "llm_probe", kind)
        project.case(**case)
        request = RunRequest(tmp_path / "runs", run_id="r")
        with forked_mirrors():
            Collector(new_spec(project.load(), request, print), Silent()).run()
        kept = Kept(tmp_path / "runs" / "r")
        (row,) = kept.results()
        page = call("show", kept.dir, "one", "m", "1").out
        return row, kept.artifact(row), [" ".join(line.split()) for line in page.splitlines()]

    return run


def test_a_recorded_trial_of_the_claude_cli_is_a_row_and_a_trace(ran):
    row, trace, page = ran(of_claude)

    assert row["success"]
    assert row["raw_output"] == "Alles shall servir en France."
    assert (row["input_tokens"], row["output_tokens"], row["token_source"]) == (122, 9, "usage")
    assert (row["cost_usd"], row["cost_source"]) == (0.000835, "provider")
    assert (row["e2e_ms"], row["ttft_ms"], row["served_model"]) == (2677, 2650, "smollm2-135m")
    assert (row["tool_calls"], row["attempt_count"]) == ([], 1)
    assert (trace.turns, trace.workspace) == (1, None)
    assert trace.phases == {"start": 59, "agent": 2677, "checks": ANY}
    assert trace.usage["service_tier"] == "standard"
    assert "turns 1" in page
    assert any(line.startswith("phases start 59ms, agent 2.7s, checks ") for line in page)
    assert not [line for line in page if line.startswith("workspace")]


def test_a_session_of_three_turns_is_a_row_and_a_trace(ran):
    checks = [{"check_id": "twice", "declarative": {"kind": "tool_call_count", "count": 2}}]
    validator = {"type": "tool_invocation", "expected_tools": ["write"]}
    row, trace, page = ran(of_openclaw, validator=validator, deterministic_checks=checks)

    assert (row["passed"], row["objective_pass"], row["checks_passed"]) == (True, True, 1)
    assert row["tool_calls"] == ["write", "read"]
    assert (row["tool_call_source"], row["tool_use_success"]) == ("api", True)
    assert (row["input_tokens"], row["cached_input_tokens"], row["output_tokens"]) == (
        5_930, 3_890, 82,
    )  # fmt: skip
    assert (row["attempt_count"], row["cost_usd"], row["e2e_ms"]) == (3, None, None)
    assert (trace.turns, trace.workspace) == (3, "workspaces/m/one/1")
    assert trace.phases == {"container": 300, "agent": 12_700, "checks": ANY}
    assert [one["input"] for one in trace.usage] == [1_900, 60, 80]
    assert [event.event_type for event in trace.trace] == [
        "message", "tool_call", "tool_result", "message", "tool_call", "tool_result", "message",
        "final_output",
    ]  # fmt: skip
    assert [one.status for one in trace.trace if one.event_type == "tool_result"] == [
        "success", "error",
    ]  # fmt: skip
    assert {"turns 3", "workspace workspaces/m/one/1"} <= set(page)
    assert any(line.startswith("phases container 300ms, agent 12.7s, checks ") for line in page)
    assert sum(line.endswith("tool result error [c2]") for line in page) == 1
