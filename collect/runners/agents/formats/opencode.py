"""Events of `opencode run --format json`: steps, each an answer with its calls, results and tokens.

A step's tokens are its own; `input` leaves out what was read from and written to a cache, so these
are added. Written for 1.18.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

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


def read(files: Mapping[str, bytes]) -> AgentLog:
    """Return what was printed in all turns.

    Args:
        files: contents by name, a turn each.
    """
    steps = _Steps()
    notes = []
    for name, raw in files.items():
        torn = 0
        for number, line in enumerate(raw.splitlines(), start=1):
            found = json_object(line) if line.strip() else {}
            if found is None:
                torn += 1
            elif found:
                steps.take(found, f"{name}#{number}")
        steps.close()
        if torn:
            notes.append(f"{name}: {torn:,} lines are no JSON objects")
    return AgentLog((Trajectory(MAIN, steps.entries),), tuple(notes))


@dataclass
class _Steps:
    """The steps of a session, while its events are read."""

    entries: list[Entry] = field(default_factory=list)
    _answer: int | None = None
    """Place of the answer under way."""

    def take(self, line: Mapping[str, Any], source: str) -> None:
        """Take the next event in."""
        found = line.get("part")
        part: Mapping[str, Any] = found if isinstance(found, dict) else {}
        at_ms = count(line.get("timestamp"))
        match line.get("type"):
            case "text":
                self._add(source, at_ms, text=string(part.get("text")))
            case "reasoning":
                self._add(source, at_ms, reasoning=string(part.get("text")))
            case "tool_use":
                self._tool(part, source, at_ms)
            case "step_finish":
                self._finish(part, source, at_ms)
            case "error":
                problem = line.get("error")
                data = problem.get("data") if isinstance(problem, dict) else None
                what = data.get("message") if isinstance(data, dict) else None
                said = string(what) or string(line.get("message"))
                self.entries.append(Entry(kind="error", source=source, at_ms=at_ms, error=said))

    def close(self) -> None:
        """End the answer under way: what follows is of another one."""
        self._answer = None

    def _add(
        self,
        source: str,
        at_ms: int,
        *,
        text: str = "",
        reasoning: str = "",
        call: LoggedCall | None = None,
    ) -> None:
        """Add to the answer under way, which may begin here."""
        if self._answer is None:
            self._answer = len(self.entries)
            self.entries.append(Entry(kind="assistant", source=source, at_ms=at_ms))
        one = self.entries[self._answer]
        self.entries[self._answer] = replace(
            one,
            text="\n".join(filter(None, (one.text, text))),
            reasoning="\n".join(filter(None, (one.reasoning, reasoning))),
            calls=one.calls if call is None else (*one.calls, call),
        )

    def _tool(self, part: Mapping[str, Any], source: str, at_ms: int) -> None:
        found = part.get("state")
        state: Mapping[str, Any] = found if isinstance(found, dict) else {}
        call_id = string(part.get("callID"))
        self._add(
            source,
            at_ms,
            call=LoggedCall(call_id, string(part.get("tool")), state.get("input")),
        )
        more, times = state.get("metadata"), state.get("time")
        facts = more if isinstance(more, dict) else {}
        began, ended = (
            milliseconds(times.get(name)) if isinstance(times, dict) else None
            for name in ("start", "end")
        )
        is_error = state.get("status") == "error"
        code = exit_code(facts.get("exit"))
        self.entries.append(
            Entry(
                kind="tool_result",
                source=source,
                at_ms=at_ms,
                text=string(state.get("error" if is_error else "output")),
                call_id=call_id,
                is_error=is_error or code not in {None, 0},
                exit_code=code,
                duration_ms=None if began is None or ended is None else max(0, ended - began),
            )
        )

    def _finish(self, part: Mapping[str, Any], source: str, at_ms: int) -> None:
        if self._answer is None:
            self._add(source, at_ms)
        tokens = part.get("tokens")
        counts: Mapping[str, Any] = tokens if isinstance(tokens, dict) else {}
        cache = counts.get("cache")
        cached: Mapping[str, Any] = cache if isinstance(cache, dict) else {}
        read_tokens, written = count(cached.get("read")), count(cached.get("write"))
        usage = {
            "input_tokens": count(counts.get("input")) + read_tokens + written,
            "cached_input_tokens": read_tokens,
            "cache_write_tokens": written,
            "output_tokens": count(counts.get("output")),
            "reasoning_tokens": count(counts.get("reasoning")),
        }
        assert self._answer is not None
        self.entries[self._answer] = replace(
            self.entries[self._answer],
            usage=usage if counts else None,
            finish_reason=string(part.get("reason")) or None,
        )
        self.close()
