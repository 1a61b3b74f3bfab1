"""Deterministic checks that need no model and no code of the user's.

A check of an unknown kind cannot exist: the kinds are a closed union. What cannot look, as a hook
that may not run or a file that cannot be read, is nobody's failure: its outcome is an error that
carries the reason, and the trial has no verdict. Which checks can look at anything in this version
(`hindrance`) is known before a trial is made.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from schemas.base import Record
from schemas.config.checks import (
    DeterministicCheck,
    FileContains,
    FileExists,
    FinalResponsePresent,
    OutputArtifactPresent,
    PathExists,
    StatusIs,
    ToolCallCount,
    WorkspaceFilePresent,
)
from schemas.failures import TrialStatus
from schemas.run.result import CheckResult

HOOKS_DISABLED = "hooks_disabled"
NO_WORKSPACE = "no_workspace"

HINDRANCES: Mapping[str, str] = MappingProxyType(
    {
        HOOKS_DISABLED: "python hooks are not part of this version",
        NO_WORKSPACE: "it looks into a workspace, and an llm_probe trial has none",
    }
)
"""Reason of an outcome `error` to what people read."""

CONTENT_LIMIT = 8_000_000
"""Bytes of a file that is searched; a larger one is an error, not a silent half."""


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
            is_there = has_workspace or path_in_folder(path, folder) is not None
            return None if is_there else NO_WORKSPACE
        case _:
            return None


def path_in_folder(name: str, folder: Path | None) -> Path | None:
    """Return what a relative name leads to beside test.yaml, never elsewhere on the host."""
    if folder is None or Path(name).is_absolute():
        return None
    folder = folder.resolve()
    path = (folder / name).resolve()
    return path if path.is_relative_to(folder) and path.exists() else None


@dataclass(frozen=True)
class Trial:
    """What a check may look at."""

    final_text: str
    n_tool_calls: int
    status: TrialStatus
    folder: Path | None
    """Where test.yaml lies; None for an entry of a prompt list."""


Outcome = tuple[bool, str | None]
"""(passed, what was found when it did not)."""


def run_check(check: DeterministicCheck, trial: Trial, hindered: str | None = None) -> CheckResult:
    """Return what one check found; what keeps it from looking is an error, not a failure.

    Why it is hindered is known since the case was loaded.
    """
    if check.declarative is None or hindered is not None:
        why = hindered or HOOKS_DISABLED
        return CheckResult(check_id=check.check_id, kind=check.kind, outcome="error", message=why)
    try:
        passed, found = KINDS[type(check.declarative)](check.declarative, trial)
    except (OSError, UnicodeDecodeError, ValueError) as exc:
        return CheckResult(
            check_id=check.check_id, kind=check.kind, outcome="error", message=str(exc)
        )
    about = (check.description or "").strip().removesuffix(".")
    message = ": ".join(text for text in (about, found) if text)
    return CheckResult(
        check_id=check.check_id,
        kind=check.kind,
        outcome="passed" if passed else "failed",
        message=None if passed else message,
    )


def _tool_call_count(check: ToolCallCount, trial: Trial) -> Outcome:
    return trial.n_tool_calls == check.count, f"got {trial.n_tool_calls}, want {check.count}"


def _file_exists(check: FileExists, trial: Trial) -> Outcome:
    path = path_in_folder(check.path, trial.folder)
    return path is not None and path.is_file(), f"no file {check.path}"


def _path_exists(check: PathExists, trial: Trial) -> Outcome:
    return path_in_folder(check.path, trial.folder) is not None, f"nothing at {check.path}"


def _file_contains(check: FileContains, trial: Trial) -> Outcome:
    path = path_in_folder(check.path, trial.folder)
    if path is None or not path.is_file():
        return False, f"no file {check.path}"
    if path.stat().st_size > CONTENT_LIMIT:
        message = f"{check.path} is larger than {CONTENT_LIMIT:,} bytes"
        raise ValueError(message)
    return check.text in path.read_text(encoding="utf-8"), f"{check.path} does not hold the text"


KINDS: Mapping[type[Record], Callable[..., Outcome]] = MappingProxyType(
    {
        FinalResponsePresent: lambda _, trial: (
            bool(trial.final_text.strip()),
            "there is no final text",
        ),
        ToolCallCount: _tool_call_count,
        StatusIs: lambda check, trial: (trial.status == check.status, f"got {trial.status}"),
        FileExists: _file_exists,
        PathExists: _path_exists,
        FileContains: _file_contains,
        OutputArtifactPresent: lambda *_: (False, "an llm_probe trial records no output artifacts"),
        WorkspaceFilePresent: lambda *_: (False, "only openclaw trials have a workspace diff"),
    }
)
