"""Judges trials by hooks: each look is a process of its own in the sandbox.

A hook finds the files of the trial at /workspace and those of its case at /case, both read-only and
copies, and can write nowhere but to a home and a folder for temporary files that go with it.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import marshal
import py_compile
import resource
import tempfile
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from collect.hooks.answers import REASONS, error_of, result_of
from collect.hooks.artifact import Fact, HookSubject, artifact_of
from collect.hooks.interpreter import NotImportable, Python
from collect.hooks.staging import (
    CaseTooLarge,
    hash_of_text,
    stage_case,
    stage_file,
    stage_snapshot,
)
from collect.sandbox.base import UNLOCKED, Command, Completed, Folders, SandboxError
from collect.sandbox.bwrap import resource_limits
from collect.sandbox.client import Sandbox
from collect.workspace import WORKSPACE
from schemas.config.checks import DeterministicCheck, PythonHook
from schemas.config.evaluation_profile import SecurityPolicy
from schemas.redact import may_hold_secret, redact_json
from schemas.run.result import CheckResult

CHILD = Path(__file__).with_name("child.py")
CHILD_NAME = "child.pyc"

CASE = "/case"
PROGRAM = "/hook"
"""Where a hook finds the folder of its case, and where what runs it lies."""

PROBE = "probe.py"
PROBE_SOURCE = b"def judge():\n    return True\n"

PROBE_CHECK = DeterministicCheck(
    check_id="probe", python_hook=PythonHook(path=PROBE, callable_name="judge")
)

ELSEWHERE = (
    "install Python and benchlake where every user can read them, such as /opt or /usr/local, or "
    "run the collector as a user other than root"
)


@dataclass(frozen=True, slots=True)
class HooksProblem:
    """Why no hook can run here."""

    what: str
    advice: str
    """What to do; empty where there is nothing."""


class Hooks:
    """What runs the hooks of a run; made by `open`.

    Args:
        sandbox: of bubblewrap, or the one that locks nothing in; None: there is none.
        policy: of the evaluation profile in force.
        python: that hooks run in.
    """

    def __init__(self, sandbox: Sandbox | None, policy: SecurityPolicy, python: Python) -> None:
        self._sandbox, self._policy, self._python = sandbox, policy, python
        self._program: Folders | None = None
        self._cases: dict[Path, asyncio.Task[Folders]] = {}
        self._pythons: dict[str, Python] = {}

    @classmethod
    async def open(
        cls, sandbox: Sandbox | None, policy: SecurityPolicy, python: Python | None = None
    ) -> Hooks:
        """Put what runs a hook where the sandbox finds it; nothing where no hook may run.

        Raises:
            SandboxError: the sandbox has no room for it, or is a container engine's.
        """
        hooks = cls(sandbox, policy, python or Python.running())
        if sandbox is not None and policy.allow_local_python_hooks:
            if sandbox.backend.is_engine:
                message = f"hooks are locked in by bwrap, not by {sandbox.backend.name}"
                raise SandboxError(message)
            hooks._program = await sandbox.folders()
            await asyncio.to_thread(_stage_program, hooks._program)
        return hooks

    async def problem(self) -> HooksProblem | None:
        """Return why no hook can run here, found out by running one; None: they can."""
        if not self._policy.allow_local_python_hooks:
            advice = "set security_policy.allow_local_python_hooks of the evaluation profile"
            return HooksProblem(REASONS["hooks_disabled"], advice)
        if self._sandbox is None or self._program is None:
            return HooksProblem("there is no sandbox to run hooks in", "collect doctor")
        if (closed := self._python.closed_folder(self._sandbox.shows)) is not None:
            what = (
                f"hooks run as `nobody` where the collector is root, and {closed} is closed to "
                f"others, through which they would reach {self._python.executable}"
            )
            return HooksProblem(what, ELSEWHERE)
        inside = PROGRAM if self._is_locked else str(self._program.workspace)
        request = self._request(PROBE_CHECK, {}, inside, self._python)
        try:
            folders = await self._sandbox.folders()
            try:
                done = await self._look(self._sandbox, folders, request, self._python, None)
            finally:
                await self._sandbox.remove(folders)
        except SandboxError as exc:
            return HooksProblem(f"no hook can be locked in: {exc}", exc.advice)
        result = result_of(PROBE_CHECK, done, self._sandbox.backend.limits)
        if result.outcome == "passed":
            return None
        return HooksProblem(f"{self._python.executable} runs no hook: {result.message}", "")

    async def run(self, check: DeterministicCheck, subject: HookSubject) -> CheckResult:
        """Return what the hook of a check finds in a trial; what keeps it from that is an error.

        Cancelling this ends the hook.
        """
        hook = check.python_hook
        assert hook is not None
        if not self._policy.allow_local_python_hooks:
            return error_of(check, "hooks_disabled", REASONS["hooks_disabled"])
        if self._sandbox is None or self._program is None:
            return error_of(check, "sandbox_missing", "there is no sandbox to run hooks in")
        try:
            python = self._python_of(hook)
            case = await self._case_of(subject.case_folder)
            if (changed := await asyncio.to_thread(_changed, check, subject, case)) is not None:
                return changed
            return await self._judged(self._sandbox, check, subject, python, case)
        except (NotImportable, CaseTooLarge) as exc:
            return error_of(check, getattr(exc, "reason", "case_too_large"), str(exc))
        except SandboxError as exc:
            return error_of(check, "sandbox_missing", f"it cannot be locked in: {exc}")
        except OSError as exc:
            message = f"its files cannot be copied: {exc.filename}: {exc.strerror}"
            return error_of(check, "sandbox_missing", message)

    async def aclose(self) -> None:
        """Remove the copies of cases, and what runs hooks; a sandbox that is gone has done so."""
        staged = await asyncio.gather(*self._cases.values(), return_exceptions=True)
        folders = [one for one in (self._program, *staged) if isinstance(one, Folders)]
        self._cases, self._program = {}, None
        for one in folders:
            assert self._sandbox is not None
            with contextlib.suppress(SandboxError):
                await self._sandbox.remove(one)

    @property
    def _is_locked(self) -> bool:
        assert self._sandbox is not None
        return self._sandbox.backend.name != UNLOCKED

    async def _judged(
        self,
        sandbox: Sandbox,
        check: DeterministicCheck,
        subject: HookSubject,
        python: Python,
        case: Folders | None,
    ) -> CheckResult:
        limits = sandbox.backend.limits
        folders = await sandbox.folders()
        try:
            await asyncio.to_thread(stage_snapshot, subject.snapshot, folders, limits)
            workspace = WORKSPACE if self._is_locked else str(folders.workspace)
            artifact = _redacted(artifact_of(subject, workspace))
            inside = CASE if self._is_locked or case is None else str(case.workspace)
            request = self._request(check, artifact, inside, python)
            done = await self._look(sandbox, folders, request, python, case)
        finally:
            await sandbox.remove(folders)
        return result_of(check, done, limits)

    @property
    def _limits(self) -> list[tuple[int, int, int]]:
        """Return what a hook holds itself to: number of the resource, soft and hard limit."""
        if self._sandbox is None or not self._is_locked:
            return []
        found = resource_limits(self._sandbox.backend.limits)
        return [(getattr(resource, f"RLIMIT_{name.upper()}"), *one) for name, one in found.items()]

    def _request(
        self, check: DeterministicCheck, artifact: Fact, case: str, python: Python
    ) -> bytes:
        assert check.python_hook is not None
        context = {
            "check_id": check.check_id,
            "description": check.description,
            "case_source_path": str(PurePosixPath(case, "test.yaml")),
        }
        request = {
            "artifact": artifact,
            "context": context,
            "hook": check.python_hook.model_dump(),
            "case": case,
            "folders": list(python.folders),
            "limits": self._limits,
        }
        return marshal.dumps(request, 2)

    async def _look(
        self,
        sandbox: Sandbox,
        folders: Folders,
        request: bytes,
        python: Python,
        case: Folders | None,
    ) -> Completed:
        assert self._program is not None
        program = str(self._program.workspace)
        binds = [*python.binds, (program, PROGRAM)]
        if case is not None:
            binds.append((str(case.workspace), CASE))
        inside = PROGRAM if self._is_locked else program
        command = Command(
            argv=(python.executable, "-I", "-S", "-B", f"{inside}/{CHILD_NAME}"),
            stdin=request,
            network=self._policy.network_access == "allow",
            binds=tuple(binds),
            is_workspace_read_only=True,
            is_first_process=True,
            limits_itself=self._is_locked,
        )
        return await sandbox.run(folders, command)

    def _python_of(self, hook: PythonHook) -> Python:
        """Return what a hook runs in; raises NotImportable."""
        if hook.import_path is None:
            return self._python
        if (python := self._pythons.get(hook.import_path)) is None:
            python = self._python.with_module(hook.import_path)
            shown = () if self._sandbox is None else self._sandbox.shows
            if (closed := python.closed_folder(shown)) is not None:
                message = f"{closed} is closed to `nobody`, as whom hooks run; {ELSEWHERE}"
                raise NotImportable(message, "hook_import_failed")
            self._pythons[hook.import_path] = python
        return python

    async def _case_of(self, folder: Path | None) -> Folders | None:
        """Return the copy of a case's folder, made once.

        Raises:
            CaseTooLarge: it is none that is copied.
            SandboxError, OSError: it cannot be copied.
        """
        if folder is None:
            return None
        if folder not in self._cases:
            self._cases[folder] = asyncio.create_task(self._staged(folder))
        return await asyncio.shield(self._cases[folder])

    async def _staged(self, folder: Path) -> Folders:
        assert self._sandbox is not None
        folders = await self._sandbox.folders()
        try:
            await asyncio.to_thread(stage_case, folder, folders)
        except BaseException:
            await self._sandbox.remove(folders)
            raise
        return folders


def _stage_program(folders: Folders) -> None:
    """Write what runs a hook, compiled: to compile it anew would take longer than to run it."""
    with tempfile.TemporaryDirectory() as name:
        compiled = Path(name, CHILD_NAME)
        py_compile.compile(
            str(CHILD), str(compiled), CHILD.name, doraise=True,
            invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH,
        )  # fmt: skip
        stage_file(CHILD_NAME, compiled.read_bytes(), folders)
    stage_file(PROBE, PROBE_SOURCE, folders)


def _changed(
    check: DeterministicCheck, subject: HookSubject, case: Folders | None
) -> CheckResult | None:
    """Return that the file of a hook is gone or another one; None: it is as it was loaded."""
    assert check.python_hook is not None
    if (path := check.python_hook.path) is None:
        return None
    if case is None or not (file := case.workspace / path).is_file():
        return error_of(check, "hook_not_found", f"there is no file {path} beside test.yaml")
    if hash_of_text(file) != subject.hook_hashes.get(check.check_id):
        message = f"{path} is not what it was when the case was loaded; load it anew"
        return error_of(check, "hook_changed", message)
    return None


def _redacted(artifact: Fact) -> Fact:
    """Return an artifact without secrets, as it is stored; numbers and texts may be any."""
    if not may_hold_secret(json.dumps(artifact, ensure_ascii=False)):
        return artifact
    redacted = redact_json(artifact)
    assert isinstance(redacted, dict)
    return redacted
