"""Trajectories in ATIF (Agent Trajectory Interchange Format, 1.0 to 1.8) as an agent's log.

A step of the agent is an answer, with its calls and their results; prompt tokens include the cached
ones there as here. Reasoning and what the format has no place for are left.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import orjson

from schemas.formats.agent_logs.lines import counts_of, fields, members, moment, usd
from schemas.formats.agent_logs.log import (
    MAIN,
    AgentLog,
    Entry,
    LoggedCall,
    Trajectory,
    exit_code,
    json_object,
    milliseconds,
    string,
)

MAX_DEPTH = 8
"""Of agents that were started by agents that were started."""

OF_METRICS = {
    "prompt_tokens": "input_tokens",
    "cached_tokens": "cached_input_tokens",
    "completion_tokens": "output_tokens",
}


def read(files: Mapping[str, bytes]) -> AgentLog:
    """Return the trajectories of a log.

    Args:
        files: contents by name; each is one trajectory, with those that it holds.
    """
    found: list[Trajectory] = []
    notes = []
    for name, raw in files.items():
        document = json_object(raw)
        if document is None or not isinstance(document.get("steps"), list):
            notes.append(f"{name} is no trajectory")
            continue
        path = MAIN if not found else f"{MAIN}/{_last(name)}"
        found += _trajectories(document, path, name, 0)
    return AgentLog(tuple(found), tuple(notes))


def _trajectories(
    document: Mapping[str, Any], path: str, name: str, depth: int
) -> Iterator[Trajectory]:
    yield Trajectory(path, list(_entries(document, name)))
    inner = members(document.get("subagent_trajectories"))
    for number, one in enumerate(inner if depth < MAX_DEPTH else (), start=1):
        own = string(one.get("trajectory_id")).removeprefix(f"{MAIN}/") or str(number)
        yield from _trajectories(one, f"{path}/{own}", f"{name}:{number}", depth + 1)


def _entries(document: Mapping[str, Any], name: str) -> Iterator[Entry]:
    steps = document.get("steps")
    for number, step in enumerate(steps if isinstance(steps, list) else (), start=1):
        if not isinstance(step, dict):
            continue
        marks: dict[str, Any] = {
            "source": f"{name}#{number}",
            "at_ms": moment(step.get("timestamp")),
            "is_copied": step.get("is_copied_context") is True,
        }
        text = _text(step.get("message"))
        if step.get("source") == "agent":
            yield _answer(step, text, marks)
        elif text:
            kind = "user" if step.get("source") == "user" else "system"
            yield Entry(kind=kind, text=text, **marks)  # type: ignore[arg-type]
        yield from _results(step, marks)


def _answer(step: Mapping[str, Any], text: str, marks: Mapping[str, Any]) -> Entry:
    metrics = step.get("metrics")
    return Entry(
        kind="assistant",
        text=text,
        reasoning=string(step.get("reasoning_content")),
        calls=tuple(
            LoggedCall(
                string(one.get("tool_call_id")),
                string(one.get("function_name")),
                one.get("arguments"),
            )
            for one in members(step.get("tool_calls"))
        ),
        served_model=string(step.get("model_name")) or None,
        usage=counts_of(metrics, OF_METRICS) or None,
        cost_usd=usd(fields(metrics).get("cost_usd")),
        **marks,
    )


def _results(step: Mapping[str, Any], marks: Mapping[str, Any]) -> Iterator[Entry]:
    for one in members(fields(step.get("observation")).get("results")):
        facts = fields(one.get("extra"))
        yield Entry(
            kind="tool_result",
            text=_text(one.get("content")),
            call_id=string(one.get("source_call_id")),
            is_error=facts.get("is_error") is True,
            exit_code=exit_code(facts.get("exit_code")),
            duration_ms=milliseconds(facts.get("duration_ms")),
            **marks,
        )


def _text(value: object) -> str:
    """Return a text, or that of its parts; 1.6 and later may have pictures among them."""
    if isinstance(value, list):
        return "\n".join(string(one.get("text")) for one in members(value))
    if value is None or isinstance(value, str):
        return value or ""
    return orjson.dumps(value).decode()


def _last(name: str) -> str:
    return name.rpartition("/")[2]
