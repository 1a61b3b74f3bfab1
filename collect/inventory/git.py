"""Which commit the configs of a run are from, and whether they are what was committed.

A repository may be somebody else's: git is kept from running what its configuration names (hooks,
a monitor of files, filters) and from fetching what it lacks.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from collect.config import RunInputs
from collect.inventory.subprocesses import Output, output_of
from schemas.errors import printable
from schemas.redact import redact
from schemas.run.inventory import CommandError, ConfigCommit

LIMIT_S = 2.0
MOST_NAMED = 20
"""Changed files that are named."""

SETTINGS = {"core.fsmonitor": "false", "core.hooksPath": "/dev/null"}
HARMLESS = {
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_ALLOW_PROTOCOL": "none",
}
FILTERS = r"^filter\..*\.(clean|smudge|process|required)$"
"""Commands that git runs on the content of files."""

OWN = frozenset({"local", "worktree"})
"""Where settings of the repository come from; the others are the user's."""

STATUS = (
    "status",
    "--porcelain=v2",
    "--branch",
    "-z",
    "--no-renames",
    "--ignored=traditional",
    "--untracked-files=normal",
    "--ignore-submodules=all",
)


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
        changed=tuple(sorted(changed)[:MOST_NAMED]),
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
    return await output_of(*command, timeout_s=LIMIT_S, environment=environment)


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
