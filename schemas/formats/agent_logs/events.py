"""From entries of agents' logs to events of a trace, in the shape of `schemas.run.trace`."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator, Mapping, Sequence
from operator import itemgetter
from typing import Any, TypeVar

import orjson
from pydantic import JsonValue

from schemas.formats.agent_logs.log import MAIN, AgentLog, Entry, LoggedCall, Trajectory

Event = dict[str, JsonValue]
"""Without its place and time."""

Item = TypeVar("Item")


def events_of(entry: Entry, took_ms: int | None = None) -> Iterator[Event]:
    """Yield what an entry says.

    Args:
        entry: of a log.
        took_ms: of a tool, where the entry does not say it.
    """
    match entry.kind:
        case "assistant":
            yield from reply_of(entry)
            if not entry.is_failed:
                yield from said(entry.text, entry.calls)
        case "tool_result":
            yield _result(entry, took_ms)
        case "compaction":
            facts: Event = {"summary": entry.text}
            if entry.tokens_before:
                facts["tokens_before"] = entry.tokens_before
            yield _runner("compaction", facts)
        case "error":
            what = entry.error or "no reason given"
            yield _runner("error", {"failure_type": "agent_error", "error_message": what})
        case "user" | "system":
            yield _message(entry.kind, entry.text)


def reply_of(entry: Entry) -> Iterator[Event]:
    """Yield what the log knows of how an answer came, and the thoughts before it."""
    if entry.is_failed:
        what = entry.error or "the agent has no answer"
        yield _runner("error", {"failure_type": "agent_error", "error_message": what})
        return
    facts: Event = {"finish_reason": entry.finish_reason}
    if entry.usage is not None:
        facts["usage"] = {**entry.usage, "usage_cached": "inside", "usage_counts": "delta"}
    if entry.served_model is not None:
        facts["served_model"] = entry.served_model
    if entry.requested_model is not None:
        facts["requested_model"] = entry.requested_model
    if entry.cost_usd is not None:
        facts |= {"cost_usd": entry.cost_usd, "cost_source": "provider"}
    yield _runner("provider_reply", facts)
    if entry.reasoning:
        yield _message("assistant", entry.reasoning, "reasoning")


def said(
    text: str, calls: Sequence[LoggedCall], raw: Mapping[str, str] | None = None
) -> Iterator[Event]:
    """Yield the text and the calls of an answer.

    Args:
        text: nothing where it is empty.
        calls: in order.
        raw: arguments as they were sent, by call, where that is known.
    """
    if text:
        yield _message("assistant", text)
    for call_id, name, arguments in calls:
        sent = (raw or {}).get(call_id)
        event: Event = {
            "event_type": "tool_call",
            "call_id": call_id,
            "tool_name": name,
            "raw_arguments": orjson.dumps(arguments).decode() if sent is None else sent,
        }
        yield event if arguments is None else event | {"parsed_arguments": arguments}


def marks_of(entry: Entry, path: str) -> Event:
    """Return what every event of an entry has: where it is from, and of which trajectory."""
    marks: Event = {"source": entry.source}
    if path != MAIN:
        marks["trajectory"] = path
    if entry.is_copied:
        marks["is_copied_context"] = True
    return marks


def in_order(streams: Iterable[Iterable[tuple[int, Item]]]) -> Iterator[tuple[int, Item]]:
    """Yield items of several streams by their moments, those of a stream always in its order."""
    return heapq.merge(*(list(_rising(one)) for one in streams), key=itemgetter(0))


def trace_of(log: AgentLog, began_ms: int) -> tuple[dict[str, Any], ...]:
    """Return the events of a whole log, in the order of time.

    Args:
        log: of an agent.
        began_ms: the moment of what has none before anything that has one.
    """
    streams = (_timed(one, began_ms) for one in log.trajectories)
    found = (
        (at_ms, marks_of(entry, path) | event)
        for at_ms, (path, entry) in in_order(streams)
        for event in events_of(entry)
    )
    return tuple({"sequence": n, "at_ms": at} | event for n, (at, event) in enumerate(found))


def _timed(trajectory: Trajectory, began_ms: int) -> Iterator[tuple[int, tuple[str, Entry]]]:
    for entry in trajectory.entries:
        yield entry.at_ms or began_ms, (trajectory.path, entry)


def _rising(items: Iterable[tuple[int, Item]]) -> Iterator[tuple[int, Item]]:
    """Yield items whose moments never go back: their order is what is known best."""
    latest = 0
    for moment, item in items:
        latest = max(latest, moment)
        yield latest, item


def _message(role: str, content: str, name: str | None = None) -> Event:
    return {"event_type": "message", "role": role, "content": content, "name": name}


def _runner(name: str, detail: Event) -> Event:
    return {"event_type": "runner", "name": name, "detail": detail}


def _result(entry: Entry, took_ms: int | None) -> Event:
    event: Event = {
        "event_type": "tool_result",
        "call_id": entry.call_id,
        "status": "error" if entry.is_error else "success",
        "output": entry.text,
    }
    took = took_ms if entry.duration_ms is None else entry.duration_ms
    if took is not None:
        event["duration_ms"] = took
    if entry.exit_code is not None:
        event["exit_code"] = entry.exit_code
    return event
