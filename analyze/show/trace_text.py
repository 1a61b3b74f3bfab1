"""A trace as text for people: what was said, asked, waited for and answered, in its order."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator

from pydantic import JsonValue

from analyze.render.numbers import duration
from analyze.render.text import line_of, lines_of
from schemas.run.trace import (
    Artifact,
    FinalOutputEvent,
    MessageEvent,
    RunnerEvent,
    ToolCallEvent,
    ToolResultEvent,
    TraceEvent,
)

INDENT = "    "


def trace_lines(artifact: Artifact) -> Iterator[str]:
    """Yield every event: how long after the first one, what it is, and what it holds.

    Where all events have one time, as in a trace that came without times, none is told.
    """
    events = sorted(artifact.trace, key=lambda event: event.sequence)
    begin = events[0].at_ms if events else 0
    has_times = any(event.at_ms != begin for event in events)
    said = None
    for event in events:
        at = f"+{duration(max(event.at_ms - begin, 0))}  " if has_times else ""
        if isinstance(event, FinalOutputEvent) and event.content == said:
            yield f"{at}final output: the message above"
            continue
        yield f"{at}{_title(event)}"
        yield from indented(_body(event))
        if isinstance(event, MessageEvent):
            said = event.content


def indented(lines: Iterable[str]) -> Iterator[str]:
    """Yield lines moved in, so that no text from outside can look like a line of ours."""
    return ((INDENT + line).rstrip() for line in lines)


def json_text(value: JsonValue) -> str:
    """Return any JSON value on one line; text stays text."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _title(event: TraceEvent) -> str:
    match event:
        case MessageEvent():
            name = "" if event.name is None else f" ({line_of(event.name)})"
            return f"{event.role}{name}"
        case ToolCallEvent():
            return f"tool call  {line_of(event.tool_name)}  [{line_of(event.call_id)}]"
        case ToolResultEvent():
            return f"tool result  {event.status}  [{line_of(event.call_id)}]"
        case RunnerEvent():
            return _runner(event)
        case FinalOutputEvent():
            return "final output" if event.content else "final output: empty"


def _body(event: TraceEvent) -> list[str]:
    match event:
        case MessageEvent() | FinalOutputEvent():
            text = event.content
        case ToolCallEvent():
            text = event.raw_arguments
        case ToolResultEvent():
            text = json_text(event.output)
        case RunnerEvent():
            text = ""
    return lines_of(text) if text else []


def _runner(event: RunnerEvent) -> str:
    """Return what the runner did: its name, then what it noted, without what it did not know."""
    words = [
        f"{line_of(name)} {line_of(json_text(value))}"
        for name, value in event.detail.items()
        if value is not None
    ]
    return "  ".join([line_of(event.name), *words])
