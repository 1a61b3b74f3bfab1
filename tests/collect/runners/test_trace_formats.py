"""Logs in each trace format become entries; of what is torn there is a note, and no error."""

import json
from importlib import import_module
from pathlib import Path

import orjson
import pytest

from collect.config.runners import TRACE_FORMATS
from collect.runners.agents.events import note_log
from collect.runners.atif import trajectory_of
from collect.runners.trace import Trace
from schemas.formats.agent_logs.log import AgentLog
from tests.support.hostile_traces import STRANGE

SAMPLES = Path(__file__).parent / "openclaw" / "samples"
OTHERS = Path(__file__).parent / "samples"


def read(name, files):
    module, _, function = TRACE_FORMATS[name].reads.partition(":")
    return getattr(import_module(module), function)(files)


def noted(log, project):
    project.case()
    trace = Trace()
    note_log(trace, log, [], project.load().models[0])
    return trace.events


def test_a_session_of_openclaw_is_read_from_its_file(project):
    raw = (SAMPLES / "2026.5.28-plain.jsonl").read_bytes()
    log = read("openclaw", {"/home/agent/x/s1.jsonl": raw})

    (main,) = log.trajectories
    kinds = [(one.kind, [call.name for call in one.calls]) for one in main.entries]
    assert kinds == [
        ("user", []), ("assistant", ["write"]), ("tool_result", []), ("assistant", ["exec"]),
        ("tool_result", []), ("assistant", []), ("user", []), ("assistant", []),
    ]  # fmt: skip
    events = noted(log, project)
    replies = [one["detail"] for one in events if one.get("name") == "provider_reply"]
    assert [one["usage"]["output_tokens"] for one in replies] == [11, 12, 13, 14]


def test_what_is_written_as_atif_is_read_back(project):
    raw = (SAMPLES / "2026.5.28-plain.jsonl").read_bytes()
    before = noted(read("openclaw", {"s1.jsonl": raw}), project)
    named = {"agent_name": "a", "agent_version": "1", "model_name": "m", "session_id": "s"}
    whole = trajectory_of(before, **named)

    log = read("atif", {"trajectory.json": orjson.dumps(whole)})
    after = trajectory_of(noted(log, project), **named)

    assert len(after["steps"]) == len(whole["steps"])
    for one, other in zip(after["steps"], whole["steps"], strict=True):
        for name in ("source", "message", "tool_calls", "metrics", "observation"):
            assert one.get(name) == other.get(name), name


def test_agents_that_an_agent_started_have_paths_of_their_own():
    step = {"step_id": 1, "source": "agent", "message": "hi"}
    inner = {"trajectory_id": "main/c1", "steps": [step | {"is_copied_context": True}]}
    whole = {"steps": [step], "subagent_trajectories": [inner]}

    log = read("atif", {"t.json": json.dumps(whole).encode()})

    assert [one.path for one in log.trajectories] == ["main", "main/c1"]
    assert [one.entries[0].is_copied for one in log.trajectories] == [False, True]


def test_a_session_of_codex_is_read_answer_by_answer():
    """Two turns: a file is written, a command fails; another file. Tokens as they were served."""
    raw = (OTHERS / "codex-0.171.0-turns.jsonl").read_bytes()

    log = read("codex", {"/home/agent/.codex/sessions/2026/11/26/rollout-1.jsonl": raw})

    (main,) = log.trajectories
    said = [one for one in main.entries if one.kind != "system" and not one.text.startswith("<")]
    assert [(one.kind, [call.name for call in one.calls] or one.exit_code) for one in said] == [
        ("user", None), ("assistant", ["exec_command"]), ("tool_result", 0),
        ("assistant", ["exec_command"]), ("tool_result", 3), ("assistant", None), ("user", None),
        ("assistant", ["exec_command"]), ("tool_result", 0), ("assistant", None),
    ]  # fmt: skip
    answers = [one for one in said if one.kind == "assistant"]
    served = [(one.usage["input_tokens"], one.usage["output_tokens"]) for one in answers]
    assert served == [(101, 11), (103, 13), (104, 14), (105, 15), (106, 16)]
    assert {one.usage["cached_input_tokens"] for one in answers} == {5}
    assert [one.text for one in answers][2::2] == ["First", "Second"]
    failed = next(one for one in said if one.exit_code == 3)
    assert (failed.is_error, failed.duration_ms is not None) == (True, True)
    assert log.notes == ()


def test_steps_of_opencode_are_answers_with_their_results():
    """The same two turns, as they are printed; the title of the session is not among them."""
    raw = (OTHERS / "opencode-1.18.33-turns.jsonl").read_bytes()

    (main,) = read("opencode", {"turn-1.out": raw}).trajectories

    said = [(one.kind, [call.name for call in one.calls] or one.exit_code) for one in main.entries]
    assert said == [
        ("assistant", ["write"]), ("tool_result", None), ("assistant", ["bash"]),
        ("tool_result", 3), ("assistant", None), ("assistant", ["write"]), ("tool_result", None),
        ("assistant", None),
    ]  # fmt: skip
    answers = [one for one in main.entries if one.kind == "assistant"]
    assert [(one.usage["input_tokens"], one.usage["output_tokens"]) for one in answers] == [
        (102, 12), (103, 13), (104, 14), (105, 15), (106, 16),
    ]  # fmt: skip
    assert [one.text for one in answers][2::2] == ["First", "Second"]
    assert [one.is_error for one in main.entries if one.kind == "tool_result"] == [
        False, True, False,
    ]  # fmt: skip


def test_events_of_codex_have_the_difference_of_the_sessions_tokens():
    """Lines of `codex exec --json`, 0.171.0; the counts of a turn hold those before it."""
    turns = {
        "turn-1.out": [
            {"type": "thread.started", "thread_id": "t"},
            {"type": "turn.started"},
            {"type": "item.completed", "item": {
                "id": "item_1", "type": "command_execution", "command": "/bin/bash -lc 'exit 3'",
                "aggregated_output": "", "exit_code": 3, "status": "failed"}},
            {"type": "item.completed", "item": {
                "id": "item_2", "type": "agent_message", "text": "All done."}},
            {"type": "turn.completed", "usage": {
                "input_tokens": 203, "cached_input_tokens": 10, "cache_write_input_tokens": 0,
                "output_tokens": 23, "reasoning_output_tokens": 4}},
        ],
        "turn-2.out": [
            {"type": "thread.started", "thread_id": "t"},
            {"type": "item.completed", "item": {
                "id": "item_1", "type": "agent_message", "text": "All done."}},
            {"type": "turn.completed", "usage": {
                "input_tokens": 306, "cached_input_tokens": 15, "cache_write_input_tokens": 0,
                "output_tokens": 36, "reasoning_output_tokens": 6}},
            {"type": "turn.failed", "error": {"message": "no more"}},
        ],
    }  # fmt: skip
    files = {name: b"\n".join(map(orjson.dumps, lines)) for name, lines in turns.items()}

    (main,) = read("codex", files).trajectories

    assert [(one.kind, one.exit_code) for one in main.entries] == [
        ("assistant", None), ("tool_result", 3), ("assistant", None), ("assistant", None),
        ("error", None),
    ]  # fmt: skip
    used = [one.usage for one in main.entries if one.usage]
    assert [(one["input_tokens"], one["output_tokens"]) for one in used] == [(203, 23), (103, 13)]
    assert main.entries[-1].error == "no more"


def test_a_plain_log_is_what_the_agent_said():
    (main,) = read("plain", {"a": b"one\n", "b": b" \n", "c": b"\xfftwo"}).trajectories

    assert [(one.source, one.text) for one in main.entries] == [
        ("a#1", "one"),
        ("c#1", "\ufffdtwo"),
    ]


@pytest.mark.parametrize("name", TRACE_FORMATS.own)
@pytest.mark.parametrize("value", STRANGE, ids=repr)
def test_anything_may_stand_anywhere(project, name, value):
    line = {"type": "message", "timestamp": value, "source": "agent", "steps": [value, {
        "source": value, "message": value, "timestamp": value, "tool_calls": value,
        "metrics": value, "observation": {"results": [value, {"content": value, "extra": value}]},
    }, {"source": "agent", "message": value, "metrics": {"prompt_tokens": value, "cost_usd": value},
        "tool_calls": [value, {"arguments": value}]}],
        "message": {"role": "assistant", "content": [value, {"type": "toolCall", "id": value}]},
        "subagent_trajectories": [value, {"steps": value}]}  # fmt: skip
    lines = [line] + [
        {"type": kind, "timestamp": value, "payload": {"type": of, "role": value, "content": value,
         "call_id": value, "output": value, "arguments": value, "info": {"last_token_usage": value},
         "item": {"type": "CommandExecution", "id": value, "duration": value, "exit_code": value}}}
        for kind in ("response_item", "event_msg", "compacted")
        for of in ("message", "function_call", "function_call_output", "reasoning", "token_count",
                   "item_completed", value)
    ] + [
        {"type": kind, "timestamp": value, "error": value, "part": {
            "text": value, "tool": value, "callID": value, "tokens": value, "reason": value,
            "state": {"status": value, "input": value, "output": value, "metadata": value,
                      "time": {"start": value, "end": value}}}}
        for kind in ("text", "reasoning", "tool_use", "step_finish", "error")
    ] + [
        {"type": kind, "item": {"type": value, "text": value}, "usage": {"input_tokens": value},
         "error": value} for kind in ("item.completed", "turn.completed", "turn.failed")
    ]  # fmt: skip
    try:
        raw = b"\n".join(map(orjson.dumps, lines))
    except TypeError:
        raw = b"{"

    first = raw.partition(b"\n")[0]
    log = read(name, {"one.jsonl": raw, "two.jsonl": raw[: len(raw) // 2], "three.json": first})

    assert isinstance(log, AgentLog)
    noted(log, project)


@pytest.mark.parametrize("name", ["openclaw", "codex", "opencode", "atif"])
def test_what_is_torn_is_noted(name):
    log = read(name, {"s1.jsonl": b'{"type": "mess'})

    assert log.notes
