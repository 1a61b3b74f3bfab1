"""Trajectories of mini-swe-agent (`.traj.json`): messages, with what it knows of each in `extra`.

An answer holds what the server sent; cached tokens are inside its input. An answer that the agent
could not follow stands only in the complaint about it. Where the model has no tools, as in all of
version 1, its command stands in the answer's text, and the next message says what came of it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from schemas.formats.agent_logs.lines import (
    Line,
    arguments_of,
    counts_of,
    epoch,
    fields,
    members,
    text_of,
    usd,
)
from schemas.formats.agent_logs.log import (
    MAIN,
    AgentLog,
    Entry,
    LoggedCall,
    Trajectory,
    count,
    exit_code,
    json_object,
    string,
)

OF_USAGE = {
    "prompt_tokens": "input_tokens",
    "completion_tokens": "output_tokens",
    "input_tokens": "input_tokens",
    "output_tokens": "output_tokens",
}

COMMAND = re.compile(r"```(?:bash|mswea_bash_command)[^\S\n]*\n(.*?)\n```", re.DOTALL)
"""In an answer; the agent runs it where there is exactly one."""

RETURNED = re.compile(r"\s*<returncode>(-?\d{1,10})</returncode>")
"""Begins what version 1 says of a command."""

ENDED_WELL = frozenset({"", "Submitted"})
"""How it ended where nothing went wrong; empty: it was cut off."""


def read(files: Mapping[str, bytes]) -> AgentLog:
    """Return the messages of trajectories, one file after another.

    Args:
        files: contents by name.
    """
    entries: list[Entry] = []
    notes = []
    for name, raw in files.items():
        document = json_object(raw)
        if document is None or not isinstance(document.get("messages"), list):
            notes.append(f"{name} is no trajectory of mini-swe-agent")
            continue
        calls: tuple[LoggedCall, ...] = ()
        for number, message in enumerate(document["messages"], start=1):
            if isinstance(message, dict):
                made = list(_entries(message, f"{name}#{number}", calls))
                calls = next((one.calls for one in made if one.kind == "assistant"), ())
                entries += made
    return AgentLog((Trajectory(MAIN, entries),) if entries else (), tuple(notes))


def _entries(message: Line, source: str, asked: tuple[LoggedCall, ...]) -> Iterator[Entry]:
    """Yield what a message says.

    Args:
        message: of a trajectory.
        source: where it stands.
        asked: the calls of the message before.
    """
    extra = fields(message.get("extra"))
    at_ms = epoch(extra.get("timestamp"), unit_ms=1000)
    marks: dict[str, Any] = {"source": source, "at_ms": at_ms}
    text = text_of(message.get("content"))
    response = fields(extra.get("response"))
    if message.get("object") == "response":
        yield _answer(_of_items(message), message, extra, marks)
        return
    if message.get("type") == "function_call_output":
        call = {**message, "tool_call_id": message.get("call_id")}
        yield _result(call, extra, text_of(message.get("output")), marks)
        return
    if message.get("role") == "user" and len(asked) == 1 and not extra.get("interrupt_type"):
        code = RETURNED.match(text)
        known = {"returncode": int(code[1])} if code else {}
        if "returncode" in (details := known | dict(extra)):
            yield _result({"tool_call_id": asked[0].call_id}, details, text, marks)
            return
    match message.get("role"):
        case "assistant":
            yield _answer(message, response, extra, marks)
        case "tool":
            yield _result(message, extra, text, marks)
        case "exit":
            status = string(extra.get("exit_status"))
            if status not in ENDED_WELL:
                what = text if status in text else f"{status}: {text}"
                yield Entry(kind="error", error=what, **marks)
        case role:
            if response:
                choice = next(members(response.get("choices")), {})
                yield _answer(fields(choice.get("message")), response, extra, marks)
            if text:
                kind = "system" if role == "system" or extra.get("interrupt_type") else "user"
                yield Entry(kind=kind, text=text, **marks)  # type: ignore[arg-type]


def _answer(message: Line, response: Line, extra: Line, marks: Mapping[str, Any]) -> Entry:
    choice = next(members(response.get("choices")), {})
    text = text_of(message.get("content"))
    calls = tuple(_call(one) for one in members(message.get("tool_calls")))
    if not calls and not extra.get("interrupt_type"):
        calls = tuple(_commands(text, extra, marks["source"]))
    return Entry(
        kind="assistant",
        text=text,
        reasoning=string(message.get("reasoning_content")),
        calls=calls,
        response_id=string(response.get("id")) or None,
        finish_reason=string(choice.get("finish_reason")) or None,
        served_model=string(response.get("model")) or None,
        usage=_usage(response.get("usage")),
        cost_usd=usd(extra.get("cost")) or None,
        **marks,
    )


def _commands(text: str, extra: Line, source: str) -> Iterator[LoggedCall]:
    """Yield what the agent ran of an answer without calls: as it says, else as version 1 does."""
    found: list[object] = [one.get("command") for one in members(extra.get("actions"))]
    if "actions" not in extra and len(commands := COMMAND.findall(text)) == 1:
        found = [commands[0].strip()]
    for number, command in enumerate(found):
        yield LoggedCall(f"{source}.{number}", "bash", {"command": string(command)})


def _of_items(response: Line) -> Line:
    """Return an answer of the Responses API as the message that another one would be."""
    items = list(members(response.get("output")))
    said = (text_of(one.get("content")) for one in items if one.get("type") == "message")
    thought = (text_of(one.get("summary")) for one in items if one.get("type") == "reasoning")
    calls = [
        {"id": one.get("call_id") or one.get("id"), "function": one}
        for one in items
        if one.get("type") == "function_call"
    ]
    return {
        "content": "\n".join(one for one in said if one),
        "reasoning_content": "\n".join(one for one in thought if one),
        "tool_calls": calls,
    }


def _call(call: Line) -> LoggedCall:
    function = fields(call.get("function"))
    arguments = arguments_of(function.get("arguments"))
    return LoggedCall(string(call.get("id")), string(function.get("name")), arguments)


def _usage(usage: object) -> dict[str, int] | None:
    known = fields(usage)
    found = counts_of(known, OF_USAGE)
    sent = fields(known.get("prompt_tokens_details") or known.get("input_tokens_details"))
    said = known.get("completion_tokens_details") or known.get("output_tokens_details")
    if "cached_tokens" in sent:
        found["cached_input_tokens"] = count(sent["cached_tokens"])
    return {**found, **counts_of(said, {"reasoning_tokens": "reasoning_tokens"})} or None


def _result(message: Line, extra: Line, text: str, marks: Mapping[str, Any]) -> Entry:
    """Return what a command said: as it was, where that is known, or as the model was told."""
    raw = extra.get("raw_output")
    code = exit_code(extra.get("returncode"))
    failed = string(extra.get("exception_info"))
    is_run = not failed or code not in (None, -1)
    return Entry(
        kind="tool_result",
        text=(raw or failed) if isinstance(raw, str) else text,
        call_id=string(message.get("tool_call_id")),
        is_error=bool(failed) or code not in (None, 0),
        exit_code=code if is_run else None,
        **marks,
    )
