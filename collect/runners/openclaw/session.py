"""What a session of OpenClaw has left below its state folder: JSONL, or SQLite since 2026.9.

An agent can write these files, and may have been killed while it did. So no link leads out of the
folder, everything read is bounded, and what is wrong becomes a sentence: nothing raises for it.
"""

from __future__ import annotations

import itertools
import sqlite3
import tempfile
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import orjson
import zstandard

from collect.workspace.files import Tree, Unreadable
from schemas.formats.agent_logs.lines import numbered_objects
from schemas.formats.agent_logs.log import json_object

MAX_SESSION_BYTES = 64_000_000
"""Of all sessions of a trial together, and of the index of them."""

MAX_DATABASE_BYTES = 256_000_000
MAX_EVENT_BYTES = 8_000_000
MAX_SESSIONS = 64
"""That the agent may have started; more are counted."""

MAX_STEPS = 50_000_000
"""Of SQLite's machine for one question, about a second: a file can hold a trap."""

INDEX = "sessions.json"
DATABASE = "openclaw-agent.sqlite"

Line = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Session:
    """One conversation, of the agent or of one that it started."""

    session_id: str
    parent: str | None
    """The session that started it; None: the main one."""
    lines: tuple[Line, ...]
    """As they are stored, in order; what is no JSON object is left out."""
    source: str
    """Where it is stored, below the state folder."""


@dataclass(frozen=True, slots=True)
class Sessions:
    """All that is known of a trial's conversations."""

    main: Session | None = None
    others: tuple[Session, ...] = ()
    form: Literal["jsonl", "sqlite"] | None = None
    notes: tuple[str, ...] = ()
    """What could not be read, a sentence each."""


@dataclass
class _Reading:
    """What may still be read of a trial's sessions, and what could not be."""

    notes: list[str] = field(default_factory=list)
    left: int = field(default_factory=lambda: MAX_SESSION_BYTES)
    is_full: bool = False

    def takes(self, size: int) -> bool:
        """Return whether so many bytes more may be read; the first time not, that is noted."""
        self.left -= size
        if self.left >= 0:
            return True
        if not self.is_full:
            self.is_full = True
            self.notes.append(f"only {MAX_SESSION_BYTES:,} bytes of all sessions are read")
        return False


def read_sessions(state: Path, agent: str, session_id: str) -> Sessions:
    """Return the session of a trial and those that came of it, whichever way they are stored.

    Args:
        state: the state folder of openclaw; no agent runs in it any more.
        agent: the id that openclaw knows the agent by.
        session_id: of the trial.
    """
    tree = Tree(state)
    folder = f"agents/{agent}"
    reading = _Reading()
    notes = reading.notes
    if tree.find(f"{folder}/agent/{DATABASE}") is not None:
        found = _from_database(tree, f"{folder}/agent/{DATABASE}", session_id)
        if found.main is not None:
            return found
        notes += found.notes
    name = f"{folder}/sessions/{session_id}.jsonl"
    if tree.find(name) is None:
        return Sessions(notes=(*notes, "openclaw has left no session"))
    main = _from_lines(tree, name, session_id, None, reading)
    if main is None:
        return Sessions(notes=tuple(notes))
    others = []
    for other, parent in _started(tree, f"{folder}/sessions/{INDEX}", session_id, notes):
        path = f"{folder}/sessions/{other}.jsonl"
        if (session := _from_lines(tree, path, other, parent, reading)) is not None:
            others.append(session)
    return Sessions(main, tuple(others), "jsonl", tuple(notes))


def raw_lines(session: Session) -> bytes:
    """Return a session as JSONL, whichever way it was stored."""
    return b"".join(orjson.dumps(line) + b"\n" for line in session.lines)


def _from_lines(
    tree: Tree, name: str, session_id: str, parent: str | None, reading: _Reading
) -> Session | None:
    if reading.is_full:
        return None
    try:
        raw = tree.content(name, MAX_SESSION_BYTES)
    except Unreadable as exc:
        reading.notes.append(str(exc))
        return None
    if not reading.takes(len(raw)):
        return None
    return Session(session_id, parent, read_lines(raw, name, reading.notes), name)


def read_lines(raw: bytes, name: str, notes: list[str]) -> tuple[Line, ...]:
    """Return the lines of a session file that are objects, and note what is passed over."""
    return tuple(line for _, line in numbered_objects(name, raw.splitlines(), notes))


def _started(tree: Tree, name: str, session_id: str, notes: list[str]) -> Iterator[tuple[str, str]]:
    """Yield the sessions that came of a trial's, and which one started each."""
    if tree.find(name) is None:
        return
    try:
        index = json_object(tree.content(name, MAX_SESSION_BYTES)) or {}
    except Unreadable as exc:
        notes.append(str(exc))
        return
    entries = [
        (key, one.get("sessionId"), one.get("spawnedBy"))
        for key, one in index.items()
        if isinstance(one, dict)
    ]
    yield from _family(entries, session_id, notes)


def _family(
    entries: Iterable[tuple[str, Any, Any]], session_id: str, notes: list[str]
) -> Iterator[tuple[str, str]]:
    """Yield what was started by a session, then what that started, each in the index's order."""
    known = [
        (key, own, by)
        for key, own, by in entries
        if isinstance(own, str) and own and "/" not in own
    ]
    ids = {key: own for key, own, _ in known}
    children: dict[str, list[str]] = {}
    for _, own, by in known:
        if isinstance(by, str) and by in ids:
            children.setdefault(ids[by], []).append(own)
    kin = {session_id}
    found: list[tuple[str, str]] = []
    parents = deque(kin)
    while parents:
        parent = parents.popleft()
        for own in children.get(parent, ()):
            if own not in kin:
                kin.add(own)
                found.append((own, parent))
                parents.append(own)
    if len(found) > MAX_SESSIONS:
        notes.append(f"{len(found) - MAX_SESSIONS:,} more sessions were started")
    yield from found[:MAX_SESSIONS]


def _from_database(tree: Tree, name: str, session_id: str) -> Sessions:
    """Return what a database holds; it is read from a copy, with what was not written back yet."""
    reading = _Reading()
    with tempfile.TemporaryDirectory(prefix="benchlake-session-") as folder:
        copy = Path(folder, "agent.sqlite")
        try:
            copy.write_bytes(tree.content(name, MAX_DATABASE_BYTES))
            if tree.find(f"{name}-wal") is not None:
                wal = tree.content(f"{name}-wal", MAX_DATABASE_BYTES)
                copy.with_name("agent.sqlite-wal").write_bytes(wal)
            with closing(sqlite3.connect(copy)) as database:
                return _read_database(database, name, session_id, reading)
        except (Unreadable, sqlite3.Error, OSError) as exc:
            return Sessions(notes=(*reading.notes, f"{name}: {exc}"))


def _read_database(
    database: sqlite3.Connection, name: str, session_id: str, reading: _Reading
) -> Sessions:
    database.execute("PRAGMA query_only = ON")
    database.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, MAX_SESSION_BYTES)
    if not _is_table(database, "transcript_events"):
        return Sessions(notes=(f"{name}: has no table of transcripts",))
    entries: list[tuple[str, Any, Any]] = []
    if _is_table(database, "session_nodes"):
        asked = "SELECT session_key, current_session_id, spawned_by FROM session_nodes ORDER BY 1"
        entries = _rows(database, asked, ())
    main = _stored(database, name, session_id, None, reading)
    others = [
        session
        for other, parent in _family(entries, session_id, reading.notes)
        if (session := _stored(database, name, other, parent, reading)) is not None
    ]
    return Sessions(main, tuple(others), "sqlite", tuple(reading.notes))


def _stored(
    database: sqlite3.Connection, name: str, session_id: str, parent: str | None, reading: _Reading
) -> Session | None:
    """Return a session as far as it may be read; None: nothing of it is there."""
    if reading.is_full:
        return None
    asked = "SELECT event_json, event_zstd FROM transcript_events WHERE session_id = ? ORDER BY seq"
    rows = _rows(database, asked, (session_id,))
    events = itertools.takewhile(
        lambda one: reading.takes(len(one)), (_event(*row) for row in rows)
    )
    lines = tuple(line for _, line in numbered_objects(name, events, reading.notes))
    return Session(session_id, parent, lines, name) if lines else None


def _rows(database: sqlite3.Connection, asked: str, values: tuple[str, ...]) -> list[Any]:
    """Return the rows of a question, which may take so long and no longer."""
    left = [MAX_STEPS // 10_000]

    def is_over() -> int:
        left[0] -= 1
        return int(left[0] <= 0)

    database.set_progress_handler(is_over, 10_000)
    rows, size = [], 0
    for row in database.execute(asked, values):
        size += sum(len(one) for one in row if isinstance(one, str | bytes))
        if size > MAX_SESSION_BYTES:
            break
        rows.append(row)
    return rows


def _is_table(database: sqlite3.Connection, name: str) -> bool:
    """Return whether a name is a plain table.

    A view, or a table of a module, may do anything; a computed column may take hours in one step
    of the machine, which nothing interrupts.
    """
    asked = "SELECT type, sql FROM sqlite_master WHERE name = ?"
    rows = _rows(database, asked, (name,))
    is_table = any(
        kind == "table" and isinstance(sql, str) and "virtual" not in sql[:40].lower()
        for kind, sql in rows
    )
    return is_table and not any(row[-1] for row in database.execute(f"PRAGMA table_xinfo({name})"))


def _event(text: object, packed: object) -> bytes:
    """Return an event as JSON; empty: it is none."""
    if isinstance(text, str):
        return text.encode("utf-8", "replace")
    if not isinstance(packed, bytes):
        return b"-"
    try:
        # a size that the frame says is believed, whatever the limit below
        if zstandard.frame_content_size(packed) > MAX_EVENT_BYTES:
            return b"-"
        return zstandard.ZstdDecompressor().decompress(packed, max_output_size=MAX_EVENT_BYTES)
    except zstandard.ZstdError:
        return b"-"
