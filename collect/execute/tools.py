"""What the tools of a run need: looked at before anything is sent, open while trials are made."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from collect.config import LoadedCase, RunInputs
from collect.config.tools import needs_sandbox
from collect.plan.fingerprint import tools_part
from collect.runners.tools.base import ToolServices
from collect.runners.tools.toolbox import Toolbox
from collect.sandbox.base import UNLOCKED, SandboxError
from schemas.config.project import LoadedProject
from schemas.config.sandbox import SandboxProfile
from schemas.config.tools import WebSearchSettings
from schemas.errors import ConfigError, Problem, counted
from schemas.run.config import RunSandbox

if TYPE_CHECKING:
    from collect.sandbox.client import Sandbox
    from collect.sandbox.probe import Holds

UNSAFE = "--unsafe-no-sandbox"
IN_NOTHING = f"{UNSAFE}: commands of a model run on this machine, locked in by nothing"


@dataclass(frozen=True, slots=True)
class RunTools:
    """What the tools of a run are given."""

    names: tuple[str, ...] = ()
    """Of the tools that its cases offer."""
    sandbox: RunSandbox | None = None
    search: WebSearchSettings | None = None
    blocked: tuple[str, ...] = ()
    """Phrases of the suite that a search result may not name."""

    def fingerprint(self, case: LoadedCase) -> str | None:
        """Return the hash of the tools of a case, with what they are given."""
        return tools_part(case, self.sandbox, self.search)


def tools_of(
    cases: Iterable[LoadedCase],
    project: LoadedProject,
    sandbox: RunSandbox | None,
    suite: tuple[str, str],
) -> RunTools:
    """Return what the tools of some cases are given; a suite by its id and title."""
    asked = [case for case in cases if case.unavailable is None]
    names = tuple(dict.fromkeys(name for case in asked for name in case.context.llm_probe.tools))
    if "web_search" not in names:
        return RunTools(names, sandbox)
    from collect.runners.tools.blocked import blocked_of  # noqa: PLC0415 - few runs search

    return RunTools(names, sandbox, project.web_search, blocked_of(*suite))


def locked_in(inputs: RunInputs, *, is_unsafe: bool, skip_unevaluable: bool) -> RunInputs:
    """Return inputs that say where commands of their cases are locked in, once that is known.

    Nothing is looked at where no case needs it. With `skip_unevaluable` the cases are left out
    that would need a sandbox where none holds.

    Raises:
        ConfigError: a case needs a sandbox, and none holds here.
    """
    cases = [case for case in inputs.cases if _is_asked(case)]
    if not cases:
        return inputs
    profile = inputs.profile.sandbox
    found = _probed(profile, is_unsafe=is_unsafe)
    warning = (IN_NOTHING,) if is_unsafe else ()
    if found.problem is None:
        sandbox = RunSandbox(
            backend=found.backend,
            image=None if is_unsafe else profile.image,
            image_digest=found.image_digest,
            limits=profile.limits,
        )
        return replace(
            inputs,
            sandbox=sandbox,
            sandbox_version=found.version or found.backend,
            warnings=(*inputs.warnings, *warning),
        )
    what = f"{found.problem}; needed by the tools of {_named(cases)}"
    if not skip_unevaluable:
        ways = (found.advice, "--skip-unevaluable leaves these cases out")
        advice = "; or ".join(filter(None, ways))
        raise ConfigError([Problem(None, what, "sandbox", advice=advice)])
    left_out = {case.case_id for case in cases}
    return replace(
        inputs,
        cases=tuple(
            replace(case, unavailable=found.problem) if case.case_id in left_out else case
            for case in inputs.cases
        ),
        warnings=(
            *inputs.warnings,
            f"{_named(cases)}: skipped, no model is asked: {found.problem}",
        ),
    )


def still_locked_in(
    stored: RunSandbox | None, cases: Iterable[LoadedCase], *, is_unsafe: bool, again: str
) -> RunSandbox | None:
    """Return the sandbox of a run that goes on, once it is known to hold here as well.

    Raises:
        ConfigError: it does not, or a run without one is to go on and nobody says that it may.
    """
    if stored is None or not any(map(_is_asked, cases)):
        return stored
    if is_unsafe != (stored.backend == UNLOCKED):
        what = "locks commands in, as it was planned" if is_unsafe else f"was made with {UNSAFE}"
        advice = f"leave {UNSAFE} out" if is_unsafe else f"`{again} {UNSAFE}` goes on with it"
        raise ConfigError([Problem(None, f"the run {what}", "sandbox", advice=advice)])
    profile = profile_of(stored)
    found = _probed(profile, is_unsafe=is_unsafe)
    if found.problem is not None:
        raise ConfigError([Problem(None, found.problem, "sandbox", advice=found.advice)])
    return stored


def profile_of(sandbox: RunSandbox) -> SandboxProfile:
    """Return the block of a run profile that a run's sandbox was made from."""
    named = {} if sandbox.backend == UNLOCKED else {"backend": sandbox.backend}
    return SandboxProfile.model_validate(
        {**named, "image": sandbox.image, "limits": sandbox.limits.model_dump()}
    )


@asynccontextmanager
async def opened(toolbox: Toolbox, tools: RunTools) -> AsyncIterator[None]:
    """Give a run's tools what they work with before it is timed, and take it away in the end.

    Raises:
        ConfigError: what was there a moment ago no longer starts.
    """
    async with AsyncExitStack() as stack:
        services = ToolServices(search=tools.search, blocked=tools.blocked)
        if tools.sandbox is not None:
            locked = await _sandbox(tools.sandbox)
            stack.push_async_callback(locked.aclose)
            services = replace(services, sandbox=locked, limits=tools.sandbox.limits)
        toolbox.services = services
        stack.push_async_callback(toolbox.aclose)
        for name in tools.names:
            toolbox.open(name)
        yield


async def _sandbox(sandbox: RunSandbox) -> Sandbox:
    from collect.sandbox.backends import backend_of  # noqa: PLC0415 - few runs need a sandbox
    from collect.sandbox.client import Sandbox  # noqa: PLC0415 - as above

    profile = profile_of(sandbox)
    try:
        return await Sandbox.open(profile, backend_of(profile, unsafe=sandbox.backend == UNLOCKED))
    except SandboxError as exc:
        raise ConfigError([Problem(None, str(exc), "sandbox", advice=exc.advice)]) from exc


def _probed(profile: SandboxProfile, *, is_unsafe: bool) -> Holds:
    from collect.sandbox.backends import backend_of  # noqa: PLC0415 - few runs need a sandbox
    from collect.sandbox.probe import Holds, probe  # noqa: PLC0415 - as above

    backend = backend_of(profile, unsafe=is_unsafe)
    return Holds(UNLOCKED, backend.version()) if is_unsafe else asyncio.run(probe(profile, backend))


def _is_asked(case: LoadedCase) -> bool:
    return case.unavailable is None and needs_sandbox(case)


def _named(cases: list[LoadedCase]) -> str:
    if len(cases) == 1:
        return f"case `{cases[0].case_id}`"
    return f"{counted(len(cases), 'case')}, `{cases[0].case_id}` first"
