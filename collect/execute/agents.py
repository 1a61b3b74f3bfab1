"""What the agents of a run need: looked at before anything is sent, open while trials are made."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from collect.config import LoadedCase, RunInputs
from collect.config.agents import LoadedAgent, agent_fingerprint, load_agent
from collect.sandbox.base import SandboxError
from schemas.config.run_profile import OpenClawRunProfile
from schemas.errors import ConfigError, NotResumable, Problem, counted
from schemas.run.config import RunAgent, RunOpenClaw
from schemas.run.layout import AGENTS

if TYPE_CHECKING:
    from collect.runners.openclaw.host import OpenClawHost

OPENCLAW = "openclaw"


@dataclass(frozen=True, slots=True)
class RunAgents:
    """What the agents of a run are given."""

    openclaw: RunOpenClaw | None = None
    loaded: Mapping[str, LoadedAgent] = field(default_factory=dict)
    """By agent_id."""


def agents_ready(inputs: RunInputs, *, skip_unevaluable: bool) -> RunInputs:
    """Return inputs that say how their agents run, once one of them has said its version.

    Nothing is looked at where no case needs it. With `skip_unevaluable` the cases are left out
    whose agent does not run here.

    Raises:
        ConfigError: a case needs an agent, and none runs here.
    """
    cases = [case for case in inputs.cases if _is_asked(case)]
    profile = inputs.profile.openclaw
    if not cases or profile is None:
        return inputs
    try:
        version, digest = asyncio.run(_looked_at(profile))
    except SandboxError as exc:
        what = f"{exc}; needed by {_named(cases)}"
        if not skip_unevaluable:
            ways = (exc.advice, "--skip-unevaluable leaves these cases out")
            advice = "; or ".join(filter(None, ways))
            raise ConfigError(
                [Problem(inputs.profile_path, what, OPENCLAW, advice=advice)]
            ) from exc
        left_out = {case.case_id for case in cases}
        why = f"{_named(cases)}: skipped, no agent is started: {exc}"
        return replace(
            inputs,
            cases=tuple(
                replace(case, unavailable=str(exc)) if case.case_id in left_out else case
                for case in inputs.cases
            ),
            warnings=(*inputs.warnings, why),
        )
    return replace(inputs, openclaw=_record(inputs, profile, cases, version, digest))


def _record(
    inputs: RunInputs,
    profile: OpenClawRunProfile,
    cases: list[LoadedCase],
    version: str,
    digest: str | None,
) -> RunOpenClaw:
    assignments = {case.case_id: inputs.agents[case.case_id] for case in cases}
    agents = {
        agent_id: RunAgent(
            fingerprint=inputs.agent_fingerprints[agent_id],
            files={
                one.relative_path: one.sha256 for one in inputs.loaded_agents[agent_id].workspace
            },
        )
        for agent_id in sorted(set(assignments.values()))
    }
    is_local = profile.executable == "local"
    return RunOpenClaw(
        executable=profile.executable,
        docker_cli=None if is_local else profile.docker_cli,
        image=profile.image,
        image_digest=digest,
        version=version,
        network=profile.network,
        timeout_seconds=profile.timeout_seconds,
        turn_timeout_seconds=profile.turn_timeout_seconds,
        limits=profile.limits,
        agents=agents,
        assignments=assignments,
    )


def agents_of(inputs: RunInputs) -> RunAgents:
    """Return what the agents of a new run are given."""
    if inputs.openclaw is None:
        return RunAgents()
    needed = {name: inputs.loaded_agents[name] for name in inputs.openclaw.agents}
    return RunAgents(inputs.openclaw, needed)


def stored_agents(
    stored: RunOpenClaw | None, run_dir: Path, project: Path | None, again: str
) -> RunAgents:
    """Return the agents of a run that goes on, once they are known to be the same here.

    Raises:
        NotResumable: an agent, the image or openclaw itself is another one by now.
        ConfigError: no agent runs here any more.
    """
    if stored is None:
        return RunAgents()
    loaded: dict[str, LoadedAgent] = {}
    changed = []
    for agent_id, one in stored.agents.items():
        if project is None:
            raise NotResumable(run_dir, "its agents lie in a project, and its suite is in none")
        loaded[agent_id] = load_agent(agent_id, project)
        if agent_fingerprint(loaded[agent_id]) != one.fingerprint:
            changed.append(f"agent `{agent_id}`")
    try:
        version, digest = asyncio.run(_looked_at(profile_of(stored)))
    except SandboxError as exc:
        raise ConfigError([Problem(None, str(exc), OPENCLAW, advice=exc.advice)]) from exc
    if version != stored.version:
        changed.append(f"openclaw ({stored.version}, now {version})")
    if digest != stored.image_digest:
        changed.append(f"image {stored.image} ({stored.image_digest}, now {digest})")
    if changed:
        why = (
            f"{', '.join(changed)} changed since it was planned; "
            f"`{again}` starts a new run and takes over what is still the same"
        )
        raise NotResumable(run_dir, why)
    return RunAgents(stored, loaded)


def profile_of(stored: RunOpenClaw) -> OpenClawRunProfile:
    """Return the block of a run profile that a run's agents were started by."""
    return OpenClawRunProfile(
        agent_id=next(iter(stored.agents)),
        executable=stored.executable,
        image=stored.image,
        timeout_seconds=stored.timeout_seconds,
        turn_timeout_seconds=stored.turn_timeout_seconds,
        docker_cli="podman" if stored.docker_cli == "podman" else "docker",
        network=stored.network,
        limits=stored.limits,
    )


@asynccontextmanager
async def opened_agents(
    hosts: dict[str, object], agents: RunAgents, run_dir: Path
) -> AsyncIterator[None]:
    """Give a run's agents their place before it is timed, and take it away in the end.

    The workspaces that they begin with lie in the folder of the run.

    Raises:
        ConfigError: what was there a moment ago no longer starts.
    """
    if agents.openclaw is None:
        yield
        return
    stored = agents.openclaw
    try:
        folder = run_dir / AGENTS
        host = await _host(profile_of(stored), agents.loaded, stored, folder)
    except SandboxError as exc:
        raise ConfigError([Problem(None, str(exc), OPENCLAW, advice=exc.advice)]) from exc
    hosts[OPENCLAW] = host
    try:
        yield
    finally:
        del hosts[OPENCLAW]
        await host.aclose()


async def _host(
    profile: OpenClawRunProfile,
    loaded: Mapping[str, LoadedAgent],
    stored: RunOpenClaw | None = None,
    folder: Path | None = None,
) -> OpenClawHost:
    from collect.runners.openclaw.host import OpenClawHost  # noqa: PLC0415 - few runs have agents

    assignments = {} if stored is None else stored.assignments
    version = "" if stored is None else stored.version
    return await OpenClawHost.open(profile, loaded, assignments, version, folder)


async def _looked_at(profile: OpenClawRunProfile) -> tuple[str, str | None]:
    """Return the version of openclaw where it runs, and the digest of its image."""
    host = await _host(profile, {})
    try:
        return await host.ask_version(), host.image_digest
    finally:
        await host.aclose()


def _is_asked(case: LoadedCase) -> bool:
    return case.unavailable is None and case.runner_type == OPENCLAW


def _named(cases: list[LoadedCase]) -> str:
    if len(cases) == 1:
        return f"case `{cases[0].case_id}`"
    return f"{counted(len(cases), 'case')}, `{cases[0].case_id}` first"
