"""Deterministic checks that need no model and no code of the user's.

A check of an unknown kind is refused where a case is read. What cannot look, as a hook that may not
run or a file beside test.yaml that cannot be read, is nobody's failure: its outcome is an error
with its reason, and the trial has no verdict. A file of the model's own that is too large, no text
or a link that leads out has failed its check, else a model could escape its verdict (D-A9). Which
checks can look at anything (`hindrance`) is known before a trial is made.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from functools import cache, partial
from pathlib import Path, PurePosixPath
from types import MappingProxyType

import orjson

from collect.checks.left import CannotLook, Trial
from collect.workspace import PLACES, WORKSPACE
from schemas.config.checks import CHECKS, DeterministicCheck
from schemas.registry import load_object
from schemas.run.result import CheckResult

HOOKS_DISABLED = "hooks_disabled"
SANDBOX_MISSING = "sandbox_missing"
NO_WORKSPACE = "no_workspace"
NOT_KEPT = "not_kept"
UNREADABLE = "unreadable"
EXCEPTION = "exception"

HINDRANCES: Mapping[str, str] = MappingProxyType(
    {
        HOOKS_DISABLED: "python hooks are switched off",
        SANDBOX_MISSING: "python hooks run in a sandbox, and none holds here",
        NO_WORKSPACE: "it looks into a workspace, and a trial of this case has none",
        NOT_KEPT: f"of what a trial leaves, only files below {', '.join(PLACES)} are kept",
    }
)
"""Reason of an outcome `error` that is known before a trial, to what people read."""

HASH_DIGITS = 16


def hindrance(check: DeterministicCheck, folder: Path | None, *, has_workspace: bool) -> str | None:
    """Return the reason that keeps a check from looking, a key of `HINDRANCES`; None: it can.

    A hook may not run unless an evaluation profile allows it.

    Args:
        check: of a case.
        folder: where test.yaml lies, whose files a check of a file may be about.
        has_workspace: the trials of the case have one.
    """
    if check.declarative is None:
        return HOOKS_DISABLED
    if not CHECKS[check.kind].needs_files:
        return None
    path: str | None = getattr(check.declarative, "path", None)
    if not has_workspace:
        is_there = path is not None and Trial(folder=folder).finds(path)
        return None if is_there else NO_WORKSPACE
    is_absolute = path is not None and PurePosixPath(path).is_absolute()
    if not is_absolute or any(PurePosixPath(path or "").is_relative_to(at) for at in PLACES):
        return None
    return NOT_KEPT


def named_outside(checks: tuple[DeterministicCheck, ...]) -> tuple[str, ...]:
    """Return the absolute paths that checks name beside the workspace, each once."""
    paths = (getattr(check.declarative, "path", None) for check in checks)
    outside = (
        path
        for path in paths
        if path is not None
        and PurePosixPath(path).is_absolute()
        and not PurePosixPath(path).is_relative_to(WORKSPACE)
    )
    return tuple(dict.fromkeys(outside))


@cache
def check_hash(check: DeterministicCheck, hook_sha256: str | None = None) -> str:
    """Return the hash of what decides a check's outcome: its kind and keys.

    Of a hook its text as well, and what it is told of the check.
    """
    made = check.python_hook if check.declarative is None else check.declarative
    assert made is not None
    decides: list[object] = [check.kind, made.model_dump(mode="json")]
    if check.python_hook is not None:
        decides += [hook_sha256, check.check_id, check.description]
    content = orjson.dumps(decides, option=orjson.OPT_SORT_KEYS)
    return hashlib.sha256(content).hexdigest()[:HASH_DIGITS]


def dimensions_of(check: DeterministicCheck) -> tuple[str, ...]:
    """Return the dimensions that a check speaks for: its own, else those of its kind (D-E14)."""
    if check.dimensions or check.declarative is None:
        return check.dimensions
    return CHECKS[check.kind].dimensions


def unmade(check: DeterministicCheck, reason: str, message: str | None = None) -> CheckResult:
    """Return the outcome of a check that could not look, and why; nobody takes that over."""
    return CheckResult(
        check_id=check.check_id,
        kind=check.kind,
        outcome="error",
        reason=reason,
        message=message or HINDRANCES.get(reason, reason),
        dimensions=dimensions_of(check),
    )


def run_check(check: DeterministicCheck, trial: Trial) -> CheckResult:
    """Return what one declarative check found; what keeps it from looking is an error."""
    made = partial(
        CheckResult,
        check_id=check.check_id,
        kind=check.kind,
        dimensions=dimensions_of(check),
        check_hash=check_hash(check),
    )
    run: Callable[..., tuple[bool, str | None]] = load_object(CHECKS[check.kind].run)
    try:
        passed, found = run(check.declarative, trial)
    except CannotLook as exc:
        return made(outcome="error", reason=exc.reason, message=str(exc))
    except (OSError, ValueError) as exc:
        return made(outcome="error", reason=UNREADABLE, message=str(exc))
    except Exception as exc:  # noqa: BLE001 - a mistake of a check is nobody's failure either
        message = f"{type(exc).__name__}: {exc}"
        return made(outcome="error", reason=EXCEPTION, message=message)
    if passed:
        return made(outcome="passed", message=None)
    return made(outcome="failed", message=said_of(check, found))


def said_of(check: DeterministicCheck, found: str | None) -> str:
    """Return what a failed check says: its description, and what was found."""
    about = (check.description or "").strip().removesuffix(".")
    return ": ".join(text for text in (about, found) if text)
