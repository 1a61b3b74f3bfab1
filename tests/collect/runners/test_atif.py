"""A trace as an ATIF trajectory: what its own rules ask for, and the sums of the trial."""

import json
from pathlib import Path

import orjson
import pytest

from collect.runners.atif import trajectory_of
from tests.support.hand_made_traces import HAND_MADE
from tests.support.real_atif import real_atif

FACTS = {"agent_name": "a", "agent_version": "1", "model_name": "m", "session_id": "s"}
AGENT_ONLY = ("model_name", "reasoning_effort", "reasoning_content", "tool_calls", "metrics")


def problems(trajectory):
    """Yield what breaks a rule of ATIF-v1.8."""
    if not trajectory["steps"]:
        yield "no steps"
    for number, step in enumerate(trajectory["steps"], start=1):
        if step["step_id"] != number:
            yield f"step {number} has the number {step['step_id']}"
        if step["source"] not in {"system", "user", "agent"} or not isinstance(
            step["message"], str
        ):
            yield f"step {number} is nobody's"
        if step["source"] != "agent" and any(name in step for name in AGENT_ONLY):
            yield f"step {number} has what an agent has"
        calls = step.get("tool_calls", [])
        asked = {one["tool_call_id"] for one in calls}
        if not all(isinstance(one["arguments"], dict) for one in calls):
            yield f"step {number} has arguments that are no object"
        for result in step.get("observation", {}).get("results", []):
            if "source_call_id" in result and result["source_call_id"] not in asked:
                yield f"step {number} has a result of another step's call"
    if trajectory["final_metrics"]["total_steps"] != len(trajectory["steps"]):
        yield "another number of steps"
    names = [one["trajectory_id"] for one in trajectory.get("subagent_trajectories", [])]
    if len(names) != len(set(names)):
        yield "two sub-agents of one id"
    for one in trajectory.get("subagent_trajectories", []):
        yield from problems(one)


def is_written(one):
    """Return whether our own JSON can hold an event."""
    try:
        return orjson.loads(orjson.dumps(one)) is not None
    except TypeError:
        return False


def event(kind, at_ms=1_000, **fields):
    return {"event_type": kind, "at_ms": at_ms, **fields}


def reply(n_in, n_out, cached=None, cost=None, **fields):
    usage = {"input_tokens": n_in, "output_tokens": n_out, "cached_input_tokens": cached}
    detail = {"served_model": "served-m", "usage": usage, "cost_usd": cost}
    return event("runner", name="provider_reply", detail=detail, **fields)


TRACE = [
    event("message", role="user", content="Do it."),
    reply(10, 2, cached=4, cost=0.5),
    event("message", role="assistant", name="reasoning", content="Hm."),
    event("message", role="assistant", content="I will."),
    event("tool_call", call_id="1", tool_name="write", raw_arguments='{"path": "a"}'),
    event("tool_result", call_id="1", status="error", output="no", exit_code=3, duration_ms=5),
    event("runner", name="provider_error", detail={"failure_type": "http_500"}),
    reply(20, 3, cost=0.25),
    event("message", role="assistant", content="Done."),
    event("final_output", content="Done."),
]


def test_an_answer_its_calls_and_their_results_are_one_step():
    made = trajectory_of(TRACE, **FACTS)

    assert list(problems(made)) == []
    assert made["schema_version"] == "ATIF-v1.8"
    assert [(one["source"], one["message"]) for one in made["steps"]] == [
        ("user", "Do it."), ("agent", "I will."), ("system", "provider_error"), ("agent", "Done."),
    ]  # fmt: skip
    second = made["steps"][1]
    assert second["reasoning_content"] == "Hm."
    assert second["model_name"] == "served-m"
    assert second["metrics"] == {
        "prompt_tokens": 10, "completion_tokens": 2, "cached_tokens": 4, "cost_usd": 0.5,
    }  # fmt: skip
    assert second["tool_calls"] == [
        {"tool_call_id": "1", "function_name": "write", "arguments": {"path": "a"}}
    ]
    assert second["observation"] == {
        "results": [{
            "content": "no", "source_call_id": "1",
            "extra": {"exit_code": 3, "duration_ms": 5, "is_error": True},
        }]
    }  # fmt: skip
    assert made["final_metrics"] == {
        "total_prompt_tokens": 30, "total_completion_tokens": 5, "total_cached_tokens": 4,
        "total_cost_usd": 0.75, "total_steps": 4,
    }  # fmt: skip
    assert second["timestamp"] == "1970-01-01T00:00:01+00:00"


def test_agents_that_it_started_are_inside_and_what_they_cost_is_in_the_sum():
    inner = [one | {"trajectory": "main/child"} for one in TRACE]
    made = trajectory_of([*TRACE, *inner, {**TRACE[0], "is_copied_context": True}], **FACTS)

    assert list(problems(made)) == []
    assert [one["trajectory_id"] for one in made["subagent_trajectories"]] == ["main/child"]
    assert made["final_metrics"]["total_cost_usd"] == 1.5
    assert made["final_metrics"]["total_prompt_tokens"] == 30
    assert made["steps"][-1]["is_copied_context"] is True


@pytest.mark.parametrize("name", HAND_MADE)
def test_a_trace_that_nobody_should_write_is_a_trajectory_too(name):
    known = [one for one in HAND_MADE[name] if isinstance(one, dict) and is_written(one)]

    made = trajectory_of(known, **FACTS)

    assert list(problems(made)) == []
    assert isinstance(json.loads(orjson.dumps(made)), dict)


@pytest.mark.peers
def test_the_makers_of_the_format_take_it():
    trajectory = real_atif()
    for trace in (TRACE, [], [*TRACE, *(one | {"trajectory": "main/x"} for one in TRACE)]):
        made = json.loads(orjson.dumps(trajectory_of(trace, **FACTS)))
        trajectory.model_validate(made)


def test_samples_are_kept_without_paths_of_a_machine():
    for path in (Path(__file__).parent / "openclaw" / "samples").glob("*.jsonl"):
        assert "/tmp/" not in path.read_text()
