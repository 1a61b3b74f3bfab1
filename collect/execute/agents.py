"""What the agents of a run need: looked at before anything is sent, open while trials are made."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from collect.config import LoadedCase, RunInputs
from collect.config.agents import LoadedAgent, agent_fingerprint, load_agent
from collect.config.runners import AGENT_BLOCKS, RUNNERS
from collect.sandbox.base import SandboxError
from schemas.config.run_profile import AgentRunProfile, CommandRunProfile
from schemas.errors import ConfigError, NotResumable, Problem, counted
from schemas.run.config import RunAgent, RunCommands, RunConfig, RunOpenClaw
from schemas.run.layout import AGENTS

if TYPE_CHECKING:
    from collect.runners.agents.place import AgentPlace

Stored = RunOpenClaw | RunCommands


@dataclass(frozen=True, slots=True)
class RunAgents:
    """What the agents of a run are given."""

    blocks: Mapping[str, Stored] = field(default_factory=dict)
    """By the block of the run profile."""
    loaded: Mapping[str, LoadedAgent] = field(default_factory=dict)
    """By agent_id."""


def agents_ready(inputs: RunInputs, *, skip_unevaluable: bool) -> RunInputs:
    """Return inputs that say how their agents run, once these have said their versions.

    Nothing is looked at where no case needs it. With `skip_unevaluable` the cases are left out
    whose agent does not run here.

    Raises:
        ConfigError: a case needs an agent, and none runs here.
    """
    for block in AGENT_BLOCKS:
        inputs = _block_ready(inputs, block, skip_unevaluable=skip_unevaluable)
    return inputs


def _block_ready(inputs: RunInputs, block: str, *, skip_unevaluable: bool) -> RunInputs:
    cases = [case for case in inputs.cases if _is_asked(case, block)]
    profile: AgentRunProfile | None = getattr(inputs.profile, block)
    if not cases or profile is None:
        return inputs
    needed = {name: inputs.loaded_agents[name] for name in _agents_of(inputs, cases)}
    try:
        versions, digest = asyncio.run(_looked_at(block, profile, needed))
    except SandboxError as exc:
        what = f"{exc}; needed by {_named(cases)}"
        if not skip_unevaluable:
            ways = (exc.advice, "--skip-unevaluable leaves these cases out")
            advice = "; or ".join(filter(None, ways))
            raise ConfigError([Problem(inputs.profile_path, what, block, advice=advice)]) from exc
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
    record = _record(inputs, profile, cases, versions, digest)
    return replace(inputs, **{block: record})  # type: ignore[arg-type]


def _agents_of(inputs: RunInputs, cases: Iterable[LoadedCase]) -> list[str]:
    return sorted({inputs.agents[case.case_id] for case in cases})


def _record(
    inputs: RunInputs,
    profile: AgentRunProfile,
    cases: list[LoadedCase],
    versions: Mapping[str, str | None],
    digest: str | None,
) -> Stored:
    is_local = profile.executable == "local"
    facts: dict[str, Any] = {
        "executable": profile.executable,
        "docker_cli": None if is_local else profile.docker_cli,
        "image": profile.image,
        "image_digest": digest,
        "network": profile.network,
        "timeout_seconds": profile.timeout_seconds,
        "turn_timeout_seconds": profile.turn_timeout_seconds,
        "limits": profile.limits,
        "assignments": {case.case_id: inputs.agents[case.case_id] for case in cases},
    }
    names = _agents_of(inputs, cases)
    if isinstance(profile, CommandRunProfile):
        agents = {name: _agent(inputs, name, versions[name]) for name in names}
        return RunCommands(**facts, agents=agents, programs=profile.programs)
    agents = {name: _agent(inputs, name) for name in names}
    return RunOpenClaw(**facts, agents=agents, version=next(iter(versions.values())))


def _agent(inputs: RunInputs, agent_id: str, version: str | None = None) -> RunAgent:
    loaded = inputs.loaded_agents[agent_id]
    return RunAgent(
        fingerprint=inputs.agent_fingerprints[agent_id],
        files={one.relative_path: one.sha256 for one in loaded.workspace},
        program={one.relative_path: one.sha256 for one in loaded.program},
        version=version,
    )


def agents_of(inputs: RunInputs) -> RunAgents:
    """Return what the agents of a new run are given."""
    blocks = {name: one for name in AGENT_BLOCKS if (one := getattr(inputs, name)) is not None}
    needed = {name: inputs.loaded_agents[name] for one in blocks.values() for name in one.agents}
    return RunAgents(blocks, needed)


def stored_agents(config: RunConfig, run_dir: Path, project: Path | None, again: str) -> RunAgents:
    """Return the agents of a run that goes on, once they are known to be the same here.

    Raises:
        NotResumable: an agent, its image or its program is another one by now.
        ConfigError: no agent runs here any more.
    """
    blocks = {name: one for name in AGENT_BLOCKS if (one := getattr(config, name)) is not None}
    loaded: dict[str, LoadedAgent] = {}
    changed = []
    for block, stored in blocks.items():
        for agent_id, one in stored.agents.items():
            if project is None:
                why = "its agents lie in a project, and its suite is in none"
                raise NotResumable(run_dir, why)
            loaded[agent_id] = load_agent(agent_id, project)
            if agent_fingerprint(loaded[agent_id]) != one.fingerprint:
                changed.append(f"agent `{agent_id}`")
        changed += _changed(block, stored, loaded)
    if changed:
        why = (
            f"{', '.join(changed)} changed since it was planned; "
            f"`{again}` starts a new run and takes over what is still the same"
        )
        raise NotResumable(run_dir, why)
    return RunAgents(blocks, loaded)


def _changed(block: str, stored: Stored, loaded: Mapping[str, LoadedAgent]) -> Iterator[str]:
    """Yield what runs otherwise here than it did; raises ConfigError."""
    mine = {agent_id: loaded[agent_id] for agent_id in stored.agents}
    try:
        versions, digest = asyncio.run(_looked_at(block, profile_of(stored), mine))
    except SandboxError as exc:
        raise ConfigError([Problem(None, str(exc), block, advice=exc.advice)]) from exc
    names = set()
    for agent_id, version in versions.items():
        before = stored.version_of(agent_id)
        name = "openclaw" if isinstance(stored, RunOpenClaw) else f"program of agent `{agent_id}`"
        if version != before and name not in names:
            names.add(name)
            yield f"{name} ({before}, now {version})"
    if digest != stored.image_digest:
        yield f"image {stored.image} ({stored.image_digest}, now {digest})"


def profile_of(stored: Stored) -> AgentRunProfile:
    """Return the block of a run profile that a run's agents were started by."""
    facts: dict[str, Any] = {
        "agent_id": next(iter(stored.agents)),
        "executable": stored.executable,
        "image": stored.image,
        "timeout_seconds": stored.timeout_seconds,
        "turn_timeout_seconds": stored.turn_timeout_seconds,
        "docker_cli": "podman" if stored.docker_cli == "podman" else "docker",
        "network": stored.network,
        "limits": stored.limits,
    }
    if isinstance(stored, RunCommands):
        return CommandRunProfile(**facts, programs=stored.programs)
    return AgentRunProfile(**facts)


@asynccontextmanager
async def opened_agents(
    hosts: dict[str, object], agents: RunAgents, run_dir: Path
) -> AsyncIterator[None]:
    """Give a run's agents their place before it is timed, and take it away in the end.

    The workspaces that they begin with lie in the folder of the run.

    Raises:
        ConfigError: what was there a moment ago no longer starts.
    """
    async with AsyncExitStack() as stack:
        for block, stored in agents.blocks.items():
            loaded = {agent_id: agents.loaded[agent_id] for agent_id in stored.agents}
            try:
                place = await _place(
                    block,
                    profile_of(stored),
                    agents=loaded,
                    assignments=stored.assignments,
                    versions={name: stored.version_of(name) for name in loaded},
                    folder=run_dir / AGENTS,
                )
            except SandboxError as exc:
                raise ConfigError([Problem(None, str(exc), block, advice=exc.advice)]) from exc
            stack.push_async_callback(place.aclose)
            for kind in RUNNERS:
                if RUNNERS[kind].block == block:
                    hosts[kind] = place
                    stack.callback(hosts.pop, kind)
        yield


async def _place(block: str, profile: AgentRunProfile, **shared: object) -> AgentPlace:
    opened: AgentPlace = await _module(block).open_place(profile, **shared)
    return opened


def _module(block: str) -> Any:
    """Return the module that knows where the agents of a block run; few runs have agents."""
    return import_module(next(RUNNERS[one].place for one in RUNNERS if RUNNERS[one].block == block))


async def _looked_at(
    block: str, profile: AgentRunProfile, agents: Mapping[str, LoadedAgent]
) -> tuple[dict[str, str | None], str | None]:
    """Return the versions of agents where they run, by agent_id, and the digest of their image."""
    place = await _place(block, profile, agents=agents)
    try:
        versions = await _module(block).ask_versions(place)
        return versions, place.image_digest
    finally:
        await place.aclose()


def _is_asked(case: LoadedCase, block: str) -> bool:
    return case.unavailable is None and RUNNERS[case.runner_type].block == block


def _named(cases: list[LoadedCase]) -> str:
    if len(cases) == 1:
        return f"case `{cases[0].case_id}`"
    return f"{counted(len(cases), 'case')}, `{cases[0].case_id}` first"
