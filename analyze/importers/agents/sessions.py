"""Sessions of a project as a run: each session is a trial of a case of its own.

A session is nobody's test, so no trial has a verdict. Its model is the one that answered first,
which stays the same when the session goes on. One without an answer is no trial yet.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from analyze.importers import ImportRequest
from analyze.importers.agents.trial import (
    MAX_MESSAGE_CHARS,
    UNKNOWN,
    AgentTrial,
    is_answer,
    own_entries,
    own_main,
    tokens_of,
    traced_of,
)
from analyze.importers.base import Traced, Written, new_record, run_id_of, write_run
from analyze.importers.defaults import file_moment, slug_of, slugs_of
from schemas.base import Finding, warning
from schemas.errors import ConfigError, Problem, counted
from schemas.formats.agent_logs.log import AgentLog, json_object

MAX_FILE_BYTES = 1 << 30
"""Of a file that is read; none that an agent writes is as large."""

SHORT_ID = 8
"""Characters of a session's id in the name of its run."""

HTTP_STATUS = re.compile(r"(?:API Error:?|HTTP|status) ([45]\d\d)\b")
UNREACHED = re.compile(r"connection error|connect(?:ion)? refused|fetch failed", re.IGNORECASE)
STOPPED = "the turn was ended"
"""Begins what is told of a turn that somebody has stopped."""


@dataclass(frozen=True)
class Session:
    """Files of one session, those of the agents that it started among them."""

    session_id: str
    files: Mapping[str, Path]
    """By the name that each has below `source/`."""
    copied: frozenset[str] = frozenset()
    """Ids of lines that are another session's."""


class Tool(NamedTuple):
    """Whose sessions are read."""

    name: str
    """Of the importer."""
    read: Callable[[Mapping[str, bytes], Session], AgentLog]


class Project(NamedTuple):
    """Sessions that become a run."""

    name: str
    path: Path
    """That was given, or a folder below it."""
    sessions: Sequence[Session]
    findings: tuple[Finding, ...] = ()
    """What was found wrong while they were looked for."""


class _Seen(NamedTuple):
    """What a first look at a session tells."""

    session: Session
    model: str
    began_ms: int | None


def import_projects(tool: Tool, asked: ImportRequest, projects: Sequence[Project]) -> list[Written]:
    """Make a run folder of each project in which a model has answered.

    Args:
        tool: whose sessions they are.
        asked: of the importer; its path is a file where it is one session alone.
        projects: in the order of the runs.

    Raises:
        ConfigError: there is none, several have one name, or another run has it.
        SourceChanged: a file was written to meanwhile.
        OSError: a file cannot be read, or a run not be written.
    """
    seen: list[tuple[Project, list[_Seen]]] = []
    notes: list[list[Finding]] = []
    silent: list[Finding] = []
    for project in projects:
        findings = [*project.findings]
        known = list(_survey(tool, project.sessions, findings))
        if known:
            seen.append((project, known))
            notes.append(findings)
        else:
            silent += findings
    if not seen:
        what = f"has no session of {tool.name} in which a model has answered"
        raise ConfigError([Problem(asked.path, what)])
    if asked.run_id is not None and len(seen) > 1:
        what = f"--run-id names one run, and there are {len(seen)} projects; give one of them"
        raise ConfigError([Problem(asked.path, what)])
    notes[0] += silent
    return [
        _written(tool, asked, project, known, tuple(findings))
        for (project, known), findings in zip(seen, notes, strict=True)
    ]


def _written(
    tool: Tool,
    asked: ImportRequest,
    project: Project,
    seen: Sequence[_Seen],
    findings: tuple[Finding, ...],
) -> Written:
    suite_id = asked.suite_id or slug_of(project.name)
    name = f"{tool.name}_{slug_of(project.name)[:90]}"
    if asked.path.is_file():
        name += f"_{seen[0].session.session_id[:SHORT_ID]}"
    sources = {name: path for one in seen for name, path in one.session.files.items()}
    record = new_record(
        sources=sources,
        run_id=asked.run_id or run_id_of(name),
        source_format=tool.name,
        source_name=project.path.resolve().name,
        suite_id=suite_id,
        suite_title=project.name,
        started_at_ms=min((one.began_ms for one in seen if one.began_ms), default=None),
        scorable=False,
    )
    results = _results(tool, record.run_id, suite_id, seen)
    return write_run(asked.runs_dir, record, results, sources, findings)


def _survey(tool: Tool, sessions: Sequence[Session], notes: list[Finding]) -> Iterator[_Seen]:
    """Yield the sessions that are trials, and note what is wrong with any."""
    silent, untold = [], 0
    for session in sessions:
        raws = _contents(session, notes)
        log = AgentLog() if raws is None else tool.read(raws, session)
        notes += [warning("lines_unread", "", note) for note in log.notes]
        own = list(own_entries(log))
        answers = [one for one in own if is_answer(one)]
        model = model_of(log)
        if model is None:
            silent.append(session.session_id)
            continue
        untold += tokens_of(answers, "output_tokens") is None
        times = (one.at_ms for one in own if one.at_ms)
        yield _Seen(session, model, min(times, default=None))
    if silent:
        example = f"{silent[0]!a:.80} for one" if len(silent) > 1 else f"{silent[0]!a:.80}"
        message = f"{counted(len(silent), 'session')} without a model's answer left out, {example}"
        notes.append(warning("no_answer", "", message))
    if untold:
        message = (
            f"{counted(untold, 'session')} with an answer that does not tell its output tokens; "
            "the sum of such a session is null, and its steps have what is told"
        )
        notes.append(warning("tokens_untold", "", message))


def _contents(session: Session, notes: list[Finding] | None) -> dict[str, bytes] | None:
    """Return what the files of a session hold, without a line that was being written.

    Returns:
        Contents by name; None: a file is larger than any session.
    """
    found = {}
    for name, path in session.files.items():
        if path.stat().st_size > MAX_FILE_BYTES:
            if notes is not None:
                message = f"{name}: is larger than {MAX_FILE_BYTES:,} bytes, and was left out"
                notes.append(warning("too_large", "", message))
            return None
        raw = path.read_bytes()
        whole, _, last = raw.rpartition(b"\n")
        if last.strip() and json_object(last) is None:
            raw = whole
            if notes is not None:
                message = f"{name}: the last line is cut off; all before it was read"
                notes.append(warning("torn_line", "", message))
        found[name] = raw
    return found


def model_of(log: AgentLog) -> str | None:
    """Return the model that was asked first, or else answered first; None: none did either."""
    own = own_main(log)
    for entry in own:
        if is_answer(entry):
            return entry.served_model or entry.requested_model or UNKNOWN
    return next((one.requested_model for one in own if one.requested_model), None)


def _results(tool: Tool, run_id: str, suite_id: str, seen: Sequence[_Seen]) -> Iterator[Traced]:
    """Yield every trial, one after the other in memory."""
    model_ids = slugs_of({one.model for one in seen})
    case_ids = slugs_of({one.session.session_id for one in seen})
    for session, model, _ in seen:
        log = tool.read(_contents(session, None) or {}, session)
        path = max(session.files.values(), key=file_moment)
        yield traced_of(
            AgentTrial(
                run_id=run_id,
                suite_id=suite_id,
                provider=tool.name,
                model=model,
                model_id=model_ids[model],
                case_id=case_ids[session.session_id],
                prompt_id=session.session_id,
                log=log,
                written_at_ms=file_moment(path),
                facts=_failure(log),
            )
        )


def _failure(log: AgentLog) -> dict[str, Any]:
    """Return how a session has ended: as a failure where the last that came was an error.

    What a person has stopped is none.
    """
    last = next(
        (one for one in reversed(own_main(log)) if one.kind in {"assistant", "error"}), None
    )
    if last is None or is_answer(last) or last.error.startswith(STOPPED):
        return {}
    status = HTTP_STATUS.search(last.error)
    if status is not None:
        kind = f"http_{status[1]}"
    else:
        kind = "connection_error" if UNREACHED.search(last.error) else "cli_error"
    return {
        "failure_type": kind,
        "http_status": None if status is None else int(status[1]),
        "error_message": last.error[:MAX_MESSAGE_CHARS],
    }
