"""What an agent's workspace begins with: its files, placeholders, and its prompt (D-E4, D-E12).

Made once, in the folder of the run, and copied for each trial; a file that is no longer what the
run was planned with is refused.
"""

from __future__ import annotations

import hashlib
import os
import shutil
from dataclasses import dataclass
from pathlib import Path

from collect.config.agents import MAX_FILE_BYTES, PROGRAM, LoadedAgent, WorkspaceEntry
from collect.workspace.record import Before
from collect.workspace.snapshot import Budget, Snapshot
from schemas.config.agent import Agent, placeholder
from schemas.errors import ConfigError, Problem
from schemas.io.yaml import read_bytes

PROMPT_FILE = "AGENTS.md"
"""On top of it stands the prompt of an OpenClaw agent: openclaw.json has no key for it."""


@dataclass(frozen=True, slots=True)
class Template:
    """The workspace of an agent before anything ran."""

    before: Before

    @property
    def folder(self) -> Path:
        """Where its files lie."""
        assert self.before.folder is not None
        return self.before.folder

    def copy_to(self, workspace: Path) -> None:
        """Copy the files into the empty workspace of a trial, whose owner they get."""
        owner = workspace.stat()
        shutil.copytree(self.folder, workspace, dirs_exist_ok=True)
        if os.geteuid() == 0:
            give_to(workspace, owner)


def give_to(folder: Path, owner: os.stat_result) -> None:
    """Give all that lies in a folder of ours to a user; nothing runs in it yet."""
    for path in folder.rglob("*"):
        os.chown(path, owner.st_uid, owner.st_gid, follow_symlinks=False)


def make_template(loaded: LoadedAgent, target: Path) -> Template:
    """Make the workspace of an agent in a folder; what was there is replaced.

    Raises:
        ConfigError: a file is not what it was when the run was planned.
    """
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir(parents=True)
    for entry in loaded.workspace:
        _write(target / entry.relative_path, _content(loaded, entry))
    if prompt := prompt_of(loaded.agent):
        path = target / PROMPT_FILE
        rest = f"\n\n{path.read_text('utf-8')}" if path.exists() else "\n"
        path.write_text(f"{prompt.rstrip()}{rest}", encoding="utf-8")
    everything = Budget(size=1 << 40, files=1 << 20, file_size=1 << 40)
    listed = Snapshot(target.with_name(f"{target.name}.listed"), everything)
    listed.take(target)
    shutil.rmtree(listed.target, ignore_errors=True)
    return Template(Before(listed.entries, target))


def copy_program(loaded: LoadedAgent, target: Path) -> Path:
    """Copy the folder with an agent's own program, and return its absolute path.

    Raises:
        ConfigError: a file is not what it was when the run was planned.
    """
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir(parents=True)
    for entry in loaded.program:
        path = target / entry.relative_path
        _write(path, _read_again(loaded, PROGRAM, entry))
        path.chmod(0o755)
    return target.absolute()


def prompt_of(agent: Agent) -> str:
    """Return what stands on top of `AGENTS.md`; empty: nothing of its own."""
    prompt = agent.openclaw.agent.get("prompt")
    return prompt if isinstance(prompt, str) else ""


def _write(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)


def _content(loaded: LoadedAgent, entry: WorkspaceEntry) -> bytes:
    if entry.source == "placeholder":
        return placeholder(entry.relative_path).encode()
    return _read_again(loaded, "workspace", entry)


def _read_again(loaded: LoadedAgent, folder: str, entry: WorkspaceEntry) -> bytes:
    path = loaded.path.parent / folder / entry.relative_path
    raw = read_bytes(path, MAX_FILE_BYTES)
    if hashlib.sha256(raw).hexdigest() != entry.sha256:
        what = f"changed after the run was planned with agent `{loaded.agent.agent_id}`"
        raise ConfigError([Problem(path, what, advice="start the run again")])
    return raw
