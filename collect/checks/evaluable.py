"""Which checks can look at anything in this version, known before a trial is made.

A check that cannot look is nobody's failure: its outcome is an error that carries the reason, and
the trial has no verdict.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

from schemas.config.checks import (
    DeterministicCheck,
    FileContains,
    FileExists,
    OutputArtifactPresent,
    PathExists,
    WorkspaceFilePresent,
)

HOOKS_DISABLED = "hooks_disabled"
NO_WORKSPACE = "no_workspace"

HINDRANCES: Mapping[str, str] = MappingProxyType(
    {
        HOOKS_DISABLED: "python hooks are not part of this version",
        NO_WORKSPACE: "it looks into a workspace, and an llm_probe trial has none",
    }
)
"""Reason of an outcome `error` to what people read."""


def hindrance(check: DeterministicCheck, folder: Path | None, *, has_workspace: bool) -> str | None:
    """Return the reason that keeps a check from looking, a key of `HINDRANCES`; None: it can.

    Args:
        check: of a case.
        folder: where test.yaml lies, whose files a check of a file may be about.
        has_workspace: the trials of the case have one.
    """
    match check.declarative:
        case None:
            return HOOKS_DISABLED
        case OutputArtifactPresent() | WorkspaceFilePresent() if not has_workspace:
            return NO_WORKSPACE
        case FileExists(path=path) | FileContains(path=path) | PathExists(path=path):
            is_there = has_workspace or beside(path, folder) is not None
            return None if is_there else NO_WORKSPACE
        case _:
            return None


def beside(name: str, folder: Path | None) -> Path | None:
    """Return what a relative name leads to beside test.yaml, never elsewhere on the host."""
    if folder is None or Path(name).is_absolute():
        return None
    folder = folder.resolve()
    path = (folder / name).resolve()
    return path if path.is_relative_to(folder) and path.exists() else None
