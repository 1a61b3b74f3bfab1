"""Which commit the configs of a run are from, and whether they are what was committed.

A repository may be somebody else's: git is kept from running what its configuration names (hooks,
a monitor of files, filters) and from fetching what it lacks. `output_of` also runs the other small
commands whose output a run records, such as `free -h`.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import signal
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from collect.config import RunInputs
from collect.config.endpoints import without_secrets
from schemas.errors import printable
from schemas.redact import redact
from schemas.run.inventory import CommandError, ConfigCommit

OLLAMA_STORE = os.path.expanduser("~/.ollama")  # noqa: PTH111 - given to `du` as text
MAX_COMMAND_THREADS = 32

REAP_S = 2.0
"""How long a command that was killed may take to go."""

NO_MORE: Mapping[str, str | None] = {}

GIT_TIMEOUT_S = 2.0
"""Of one call of git."""

MAX_NAMED_FILES = 20
"""Changed files that are named."""

SETTINGS = {"core.fsmonitor": "false", "core.hooksPath": "/dev/null"}
HARMLESS = {
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_ALLOW_PROTOCOL": "none",
}
"""What keeps git from running or fetching anything of a repository."""

FILTERS = r"^filter\..*\.(clean|smudge|process|required)$"
"""Commands that git runs on the content of files."""

OWN = frozenset({"local", "worktree"})
"""Where settings of the repository come from; the others are the user's."""

STATUS = (
    *("status", "--porcelain=v2", "--branch", "-z", "--no-renames", "--ignored=traditional"),
    *("--untracked-files=normal", "--ignore-submodules=all"),
)


@dataclass(frozen=True)
class Output:
    """What a command printed, or why it printed nothing."""

    text: str
    error: str | None = None

    @property
    def first_line(self) -> str | None:
        """Return the first line that is not blank; None when there is none, or it failed."""
        lines = (line.strip() for line in self.text.splitlines())
        return None if self.error is not None else next((line for line in lines if line), None)


async def output_of(
    *command: str,
    timeout_s: float = 10.0,
    niceness: int = 0,
    environment: Mapping[str, str | None] = NO_MORE,
) -> Output:
    """Return a command's standard output; never raises for what the command does.

    It gets no keys and no terminal. When it takes too long, or nobody waits any more, it is ended
    with all that it started.

    Args:
        command: its name, looked up on PATH, and its arguments.
        timeout_s: seconds it may take.
        niceness: how far it stands back for other processes.
        environment: variables it gets beside ours; None: one of ours that it does not get.
    """
    if shutil.which(command[0]) is None:
        return Output("", f"{command[0]} is not installed")
    try:
        process = _start(command, environment)
    except OSError as exc:
        return Output("", f"{command[0]} cannot be run: {exc.strerror}")
    if niceness:
        with contextlib.suppress(OSError):  # it may be over already
            os.setpriority(os.PRIO_PROCESS, process.pid, niceness)
    reading = asyncio.get_running_loop().run_in_executor(_readers(), _read, process, timeout_s)
    try:
        return await asyncio.shield(reading)
    except asyncio.CancelledError:
        _kill(process)
        await reading
        raise


def _start(
    command: Sequence[str], environment: Mapping[str, str | None]
) -> subprocess.Popen[bytes]:
    """Start a process here, not by way of the loop: uvloop takes ten times as long, and blocks."""
    variables = without_secrets() | {"LC_ALL": "C"} | dict(environment)
    return subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={name: value for name, value in variables.items() if value is not None},
        start_new_session=True,
    )


@cache
def _readers() -> ThreadPoolExecutor:
    """Return threads of their own: those of the loop are for the run's files."""
    return ThreadPoolExecutor(MAX_COMMAND_THREADS, thread_name_prefix="commands")


def end_readers() -> None:
    """End the threads that wait for commands; later commands have others."""
    if _readers.cache_info().currsize:
        _readers().shutdown()
        _readers.cache_clear()


def _read(process: subprocess.Popen[bytes], timeout_s: float) -> Output:
    """Wait for a process, and end it when that takes too long."""
    try:
        out, err = process.communicate(timeout=timeout_s)
    except subprocess.TimeoutExpired:
        _kill(process)
        with contextlib.suppress(subprocess.TimeoutExpired):  # a dead network drive holds it
            process.wait(REAP_S)
        for pipe in (process.stdout, process.stderr):
            if pipe is not None:
                pipe.close()
        return Output("", f"no answer within {timeout_s:g} s")
    text = out.decode(errors="replace")
    if process.returncode != 0:
        said = err.decode(errors="replace").strip() or f"exit code {process.returncode}"
        return Output(text, said)
    return Output(text)


def _kill(process: subprocess.Popen[bytes]) -> None:
    """End a process with its whole session."""
    if process.poll() is None:
        with contextlib.suppress(OSError):
            os.killpg(process.pid, signal.SIGKILL)


@dataclass(frozen=True)
class _Read:
    """What a run was read from, as absolute paths without links on the way to it."""

    files: frozenset[str]
    folders: frozenset[str]
    """Of cases; all below them may be part of a case."""
    where: tuple[str, ...]
    """Few paths with all of these below them."""

    @classmethod
    def of(cls, inputs: RunInputs) -> _Read:
        folders = {str(case.folder.absolute()) for case in inputs.cases if case.folder is not None}
        files = {os.path.abspath(path) for path in inputs.config_files}  # noqa: PTH100 - many, fast
        if not folders:
            real = frozenset(map(os.path.realpath, files))
            return cls(real, frozenset(), tuple(sorted(real)))
        common = os.path.commonpath(folders)
        found = os.path.realpath(common)
        inside = {path for path in files if path.startswith(f"{common}/")}
        others = frozenset(map(os.path.realpath, files - inside))
        moved = frozenset(found + path.removeprefix(common) for path in inside)
        cases = frozenset(found + path.removeprefix(common) for path in folders)
        return cls(others | moved, cases, (found, *sorted(others)))

    def below(self, root: str) -> _Read:
        """Return what of it lies in a repository."""
        prefix = root.rstrip("/") + "/"
        return _Read(
            frozenset(path for path in self.files if path.startswith(prefix)),
            frozenset(path for path in self.folders if (path + "/").startswith(prefix)),
            tuple(path for path in self.where if (path + "/").startswith(prefix)),
        )

    def holds(self, path: str, *, ignored: bool) -> bool:
        """Return whether a changed path is part of it; git names a whole folder with a `/`."""
        if path.endswith("/") and any(file.startswith(path) for file in self.files):
            return True
        parents = () if ignored else map(str, Path(path).parents)
        return path in self.files or any(parent in self.folders for parent in parents)


async def config_commit(inputs: RunInputs) -> ConfigCommit | CommandError | None:
    """Return the state of the suite's repository; None when it lies in none."""
    at = str(inputs.suite_path.absolute().parent)
    top = await _git(at, "rev-parse", "--show-toplevel")
    if top.error is not None:
        nowhere = "not a git repository" in top.error
        return None if nowhere else CommandError(error=printable(redact(top.error))[:300])
    root = top.text.removesuffix("\n")
    read = _Read.of(inputs)
    mine = read.below(root)
    settings = SETTINGS | await _no_filters(root)
    status = await _git(root, *STATUS, "--", *mine.where, settings=settings)
    if status.error is not None:
        return CommandError(error=printable(redact(status.error))[:300])
    facts, changed = {}, []
    for kind, text in _entries(status.text):
        if kind == "#":
            name, _, value = text.partition(" ")
            facts[name] = value
        elif mine.holds(f"{root}/{text}", ignored=kind == "!"):
            changed.append(printable(redact(text)))
    commit, branch = facts.get("branch.oid"), facts.get("branch.head")
    return ConfigCommit(
        commit=None if commit == "(initial)" else commit,
        branch=None if branch is None or branch == "(detached)" else redact(branch),
        is_dirty=bool(changed),
        changed=tuple(sorted(changed)[:MAX_NAMED_FILES]),
        n_outside=len(read.files) - len(mine.files),
    )


async def _git(folder: str, *arguments: str, settings: Mapping[str, str] = SETTINGS) -> Output:
    """Run git with settings of ours, and without those that this process was started with."""
    environment: dict[str, str | None] = {
        name: None for name in os.environ if name.startswith("GIT_")
    }
    environment |= HARMLESS | {"GIT_CONFIG_COUNT": str(len(settings))}
    for number, (name, value) in enumerate(settings.items()):  # a name may hold a `=`
        environment |= {f"GIT_CONFIG_KEY_{number}": name, f"GIT_CONFIG_VALUE_{number}": value}
    command = ("git", "--no-pager", "-C", folder, *arguments)
    return await output_of(*command, timeout_s=GIT_TIMEOUT_S, environment=environment)


async def _no_filters(root: str) -> dict[str, str]:
    """Return settings that turn off the filters which the repository itself brings along."""
    asked = ("config", "--show-scope", "--includes", "--name-only", "-z", "--get-regexp", FILTERS)
    said = (await _git(root, *asked)).text.split("\0")
    own = [name for scope, name in zip(said[::2], said[1::2], strict=False) if scope in OWN]
    return {name: "false" if name.endswith(".required") else "" for name in own}


def _entries(text: str) -> Iterator[tuple[str, str]]:
    """Yield the kind and the path of each entry; the facts of the branch are of kind `#`."""
    for entry in text.split("\0"):
        kind, _, rest = entry.partition(" ")
        if kind in {"#", "?", "!"}:
            yield kind, rest
        elif kind in {"1", "u"}:  # fields that differ in number, then the path
            yield kind, rest.split(" ", 7 if kind == "1" else 9)[-1]
