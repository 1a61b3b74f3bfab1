"""What the evaluation profile of a run decides here: whether hooks run, and what is redacted."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Iterable
from contextlib import AbstractContextManager, AsyncExitStack, asynccontextmanager, nullcontext
from dataclasses import replace
from datetime import UTC, date, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from collect.checks.declarative import SANDBOX_MISSING
from collect.config import LoadedCase, RunInputs
from collect.config.evaluation import (
    LoadedEvaluation,
    ResolvedJudge,
    disabled,
    hooked,
    load_evaluation_profile,
)
from collect.config.project_files import resolve
from collect.plan.estimate import price_of
from collect.sandbox.base import SandboxError
from schemas.config.evaluation_profile import SecurityPolicy
from schemas.config.prices import Price, PriceTable
from schemas.config.project import load_project_file
from schemas.config.sandbox import SandboxLimits, SandboxProfile
from schemas.errors import ConfigError, Problem, counted
from schemas.redact import only_own_keys
from schemas.run.config import RunEvaluation

if TYPE_CHECKING:
    from collect.hooks.hooks import Hooks
    from collect.judges.earlier import Earlier
    from collect.judges.taken_over import TakenAnswers
    from collect.local.servers import Servers
    from collect.run_folder.log import RunLog


def evaluation_of(found: LoadedEvaluation | None, limits: SandboxLimits) -> RunEvaluation | None:
    """Return what config.json says of an evaluation profile, and of what a hook may take."""
    if found is None:
        return None
    return RunEvaluation(
        evaluation_profile_id=found.profile.evaluation_profile_id,
        evaluation_profile_path=os.path.relpath(found.path),
        sha256=found.sha256,
        security_policy=found.profile.security_policy,
        limits=limits,
    )


def of_project(stored: RunEvaluation, working_dir: Path) -> LoadedEvaluation | None:
    """Return the evaluation profile of a run as this project has it; None: it has none such.

    A run folder may be somebody else's, so what it says of itself permits nothing.

    Raises:
        ConfigError: there is one, and something is wrong with it.
    """
    try:
        hosts = load_project_file(working_dir).allowed_hosts
        path = resolve(stored.evaluation_profile_id, "evaluation profile", working_dir)
    except ConfigError:
        return None
    return load_evaluation_profile(str(path), working_dir, allowed_hosts=hosts)


def judging_of(
    found: LoadedEvaluation | None, prices: PriceTable, assumed: Price | None
) -> LoadedEvaluation | None:
    """Return a profile whose judges have the prices of today; None: it has no judges.

    Args:
        found: the profile, if there is one.
        prices: the project's.
        assumed: stands in for those that are not there.

    Raises:
        ConfigError: the key of a judge is not set, or is none.
    """
    if found is None or not found.has_judges:
        return None
    from collect.judges.panel import refuse_keyless  # noqa: PLC0415 - few runs have judges

    refuse_keyless(found.judges)
    return with_judge_prices(found, prices, assumed, datetime.now(tz=UTC).date())


def with_judge_prices(
    found: LoadedEvaluation, prices: PriceTable, assumed: Price | None, today: date
) -> LoadedEvaluation:
    """Return a profile with the price of each judge on a day; `assumed`: of those without."""
    priced = (
        replace(one.model, price=price_of(one.model, prices, today) or assumed)
        for one in found.judges
    )
    judges = (replace(one, model=model) for one, model in zip(found.judges, priced, strict=True))
    return replace(found, judges=tuple(judges))


def judge_hash_of(found: LoadedEvaluation | None) -> str | None:
    """Return what tells one way of judging from another; None: no judge decides a verdict."""
    if found is None or not found.has_judges:
        return None
    from collect.judges.judgement import deciding_hash  # noqa: PLC0415 - few runs have judges

    return deciding_hash(found)


def earlier_of(found: LoadedEvaluation | None, run_dir: Path) -> Earlier | None:
    """Return what judges of a run said already; None: nobody is asked."""
    if found is None:
        return None
    from collect.judges.earlier import Earlier  # noqa: PLC0415 - as above

    return Earlier(run_dir, found.profile.evaluation_profile_id)


def taken_answers(found: LoadedEvaluation | None, log: RunLog) -> TakenAnswers | None:
    """Return what takes over answers of judges with what they are about; None: nobody is asked."""
    if found is None:
        return None
    from collect.judges.taken_over import TakenAnswers  # noqa: PLC0415 - as above

    return TakenAnswers(found, log)


def as_served(
    judges: Iterable[ResolvedJudge], servers: Servers | None
) -> tuple[ResolvedJudge, ...]:
    """Return judges as they can be asked now."""
    if servers is None:
        return tuple(judges)
    return tuple(replace(one, model=servers.served([one.model])[0]) for one in judges)


def redacting(evaluation: RunEvaluation | None) -> AbstractContextManager[None]:
    """Return a context in which as much is redacted as a run's security policy says (D-G8)."""
    if evaluation is None or evaluation.security_policy.redact_secrets:
        return nullcontext()
    return only_own_keys()


def hooks_ready(inputs: RunInputs, *, is_unsafe: bool, skip_unevaluable: bool) -> RunInputs:
    """Return inputs whose hooks are known to run here; nothing is looked at where none may.

    With `skip_unevaluable` cases keep their other checks where no sandbox holds.

    Raises:
        ConfigError: a hook may run, and none can.
    """
    cases = hooked(inputs.cases)
    if not cases:
        return inputs
    assert inputs.evaluation is not None  # else no hook may run
    policy = inputs.evaluation.profile.security_policy
    problem = _problem(cases, policy, inputs.profile.sandbox.limits, is_unsafe=is_unsafe)
    if problem is None:
        return inputs
    if not skip_unevaluable:
        way = "--skip-unevaluable leaves the verdict of these cases open"
        raise ConfigError([_refusal(problem, cases, way)])
    changed = {case.case_id: disabled(case, SANDBOX_MISSING) for case in cases}
    warning = f"{_named(cases)}: no verdict, since hooks cannot run here: {problem[0]}"
    return replace(
        inputs,
        cases=tuple(changed.get(case.case_id, case) for case in inputs.cases),
        warnings=(*inputs.warnings, warning),
    )


def hooks_problem(
    cases: Iterable[LoadedCase], evaluation: RunEvaluation | None, *, is_unsafe: bool
) -> Problem | None:
    """Return why the hooks of some cases cannot run here; None: they can, or none may."""
    found = hooked(cases)
    if evaluation is None or not found:
        return None
    policy, limits = evaluation.security_policy, evaluation.limits
    problem = _problem(found, policy, limits, is_unsafe=is_unsafe)
    return None if problem is None else _refusal(problem, found)


@asynccontextmanager
async def opened_hooks(
    cases: Iterable[LoadedCase],
    evaluation: RunEvaluation | None,
    *,
    is_unsafe: bool,
) -> AsyncIterator[Hooks | None]:
    """Give what runs the hooks of some cases, and take it away in the end; None: none may run."""
    if evaluation is None or not hooked(cases):
        yield None
        return
    try:
        policy = evaluation.security_policy
        async with _opened(cases, policy, evaluation.limits, is_unsafe=is_unsafe) as hooks:
            yield hooks
    except SandboxError as exc:
        raise ConfigError([Problem(None, str(exc), "sandbox", advice=exc.advice)]) from exc


@asynccontextmanager
async def _opened(
    cases: Iterable[LoadedCase], policy: SecurityPolicy, limits: SandboxLimits, *, is_unsafe: bool
) -> AsyncIterator[Hooks]:
    """Yield what runs hooks: in a sandbox of its own, whatever locks the tools of a run in.

    Raises:
        SandboxError: there is none.
    """
    from collect.hooks.hooks import ELSEWHERE, Hooks  # noqa: PLC0415 - few runs have hooks
    from collect.hooks.interpreter import hidden_for  # noqa: PLC0415 - as above
    from collect.sandbox.backends import backend_of  # noqa: PLC0415 - as above
    from collect.sandbox.client import Sandbox  # noqa: PLC0415 - as above

    profile = SandboxProfile(limits=limits.model_copy(update={"cores": None}))
    async with AsyncExitStack() as stack:
        checks = (check for case in cases for check in case.checks)
        hidden = hidden_for(one.python_hook for one in checks if one.python_hook is not None)
        try:
            sandbox = await Sandbox.open(profile, backend_of(profile, unsafe=is_unsafe), hidden)
        except SandboxError as exc:
            if not hidden:
                raise
            what = f"{exc}; hooks run as `nobody`, who cannot reach {hidden[0]}"
            raise SandboxError(what, ELSEWHERE) from exc
        stack.push_async_callback(sandbox.aclose)
        hooks = await Hooks.open(sandbox, policy)
        stack.push_async_callback(hooks.aclose)
        yield hooks


def _problem(
    cases: Iterable[LoadedCase], policy: SecurityPolicy, limits: SandboxLimits, *, is_unsafe: bool
) -> tuple[str, str] | None:
    """Return why no hook can run here, and what to do, found out by running one."""

    async def found() -> tuple[str, str] | None:
        async with _opened(cases, policy, limits, is_unsafe=is_unsafe) as hooks:
            problem = await hooks.problem()
            return None if problem is None else (problem.what, problem.advice)

    try:
        return asyncio.run(found())
    except SandboxError as exc:
        return str(exc), exc.advice


def _refusal(problem: tuple[str, str], cases: list[LoadedCase], way: str = "") -> Problem:
    what, advice = problem
    ways = (advice, way)
    text = f"python hooks of {_named(cases)} cannot run here: {what}"
    return Problem(None, text, "sandbox", advice="; or ".join(filter(None, ways)))


def _named(cases: list[LoadedCase]) -> str:
    if len(cases) == 1:
        return f"case `{cases[0].case_id}`"
    return f"{counted(len(cases), 'case')}, `{cases[0].case_id}` first"
