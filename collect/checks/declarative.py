"""Deterministic checks that need no model and no code of the user's.

A check of an unknown kind is refused where a case is read. What cannot look, as a hook that may not
run or a file that cannot be read, is nobody's failure: its outcome is an error that carries the
reason, and the trial has no verdict. Which checks can look at anything in this version
(`hindrance`) is known before a trial is made.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import MappingProxyType

from schemas.config import checks
from schemas.config.checks import CHECKS, DeterministicCheck
from schemas.failures import TrialStatus
from schemas.registry import load_object
from schemas.run.result import CheckResult

HOOKS_DISABLED = "hooks_disabled"
NO_WORKSPACE = "no_workspace"

HINDRANCES: Mapping[str, str] = MappingProxyType(
    {
        HOOKS_DISABLED: "python hooks are not part of this version",
        NO_WORKSPACE: "it looks into a workspace, and a trial of this runner has none",
    }
)
"""Reason of an outcome `error` to what people read."""

MAX_CONTENT_BYTES = 8_000_000
"""Bytes of a file that is searched; a larger one is an error, not a silent half."""


def hindrance(check: DeterministicCheck, folder: Path | None, *, has_workspace: bool) -> str | None:
    """Return the reason that keeps a check from looking, a key of `HINDRANCES`; None: it can.

    Args:
        check: of a case.
        folder: where test.yaml lies, whose files a check of a file may be about.
        has_workspace: the trials of the case have one.
    """
    if check.declarative is None:
        return HOOKS_DISABLED
    if has_workspace or not CHECKS[check.kind].needs_files:
        return None
    path = getattr(check.declarative, "path", None)
    return NO_WORKSPACE if path is None or path_in_folder(path, folder) is None else None


def path_in_folder(name: str, folder: Path | None) -> Path | None:
    """Return what a relative name leads to in a folder, never elsewhere on the host."""
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
    workspace: Path | None = None
    """Where the trial's own files lie, in which a path is looked up first."""

    def path(self, name: str) -> Path | None:
        """Return what a relative name leads to."""
        return path_in_folder(name, self.workspace) or path_in_folder(name, self.folder)


Outcome = tuple[bool, str | None]
"""(passed, what was found when it did not)."""


def run_check(check: DeterministicCheck, trial: Trial, hindered: str | None = None) -> CheckResult:
    """Return what one check found; what keeps it from looking is an error, not a failure.

    Why it is hindered is known since the case was loaded.
    """
    made = partial(CheckResult, check_id=check.check_id, kind=check.kind)
    if check.declarative is None or hindered is not None:
        return made(outcome="error", message=hindered or HOOKS_DISABLED)
    run: Callable[..., Outcome] = load_object(CHECKS[check.kind].run)
    try:
        passed, found = run(check.declarative, trial)
    except Exception as exc:  # noqa: BLE001 - a mistake of a check is nobody's failure either
        reason = (
            str(exc) if isinstance(exc, OSError | ValueError) else f"{type(exc).__name__}: {exc}"
        )
        return made(outcome="error", message=reason)
    if passed:
        return made(outcome="passed", message=None)
    about = (check.description or "").strip().removesuffix(".")
    return made(outcome="failed", message=": ".join(text for text in (about, found) if text))


def answered(_: checks.FinalResponsePresent, trial: Trial) -> Outcome:
    """Pass when there is a text."""
    return bool(trial.final_text.strip()), "there is no final text"


def ended(check: checks.StatusIs, trial: Trial) -> Outcome:
    """Pass when the trial ended so."""
    return trial.status == check.status, f"got {trial.status}"


def called(check: checks.ToolCallCount, trial: Trial) -> Outcome:
    """Pass when so many tools were called."""
    return trial.n_tool_calls == check.count, f"got {trial.n_tool_calls}, want {check.count}"


def file_exists(check: checks.FileExists, trial: Trial) -> Outcome:
    """Pass when the file is there."""
    path = trial.path(check.path)
    return path is not None and path.is_file(), f"no file {check.path}"


def path_exists(check: checks.PathExists, trial: Trial) -> Outcome:
    """Pass when a file or folder is there."""
    return trial.path(check.path) is not None, f"nothing at {check.path}"


def contains(check: checks.FileContains, trial: Trial) -> Outcome:
    """Pass when the file is there and holds the text."""
    path = trial.path(check.path)
    if path is None or not path.is_file():
        return False, f"no file {check.path}"
    if path.stat().st_size > MAX_CONTENT_BYTES:
        message = f"{check.path} is larger than {MAX_CONTENT_BYTES:,} bytes"
        raise ValueError(message)
    return check.text in path.read_text(encoding="utf-8"), f"{check.path} does not hold the text"


def unlisted(_check: checks.CheckRecord, _trial: Trial) -> Outcome:
    """Refuse to look.

    Raises:
        ValueError: always; no runner lists files yet.
    """
    message = "nobody lists what the trial has left or changed"
    raise ValueError(message)
