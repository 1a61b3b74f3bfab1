"""The trace of a run of personal_agent_eval as one of ours, so that it can be read like any other.

Its events have no times: all of them stand at the start of the trial. A tool's result stands there
twice and is taken once; what is no event that we know becomes one of the runner, as it is.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, get_args

import orjson
from pydantic import JsonValue

from analyze.importers.lenient import free, text
from analyze.importers.pae.files import Document
from schemas.config.case import Role

AGENT = "openclaw"
"""Runner of an agent in its container."""

ROLES = frozenset(get_args(Role))

STAMPS = frozenset({"event_type", "sequence", "timestamp"})

Event = dict[str, Any]


def events_of(run: Document) -> list[Event]:
    """Return the events as they are in the file."""
    events = run.at("trace")
    inside = events if isinstance(events, list) else []
    return [event for event in inside if isinstance(event, dict)]


def trace_of(run: Document, at_ms: int) -> tuple[Event, ...]:
    """Return the events of a run in the shape of `schemas.run.trace.TraceEvent`.

    Args:
        run: the file of the trial.
        at_ms: the start of the trial.
    """
    events = events_of(run)
    answered = {
        call_id
        for event in events
        if event.get("event_type") == "tool_result" and (call_id := _is_text(event, "call_id"))
    }
    found = (mapped for event in events for mapped in _mapped(event, answered))
    return tuple(
        {"sequence": n, "at_ms": at_ms} | _read_out(run, mapped) for n, mapped in enumerate(found)
    )


def _read_out(run: Document, event: Event) -> Event:
    if event["event_type"] != "final_output":
        return event
    return event | {"content": answer_of(run, event["content"])}


def request_of(run: Document) -> dict[str, JsonValue]:
    """Return what was asked for besides the messages, which are in the trace."""
    settings = run.at("request", "execution_parameters")
    asked = dict(settings) if isinstance(settings, dict) else {}
    asked = {"model": run.at("request", "requested_model")} | asked
    asked["tools"] = run.at("request", "metadata", "resolved_tools") or None
    asked["openclaw"] = run.at("request", "metadata", "openclaw")
    return {name: free(value) for name, value in asked.items() if value is not None}


def final_text(run: Document) -> str:
    """Return the text that the trial is judged by: the last final output that is not blank."""
    for event in reversed(events_of(run)):
        text = event.get("content")
        if event.get("event_type") == "final_output" and isinstance(text, str) and text.strip():
            return answer_of(run, text)
    return ""


def answer_of(run: Document, text: str) -> str:
    """Return a final output as its reader saw it.

    An agent in a container prints JSON around its answer: `{"payloads": [{"text": …}], …}`. The
    answer of any other model is never looked into, since it may be JSON itself; and of an agent's
    that has no text in it, what its runner saw on the screen stands for it.
    """
    if run.text("identity", "runner_type") != AGENT:
        return text
    try:
        said = orjson.loads(text)
    except orjson.JSONDecodeError:
        return text
    rows = said.get("payloads") if isinstance(said, dict) else None
    if not isinstance(rows, list):
        return text
    parts = [_is_text(row, "text") for row in rows if isinstance(row, dict)]
    seen = ("openclaw", "metadata", "observable_summary", "final_assistant_visible_text")
    return "\n\n".join(filter(None, parts)) or run.text("runner_metadata", *seen) or text


def tools_of(run: Document) -> tuple[str, ...]:
    """Return the names of tools that were used, each once, in order.

    An agent in a container writes no event of a call, and says at its end which tools it used.
    """
    calls = [event.get("tool_name") for event in events_of(run)]
    summary = ("openclaw", "metadata", "observable_summary", "tool_summary", "tools")
    tools = run.at("runner_metadata", *summary)
    names = [*calls, *(tools if isinstance(tools, list) else [])]
    return tuple(dict.fromkeys(name[:256] for name in names if isinstance(name, str) and name))


def _mapped(event: Event, answered: set[str]) -> Iterator[Event]:
    """Yield an event as ours: none for what is there already, two for one with its reasoning."""
    kind = _is_text(event, "event_type")
    if kind == "message" and _is_text(event, "role") in ROLES:
        yield from _message(event, answered)
    elif kind == "tool_call" and _has_texts(event, "call_id", "tool_name"):
        arguments = event.get("raw_arguments")
        yield {
            "event_type": kind,
            "call_id": event["call_id"],
            "tool_name": event["tool_name"],
            "raw_arguments": arguments if isinstance(arguments, str) else text(arguments),
            "parsed_arguments": free(event.get("parsed_arguments")),
        }
    elif (
        kind == "tool_result"
        and _has_texts(event, "call_id")
        and _is_text(event, "status") in {"success", "error"}
    ):
        yield {
            "event_type": kind,
            "call_id": event["call_id"],
            "status": event["status"],
            "output": free(event.get("output")),
        }
    elif kind == "runner" and _has_texts(event, "name"):
        extra = event.get("metadata")
        detail = {"detail": event.get("detail")} | (extra if isinstance(extra, dict) else {})
        yield _runner(event["name"], detail)
    elif kind == "final_output":
        yield {"event_type": kind, "content": text(event.get("content"))}
    else:
        rest = {name: value for name, value in event.items() if name not in STAMPS}
        yield _runner(kind or "unknown", rest)


def _message(event: Event, answered: set[str]) -> Iterator[Event]:
    extra = event.get("metadata")
    extra = extra if isinstance(extra, dict) else {}
    if event["role"] == "tool" and _is_text(extra, "tool_call_id") in answered:
        return
    if thought := _is_text(extra, "reasoning"):
        said = {"event_type": "message", "role": event["role"]}
        yield said | {"content": thought, "name": "reasoning"}
    content = text(event.get("content"))
    if content or not thought:
        name = _is_text(event, "name")
        yield {"event_type": "message", "role": event["role"], "content": content, "name": name}


def _runner(name: str, detail: Event) -> Event:
    known = {key: free(value) for key, value in detail.items() if value is not None}
    return {"event_type": "runner", "name": name, "detail": known}


def _is_text(event: Event, name: str) -> str | None:
    value = event.get(name)
    return value if isinstance(value, str) and value else None


def _has_texts(event: Event, *names: str) -> bool:
    return all(isinstance(event.get(name), str) for name in names)
