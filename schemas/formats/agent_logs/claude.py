"""Logs of Claude Code: what it prints as stream-json, and its session files.

Both have the same lines, known by the same `uuid`, which a parent, its sub-agents, a fork and what
was printed repeat: each counts once. An answer is split over lines of one message id, a block of
its content each. What is printed of an answer's output is counted before it is written; its session
has the number, and so has `message_delta` of partial messages. Where neither is there, the last
answer of a turn has what the turn's `result` counts, and the others none. Input leaves out cached
tokens.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from schemas.formats.agent_logs.lines import (
    Line,
    counts_of,
    fields,
    in_paths,
    members,
    moment,
    objects,
    text_of,
    usd,
)
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

SYNTHETIC = "<synthetic>"
"""The model of an answer that the CLI wrote itself."""

FAILED = re.compile(r"Exit code (\d{1,10})\n?")
"""Begins what a command that failed has said."""

COPIED_MS = 1_000
"""A line so much older than its session was taken over from another one."""

OF_USAGE = {
    "input_tokens": "input_tokens",
    "cache_read_input_tokens": "cached_input_tokens",
    "cache_creation_input_tokens": "cache_write_tokens",
    "output_tokens": "output_tokens",
}
SENT = ("input_tokens", "cached_input_tokens", "cache_write_tokens")


def read(files: Mapping[str, bytes], copied: Container[str] = frozenset()) -> AgentLog:
    """Return what session files say, what was printed, or both.

    Args:
        files: contents by name.
        copied: ids of lines that are known to be of another session.
    """
    notes: list[str] = []
    lines = [
        one
        for name, raw in files.items()
        if not name.endswith(".meta.json")
        for one in _lines_of(name, raw, notes, copied)
    ]
    own = {string(one.line.get("uuid")) for one in lines if not one.is_copied}
    reading = _Reading()
    for one in lines:
        if not (one.is_copied and string(one.line.get("uuid")) in own):
            reading.take(one)
    return AgentLog(in_paths(reading.whole()), tuple(notes))


@dataclass(frozen=True, slots=True)
class _Found:
    line: Line
    source: str
    is_copied: bool


def _lines_of(name: str, raw: bytes, notes: list[str], copied: Container[str]) -> Iterator[_Found]:
    began = 0
    for source, line in objects(name, raw, notes):
        at = moment(line.get("timestamp"))
        if line.get("type") == "queue-operation":
            began = began or at
        is_older = 0 < at < began - COPIED_MS
        is_of_other = isinstance(line.get("forkedFrom"), dict) or string(line.get("uuid")) in copied
        yield _Found(line, source, is_copied=is_older or is_of_other)


@dataclass(slots=True)
class _Answer:
    """An answer while its lines are read."""

    marks: dict[str, Any]
    model: str
    blocks: list[Line] = field(default_factory=list)
    counts: dict[str, int] = field(default_factory=dict)
    stop_reason: str = ""
    is_counted: bool = False
    """Else its output was counted before it was written."""
    cost_usd: float | None = None
    """Which older versions wrote beside it."""

    def add(self, message: Line) -> None:
        """Take a line of the answer in; a block that was there in part is replaced."""
        self.stop(message)
        self.count(message.get("usage"))
        content = message.get("content")
        if isinstance(content, str):
            content = [{"type": "text", "text": content}]
        for block in members(content):
            if self.blocks and _goes_on(self.blocks[-1], block):
                self.blocks[-1] = block
            else:
                self.blocks.append(block)

    def stop(self, known: Line) -> None:
        """Take in why it ended: what is said then of its output is the number."""
        if reason := string(known.get("stop_reason")):
            self.stop_reason, self.is_counted = reason, True

    def count(self, usage: object) -> None:
        """Take in what a line counts: numbers of one answer only grow."""
        for name, number in counts_of(usage, OF_USAGE).items():
            self.counts[name] = max(self.counts.get(name, 0), number)

    def entry(self) -> Entry:
        """Return the answer."""
        said = [text_of(one.get("text")) for one in self.blocks if one.get("type") == "text"]
        thought = [string(one.get("thinking")) for one in self.blocks]
        usage = dict(self.counts)
        if not self.is_counted:
            usage.pop("output_tokens", None)
        if "input_tokens" in usage:
            usage["input_tokens"] = count(sum(usage.get(name, 0) for name in SENT))
        return Entry(
            kind="assistant",
            text="\n".join(one for one in said if one),
            reasoning="\n".join(one for one in thought if one),
            calls=tuple(
                LoggedCall(string(one.get("id")), string(one.get("name")), one.get("input"))
                for one in self.blocks
                if one.get("type") == "tool_use"
            ),
            finish_reason=self.stop_reason or None,
            served_model=self.model or None,
            usage=usage or None,
            cost_usd=self.cost_usd,
            **self.marks,
        )


def _goes_on(before: Line, block: Line) -> bool:
    """Return whether a block is one that was there before, whole or in part."""
    kind = block.get("type")
    if kind != before.get("type"):
        return False
    if kind == "tool_use":
        return bool(string(block.get("id"))) and block.get("id") == before.get("id")
    name = "thinking" if kind == "thinking" else "text"
    return string(block.get(name)).startswith(string(before.get(name)))


class _Reading:
    """The trajectories while lines are read."""

    def __init__(self) -> None:
        self._paths: dict[str, list[Entry | _Answer]] = {MAIN: []}
        self._answers: dict[tuple[str, str], _Answer] = {}
        self._seen: set[str] = set()
        """Of lines."""
        self._agents: dict[str, str] = {}
        """Ids of agents by the call that started them."""
        self._turn: list[_Answer] = []
        """The answers of the main trajectory since the last result."""
        self._results: list[tuple[list[_Answer], int]] = []
        """Answers of turns, and the output of each turn."""
        self._printed: dict[str, str] = {}
        """Id of the answer that is being printed, by path."""

    def take(self, found: _Found) -> None:
        """Take a line in."""
        line = found.line
        if uuid := string(line.get("uuid")):
            if uuid in self._seen:
                return
            self._seen.add(uuid)
        path = self._path_of(line)
        marks = {"source": found.source, "at_ms": moment(line.get("timestamp"))}
        marks["is_copied"] = found.is_copied
        match line.get("type"):
            case "assistant":
                self._assistant(path, line, marks)
            case "user":
                self._user(path, line, marks)
            case "system":
                self._system(path, line, marks)
            case "stream_event":
                self._event(path, fields(line.get("event")))
            case "result":
                self._result(line, marks)

    def whole(self) -> dict[str, list[Entry]]:
        """Return the entries of each trajectory."""
        for answers, output in self._results:
            uncounted = [one for one in answers if not one.is_counted]
            known = sum(one.counts.get("output_tokens", 0) for one in answers if one.is_counted)
            if uncounted and output > known:
                uncounted[-1].counts["output_tokens"] = output - known
                uncounted[-1].is_counted = True
        return {
            path: [one if isinstance(one, Entry) else one.entry() for one in items]
            for path, items in self._paths.items()
        }

    def _path_of(self, line: Line) -> str:
        if agent := string(line.get("agentId")):
            return f"{MAIN}/{agent}"
        if call := string(line.get("parent_tool_use_id")):
            return f"{MAIN}/{self._agents.get(call, call)}"
        return f"{MAIN}/sidechain" if line.get("isSidechain") is True else MAIN

    def _add(self, path: str, item: Entry | _Answer) -> None:
        self._paths.setdefault(path, []).append(item)

    def _assistant(self, path: str, line: Line, marks: dict[str, Any]) -> None:
        message = fields(line.get("message"))
        if message.get("model") == SYNTHETIC or line.get("isApiErrorMessage") is True:
            text = text_of(message.get("content"))
            if line.get("error") or line.get("isApiErrorMessage") is True:
                self._add(path, Entry(kind="assistant", is_failed=True, error=text, **marks))
            elif text:
                self._add(path, Entry(kind="system", text=text, **marks))
            return
        answer = self._answer(path, message, marks)
        answer.add(message)
        answer.cost_usd = usd(line.get("costUSD")) or answer.cost_usd

    def _answer(self, path: str, message: Line, marks: dict[str, Any]) -> _Answer:
        """Return the answer that a message belongs to."""
        name = string(message.get("id"))
        found = self._answers.get((path, name)) if name else None
        if found is None:
            found = _Answer({**marks, "response_id": name or None}, string(message.get("model")))
            self._add(path, found)
            if name:
                self._answers[path, name] = found
            if path == MAIN:
                self._turn.append(found)
        return found

    def _user(self, path: str, line: Line, marks: dict[str, Any]) -> None:
        content = fields(line.get("message")).get("content")
        details = fields(line.get("toolUseResult") or line.get("tool_use_result"))
        took = details.get("durationMs", details.get("totalDurationMs"))
        for block in members(content):
            if block.get("type") == "tool_result":
                text, is_error = text_of(block.get("content")), block.get("is_error") is True
                code = FAILED.match(text) if is_error else None
                self._add(
                    path,
                    Entry(
                        kind="tool_result",
                        text=text,
                        call_id=string(block.get("tool_use_id")),
                        is_error=is_error,
                        exit_code=None if code is None else exit_code(int(code[1])),
                        duration_ms=milliseconds(took),
                        **marks,
                    ),
                )
        if not (text := text_of(content)):
            return
        items = self._paths.get(path, [])
        last = items[-1] if items else None
        is_own = any(line.get(name) is True for name in ("isSynthetic", "isCompactSummary"))
        if is_own and isinstance(last, Entry) and last.kind == "compaction" and not last.text:
            items[-1] = replace(last, text=text)
            return
        is_meta = is_own or any(line.get(name) is True for name in ("isMeta", "isReplay"))
        self._add(path, Entry(kind="system" if is_meta else "user", text=text, **marks))

    def _system(self, path: str, line: Line, marks: dict[str, Any]) -> None:
        match line.get("subtype"):
            case "task_started":
                self._agents[string(line.get("tool_use_id"))] = string(line.get("task_id"))
            case "compact_boundary":
                metadata = fields(line.get("compactMetadata") or line.get("compact_metadata"))
                before = count(metadata.get("preTokens", metadata.get("pre_tokens"))) or None
                self._add(path, Entry(kind="compaction", tokens_before=before, **marks))
            case "api_retry":
                status, why = line.get("error_status"), string(line.get("error"))
                what = f"HTTP {status}: {why}" if isinstance(status, int) else why
                self._add(path, Entry(kind="assistant", is_failed=True, error=what, **marks))

    def _event(self, path: str, event: Line) -> None:
        """Take in what partial messages count: nothing else of them is new."""
        if event.get("type") == "message_start":
            self._printed[path] = string(fields(event.get("message")).get("id"))
        elif event.get("type") == "message_delta":
            answer = self._answers.get((path, self._printed.get(path, "")))
            if answer is not None:
                answer.count(event.get("usage"))
                answer.stop(fields(event.get("delta")))

    def _result(self, line: Line, marks: dict[str, Any]) -> None:
        """Note how a turn ended; what it counts are the answers that were read already."""
        output = count(fields(line.get("usage")).get("output_tokens"))
        self._results.append((self._turn, output))
        self._turn = []
        if line.get("is_error") is True and line.get("subtype") != "success":
            errors = text_of(line.get("errors")) or string(line.get("subtype"))
            self._add(MAIN, Entry(kind="error", error=errors, **marks))
