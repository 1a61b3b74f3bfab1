"""What becomes of what a trial left: its checks look at it, then it stays or goes."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from collect.checks import MIN_THREADED_CHARS
from collect.checks.declarative import (
    HOOKS_DISABLED,
    check_hash,
    dimensions_of,
    run_check,
    unmade,
)
from collect.checks.left import CannotLook, Trial
from collect.config import LoadedCase
from collect.runners.base import Execution
from collect.runners.trace import TraceObject
from collect.sandbox.trees import usage
from collect.workspace import PLACES
from schemas.config.checks import CHECKS, DeterministicCheck
from schemas.config.sandbox import MB
from schemas.run.config import KeepWorkspaces
from schemas.run.layout import WORKSPACES
from schemas.run.result import CheckResult

if TYPE_CHECKING:
    from collect.hooks.artifact import HookSubject
    from collect.hooks.hooks import Hooks

Done = TypeVar("Done")

INTERRUPTED = "interrupted"
"""Reason of a check that the end of a run kept from looking."""


async def evaluated(
    case: LoadedCase,
    checks: Sequence[DeterministicCheck],
    trial: Trial,
    hooks: Hooks | None,
    subject: Callable[[], HookSubject],
) -> list[CheckResult]:
    """Return what some checks of a case found, in their order.

    Args:
        case: whose hooks and files these are.
        checks: of the case.
        trial: what they look at.
        hooks: runs python hooks; None where none may run.
        subject: returns what a hook is given; asked once, where there is one.
    """
    hindered = dict(case.unevaluable)
    looking = [check for check in checks if check.check_id not in hindered]
    declarative = [check for check in looking if check.declarative is not None]
    if any(CHECKS[check.kind].needs_files for check in declarative):
        made = await asyncio.to_thread(lambda: [run_check(one, trial) for one in declarative])
    else:
        made = [run_check(one, trial) for one in declarative]
    found = {one.check_id: one for one in made}
    own = [check for check in looking if check.python_hook is not None]
    texts = dict(case.hooks)
    if own and hooks is not None:
        try:
            given = subject()
        except CannotLook as exc:
            found |= {check.check_id: unmade(check, exc.reason, str(exc)) for check in own}
        else:
            for check in own:
                one = await hooks.run(check, given)
                known = {
                    "check_hash": check_hash(check, texts.get(check.check_id)),
                    "dimensions": dimensions_of(check),
                }
                found[check.check_id] = one.model_copy(update=known)
    return [
        found.get(check.check_id) or unmade(check, hindered.get(check.check_id, HOOKS_DISABLED))
        for check in checks
    ]


def executed_trial(execution: Execution, n_tool_calls: int, run_dir: Path) -> Trial:
    """Return what the checks of a trial look at that was just made."""
    failure = execution.outcome.failure
    return subject_of_checks(
        execution.case,
        final_text=execution.outcome.text,
        last_message=last_message(execution.trace),
        n_tool_calls=n_tool_calls,
        status="success" if failure is None else failure.status,
        left=None if execution.workspace is None else run_dir / execution.workspace,
    )


def subject_of_checks(case: LoadedCase, **facts: Any) -> Trial:
    """Return what the checks of a case look at.

    Args:
        case: whose files and expected artifacts these are.
        facts: of the trial, as `Trial` has them.
    """
    expected = case.context.openclaw.expected_artifact or ()
    return Trial(
        folder=case.folder,
        has_workspace=case.has_workspace,
        expected_artifact=(expected,) if isinstance(expected, str) else tuple(expected),
        **facts,
    )


def last_message(trace: Sequence[TraceObject]) -> str:
    """Return the last text of a model in a trace that is not blank; its reasoning is none."""
    for event in reversed(trace):
        if event.get("event_type") != "message" or event.get("role") != "assistant":
            continue
        text = event.get("content")
        if event.get("name") != "reasoning" and isinstance(text, str) and text.strip():
            return text
    return ""


def interrupted(checks: Sequence[DeterministicCheck], again: str) -> list[CheckResult]:
    """Return the outcome of checks that were not made, and the command that makes them."""
    what = f"the run was ended before it was made; `{again}` makes it"
    return [unmade(check, INTERRUPTED, what) for check in checks]


class Keeper:
    """Keeps the files of trials, or throws them away.

    What is written down of them, and how they differ, stays in every case.

    Args:
        run_dir: the run's folder.
        policy: whose files stay.
        limit_mb: of all files that stay.
    """

    def __init__(self, run_dir: Path, policy: KeepWorkspaces, limit_mb: int) -> None:
        self._run_dir, self._policy, self._limit = run_dir, policy, limit_mb * MB
        self._kept: int | None = None
        self.n_beyond = 0
        """Trials whose files went since the limit was reached."""

    def settle(self, workspace: str, *, passed: bool | None) -> None:
        """Keep the files of a trial or remove them; may be called from a thread.

        Args:
            workspace: folder of what it left, below the run's.
            passed: the verdict of the trial.
        """
        folder = self._run_dir / workspace
        size = _size(folder)
        if self._kept is None:  # a run that goes on has some already
            self._kept = _size(self._run_dir / WORKSPACES) - size
        is_wanted = self._policy == "all" or (self._policy == "failed" and passed is not True)
        if is_wanted and self._kept + size <= self._limit:
            self._kept += size
            return
        self.n_beyond += is_wanted
        for place in PLACES.values():
            shutil.rmtree(folder / place, ignore_errors=True)


def _size(folder: Path) -> int:
    """Return the bytes on the disk of all that lies in a folder."""
    found = 0
    for counted in usage([str(folder)], opens=False):
        found = counted.size
    return found


async def off_loop(text: str, work: Callable[[], Done], n_events: int = 0) -> Done:
    """Do the work on a text, or on events: in a thread when it is long, for nobody to wait."""
    if max(len(text), 100 * n_events) > MIN_THREADED_CHARS:
        return await asyncio.to_thread(work)
    return work()
