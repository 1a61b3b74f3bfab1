"""Cases held against their own checks: with their solution, which has to pass, and with nothing.

What judges here is what judges a trial; only the answer comes from the case, or is empty. Without a
text a model has failed, and of an agent its checks decide: they must not pass what it began with.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import tempfile
from collections.abc import Callable, Iterable, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from collect.checks import judge
from collect.checks.declarative import HINDRANCES, HOOKS_DISABLED, named_outside
from collect.config import LoadedCase
from collect.config.agents import LoadedAgent
from collect.config.cases import CaseFile
from collect.config.runners import RUNNERS
from collect.execute.checking import evaluated, subject_of_checks
from collect.execute.evaluation import opened_hooks
from collect.execute.outcome import decided
from collect.oracle.solution import LoadedSolution, load_solution
from collect.providers.base import Reply
from collect.runners.agents.template import Template, give_to, make_template
from collect.sandbox.base import Command, Completed, Folders, SandboxError
from collect.workspace import HOME, TMP
from collect.workspace.record import NOTHING, Before, keep_workspace
from collect.workspace.snapshot import Budget
from schemas.config.sandbox import DEFAULT_SANDBOX, MB
from schemas.errors import ConfigError, Problem
from schemas.run.config import RunEvaluation
from schemas.run.result import CheckResult

if TYPE_CHECKING:
    from collect.checks.left import Trial
    from collect.hooks.artifact import HookSubject
    from collect.hooks.hooks import Hooks
    from collect.sandbox.client import Sandbox

SCRIPT_INSIDE = "/run/solution"
"""Where the script of a solution is bound, read-only."""

HOOKS = "; `--evaluation-profile E` lets hooks run, where E allows them"

MAX_SAID_CHARS = 300

NO_TEXT = "it has no text, and a model's answer without one has failed"

EMPTY = Reply().failed("empty_response")
"""What a trial without a text comes to."""

Progress = Callable[[int, int], None]
"""Is told how many cases of how many are done."""


@dataclass(frozen=True, slots=True)
class Grade:
    """What the checks of a case say of one answer."""

    passed: bool | None = None
    """None: a check could not look, or the answer could not be made."""
    violation: str | None = None
    """What keeps the text from passing, as the validator says it; None: nothing does."""
    checks: tuple[CheckResult, ...] = ()
    problem: str = ""
    """Why the answer could not be made."""


@dataclass(frozen=True, slots=True)
class Examination:
    """A case, and what came of it."""

    case_id: str
    path: Path
    solution: Grade | None = None
    """None: it has none."""
    empty: Grade | None = None
    skipped: str = ""
    """Why nothing was tried; empty: it was."""
    defects: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Answer:
    """What is graded in place of a trial."""

    text: str = ""
    tool_calls: tuple[str, ...] = ()
    left: Path | None = None


class Examiner:
    """Examines cases, a few at a time, and leaves nothing behind.

    Args:
        agent: whose workspace agents' cases begin with; None: an empty one.
        evaluation: decides whether hooks run; None: none does.
    """

    def __init__(self, agent: LoadedAgent | None, evaluation: RunEvaluation | None) -> None:
        self._agent, self._evaluation = agent, evaluation
        self._hooks: Hooks | None = None
        self._sandbox: Sandbox | None = None
        self._template: Template | None = None
        self._scratch = Path()
        """Folder of what is made for cases, while they are examined."""

    async def examine(self, files: Sequence[CaseFile], progress: Progress) -> list[Examination]:
        """Return what comes of each case, in their order.

        Raises:
            ConfigError: a script or a hook has to run, and no sandbox holds here; or the files of
                a solution are wrong.
        """
        solutions = [load_solution(file) for file in files]
        cases = [file.case for file in files if file.case is not None]
        found: dict[int, Examination] = {}
        todo = iter(enumerate(zip(files, solutions, strict=True)))

        async def worker() -> None:
            for number, (file, solution) in todo:
                folder = self._scratch / str(number)
                found[number] = await self._examined(file, solution, folder)
                await asyncio.to_thread(shutil.rmtree, folder, ignore_errors=True)
                progress(len(found), len(files))

        async with AsyncExitStack() as stack:
            scratch = tempfile.TemporaryDirectory(prefix="benchlake-oracle-")
            self._scratch = Path(stack.enter_context(scratch))
            if self._agent is not None:
                self._template = make_template(self._agent, self._scratch / "template")
            if any(one is not None and one.script is not None for one in solutions):
                self._sandbox = await _opened_sandbox(stack)
            opened = opened_hooks(cases, self._evaluation, is_unsafe=False)
            self._hooks = await stack.enter_async_context(opened)
            await asyncio.gather(*(worker() for _ in range(os.cpu_count() or 1)))
        return [found[number] for number in sorted(found)]

    async def _examined(
        self, file: CaseFile, solution: LoadedSolution | None, folder: Path
    ) -> Examination:
        case = file.case
        assert case is not None  # a broken one is a problem of its file
        if skipped := _unexaminable(case):
            return Examination(case.case_id, file.path, skipped=skipped)
        solved = None
        if solution is not None:
            solved = await self._solved(case, solution, folder / "solution")
        left = await asyncio.to_thread(self._left, case, None, folder / "empty")
        empty = await self._graded(case, _Answer(left=left))
        defects = tuple(_defects(solved, empty))
        return Examination(case.case_id, file.path, solved, empty, defects=defects)

    async def _solved(self, case: LoadedCase, solution: LoadedSolution, folder: Path) -> Grade:
        """Return the grade of a solution, after its script has run."""
        text = solution.text or ""
        if solution.script is None:
            left = await asyncio.to_thread(self._left, case, solution, folder)
        else:
            try:
                out, left = await self._run(case, solution, solution.script, folder)
            except SandboxError as exc:
                return Grade(problem=str(exc))
            text = out if solution.text is None else text
        return await self._graded(case, _Answer(text, solution.tool_calls, left))

    def _left(self, case: LoadedCase, solution: LoadedSolution | None, folder: Path) -> Path | None:
        """Return the folder of what is left of a workspace with a solution's files, if any."""
        if not case.has_workspace:
            return None
        places = {name: folder / "trial" / name for name in ("workspace", "home", "tmp")}
        for path in places.values():
            path.mkdir(parents=True)
        self._lay_out(case, solution, places["workspace"])
        limits = DEFAULT_SANDBOX.limits
        budget = Budget(
            size=limits.workspace_mb * MB,
            files=limits.workspace_files,
            file_size=limits.file_mb * MB,
        )
        target = folder / "left"
        kept = keep_workspace(
            places["workspace"],
            target,
            budget,
            elsewhere={TMP: places["tmp"], HOME: places["home"]},
            named=named_outside(case.checks),
            before=self._before(case),
        )
        return None if kept is None else target

    def _lay_out(self, case: LoadedCase, solution: LoadedSolution | None, workspace: Path) -> None:
        """Fill a workspace with what it begins with, then with the files of a solution."""
        if self._template is not None and RUNNERS[case.runner_type].is_agent:
            self._template.copy_to(workspace)
        if solution is None or solution.folder is None:
            return
        owner = workspace.stat()
        for entry in solution.files:
            path = workspace / entry.relative_path
            path.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(solution.folder / entry.relative_path, path)
        if os.geteuid() == 0:
            give_to(workspace, owner)

    async def _run(
        self, case: LoadedCase, solution: LoadedSolution, script: Path, folder: Path
    ) -> tuple[str, Path | None]:
        """Return what the script of a solution printed, and the folder of what it left.

        Raises:
            SandboxError: it could not run, or did not end as it should.
        """
        sandbox = self._sandbox
        assert sandbox is not None  # opened where any case has a script
        folders = await sandbox.folders()
        try:
            await asyncio.to_thread(self._lay_out, case, solution, folders.workspace)
            done = await sandbox.run(folders, await asyncio.to_thread(_command, script, folders))
            if done.ended_by != "exit" or done.exit_code != 0:
                raise SandboxError(_end(script.name, done))
            target = folder / "left"
            named = named_outside(case.checks)
            kept = await sandbox.keep(folders, target, named, self._before(case))
            out = done.stdout.data.decode("utf-8", "replace")
            return out, None if kept is None else target
        finally:
            await sandbox.remove(folders)

    def _before(self, case: LoadedCase) -> Before:
        """Return what the workspace of a case begins with."""
        is_begun = self._template is not None and RUNNERS[case.runner_type].is_agent
        return self._template.before if is_begun and self._template is not None else NOTHING

    async def _graded(self, case: LoadedCase, answer: _Answer) -> Grade:
        """Return what validator and checks of a case say of an answer."""
        verdict = await judge(case.validator, answer.text, api_tool_calls=answer.tool_calls)
        failure = None if answer.text.strip() else EMPTY.failure
        trial = subject_of_checks(
            case,
            final_text=answer.text,
            last_message=answer.text,
            n_tool_calls=len(answer.tool_calls),
            status="success" if failure is None else failure.status,
            left=answer.left,
        )
        checks = await evaluated(
            case, case.checks, trial, self._hooks, lambda: _given(case, trial, answer)
        )
        passed = decided(failure, case.runner_type, verdict.objective_pass, checks)
        violation = verdict.violation
        if failure is not None:
            by_checks = RUNNERS[case.runner_type].is_agent and checks
            violation = None if by_checks else NO_TEXT
        return Grade(passed, violation, tuple(checks))


def _command(script: Path, folders: Folders) -> Command:
    """Return what runs a script: a copy of it, which whoever runs it inside can read."""
    copied = folders.added("script")
    shutil.copyfile(script, copied / script.name)
    (copied / script.name).chmod(0o755)
    inside = f"{SCRIPT_INSIDE}/{script.name}"
    names_interpreter = script.read_bytes()[:2] == b"#!"
    argv = (inside,) if names_interpreter else ("/bin/sh", inside)
    return Command(argv=argv, binds=((str(copied), SCRIPT_INSIDE),))


def _end(name: str, done: Completed) -> str:
    """Return how a script ended, with its last words."""
    if done.ended_by != "exit":
        ended = f"reached the limit of {done.ended_by}"
    elif done.exit_code is None:
        ended = f"ended with signal {done.signal}"
    else:
        ended = f"ended with exit code {done.exit_code}"
    lines = done.stderr.data.decode("utf-8", "replace").strip().splitlines()
    return f"`{name}` {ended}: {lines[-1][:MAX_SAID_CHARS] if lines else 'without a word'}"


def _given(case: LoadedCase, trial: Trial, answer: _Answer) -> HookSubject:
    from collect.execute.subject import oracle_subject  # noqa: PLC0415 - few cases have hooks

    return oracle_subject(case, trial, answer.text)


async def _opened_sandbox(stack: AsyncExitStack) -> Sandbox:
    """Return a sandbox for scripts, closed with the stack.

    Raises:
        ConfigError: none holds here.
    """
    from collect.sandbox.backends import backend_of  # noqa: PLC0415 - few cases have scripts
    from collect.sandbox.client import Sandbox  # noqa: PLC0415 - as above

    try:
        sandbox = await Sandbox.open(DEFAULT_SANDBOX, backend_of(DEFAULT_SANDBOX, unsafe=False))
    except SandboxError as exc:
        raise ConfigError([Problem(None, str(exc), "solution.script", advice=exc.advice)]) from exc
    stack.push_async_callback(sandbox.aclose)
    return sandbox


def _unexaminable(case: LoadedCase) -> str:
    """Return why nothing can be said of a case; empty: something can."""
    if case.unavailable is not None:
        return case.unavailable
    if case.is_scorable:
        return ""
    if case.unevaluable:
        check_id, reason = case.unevaluable[0]
        advice = HOOKS if reason == HOOKS_DISABLED else ""
        return f"check `{check_id}` cannot look: {HINDRANCES[reason]}{advice}"
    if case.expectations is not None or case.rubric is not None:
        return "only a judge gives it a verdict"
    return "it has no checks"


def _defects(solved: Grade | None, empty: Grade) -> Iterable[str]:
    """Yield what is wrong with a case, a sentence each."""
    if solved is not None and solved.problem:
        yield f"its solution could not be tried: {solved.problem}"
    elif solved is not None and solved.passed is not True:
        if solved.violation is not None:
            yield f"its solution fails: {solved.violation}"
        for check in solved.checks:
            if check.outcome != "passed":
                how = "fails" if check.outcome == "failed" else "cannot be held against"
                said = check.message or check.reason or check.outcome
                yield f"its solution {how} check `{check.check_id}` ({check.kind}): {said}"
    if empty.passed is True:
        yield "an empty answer passes all its checks"
    elif solved is None:
        for check in empty.checks:
            if check.outcome == "error":
                said = check.message or check.reason or check.outcome
                yield f"check `{check.check_id}` ({check.kind}) cannot look: {said}"
