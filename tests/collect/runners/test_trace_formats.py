"""Logs in each trace format become entries; of what is torn there is a note, and no error."""

import json
from importlib import import_module
from pathlib import Path

import orjson
import pytest

from collect.config.runners import TRACE_FORMATS
from collect.runners.agents.events import note_log
from collect.runners.agents.log import AgentLog
from collect.runners.atif import trajectory_of
from collect.runners.trace import Trace
from tests.support.hostile_traces import STRANGE

SAMPLES = Path(__file__).parent / "openclaw" / "samples"


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
    try:
        raw = orjson.dumps(line)
    except TypeError:
        raw = b"{"

    log = read(name, {"one.jsonl": raw, "two.jsonl": raw[: len(raw) // 2]})

    assert isinstance(log, AgentLog)
    noted(log, project)


@pytest.mark.parametrize("name", ["openclaw", "atif"])
def test_what_is_torn_is_noted(name):
    log = read(name, {"s1.jsonl": b'{"type": "mess'})

    assert log.notes
