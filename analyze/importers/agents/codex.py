"""Sessions of Codex, `~/.codex/sessions/YYYY/MM/DD/rollout-*.jsonl`: a run a project.

The project is the folder that a session worked in, and is called as Claude Code calls it, so that
sessions of both in one folder are of one suite. Sessions that a session has started belong to it.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from analyze.importers import Importer, ImportRequest
from analyze.importers.agents.sessions import (
    Project,
    Session,
    Tool,
    import_projects,
)
from analyze.importers.base import Written
from analyze.importers.detect import head_of
from analyze.importers.originals import files_below
from schemas.base import warning
from schemas.errors import ConfigError, Problem
from schemas.formats.agent_logs.codex import read
from schemas.formats.agent_logs.lines import fields
from schemas.formats.agent_logs.log import AgentLog, json_object, string

SUFFIX = ".jsonl"
DAYS = "[0-9][0-9][0-9][0-9]/[0-9][0-9]/[0-9][0-9]/*.jsonl"

MAX_HEAD_LINES = 50
MAX_LINE_BYTES = 1 << 24
"""Of a line that a first look reads."""

MAX_DEPTH = 64
"""Of sessions that were started by sessions that were started."""

MAX_LOOKS = 20


class _Head(NamedTuple):
    """What a file begins with."""

    session_id: str
    parent_id: str | None
    folder: str
    """That the session worked in; empty: it does not say."""


def _head(path: Path) -> _Head | None:
    """Return what a session file says of itself; None: it is none.

    Raises:
        OSError: it cannot be read.
    """
    found: _Head | None = None
    with path.open("rb") as file:
        lines = iter(lambda: file.readline(MAX_LINE_BYTES), b"")
        for raw in islice(lines, MAX_HEAD_LINES):
            line = json_object(raw)
            if line is None:
                continue
            payload = fields(line.get("payload"))
            if found is None:
                found = _meta(line, payload)
            if found is not None and not found.folder and string(payload.get("cwd")):
                found = found._replace(folder=string(payload["cwd"]))
            if found is not None and found.folder:
                break
    return found


def _meta(line: Mapping[str, object], payload: Mapping[str, object]) -> _Head | None:
    if line.get("type") == "session_meta" and string(payload.get("id")):
        is_started = isinstance(payload.get("source"), dict)
        parent = string(payload.get("parent_thread_id")) if is_started else ""
        return _Head(string(payload["id"]), parent or None, string(payload.get("cwd")))
    if "type" not in line and string(line.get("id")) and "timestamp" in line:
        return _Head(string(line["id"]), None, "")
    return None


def projects_of(files: Mapping[str, Path], elsewhere: str) -> dict[str, list[Session]]:
    """Return the sessions in files, by the name of their project.

    Args:
        files: by the name that each will have below `source/`.
        elsewhere: name of a project for sessions that name no folder.

    Raises:
        OSError: a file cannot be read.
    """
    heads = {name: head for name, path in files.items() if (head := _head(path)) is not None}
    parents = {head.session_id: head.parent_id for head in heads.values()}
    folders = {head.session_id: head.folder for head in heads.values()}
    groups: defaultdict[str, dict[str, Path]] = defaultdict(dict)
    for name, head in heads.items():
        groups[_root(head.session_id, parents)][name] = files[name]
    found: defaultdict[str, list[Session]] = defaultdict(list)
    for root, group in sorted(groups.items()):
        folder = folders[root]
        name = re.sub(r"[^A-Za-z0-9]", "-", folder) if folder else elsewhere
        found[name].append(Session(root, group))
    return dict(sorted(found.items()))


def _root(session: str, parents: Mapping[str, str | None]) -> str:
    for _ in range(MAX_DEPTH):
        parent = parents[session]
        if parent is None or parent not in parents:
            break
        session = parent
    return session


def _read(files: Mapping[str, bytes], _: Session) -> AgentLog:
    return read(files)


TOOL = Tool("codex", _read)


def _run(asked: ImportRequest) -> list[Written]:
    """Make a run of each project that sessions at a path worked in.

    Raises:
        ConfigError: there is none, or several and one name for them.
    """
    path = asked.path
    if not path.exists():
        raise ConfigError([Problem(path, "is not there")])
    below = None if path.is_file() else files_below(path)
    every = {path.name: path} if below is None else below.files
    files = {name: one for name, one in every.items() if name.endswith(SUFFIX)}
    projects = projects_of(files, path.resolve().name.removesuffix(SUFFIX))
    if not projects:
        what = "is no session of Codex" if below is None else "holds no session of Codex"
        raise ConfigError([Problem(path, what)])
    findings = () if below is None else below.findings
    known = {name for group in projects.values() for one in group for name in one.files}
    if others := sorted(set(files) - known):
        message = f"{len(others):,} files are no sessions of Codex, {others[0]!a:.80} for one"
        findings = (*findings, warning("no_session", "", message))
    found = [
        Project(name, path, group, () if n else findings)
        for n, (name, group) in enumerate(projects.items())
    ]
    return import_projects(TOOL, asked, found)


def _is_session(path: Path) -> bool:
    """Return whether a file is a session, by its first line."""
    first = head_of(path).split(b"\n", 1)[0]
    line = json_object(first)
    if line is None:
        return b'"type":"session_meta"' in first.replace(b" ", b"")
    return _meta(line, fields(line.get("payload"))) is not None


def _detect(path: Path) -> bool:
    """Return whether a file is a session of Codex, or a folder holds some, or days with some."""
    if path.is_file():
        return path.suffix == SUFFIX and _is_session(path)
    try:
        found = (*sorted(path.glob(f"*{SUFFIX}"))[:MAX_LOOKS], *islice(path.glob(DAYS), MAX_LOOKS))
    except OSError:
        return False
    return any(map(_is_session, found))


IMPORTER = Importer(frozenset({"--suite", "--run-id"}), _run, _detect)
