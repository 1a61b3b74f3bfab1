"""What was said in a trial in the words of Every Eval Ever: its input, answer and messages.

The input is that of the stored case; of an imported run, where nobody stored any, it is what the
trace shows before the model's own words.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from pydantic import JsonValue

from schemas.run.trace import (
    Artifact,
    FinalOutputEvent,
    MessageEvent,
    RunnerEvent,
    ToolCallEvent,
    ToolResultEvent,
    TraceEvent,
)

Interaction = Literal["single_turn", "multi_turn", "agentic"]

AGENTS = frozenset({"openclaw", "command", "agent"})
"""Runners of which every trial is an agent's."""

ONE_REQUEST = "llm_probe"
"""The runner that asks once unless a tool is called: earlier answers are part of its input."""

REASONING = "reasoning"
"""Name of an assistant's message that is no part of the answer."""

Message = dict[str, Any]


@dataclass(frozen=True)
class Transcript:
    """A trial as a conversation."""

    interaction: Interaction
    raw_input: str | None
    """None: nobody kept what was asked."""
    messages: list[Message]
    """The whole conversation, its input first."""
    answer: str
    reasoning: list[str]
    tool_calls: int | None
    """None: there is no trace that would tell."""
    is_whole: bool
    """False: without a trace, of which only input and answer are known."""


def transcript_of(
    case: Mapping[str, JsonValue], trace: Artifact | None, answer: str, runner: str
) -> Transcript:
    """Return a trial as a conversation.

    Args:
        case: as it was stored; empty where nobody kept it.
        trace: of the trial, where it is here.
        answer: as the lake has it, for want of a trace.
        runner: that executed the trial.
    """
    trace_events = [] if trace is None else sorted(trace.trace, key=lambda event: event.sequence)
    events = [event for event in trace_events if not event.is_copied_context]
    finals = [event.content for event in events if isinstance(event, FinalOutputEvent)]
    said = [event for event in events if isinstance(event, MessageEvent)]
    has_tools = any(isinstance(event, (ToolCallEvent, ToolResultEvent)) for event in events)
    is_agent = runner in AGENTS or (trace is not None and trace.ended_by is not None)
    asked = _asked_by(case) or _asked_before(events, is_one=runner == ONE_REQUEST and not has_tools)
    own = [one for one in said[_n_first(case, asked) :] if _is_answer(one)]
    interaction: Interaction = "single_turn"
    if has_tools or is_agent:
        interaction = "agentic"
    elif len(own) > 1:
        interaction = "multi_turn"
    last = finals[-1] if finals else answer
    return Transcript(
        interaction=interaction,
        raw_input=_raw(asked),
        messages=_messages(events) if events else _messages_of_answer(asked, last),
        answer=last,
        reasoning=[one.content for one in said if one.name == REASONING],
        tool_calls=None if trace is None else sum(isinstance(e, ToolCallEvent) for e in events),
        is_whole=bool(events),
    )


def _is_answer(event: MessageEvent) -> bool:
    return event.role == "assistant" and event.name != REASONING


def _asked_by(case: Mapping[str, JsonValue]) -> list[tuple[str, str]]:
    """Return who says what in a stored case, further turns of its user included."""
    found = []
    for name in ("messages", "turns"):
        listed = case.get(name)
        for one in listed if isinstance(listed, list) else ():
            if isinstance(one, dict):
                found.append((str(one.get("role") or "user"), text_of(one.get("content"))))
            else:
                found.append(("user", text_of(one)))
    return found


def _n_first(case: Mapping[str, JsonValue], asked: Sequence[tuple[str, str]]) -> int:
    """Return how many messages of a trace are input, before anything is answered."""
    listed = case.get("messages")
    return len(listed) if isinstance(listed, list) else len(asked)


def _asked_before(events: Sequence[TraceEvent], *, is_one: bool) -> list[tuple[str, str]]:
    """Return who says what before the model does.

    Args:
        events: of the trace.
        is_one: one request was made, so that every answer but the last one was part of it.
    """
    said = [event for event in events if isinstance(event, MessageEvent)]
    places = [place for place, event in enumerate(said) if event.role == "assistant"]
    end = len(said)
    if places:
        own = [place for place in places if said[place].name == REASONING or place == places[-1]]
        end = own[0] if is_one else places[0]
    return [(event.role, event.content) for event in said[:end]]


def _raw(asked: Sequence[tuple[str, str]]) -> str | None:
    if len(asked) == 1:
        return asked[0][1]
    return "\n\n".join(f"{role}: {content}" for role, content in asked) if asked else None


def _messages_of_answer(asked: Sequence[tuple[str, str]], answer: str) -> list[Message]:
    said = [*asked, ("assistant", answer)]
    return [_message(place, role, content) for place, (role, content) in enumerate(said)]


def _message(place: int, role: str, content: str | None) -> Message:
    return {"turn_idx": place, "role": role, "content": content}


def _messages(events: Sequence[TraceEvent]) -> list[Message]:
    """Return every message in order; calls of tools belong to the answer that makes them."""
    found: list[Message] = []
    open_answer: Message | None = None

    def answer() -> Message:
        nonlocal open_answer
        if open_answer is None:
            open_answer = _message(len(found), "assistant", None)
            found.append(open_answer)
        return open_answer

    for event in events:
        match event:
            case MessageEvent(role="assistant", name="reasoning"):
                if open_answer is not None and open_answer["content"] is not None:
                    open_answer = None
                before = answer().get("reasoning_trace")
                answer()["reasoning_trace"] = (
                    f"{before}\n{event.content}" if before else event.content
                )
            case MessageEvent(role="assistant"):
                if open_answer is not None and open_answer["content"] is not None:
                    open_answer = None
                answer()["content"] = event.content
            case MessageEvent():
                open_answer = None
                found.append(_message(len(found), event.role, event.content))
            case ToolCallEvent():
                answer().setdefault("tool_calls", []).append(_call(event))
            case ToolResultEvent():
                open_answer = None
                shown = text_of(event.output) if event.shown is None else event.shown
                one = _message(len(found), "tool", shown)
                found.append(one | {"tool_call_id": [event.call_id]})
            case FinalOutputEvent():
                said = [one["content"] for one in found if one["role"] == "assistant"]
                if event.content and (not said or said[-1] != event.content):
                    open_answer = None
                    answer()["content"] = event.content
            case RunnerEvent(name="provider_reply"):
                open_answer = None
    return found


def _call(event: ToolCallEvent) -> dict[str, Any]:
    known = event.parsed_arguments
    if isinstance(known, dict):
        arguments = {name: text_of(value) for name, value in known.items()}
    else:
        arguments = {"raw": event.raw_arguments}
    return {"id": event.call_id, "name": event.tool_name, "arguments": arguments}


def text_of(value: object) -> str:
    """Return a JSON value as text; a text is itself."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def texts_of(known: Mapping[str, Any]) -> dict[str, str]:
    """Return what is known as texts, which is all that the format's maps of details may hold."""
    return {name: text_of(value) for name, value in known.items() if value is not None}
