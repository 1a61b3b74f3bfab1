"""Logs of the Codex CLI: session files (`rollout-*.jsonl`), or the events of `exec --json`.

In a session file an answer is what stands between two counts: its texts, its calls, then their
results; the count that follows is of that answer alone (`last_token_usage`), with the cached tokens
inside the input. Events on standard output count a session's tokens up to each turn, so a turn has
the difference. Written for 0.171.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

import orjson

from collect.runners.agents.log import (
    MAIN,
    AgentLog,
    Entry,
    LoggedCall,
    Trajectory,
    count,
    exit_code,
    json_object,
    milliseconds,
    string,
)

OF_USAGE = {
    "input_tokens": "input_tokens",
    "cached_input_tokens": "cached_input_tokens",
    "cache_write_input_tokens": "cache_write_tokens",
    "output_tokens": "output_tokens",
    "reasoning_output_tokens": "reasoning_tokens",
}
CALLS = frozenset({"function_call", "custom_tool_call", "local_shell_call"})
RESULTS = frozenset({"function_call_output", "custom_tool_call_output"})


def read(files: Mapping[str, bytes]) -> AgentLog:
    """Return what the files of a trial say.

    Args:
        files: contents by name; the first session is the agent's own, others it has started.
    """
    trajectories: list[Trajectory] = []
    notes: list[str] = []
    events = _Events()
    for name, raw in files.items():
        session = _Session()
        torn = 0
        for number, line in enumerate(raw.splitlines(), start=1):
            if not line.strip():
                continue
            found = json_object(line)
            if found is None:
                torn += 1
            elif isinstance(found.get("payload"), dict):
                session.take(found, f"{name}#{number}")
            else:
                events.take(found, f"{name}#{number}")
        if torn:
            notes.append(f"{name}: {torn:,} lines are no JSON objects")
        if session.entries:
            path = MAIN if not trajectories else f"{MAIN}/{name.rpartition('/')[2]}"
            trajectories.append(Trajectory(path, session.entries))
    if not trajectories and events.entries:
        trajectories.append(Trajectory(MAIN, events.entries))
    return AgentLog(tuple(trajectories), tuple(notes))


@dataclass
class _Session:
    """The lines of one session file, while they are read."""

    entries: list[Entry] = field(default_factory=list)
    _answer: int | None = None
    """Place of the answer under way, to which texts and calls are added until it is counted."""
    _is_answered: bool = False
    """A result has come: what follows is of another answer."""
    _facts: dict[str, tuple[int | None, int | None]] = field(default_factory=dict)
    """Exit code and ms of a command, by its call."""

    def take(self, line: Mapping[str, Any], source: str) -> None:
        """Take the next line in."""
        payload = line["payload"]
        kind, at_ms = string(payload.get("type")), _moment(line.get("timestamp"))
        if line.get("type") == "response_item":
            self._item(payload, kind, source, at_ms)
        elif line.get("type") == "compacted":
            self._close()
            text = string(payload.get("message"))
            self.entries.append(Entry(kind="compaction", source=source, at_ms=at_ms, text=text))
        elif kind == "token_count":
            self._count(payload)
        elif kind == "item_completed":
            item = payload.get("item")
            if isinstance(item, dict) and item.get("type") == "CommandExecution":
                self._facts[string(item.get("id"))] = _facts_of(item)
        elif kind == "exec_command_end":
            self._facts[string(payload.get("call_id"))] = _facts_of(payload)
        elif kind in {"error", "stream_error"}:
            what = string(payload.get("message"))
            self.entries.append(Entry(kind="error", source=source, at_ms=at_ms, error=what))

    def _item(self, item: Mapping[str, Any], kind: str, source: str, at_ms: int) -> None:
        if kind in RESULTS:
            self._is_answered = True
            call_id = string(item.get("call_id"))
            code, took_ms = self._facts.get(call_id, (None, None))
            self.entries.append(
                Entry(
                    kind="tool_result",
                    source=source,
                    at_ms=at_ms,
                    text=_text(item.get("output")),
                    call_id=call_id,
                    is_error=code not in {None, 0},
                    exit_code=code,
                    duration_ms=took_ms,
                )
            )
        elif kind == "message" and item.get("role") != "assistant":
            self._close()
            role = "user" if item.get("role") == "user" else "system"
            text = _text(item.get("content"))
            self.entries.append(Entry(kind=role, source=source, at_ms=at_ms, text=text))  # type: ignore[arg-type]
        elif kind == "message":
            place = self._begun(source, at_ms)
            one = self.entries[place]
            text = "\n".join(filter(None, (one.text, _text(item.get("content")))))
            self.entries[place] = replace(one, text=text)
        elif kind == "reasoning":
            place = self._begun(source, at_ms)
            self.entries[place] = replace(self.entries[place], reasoning=_text(item.get("summary")))
        elif kind in CALLS:
            place = self._begun(source, at_ms)
            one = self.entries[place]
            self.entries[place] = replace(one, calls=(*one.calls, _call(item)))

    def _begun(self, source: str, at_ms: int) -> int:
        """Return the place of the answer under way, which may begin here."""
        if self._answer is None or self._is_answered:
            self._answer, self._is_answered = len(self.entries), False
            self.entries.append(Entry(kind="assistant", source=source, at_ms=at_ms))
        return self._answer

    def _count(self, payload: Mapping[str, Any]) -> None:
        info = payload.get("info")
        last = info.get("last_token_usage") if isinstance(info, dict) else None
        if self._answer is not None and isinstance(last, dict):
            usage = _usage_of(last)
            self.entries[self._answer] = replace(self.entries[self._answer], usage=usage)
            self._close()

    def _close(self) -> None:
        self._answer, self._is_answered = None, False


@dataclass
class _Events:
    """The lines of `exec --json`, over all turns."""

    entries: list[Entry] = field(default_factory=list)
    _before: dict[str, int] = field(default_factory=dict)
    """Tokens of the session at the end of the turn before."""
    _first: int = 0
    """Place of the first entry of the turn."""

    def take(self, line: Mapping[str, Any], source: str) -> None:
        """Take the next event in."""
        kind, item = string(line.get("type")), line.get("item")
        if kind == "item.completed" and isinstance(item, dict):
            self._item(item, source)
        elif kind == "turn.completed" and isinstance(line.get("usage"), dict):
            self._count(line["usage"])
        elif kind in {"turn.failed", "error"}:
            problem = line.get("error")
            what = problem.get("message") if isinstance(problem, dict) else line.get("message")
            self.entries.append(Entry(kind="error", source=source, error=string(what)))

    def _item(self, item: Mapping[str, Any], source: str) -> None:
        kind = string(item.get("type"))
        text = string(item.get("text"))
        if kind == "agent_message":
            self.entries.append(Entry(kind="assistant", source=source, text=text))
        elif kind == "reasoning":
            self.entries.append(Entry(kind="assistant", source=source, reasoning=text))
        elif kind == "error":
            self.entries.append(
                Entry(kind="system", source=source, text=string(item.get("message")))
            )
        elif kind:
            call_id = string(item.get("id"))
            given = {
                name: one
                for name, one in item.items()
                if name not in {"id", "type", "status", "aggregated_output", "exit_code"}
            }
            call = LoggedCall(call_id, kind, given)
            self.entries.append(Entry(kind="assistant", source=source, calls=(call,)))
            self.entries.append(
                Entry(
                    kind="tool_result",
                    source=source,
                    text=_text(item.get("aggregated_output")),
                    call_id=call_id,
                    is_error=item.get("status") == "failed",
                    exit_code=exit_code(item.get("exit_code")),
                )
            )

    def _count(self, usage: Mapping[str, Any]) -> None:
        """Give the last answer of a turn what the turn has used."""
        whole = _usage_of(usage)
        used = {name: max(0, one - self._before.get(name, 0)) for name, one in whole.items()}
        self._before = whole
        for place in range(len(self.entries) - 1, self._first - 1, -1):
            if self.entries[place].kind == "assistant":
                self.entries[place] = replace(self.entries[place], usage=used)
                break
        self._first = len(self.entries)


def _usage_of(counts: Mapping[str, Any]) -> dict[str, int]:
    return {ours: count(counts[one]) for one, ours in OF_USAGE.items() if one in counts}


def _call(item: Mapping[str, Any]) -> LoggedCall:
    call_id = string(item.get("call_id")) or string(item.get("id"))
    name = string(item.get("name")) or string(item.get("type"))
    raw = item.get("arguments", item.get("input", item.get("action")))
    if isinstance(raw, str) and (found := json_object(raw)) is not None:
        return LoggedCall(call_id, name, found)
    return LoggedCall(call_id, name, raw)


def _facts_of(item: Mapping[str, Any]) -> tuple[int | None, int | None]:
    took = item.get("duration")
    parts = took if isinstance(took, dict) else {}
    seconds, nanos = parts.get("secs"), parts.get("nanos")
    is_known = isinstance(seconds, int) and isinstance(nanos, int)
    took_ms = milliseconds(seconds * 1000 + nanos / 1e6) if is_known else None  # type: ignore[operator]
    return exit_code(item.get("exit_code")), took_ms


def _text(value: object) -> str:
    """Return a text, or that of its parts, or JSON of what is neither."""
    if isinstance(value, list):
        return "\n".join(
            filter(None, (string(one.get("text")) for one in value if isinstance(one, dict)))
        )
    if value is None or isinstance(value, str):
        return value or ""
    return orjson.dumps(value).decode()


def _moment(value: object) -> int:
    """Return a time in ms since the epoch; 0: it does not say."""
    try:
        return max(0, round(datetime.fromisoformat(str(value)).timestamp() * 1000))
    except (ValueError, OverflowError):
        return 0
