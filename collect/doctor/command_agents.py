"""Checks of run profiles with an `agent:` block: is the program of its agent there, does it run?

In an image a container is started that says the version of the agent, as its agent.yaml asks for
it; on this machine the command is looked for where the sandbox will show it.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from collect.config.agents import load_agent
from collect.doctor.context import Details, Finding
from collect.doctor.probe import run_in_thread
from collect.inventory.image_look import look_inside
from collect.sandbox.base import ENVIRONMENT, SandboxError
from collect.sandbox.engine import Engine, NoSuchImage
from schemas.config.run_profile import CommandRunProfile
from schemas.errors import ConfigError

LOOK_S = 8.0
"""Of a container that says a version; a check ends after ten."""

OWN = "{program}"
"""Begins what the agent brings itself."""


async def command_finding(subject: str, block: CommandRunProfile, project: Path) -> Finding:
    """Return whether the agent of a profile can be started.

    Args:
        subject: name of the profile.
        block: of the profile.
        project: with the agents.
    """
    try:
        command = load_agent(block.agent_id, project).agent.command
    except ConfigError as exc:
        return Finding(subject, "fail", f"agent `{block.agent_id}`: {exc.problems[0]}")
    if command is None:
        text = f"agent `{block.agent_id}` is one of OpenClaw, and `agent:` is for command cases"
        return Finding(subject, "fail", text, "say `openclaw:` in the run profile")
    argv = command.version or command.argv[:1]
    if block.executable == "local":
        return _local(subject, block, argv[0])
    return await run_in_thread(lambda: _container(subject, block, argv, bool(command.version)))


def _local(subject: str, block: CommandRunProfile, name: str) -> Finding:
    folders = []
    for one in block.programs:
        path = Path(one).expanduser()
        if not path.exists():
            text = f"`programs` names {one}, and nothing is there"
            return Finding(subject, "fail", text, "install it, or take it out of the run profile")
        folders += [path, path / "bin", path / ".bin"] if path.is_dir() else [path.parent]
    where = os.pathsep.join([*map(str, folders), ENVIRONMENT["PATH"]])
    if name.startswith(OWN):
        return Finding(subject, "ok", f"agent `{block.agent_id}` brings its program, run in bwrap")
    if (found := shutil.which(name, path=where)) is not None:
        text = f"`{name}` of agent `{block.agent_id}` is {found}, run in bwrap"
        return Finding(subject, "ok", text, details={"path": found})
    text = f"`{name}` of agent `{block.agent_id}` is not on PATH inside"
    elsewhere = shutil.which(name)
    advice = (
        f"it is {elsewhere}: name its folder" if elsewhere else "install it, and name its folder"
    )
    return Finding(subject, "fail", text, f"{advice} in `agent.programs` of the run profile")


def _container(
    subject: str, block: CommandRunProfile, argv: tuple[str, ...], is_version: bool
) -> Finding:
    client, image = block.docker_cli, block.image
    assert image is not None  # else the agent runs here
    details: Details = {"client": client, "image": image}
    engine = Engine(client, image, block.limits)
    has_own = any(OWN in word for word in argv)
    asked = ("true",) if has_own else argv if is_version else ("command", "-v", argv[0])
    line = asked if is_version and not has_own else ("/bin/sh", "-c", " ".join(asked))
    try:
        details |= {"engine": engine.number, "digest": engine.found.digest}
        look = look_inside(engine, *line, timeout_s=LOOK_S)
    except NoSuchImage as exc:
        advice = exc.advice or f"{client} pull {image}"
        return Finding(subject, "fail", str(exc), advice, details)
    except SandboxError as exc:
        details |= {"error": str(exc)}
        advice = exc.advice or f"try it: {client} run --rm {image} {' '.join(asked)}"
        return Finding(subject, "fail", f"no container starts: {exc}", advice, details)
    said = (look.stdout.strip() or look.stderr.strip()).partition("\n")[0]
    details |= {"wall_ms": look.wall_ms, "version": said if is_version else ""}
    if look.exit_code != 0:
        text = f"`{' '.join(argv)}` in {image} ended with exit code {look.exit_code}: {said}"
        return Finding(subject, "fail", text, "another image, or another command line", details)
    what = f"{said}, " if said and is_version else ""
    text = (
        f"{what}agent `{block.agent_id}` answers in {look.wall_ms} ms in a container of {client} "
        f"{engine.number}: {engine.found.digest}"
    )
    return Finding(subject, "ok", text, details=details)
