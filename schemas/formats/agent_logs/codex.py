"""Logs of Codex: its session files, and what `codex exec --json` prints.

A session file says more: what was printed of the same session is passed over then. What is printed
names no answers and no times: thoughts, a text and calls in a row are one, and the last of a turn
has the turn's tokens. `turn.completed` counts over the whole session, in all runs of it; what it
has grown by is the turn's, with what a turn before it used that was cut off.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from schemas.formats.agent_logs.codex_rollout import OF_USAGE, Rollout, is_of_oldest
from schemas.formats.agent_logs.lines import Line, counts_of, fields, objects, text_of
from schemas.formats.agent_logs.log import (
    MAIN,
    AgentLog,
    Entry,
    LoggedCall,
    Trajectory,
    exit_code,
    string,
)

CALLS = {
    "command_execution": ("command",),
    "file_change": ("changes",),
    "mcp_tool_call": ("server", "tool", "arguments"),
    "web_search": ("query",),
    "collab_tool_call": ("tool", "prompt"),
}
"""What items are calls, and what their arguments are."""

MAX_DEPTH = 8
"""Of sessions that were started by sessions that were started."""

RESULTS = ("aggregated_output", "output", "result", "error")


def read(files: Mapping[str, bytes]) -> AgentLog:
    """Return what session files say, and of sessions without one what was printed.

    Args:
        files: contents by name.
    """
    notes: list[str] = []
    rollouts: list[Rollout] = []
    printed: list[tuple[str, list[tuple[str, Line]]]] = []
    for name, raw in files.items():
        lines = list(objects(name, raw, notes))
        if any("payload" in line or is_of_oldest(line) for _, line in lines):
            rollout = Rollout()
            for source, line in lines:
                rollout.take(source, line)
            rollouts.append(rollout)
        else:
            printed.append((name, lines))
    known = {one.session_id for one in rollouts}
    events = _Printed()
    for name, lines in printed:
        threads = {string(line.get("thread_id")) for _, line in lines}
        if not (threads & known - {""}):
            events.take(name, lines)
    found = [Trajectory(MAIN, events.entries)] if events.entries else []
    return AgentLog((*found, *_trajectories(rollouts, has_main=bool(found))), tuple(notes))


def _trajectories(rollouts: Sequence[Rollout], *, has_main: bool) -> list[Trajectory]:
    """Return the session of the agent itself, and those that it started."""
    parents = {one.session_id: one.parent_id for one in rollouts}
    found: dict[str, list[Entry]] = {}
    for rollout in rollouts:
        path = MAIN
        if has_main or rollout.parent_id is not None:
            path = "/".join([MAIN, *_family(rollout.session_id, parents)])
        found.setdefault(path, []).extend(rollout.entries())
    return [Trajectory(path, entries) for path, entries in found.items()]


def _family(session: str, parents: Mapping[str, str | None]) -> list[str]:
    """Return the sessions from the first that was started down to one."""
    found = [session]
    while len(found) < MAX_DEPTH:
        before = parents.get(found[0])
        if before is None or parents.get(before) is None:
            break
        found.insert(0, before)
    return found


class _Printed:
    """The entries of what was printed while its lines are read."""

    def __init__(self) -> None:
        self.entries: list[Entry] = []
        self._thoughts: list[str] = []
        self._texts: list[str] = []
        self._calls: list[LoggedCall] = []
        self._source = ""
        self._results: list[Entry] = []
        """Of calls that the open answer makes."""
        self._started: set[str] = set()
        self._totals: dict[str, dict[str, int]] = {}
        """What `turn.completed` said last, by session."""
        self._failed = ""

    def take(self, name: str, lines: Iterable[tuple[str, Line]]) -> None:
        """Take what one run printed."""
        thread = ""
        self._started.clear()
        for source, line in lines:
            item = fields(line.get("item"))
            match line.get("type"):
                case "thread.started":
                    thread = string(line.get("thread_id"))
                case "item.started":
                    self._call(name, source, item)
                case "item.completed":
                    self._completed(name, source, item)
                case "turn.completed":
                    self._close(self._grown(thread, counts_of(line.get("usage"), OF_USAGE)))
                case "error":
                    self._error(source, string(line.get("message")))
                case "turn.failed":
                    self._error(source, string(fields(line.get("error")).get("message")))
        self._close()

    def _grown(self, thread: str, total: dict[str, int]) -> dict[str, int]:
        before = self._totals.get(thread, {})
        self._totals[thread] = total
        if any(total.get(name, 0) < number for name, number in before.items()):
            return total
        return {name: number - before.get(name, 0) for name, number in total.items()}

    def _call(self, name: str, source: str, item: Line) -> None:
        kind, own = string(item.get("type")), string(item.get("id"))
        if kind not in CALLS or own in self._started:
            return
        self._started.add(own)
        if self._results:
            self._close()
        arguments = {one: item[one] for one in CALLS[kind] if one in item}
        self._source = self._source or source
        self._calls.append(LoggedCall(f"{name}:{own}", kind, arguments))

    def _completed(self, name: str, source: str, item: Line) -> None:
        kind, text = string(item.get("type")), string(item.get("text"))
        if kind in CALLS:
            self._call(name, source, item)
            self._results.append(_result(name, source, item))
        elif kind in ("reasoning", "agent_message"):
            if self._results or self._calls or self._texts:
                self._close()
            self._source = self._source or source
            (self._thoughts if kind == "reasoning" else self._texts).append(text)
        elif kind == "error":
            self._close()
            message = string(item.get("message"))
            self.entries.append(Entry(kind="system", source=source, text=message))

    def _error(self, source: str, what: str) -> None:
        """Note what went wrong, which is told twice where it ends the turn."""
        self._close()
        if what and what != self._failed:
            self.entries.append(Entry(kind="error", source=source, error=what))
        self._failed = what

    def _close(self, usage: dict[str, int] | None = None) -> None:
        """End the answer that is open; tokens alone are an answer too."""
        if self._source or usage:
            self.entries.append(
                Entry(
                    kind="assistant",
                    source=self._source or "turn.completed",
                    text="\n".join(self._texts),
                    reasoning="\n".join(self._thoughts),
                    calls=tuple(self._calls),
                    usage=usage,
                )
            )
        self.entries += self._results
        self._thoughts, self._texts, self._calls, self._results = [], [], [], []
        self._source = ""


def _result(name: str, source: str, item: Line) -> Entry:
    code = exit_code(item.get("exit_code"))
    content: Any = next((item[one] for one in RESULTS if item.get(one)), "")
    text = text_of(content) or text_of(fields(content).get("content")) or text_of([content])
    return Entry(
        kind="tool_result",
        source=source,
        text=text or string(fields(content).get("message")),
        call_id=f"{name}:{string(item.get('id'))}",
        is_error=item.get("status") in ("failed", "declined") or code not in (None, 0),
        exit_code=code,
    )
