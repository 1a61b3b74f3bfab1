"""What kind of run a folder is, told from as little of it as possible; standard library only."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from schemas.errors import ConfigError, Problem

LAKE = "lake"
LOG = "results.jsonl"
EVALUATIONS = "evaluations.jsonl"
"""What was found when stored answers were looked at again."""
ARTIFACTS = "artifacts"
"""Whole traces, a file for each model."""
WORKSPACES = "workspaces"
"""Of what trials have left, by model_id, case_id and repetition: a folder each."""
AGENTS = "agents"
"""The workspaces that agents begin with, a folder each."""
SNAPSHOT = "workspace"
"""In the folder of a trial, its files."""
SNAPSHOT_RECORD = "workspace.json"
"""What was there, and what has changed."""
SNAPSHOT_DIFF = "workspace.diff"
IMPORT_FILE = "import.json"
"""In a folder that was made of another tool's files."""

SCHEMA_VERSION = 1
"""Of folders up to which this program reads; a test holds it equal to `schemas.base`."""


_RUN_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._()-]{0,127}")


RUN_ID_RULE = "letters, digits and . _ - ( ), not `lake`"
"""What a run may be called, in words."""

SELECTORS = ("latest", "previous", "all")
"""Words that commands read as a choice among runs."""

LABEL = "label:"
LAST = "last:"
"""Begin such a choice."""

_AGO = re.compile(r"[0-9]{1,5}[hdw]")


def is_run_id(name: str) -> bool:
    """Return whether a run may be called so: safe as a folder everywhere, and not the lake's."""
    return _RUN_ID.fullmatch(name) is not None and name != LAKE


def selector_of(name: str) -> str | None:
    """Return what commands take a name for, so that no new run may have it; None: for a run id.

    An older run by such a name is reached by its path.
    """
    if name in SELECTORS or name.startswith((LABEL, LAST)):
        return "commands read it as a choice among runs"
    if _AGO.fullmatch(name):
        return "--since reads it as a duration"
    return None


def refuse_name(name: str, where: Path | None = None) -> None:
    """Refuse what no new run may be called.

    Raises:
        ConfigError: says why, and what is allowed.
    """
    if (taken := selector_of(name)) is not None:
        what = f"`{name}` cannot be a run's name: {taken}"
        raise ConfigError([Problem(where, what, advice="choose another --run-id")])
    if not is_run_id(name):
        raise ConfigError([Problem(where, "not a run id", found=f"`{name}`", allowed=RUN_ID_RULE)])


class LogStat(NamedTuple):
    """Size and time of a log; zeros while there is none."""

    size: int
    mtime_ns: int


NO_LOG = LogStat(0, 0)


def folder_state(run_dir: Path) -> str:
    """Return what tells whether a folder that was refused may be taken now.

    Another text once one of its files is changed, or can be read, or when this program is newer.
    """
    looks = [str(SCHEMA_VERSION)]
    for name in ("config.json", "plan.jsonl", IMPORT_FILE, LOG, EVALUATIONS):
        try:
            looks.append(str((run_dir / name).stat().st_ctime_ns))
        except OSError as exc:
            looks.append(f"errno {exc.errno}")
    return " ".join(looks)


def is_planned(run_dir: Path) -> bool:
    """Return whether a run was planned here: another tool's folder has no plan, whatever else."""
    return (run_dir / "plan.jsonl").is_file()


def run_folders(runs_dir: Path) -> Iterator[tuple[str, LogStat]]:
    """Yield the folders that may be runs, with what one look at their log says.

    A link counts as the folder it leads to. Neither the lake nor hidden folders are runs.
    """
    try:
        folder = os.open(runs_dir, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except (FileNotFoundError, NotADirectoryError):
        return
    try:
        yield from _logs(runs_dir, folder)
    finally:
        os.close(folder)


def _logs(runs_dir: Path, folder: int) -> Iterator[tuple[str, LogStat]]:
    """Yield the same from an open folder: half the time of ten thousand looks is in long paths."""
    stat, seen = os.stat, LogStat
    for name in os.listdir(folder):
        if name == LAKE or name[0] == ".":
            continue
        try:
            facts = stat(f"{name}/{LOG}", dir_fd=folder)
        except FileNotFoundError:
            if (runs_dir / name / "config.json").exists():
                yield name, NO_LOG
        except OSError as exc:
            if not isinstance(exc, NotADirectoryError):
                yield name, NO_LOG
        else:
            yield name, seen(facts.st_size, facts.st_mtime_ns)


MARKS = ("config.json", LOG)
"""A folder with one of these is a run; one by an older tool has the second alone."""


def is_run_folder(path: Path) -> bool:
    """Return whether there is a run in a folder."""
    try:
        return any((path / mark).is_file() for mark in MARKS)
    except OSError:  # no folder can be called that
        return False
