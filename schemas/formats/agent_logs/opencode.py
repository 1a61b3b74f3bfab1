"""Events of OpenCode (`run --format json`): a step is an answer, its calls stand where they ended.

Input leaves out cached tokens, output leaves out reasoning. The request for a session's title is no
step; what is cut off has no `step_finish`, and so no tokens.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from schemas.formats.agent_logs.lines import Line, epoch, fields, in_paths, objects, usd
from schemas.formats.agent_logs.log import (
    MAIN,
    AgentLog,
    Entry,
    LoggedCall,
    count,
    exit_code,
    milliseconds,
    string,
)


def read(files: Mapping[str, bytes]) -> AgentLog:
    """Return the steps of what was printed, one file after another.

    Args:
        files: contents by name.
    """
    notes: list[str] = []
    reading = _Reading()
    for name, raw in files.items():
        for source, line in objects(name, raw, notes):
            reading.take(source, line)
        reading.close()
    return AgentLog(in_paths(reading.paths), tuple(notes))


@dataclass(slots=True)
class _Step:
    """A step while its parts are read."""

    path: str
    source: str
    at_ms: int = 0
    texts: list[str] = field(default_factory=list)
    thoughts: list[str] = field(default_factory=list)
    calls: list[tuple[str, LoggedCall]] = field(default_factory=list)
    """By the id of the part, which tells their order: they are printed as they end."""
    results: list[Entry] = field(default_factory=list)
    reason: str = ""
    usage: dict[str, int] | None = None
    cost_usd: float | None = None


class _Reading:
    """The steps of each session while events are read."""

    def __init__(self) -> None:
        self.paths: dict[str, list[Entry]] = {}
        self._main = ""
        """The session that the first event is of."""
        self._open: dict[str, _Step] = {}
        """By message, which a step is."""

    def take(self, source: str, line: Line) -> None:
        """Take an event in."""
        session = string(line.get("sessionID"))
        self._main = self._main or session
        path = MAIN if session in ("", self._main) else f"{MAIN}/{session}"
        part, kind = fields(line.get("part")), string(line.get("type"))
        at = epoch(line.get("timestamp"))
        if kind == "error":
            self.close()
            error = fields(line.get("error"))
            what = string(fields(error.get("data")).get("message")) or string(error.get("name"))
            entry = Entry(kind="error", source=source, at_ms=at, error=what)
            self.paths.setdefault(path, []).append(entry)
        elif kind in ("step_start", "text", "reasoning", "tool_use", "step_finish"):
            self._part(kind, part, self._step(path, source, part), at)

    def close(self) -> None:
        """End the steps that are open: they were cut off."""
        for name in list(self._open):
            self._end(name)

    def _step(self, path: str, source: str, part: Line) -> tuple[str, _Step]:
        name = f"{path} {string(part.get('messageID'))}"
        if name not in self._open:
            self._open[name] = _Step(path, source)
        return name, self._open[name]

    def _part(self, kind: str, part: Line, found: tuple[str, _Step], at: int) -> None:
        name, step = found
        began = epoch(fields(part.get("time")).get("start"))
        match kind:
            case "text":
                step.texts.append(string(part.get("text")))
            case "reasoning":
                step.thoughts.append(string(part.get("text")))
            case "tool_use":
                began = epoch(fields(fields(part.get("state")).get("time")).get("start"))
                self._tool(part, step, at)
            case "step_finish":
                step.reason = string(part.get("reason"))
                step.usage = _usage(part.get("tokens"))
                step.cost_usd = usd(part.get("cost")) or None
        step.at_ms = step.at_ms or began
        if kind == "step_finish":
            step.at_ms = step.at_ms or at
            self._end(name)

    def _tool(self, part: Line, step: _Step, at: int) -> None:
        state = fields(part.get("state"))
        time, known = fields(state.get("time")), fields(state.get("metadata"))
        began, ended = epoch(time.get("start")), epoch(time.get("end"))
        code = exit_code(known.get("exit"))
        call_id, is_failed = string(part.get("callID")), state.get("status") == "error"
        call = LoggedCall(call_id, string(part.get("tool")), state.get("input"))
        step.calls.append((string(part.get("id")), call))
        step.results.append(
            Entry(
                kind="tool_result",
                source=step.source,
                at_ms=ended or at,
                text=string(state.get("error" if is_failed else "output")),
                call_id=call_id,
                is_error=is_failed or code not in (None, 0),
                exit_code=code,
                duration_ms=milliseconds(ended - began) if began and ended else None,
            )
        )

    def _end(self, name: str) -> None:
        step = self._open.pop(name)
        if not (step.texts or step.thoughts or step.calls or step.reason):
            return  # begun, and nothing came
        calls = tuple(call for _, call in sorted(step.calls, key=lambda one: one[0]))
        answer = Entry(
            kind="assistant",
            source=step.source,
            at_ms=step.at_ms,
            text="\n".join(one for one in step.texts if one),
            reasoning="\n".join(one for one in step.thoughts if one),
            calls=calls,
            finish_reason=step.reason or None,
            usage=step.usage,
            cost_usd=step.cost_usd,
        )
        results = sorted(step.results, key=lambda one: one.at_ms)
        self.paths.setdefault(step.path, []).extend([answer, *results])


def _usage(tokens: object) -> dict[str, int] | None:
    known = fields(tokens)
    cache = fields(known.get("cache"))
    read_, written = count(cache.get("read")), count(cache.get("write"))
    sent, thought = count(known.get("input")), count(known.get("reasoning"))
    said = count(known.get("output"))
    if not (sent or said or read_ or written or thought):
        return None
    return {
        "input_tokens": count(sent + read_ + written),
        "cached_input_tokens": read_,
        "cache_write_tokens": written,
        "output_tokens": count(said + thought),
        "reasoning_tokens": thought,
    }
