"""Deterministic checks that need no model and no code of the user's.

A check of an unknown kind is refused where a case is read. What cannot look, as a hook that may not
run or a file beside test.yaml that cannot be read, is nobody's failure: its outcome is an error
that carries the reason, and the trial has no verdict. A file of the model's own that is too large
or no text has failed its check, else a model could escape its verdict (D-A9). Which checks can look
at anything in this version (`hindrance`) is known before a trial is made.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path, PurePosixPath
from types import MappingProxyType

from schemas.config import checks
from schemas.config.checks import CHECKS, DeterministicCheck
from schemas.failures import TrialStatus
from schemas.registry import load_object
from schemas.run.result import CheckResult

HOOKS_DISABLED = "hooks_disabled"
NO_WORKSPACE = "no_workspace"
NOT_KEPT = "not_kept"

WORKSPACE = "/workspace"
"""Where a command of a trial finds its workspace."""

HINDRANCES: Mapping[str, str] = MappingProxyType(
    {
        HOOKS_DISABLED: "python hooks are not part of this version",
        NO_WORKSPACE: "it looks into a workspace, and a trial of this case has none",
        NOT_KEPT: f"of what a trial leaves, only the files below {WORKSPACE} are kept",
    }
)
"""Reason of an outcome `error` to what people read."""

MAX_CONTENT_BYTES = 8_000_000
"""Bytes of a file that is searched; a larger one is told, not searched by half."""


def hindrance(check: DeterministicCheck, folder: Path | None, *, has_workspace: bool) -> str | None:
    """Return the reason that keeps a check from looking, a key of `HINDRANCES`; None: it can.

    Args:
        check: of a case.
        folder: where test.yaml lies, whose files a check of a file may be about.
        has_workspace: the trials of the case have one.
    """
    if check.declarative is None:
        return HOOKS_DISABLED
    if not CHECKS[check.kind].needs_files:
        return None
    path = getattr(check.declarative, "path", None)
    if has_workspace:
        is_kept = path is None or in_workspace(path) is not None
        return None if is_kept else NOT_KEPT
    return NO_WORKSPACE if path is None or path_in_folder(path, folder) is None else None


def in_workspace(name: str) -> str | None:
    """Return a path as it is found in a workspace; None: it lies elsewhere in the sandbox."""
    path = PurePosixPath(name)
    if not path.is_absolute():
        return name
    return str(path.relative_to(WORKSPACE)) if path.is_relative_to(WORKSPACE) else None


def path_in_folder(name: str, folder: Path | None) -> Path | None:
    """Return what a relative name leads to in a folder, never elsewhere on the host."""
    if folder is None or Path(name).is_absolute():
        return None
    folder = folder.resolve()
    try:
        path = (folder / name).resolve()
    except RuntimeError:  # a link that leads to itself
        return None
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
        inner = in_workspace(name)
        found = None if inner is None else path_in_folder(inner, self.workspace)
        return found or path_in_folder(name, self.folder)

    def has_left(self, path: Path) -> bool:
        """Return whether the model left what a name leads to."""
        return self.workspace is not None and path.is_relative_to(self.workspace.resolve())


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
    try:
        text = _text_of(path, check.path)
    except ValueError as exc:
        if trial.has_left(path):
            return False, str(exc)
        raise
    return check.text in text, f"{check.path} does not hold the text"


def _text_of(path: Path, name: str) -> str:
    """Return the text of a file.

    Raises:
        ValueError: it is none, or too long.
    """
    if path.stat().st_size > MAX_CONTENT_BYTES:
        message = f"{name} is larger than {MAX_CONTENT_BYTES:,} bytes"
        raise ValueError(message)
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError as exc:
        message = f"{name} is no text: {exc}"
        raise ValueError(message) from exc


def unlisted(_check: checks.CheckRecord, _trial: Trial) -> Outcome:
    """Refuse to look.

    Raises:
        ValueError: always; no runner lists files yet.
    """
    message = "nobody lists what the trial has left or changed"
    raise ValueError(message)
