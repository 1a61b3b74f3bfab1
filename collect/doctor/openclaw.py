"""Checks of run profiles that say where agents run: would a container of their image start?

The engine is asked, the image looked up, and a container of it started that says the version of
openclaw: what is wrong is told by what fails. Nothing is pulled.
"""

from __future__ import annotations

import asyncio
import re
import shutil
from collections.abc import Mapping
from pathlib import Path

from collect.config.project_files import find_project
from collect.config.runners import AGENT_BLOCKS, RUNNERS
from collect.config.validate import parsed
from collect.doctor.command_agents import command_finding
from collect.doctor.context import Details, Finding, Scene, and_more
from collect.doctor.probe import run_in_thread
from collect.doctor.tools import EMPTY, OLD_NODE, PLACEHOLDER
from collect.inventory.git import output_of
from collect.inventory.image_look import look_inside
from collect.sandbox.base import SandboxError
from collect.sandbox.engine import Engine, NoSuchImage
from schemas.config.run_profile import AgentRunProfile, RunProfile
from schemas.errors import ConfigError, display_path
from schemas.output.doctor import State

LOOK_S = 8.0
"""Of a container that says its version; a check ends after ten."""

VERSION = re.compile(r"\d+\.\d+\.\d+(?:-[0-9A-Za-z.-]+)?")
OWN_IMAGE = re.compile(rf"localhost/openclaw:({VERSION.pattern})")

INSTALL = "npm install -g openclaw@VERSION, with a Node that is new enough for it"
BUILD = "python -m collect.runners.openclaw.image"


async def check_profiles(scene: Scene) -> list[Finding]:
    """Return a finding for each block of agents in a run profile of the project.

    A failure only where a case that was looked at needs it.
    """
    users = {
        block: [
            case.case_id
            for suite in scene.suites
            for case in suite.cases
            if RUNNERS[case.runner_type].block == block
        ]
        for block in AGENT_BLOCKS
    }
    project = find_project(scene.suites[0].path if scene.suites else Path.cwd())
    if project is None:
        return []
    paths = sorted((project / "configs" / "run_profiles").glob("*.yaml"))
    found = await asyncio.gather(*(_profile(path, project, users) for path in paths))
    return [one for findings in found for one in findings]


async def _profile(path: Path, project: Path, users: Mapping[str, list[str]]) -> list[Finding]:
    try:
        _, profile = parsed(RunProfile, "run_profile_id", path)
    except ConfigError as exc:
        advice = f"collect validate {display_path(path)} shows every problem"
        return [Finding(path.stem, "warn", f"does not load: {exc.problems[0]}", advice)]
    findings = []
    if profile.openclaw is not None:
        findings.append(_weighed(await _openclaw(path.stem, profile.openclaw), users["openclaw"]))
    if profile.agent is not None:
        finding = await command_finding(path.stem, profile.agent, project)
        findings.append(_weighed(finding, users["agent"]))
    return findings


def _weighed(finding: Finding, users: list[str]) -> Finding:
    """Return a finding that fails only where a case needs what it is about."""
    if finding.state != "fail":
        return finding
    state: State = "fail" if users else "warn"
    needed = f"needed by {and_more(users)}" if users else "no case needs it yet"
    text = f"{finding.text}; {needed}"
    return Finding(finding.subject, state, text, finding.advice, finding.details)


async def _openclaw(subject: str, block: AgentRunProfile) -> Finding:
    if block.executable == "local":
        return await _local(subject)
    return await run_in_thread(lambda: _container(subject, block))


async def _local(subject: str) -> Finding:
    """Return whether the command is installed and runs; bwrap has a finding of its own."""
    missing = [name for name in ("node", "openclaw") if shutil.which(name) is None]
    if missing:
        text = f"`executable: local`, and {' and '.join(missing)} is not on PATH"
        return Finding(subject, "fail", text, INSTALL)
    out = await output_of("openclaw", "--version", timeout_s=LOOK_S)
    version = VERSION.search(out.text)
    if out.error is not None or version is None or version.group() == PLACEHOLDER:
        text = f"the installed openclaw says no version: {out.error or EMPTY}"
        return Finding(subject, "fail", text, INSTALL)
    text = f"the installed openclaw {version.group()} answers"
    return Finding(subject, "ok", text, details={"version": version.group()})


def _container(subject: str, block: AgentRunProfile) -> Finding:
    """Return what came of a container of the image that a profile names."""
    client, image = block.docker_cli, block.image
    assert image is not None  # else the agent is not run in a container
    details: Details = {"client": client, "image": image}
    engine = Engine(client, image, block.limits)
    try:
        details |= {"engine": engine.number, "digest": engine.found.digest}
        look = look_inside(engine, "openclaw", "--version", timeout_s=LOOK_S)
    except NoSuchImage as exc:
        return Finding(subject, "fail", str(exc), _getting(client, image, exc.advice), details)
    except SandboxError as exc:
        details |= {"error": str(exc)}
        advice = exc.advice or f"try it: {client} run --rm {image} openclaw --version"
        return Finding(subject, "fail", f"no container starts: {exc}", advice, details)
    said = (look.stdout.strip() or look.stderr.strip()).partition("\n")[0]
    version = VERSION.search(look.stdout)
    details |= {"wall_ms": look.wall_ms, "version": version.group() if version else ""}
    if version is None or look.exit_code != 0:
        why = "the Node of the image is too old" if OLD_NODE in said else "says no version"
        text = f"openclaw in {image}: {why} (exit code {look.exit_code}): {said}"
        return Finding(subject, "fail", text, _another(client), details)
    if version.group() == PLACEHOLDER:
        return Finding(subject, "fail", f"openclaw in {image}: {EMPTY}", _another(client), details)
    text = (
        f"openclaw {version.group()} answers in {look.wall_ms} ms in a container of {client} "
        f"{engine.number}: {engine.found.digest}"
    )
    return Finding(subject, "ok", text, details=details)


def _getting(client: str, image: str, pull: str) -> str:
    """Return how an image that is not here is had: ours are in no registry."""
    own = OWN_IMAGE.fullmatch(image)
    if own is not None:
        return f"{BUILD} {own.group(1)}{_for(client)}"
    if image.startswith("localhost/"):
        return f"{BUILD} VERSION --name {image}{_for(client)}"
    return pull


def _another(client: str) -> str:
    return f"name another image, such as one made by {BUILD} 2026.5.28{_for(client)}"


def _for(client: str) -> str:
    return "" if client == "podman" else f" --docker-cli {client}"
