"""From real sessions, and what the wire saw of them, to events and steps: each answer once."""

import json
import random
from dataclasses import replace
from pathlib import Path

import orjson
import pytest
from pydantic import TypeAdapter

from collect.providers.base import Reply, ToolCall, Usage
from collect.runners.agents.events import note_log
from collect.runners.agents.wire import WireCall
from collect.runners.openclaw.log import log_of
from collect.runners.openclaw.session import Session, Sessions
from collect.runners.trace import Trace
from schemas.formats.agent_logs.log import json_object
from schemas.lake.rows.trace_steps import steps_of
from schemas.run.trace import TraceEvent
from tests.support.hostile_traces import STRANGE

SAMPLES = Path(__file__).parent / "samples"
EVENTS = TypeAdapter(list[TraceEvent])


@pytest.fixture
def model(project):
    project.case()
    return project.load().models[0]


def lines_of(name):
    return tuple(json.loads(one) for one in (SAMPLES / f"{name}.jsonl").read_text().splitlines())


def session(lines, session_id="s1", parent=None):
    return Session(session_id, parent, tuple(lines), f"agents/main/sessions/{session_id}.jsonl")


def answers(lines):
    """Return what the wire would have seen of a session's answers."""
    for line in lines:
        message = line.get("message", {})
        if message.get("role") != "assistant" or "responseId" not in message:
            continue
        parts = message["content"]
        calls = [one for one in parts if one["type"] == "toolCall"]
        used = message["usage"]
        yield WireCall(
            Reply(
                text="".join(one["text"] for one in parts if one["type"] == "text"),
                tool_calls=tuple(
                    ToolCall(one["id"], one["name"], json.dumps(one["arguments"])) for one in calls
                ),
                finish_reason=message["stopReason"],
                served_model="served-m",
                usage=Usage(used["input"], used["output"], source="usage"),
                e2e_ms=7,
                ttft_ms=2,
                http_status=200,
            ),
            began_ms=message["timestamp"] - 7,
            ended_ms=message["timestamp"],
            response_id=message["responseId"],
        )


def noted(model, sessions, calls):
    """Return the events, which every reader of traces takes, and the steps of them."""
    trace = Trace()
    tool_ms = note_log(trace, log_of(sessions), calls, model)
    EVENTS.validate_json(orjson.dumps(trace.events), strict=False)
    assert [one["sequence"] for one in trace.events] == [*range(len(trace.events))]
    (part,) = steps_of(trace.events, "a#0", ("asked-m", "served-m"))
    return trace.events, part.rows, tool_ms


@pytest.mark.parametrize("name", ["2026.5.28-plain", "2026.9.6-plain"])
def test_two_turns_with_tools_are_the_steps_that_were_scripted(model, name):
    lines = lines_of(name)
    calls = list(answers(lines))

    _, rows, tool_ms = noted(model, Sessions(session(lines), form="jsonl"), calls)

    assert [(one["kind"], one["role"] or one["tool"], one["turn_no"]) for one in rows] == [
        ("message", "user", 0),
        ("message", "assistant", 1), ("tool_call", "write", 1), ("tool_result", "write", 1),
        ("message", "assistant", 2), ("tool_call", "exec", 2), ("tool_result", "exec", 2),
        ("message", "assistant", 3), ("message", "user", 3), ("message", "assistant", 4),
    ]  # fmt: skip
    answered = [one for one in rows if one["role"] == "assistant"]
    assert [one["input_tokens"] for one in answered] == [101, 102, 103, 104]
    assert [one["output_tokens"] for one in answered] == [11, 12, 13, 14]
    assert {one["served_model"] for one in answered} == {"served-m"}
    failed = next(one for one in rows if one["kind"] == "tool_result" and one["tool"] == "exec")
    assert (failed["exit_code"], failed["is_error"], failed["error_class"]) == (
        3,
        True,
        "exit_code",
    )
    assert rows[2]["source"].startswith("agents/main/sessions/s1.jsonl#")
    assert tool_ms == sum(one["duration_ms"] for one in rows if one["kind"] == "tool_result")
    assert 14 <= tool_ms < 1_000


def test_a_request_that_was_refused_is_an_error_and_no_answer(model):
    lines = lines_of("2026.5.28-retry")
    began = lines[4]["message"]["timestamp"]
    refused = Reply(failure_type="http_500", error_message="scripted", http_status=500)
    calls = [WireCall(refused, began + n, began + n + 1) for n in (10, 20, 30)]

    _, rows, tool_ms = noted(model, Sessions(session(lines), form="jsonl"), calls)

    assert [(one["kind"], one["error_class"]) for one in rows] == [
        ("message", None), ("error", "http_500"), ("error", "http_500"), ("error", "http_500"),
    ]  # fmt: skip
    assert tool_ms is None


def test_what_a_killed_agent_had_begun_to_hear_is_kept(model):
    lines = lines_of("2026.5.28-killed")
    calls = list(answers(lines))
    last = lines[-1]["message"]["timestamp"]
    cut = Reply(text="I am", failure_type="stream_interrupted", error_code="cut_off")
    calls.append(WireCall(cut, last, last + 5_000))

    events, rows, _ = noted(model, Sessions(session(lines), form="jsonl"), calls)

    assert [one["content"] for one in events if one.get("role") == "assistant"] == ["I am"]
    assert [one["kind"] for one in rows] == [
        "message", "message", "tool_call", "tool_result", "error", "message",
    ]  # fmt: skip


def test_without_a_session_the_wire_still_tells_who_said_what(model):
    calls = list(answers(lines_of("2026.5.28-plain")))

    events, rows, _ = noted(model, Sessions(notes=("openclaw has left no session",)), calls)

    assert [one["tool"] for one in rows if one["kind"] == "tool_call"] == ["write", "exec"]
    assert [one["content"] for one in events if one.get("role") == "assistant"] == [
        "First done", "Second",
    ]  # fmt: skip
    assert events[-1]["detail"] == {"reason": "openclaw has left no session"}


def test_a_call_for_a_summary_is_an_answer_of_its_own_and_a_compaction_a_step(model):
    lines = list(lines_of("2026.5.28-plain"))
    calls = list(answers(lines))
    moment = "2026-11-26T18:41:50.000Z"
    lines.append(
        {"type": "compaction", "summary": "Short.", "tokensBefore": 9, "timestamp": moment}
    )
    summary = Reply(text="Short.", usage=Usage(900, 50, source="usage"), served_model="served-m")
    calls.append(WireCall(summary, 1795718509990, 1795718509999, "chatcmpl-9"))

    _, rows, _ = noted(model, Sessions(session(lines), form="jsonl"), calls)

    assert [(one["kind"], one["input_tokens"]) for one in rows[-2:]] == [
        ("message", 900), ("compaction", None),
    ]  # fmt: skip


def test_sub_agents_have_a_path_of_their_own_and_what_they_took_over_is_marked(model):
    main = lines_of("2026.5.28-plain")
    copied = {**main[4], "timestamp": "2026-11-26T18:00:00.000Z"}
    copied["message"] = {**copied["message"], "timestamp": 1795716000000}
    own = [{**main[0], "id": "child"}, copied, main[9]]
    child = session(own, "child", "s1")
    grand = session([{**main[0], "id": "g"}, main[4]], "g", "child")

    _, rows, _ = noted(model, Sessions(session(main), (child, grand), "jsonl"), [])

    paths = {one["trajectory"] for one in rows}
    assert paths == {"main", "main/child", "main/child/g"}
    assert [one["is_copied_context"] for one in rows if one["trajectory"] == "main/child"] == [
        True, False,
    ]  # fmt: skip


def test_an_answer_that_nobody_saw_has_the_sessions_own_count(model):
    lines = list(lines_of("2026.5.28-plain"))
    message = {**lines[9]["message"], "usage": {"input": 5, "output": 2, "cacheRead": 20}}
    lines[9] = {**lines[9], "message": message}

    _, rows, _ = noted(model, Sessions(session(lines), form="jsonl"), [])

    answered = [one for one in rows if one["role"] == "assistant"][2]
    assert (answered["input_tokens"], answered["cached_input_tokens"]) == (25, 20)
    assert answered["output_tokens"] == 2


def test_the_cost_of_an_answer_is_its_own(model):
    calls = list(answers(lines_of("2026.5.28-plain")))
    calls[0] = replace(calls[0], reply=replace(calls[0].reply, cost_usd=0.25))

    _, rows, _ = noted(model, Sessions(), calls)

    assert [one["cost_usd"] for one in rows if one["role"] == "assistant"][:2] == [0.25, None]


@pytest.mark.parametrize("seed", range(60))
def test_whatever_stands_in_a_session_becomes_events_that_readers_take(model, seed):
    chance = random.Random(seed)
    lines = json.loads(json.dumps(lines_of(chance.choice(["2026.5.28-plain", "2026.9.6-plain"]))))
    calls = list(answers(lines))

    def strange():
        return json.loads(json.dumps(chance.choice(STRANGE)))

    def spoil(value):
        if isinstance(value, dict):
            return {name: spoil(one) for name, one in value.items()}
        if isinstance(value, list):
            return [spoil(one) for one in value]
        return value if chance.random() > 0.15 else strange()

    def drop(value):
        for name in list(value):
            if chance.random() < 0.1:
                value[name] = strange()
            elif isinstance(value[name], dict):
                drop(value[name])
        return value

    spoiled = [drop(spoil(line)) for line in lines]

    noted(model, Sessions(session(spoiled), form="jsonl"), calls)


def test_arguments_as_deep_as_a_session_may_have_them_are_read_back(model):
    depth = 1
    line = None
    while (
        found := json_object(
            b'{"type":"message","message":{"role":"assistant","content":[{"type":"toolCall",'
            b'"arguments":' + b"[" * depth + b"]" * depth + b"}]}}"
        )
    ) is not None:
        line, depth = found, depth + 1

    events, _, _ = noted(model, Sessions(session([line]), (), "jsonl"), [])

    assert depth > 100
    assert [one["event_type"] for one in events][-1] == "tool_call"


@pytest.mark.timeout(60)  # by trying every call: minutes
def test_a_session_of_very_many_messages_is_noted_in_one_go(model):
    line = {"type": "message", "message": {"role": "assistant", "content": "x"}}
    calls = [
        WireCall(Reply(text=f"{n}"), began_ms=0, ended_ms=1, response_id=f"r{n}")
        for n in range(2_000)
    ]

    trace = Trace()
    note_log(trace, log_of(Sessions(session([line] * 20_000), (), "jsonl")), calls, model)

    said = [one["content"] for one in trace.events if one["event_type"] == "message"]
    assert len(said) == 22_000
