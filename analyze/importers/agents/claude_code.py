"""Sessions of Claude Code, `~/.claude/projects/<project>/*.jsonl`: a run a project.

Agents that a session has started have files of their own, beside it or below its folder. A session
that was resumed or forked may repeat lines of an earlier one: a line counts in one session alone,
that which it names, or else the one whose own lines begin first.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from analyze.importers import Importer, ImportRequest
from analyze.importers.agents.sessions import (
    MAX_FILE_BYTES,
    Project,
    Session,
    Tool,
    import_projects,
)
from analyze.importers.base import Written
from analyze.importers.detect import head_of
from analyze.importers.originals import files_below
from schemas.base import Finding, warning
from schemas.errors import ConfigError, Problem
from schemas.formats.agent_logs.claude import read
from schemas.formats.agent_logs.lines import moment
from schemas.formats.agent_logs.log import AgentLog, json_object, string

SUFFIX = ".jsonl"

PROJECTS = "projects"
"""Folder of all projects, in that of the tool."""

MARKS = frozenset({"uuid", "leafUuid", "parentUuid", "messageId", "operation", "mode"})
"""One of these stands in a line beside the id of its session."""

BEFORE = frozenset({"summary", "file-history-snapshot"})
"""Kinds of lines that may stand before any that names its session."""

MAX_LOOKS = 20
"""Files of a folder that a look at it reads."""


@dataclass
class _File:
    """What the lines of a file say of where they belong."""

    name: str
    path: Path
    sessions: list[str] = field(default_factory=list)
    """Of each line that names one."""
    lines: list[tuple[str, str, int]] = field(default_factory=list)
    """Id, session and time of each that has one."""

    @property
    def is_of_agent(self) -> bool:
        """Return whether an agent that a session started has written it."""
        return self.path.name.startswith("agent-") or self.path.parent.name == "subagents"

    @property
    def session_id(self) -> str:
        """Return the session it belongs to, whose name a file has unless it was renamed."""
        own = self.path.name.removesuffix(SUFFIX)
        if self.is_of_agent:
            return self.sessions[0]
        return own if own in self.sessions else self.sessions[-1]


def sessions_of(files: Mapping[str, Path]) -> tuple[list[Session], list[Finding]]:
    """Return the sessions in files, and what is none of them.

    Args:
        files: by the name that each will have below `source/`.

    Raises:
        OSError: one cannot be read.
    """
    looked, others = [], []
    for name, path in files.items():
        one = _look(name, path)
        if one.sessions:
            looked.append(one)
        else:
            others.append(name)
    groups: defaultdict[str, list[_File]] = defaultdict(list)
    for one in sorted(looked, key=lambda one: (one.is_of_agent, one.name)):
        groups[one.session_id].append(one)
    owners = _owners(groups)
    found = []
    for session_id, group in sorted(groups.items()):
        lines = [line for one in group for line in one.lines]
        copied = {
            uuid
            for uuid, said, _ in lines
            if owners[uuid] != session_id or (said and said != session_id)
        }
        own = {one.name: one.path for one in group}
        found.append(Session(session_id, own, frozenset(copied)))
    findings = []
    if others:
        message = f"{len(others):,} files are no sessions of Claude Code, {others[0]!a:.80} for one"
        findings.append(warning("no_session", "", message))
    return found, findings


def _look(name: str, path: Path) -> _File:
    found = _File(name, path)
    with path.open("rb") as file:
        for raw in file.read(MAX_FILE_BYTES).splitlines():
            line = json_object(raw)
            if line is None:
                continue
            session = string(line.get("sessionId"))
            if session and isinstance(line.get("type"), str):
                found.sessions.append(session)
            if uuid := string(line.get("uuid")):
                found.lines.append((uuid, session, moment(line.get("timestamp"))))
    return found


def _owners(groups: Mapping[str, Sequence[_File]]) -> dict[str, str]:
    """Return the session of each line: of several that it may be of, the one that began first.

    It may be of those that have it and that it names, or else of all that have it; when one began
    is said by the lines that it alone has.
    """
    ids = {
        session_id: {uuid: at for one in group for uuid, _, at in one.lines}
        for session_id, group in groups.items()
    }
    n_sessions = Counter(uuid for known in ids.values() for uuid in known)
    began = {
        session_id: min((at for uuid, at in known.items() if n_sessions[uuid] == 1), default=0)
        for session_id, known in ids.items()
    }
    named: dict[str, str] = {}
    others: dict[str, str] = {}
    for session_id in sorted(ids, key=lambda one: (began[one], one)):
        for uuid, said, _ in (line for one in groups[session_id] for line in one.lines):
            (named if said in ("", session_id) else others).setdefault(uuid, session_id)
    return others | named


def _read(files: Mapping[str, bytes], session: Session) -> AgentLog:
    return read(files, session.copied)


TOOL = Tool("claude-code", _read)


def _run(asked: ImportRequest) -> list[Written]:
    """Make a run of each project at a path, or of the session that a file is.

    Raises:
        ConfigError: there is none, or several and one name for them.
    """
    path = asked.path
    if not path.exists():
        raise ConfigError([Problem(path, "is not there")])
    if path.is_file():
        return import_projects(TOOL, asked, [_of_file(path)])
    folders = [one for one in (path, *_folders(path), *_folders(path / PROJECTS)) if _detect(one)]
    folders = folders[:1] if folders[:1] == [path] else folders
    if not folders:
        raise ConfigError([Problem(path, "holds no session of Claude Code")])
    return import_projects(TOOL, asked, [_of_folder(one) for one in folders])


def _of_folder(path: Path) -> Project:
    below = files_below(path)
    files = {name: path for name, path in below.files.items() if name.endswith(SUFFIX)}
    sessions, findings = sessions_of(files)
    return Project(path.resolve().name, path, sessions, (*below.findings, *findings))


def _of_file(path: Path) -> Project:
    """Return one session, with the files of agents that it has started."""
    if not _is_session(path):
        raise ConfigError([Problem(path, "is no session of Claude Code")])
    folder = path.parent / path.name.removesuffix(SUFFIX)
    folder_files = files_below(folder).files if folder.is_dir() else {}
    files = {path.name: path} | {
        f"{path.name.removesuffix(SUFFIX)}/{name}": one
        for name, one in folder_files.items()
        if name.endswith(SUFFIX)
    }
    files |= {
        one.name: one for one in sorted(path.parent.glob(f"agent-*{SUFFIX}")) if one.is_file()
    }
    sessions, findings = sessions_of(files)
    own = [one for one in sessions if path in one.files.values()]
    return Project(path.resolve().parent.name, path, own, tuple(findings))


def _folders(path: Path) -> list[Path]:
    try:
        return sorted(one for one in path.iterdir() if one.is_dir() and not one.is_symlink())
    except OSError:
        return []


def _is_session(path: Path) -> bool:
    """Return whether a file is a session, by what it begins with."""
    for raw in head_of(path).splitlines():
        line = json_object(raw)
        if line is None:
            if b'"sessionId":' in raw and b'"parentUuid":' in raw:  # longer than the look
                return True
        elif isinstance(line.get("sessionId"), str) and isinstance(line.get("type"), str):
            return bool(MARKS & line.keys())
        elif string(line.get("type")) not in BEFORE:
            return False
    return False


def _detect(path: Path) -> bool:
    """Return whether a file is a session of Claude Code, or a folder holds some."""
    if path.is_file():
        return path.suffix == SUFFIX and _is_session(path)
    try:
        files = sorted(one for one in path.iterdir() if one.suffix == SUFFIX)
    except OSError:
        return False
    return any(map(_is_session, files[:MAX_LOOKS]))


IMPORTER = Importer(frozenset({"--suite", "--run-id"}), _run, _detect)
