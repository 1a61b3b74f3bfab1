"""A trial's trace as an ATIF trajectory (Agent Trajectory Interchange Format, version 1.8).

A step is one answer of the model with its calls and what these brought, or a message of somebody
else. Prompt tokens include cached ones. What the format has no place for stands in `extra`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import orjson

ATIF_VERSION = "ATIF-v1.8"
MAIN = "main"

MAX_MS = 253_402_300_800_000
"""The end of the year 9999, in ms since the epoch."""

Trajectory = dict[str, Any]
TraceEvent = Mapping[str, Any]

OF_USAGE = {
    "input_tokens": "prompt_tokens",
    "output_tokens": "completion_tokens",
    "cached_input_tokens": "cached_tokens",
}
OF_TOTALS = {
    "prompt_tokens": "total_prompt_tokens",
    "completion_tokens": "total_completion_tokens",
    "cached_tokens": "total_cached_tokens",
    "cost_usd": "total_cost_usd",
}


def trajectory_of(
    trace: Sequence[TraceEvent],
    *,
    agent_name: str,
    agent_version: str,
    model_name: str,
    session_id: str,
) -> Trajectory:
    """Return the trajectory of a trial, with those of agents that it started inside.

    Args:
        trace: events in the shape of `schemas.run.trace`, of all trajectories, in their order.
        agent_name: of the agent.
        agent_version: as it ran.
        model_name: that was asked for.
        session_id: of the trial.
    """
    agent = {"name": agent_name, "version": agent_version, "model_name": model_name}
    by_path: dict[str, list[TraceEvent]] = {}
    for event in trace:
        by_path.setdefault(str(event.get("trajectory") or MAIN), []).append(event)
    main = _one(by_path.pop(MAIN, []), agent)
    started = [
        {**_one(events, agent), "trajectory_id": path} for path, events in sorted(by_path.items())
    ]
    if started:
        main["subagent_trajectories"] = started
        costs = [one["final_metrics"].get("total_cost_usd") for one in (main, *started)]
        if all(cost is not None for cost in costs):
            main["final_metrics"]["total_cost_usd"] = sum(costs)
    return {**main, "session_id": session_id}


def _one(events: Iterable[TraceEvent], agent: Mapping[str, str]) -> Trajectory:
    steps = _Steps()
    for event in events:
        steps.take(event)
    made = steps.whole()
    totals = {
        total: sum(known)
        for name, total in OF_TOTALS.items()
        if (known := [one["metrics"][name] for one in made if name in one.get("metrics", {})])
    }
    return {
        "schema_version": ATIF_VERSION,
        "agent": dict(agent),
        "steps": made,
        "final_metrics": {**totals, "total_steps": len(made)},
    }


class _Steps:
    """The steps of one trajectory while its events are read."""

    def __init__(self) -> None:
        self._steps: list[dict[str, Any]] = []
        self._answer: dict[str, Any] | None = None
        """The last step of the agent, which calls and results belong to."""
        self._is_open = False
        """Its text has not come yet."""

    def take(self, event: TraceEvent) -> None:
        """Take the next event in."""
        match event.get("event_type"):
            case "message":
                self._message(event)
            case "tool_call":
                self._call(event)
            case "tool_result":
                self._result(event)
            case "runner":
                self._runner(event)

    def whole(self) -> list[dict[str, Any]]:
        """Return the steps; a trajectory has at least one."""
        if not self._steps:
            self._add({}, "system", "nothing happened")
        return self._steps

    def _add(self, event: TraceEvent, source: str, message: str) -> dict[str, Any]:
        step: dict[str, Any] = {"step_id": len(self._steps) + 1, "source": source}
        if isinstance(at_ms := event.get("at_ms"), int) and 0 <= at_ms < MAX_MS:
            step["timestamp"] = datetime.fromtimestamp(at_ms / 1000, UTC).isoformat()
        if event.get("is_copied_context") is True:
            step["is_copied_context"] = True
        self._steps.append(step | {"message": message})
        self._answer = self._steps[-1] if source == "agent" else None
        self._is_open = source == "agent" and not message
        return self._steps[-1]

    def _message(self, event: TraceEvent) -> None:
        role, text = event.get("role"), str(event.get("content") or "")
        if role != "assistant":
            self._add(event, "user" if role == "user" else "system", text)
        elif event.get("name") == "reasoning":
            self._step(event)["reasoning_content"] = text
        elif self._answer is not None and self._is_open:
            self._answer["message"], self._is_open = text, False
        else:
            self._add(event, "agent", text)

    def _step(self, event: TraceEvent) -> dict[str, Any]:
        """Return the step of the agent that is under way."""
        return self._add(event, "agent", "") if self._answer is None else self._answer

    def _call(self, event: TraceEvent) -> None:
        arguments = event.get("parsed_arguments")
        call = {
            "tool_call_id": str(event.get("call_id") or ""),
            "function_name": str(event.get("tool_name") or ""),
            "arguments": arguments if isinstance(arguments, dict) else _object(event),
        }
        self._step(event).setdefault("tool_calls", []).append(call)
        self._is_open = False

    def _result(self, event: TraceEvent) -> None:
        """Put a result beside its call; one that nobody asked for is the system's."""
        call_id, output = event.get("call_id"), event.get("output")
        text = output if isinstance(output, str) else _json(output)
        owner = next((one for one in reversed(self._steps) if _asked(one, call_id)), None)
        result: dict[str, Any] = {"content": text}
        if owner is not None:
            result["source_call_id"] = call_id
        facts = {name: event[name] for name in ("exit_code", "duration_ms") if name in event}
        if event.get("status") == "error":
            facts["is_error"] = True
        if facts:
            result["extra"] = facts
        step = self._add(event, "system", "") if owner is None else owner
        step.setdefault("observation", {"results": []})["results"].append(result)

    def _runner(self, event: TraceEvent) -> None:
        found = event.get("detail")
        detail: Mapping[str, Any] = found if isinstance(found, dict) else {}
        match event.get("name"):
            case "provider_reply":
                step = self._add(event, "agent", "")
                step["llm_call_count"] = 1
                if isinstance(served := detail.get("served_model"), str):
                    step["model_name"] = served
                if metrics := _metrics(detail):
                    step["metrics"] = metrics
            case "provider_error" | "error" | "limit" | "compaction" | "retry_scheduled" as name:
                self._add(event, "system", name)["extra"] = dict(detail)


def _metrics(detail: Mapping[str, Any]) -> dict[str, Any]:
    usage = detail.get("usage")
    counts = usage if isinstance(usage, dict) else {}
    found = {ours: counts.get(name) for name, ours in OF_USAGE.items()}
    found["cost_usd"] = detail.get("cost_usd")
    return {name: one for name, one in found.items() if _is_quantity(one)}


def _is_quantity(value: object) -> bool:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return is_number and 0 <= value < float("inf")  # type: ignore[operator]


def _json(value: object) -> str:
    try:
        return orjson.dumps(value).decode()
    except TypeError:  # nested more deeply than any writer of ours goes
        return ""


def _asked(step: Mapping[str, Any], call_id: object) -> bool:
    return any(call["tool_call_id"] == call_id for call in step.get("tool_calls", ()))


def _object(event: TraceEvent) -> dict[str, Any]:
    """Return the arguments of a call, which the format wants to be an object."""
    raw = event.get("raw_arguments")
    try:
        found = orjson.loads(raw) if isinstance(raw, str) else None
    except orjson.JSONDecodeError:
        found = None
    return found if isinstance(found, dict) else {"raw": raw}
