"""From the sessions of openclaw to what any agent's log says; copied messages are told by time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from collect.runners.openclaw.session import Line, Session, Sessions, read_lines
from schemas.formats.agent_logs.lines import counts_of, epoch, fields, members, moment
from schemas.formats.agent_logs.log import (
    MAIN,
    AgentLog,
    Entry,
    LoggedCall,
    Trajectory,
    count,
    exit_code,
    milliseconds,
    string,
)

COPIED_MS = 1_000
"""A message so much older than its session was taken over from another one."""

FAILED = frozenset({"error", "aborted"})
"""How openclaw says that an answer never came."""

OF_USAGE = {
    "cacheRead": "cached_input_tokens",
    "cacheWrite": "cache_write_tokens",
    "output": "output_tokens",
}


def log_of(sessions: Sessions) -> AgentLog:
    """Return what the sessions of a trial say: the agent's own, and those it has started."""
    paths = {} if sessions.main is None else {sessions.main.session_id: MAIN}
    found = []
    for session in (*([] if sessions.main is None else [sessions.main]), *sessions.others):
        if session.parent is not None:
            paths[session.session_id] = f"{paths.get(session.parent, MAIN)}/{session.session_id}"
        found.append(Trajectory(paths[session.session_id], list(_entries(session))))
    return AgentLog(tuple(found), sessions.notes)


def read(files: Mapping[str, bytes]) -> AgentLog:
    """Return what session files say, as a trace format.

    Args:
        files: contents by name; the first is the agent's own session, the others it has started.
    """
    found: list[Session] = []
    notes: list[str] = []
    for name, raw in files.items():
        own = name.rpartition("/")[2].removesuffix(".jsonl")
        parent = found[0].session_id if found else None
        found.append(Session(own, parent, read_lines(raw, name, notes), name))
    main = found[0] if found else None
    return log_of(Sessions(main, tuple(found[1:]), "jsonl", tuple(notes)))


def _entries(session: Session) -> Iterator[Entry]:
    began = _moment(session.lines[0]) if session.lines else 0
    for number, line in enumerate(session.lines, start=1):
        at = _moment(line)
        message = line.get("message")
        marks: dict[str, Any] = {
            "source": f"{session.source}#{number}",
            "at_ms": at,
            "is_copied": at < began - COPIED_MS,
        }
        if line.get("type") == "compaction":
            before = count(line.get("tokensBefore")) or None
            text = string(line.get("summary"))
            yield Entry(kind="compaction", text=text, tokens_before=before, **marks)
        elif line.get("type") == "message" and isinstance(message, dict):
            yield _message(message, marks)


def _message(message: Mapping[str, Any], marks: Mapping[str, Any]) -> Entry:
    match message.get("role"):
        case "assistant":
            return _answer(message, marks)
        case "toolResult":
            known = fields(message.get("details"))
            return Entry(
                kind="tool_result",
                text=_text_of(message),
                call_id=string(message.get("toolCallId")),
                is_error=message.get("isError") is True,
                exit_code=exit_code(known.get("exitCode")),
                duration_ms=milliseconds(known.get("durationMs")),
                **marks,
            )
        case role:
            kind = "system" if role == "system" else "user"
            return Entry(kind=kind, text=_text_of(message), **marks)  # type: ignore[arg-type]


def _answer(message: Mapping[str, Any], marks: Mapping[str, Any]) -> Entry:
    is_failed = string(message.get("stopReason")) in FAILED
    name = message.get("responseId")
    calls = tuple(
        LoggedCall(string(part.get("id")), string(part.get("name")), part.get("arguments", {}))
        for part in _parts(message, "toolCall")
    )
    return Entry(
        kind="assistant",
        text=_text_of(message),
        calls=calls,
        response_id=name if isinstance(name, str) else None,
        finish_reason=string(message.get("stopReason")) or None,
        is_failed=is_failed,
        error=string(message.get("errorMessage")),
        usage=_usage_of(message),
        **marks,
    )


def _usage_of(message: Mapping[str, Any]) -> dict[str, int] | None:
    """Return the tokens of an answer; openclaw leaves the cached ones out of its input."""
    usage = fields(message.get("usage"))
    sent = [count(usage.get(name)) for name in ("input", "cacheRead", "cacheWrite")]
    if not (any(sent) or count(usage.get("output"))):
        return None
    return {"input_tokens": sum(sent), **counts_of(usage, OF_USAGE)}


def _moment(line: Line) -> int:
    """Return when a line was written, in ms since the epoch; 0: it does not say."""
    message = fields(line.get("message"))
    at = message.get("timestamp") if message.get("role") != "assistant" else None
    return epoch(at) or moment(line.get("timestamp"))


def _parts(message: Mapping[str, Any], kind: str) -> Iterator[Mapping[str, Any]]:
    return (part for part in members(message.get("content")) if part.get("type") == kind)


def _text_of(message: Mapping[str, Any]) -> str:
    content = message.get("content")
    if isinstance(content, str):
        return content
    return "\n".join(string(part.get("text")) for part in _parts(message, "text"))
