"""The folder of what a trial has left: its files, workspace.json, workspace.diff."""

from __future__ import annotations

import errno
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from collect.workspace.diff import changes, unified
from collect.workspace.snapshot import Budget, Snapshot
from schemas.run.layout import SNAPSHOT, SNAPSHOT_DIFF, SNAPSHOT_RECORD
from schemas.run.workspace import Workspace, WorkspaceEntry, unspelled

MAX_DIFF_BYTES = 1_000_000


class Before(NamedTuple):
    """What a workspace began with."""

    entries: tuple[WorkspaceEntry, ...]
    folder: Path | None
    """Where these files lie; None: there are none."""


NOTHING = Before((), None)


def keep_workspace(
    workspace: Path,
    target: Path,
    budget: Budget,
    *,
    elsewhere: Mapping[str, Path] | None = None,
    named: Sequence[str] = (),
    before: Before = NOTHING,
) -> Workspace | None:
    """Copy and list what a trial has left, in a new folder.

    Nothing runs any more in what is copied. `target` gets `workspace/`, where there is anything to
    copy, a folder for each one of `elsewhere` of which something is named and there, workspace.json
    and workspace.diff.

    Args:
        workspace: folder of the trial's files.
        target: the new folder.
        budget: of all copies together; it is used up.
        elsewhere: other folders of the trial by the paths that commands see; their own names are
            those of the copies.
        named: absolute paths, as commands see them; one in no folder of `elsewhere` is passed over.
        before: what the workspace began with, against which it has changed.

    Returns:
        The record; None where nothing is there, and then no folder is made.

    Raises:
        OSError: the copy cannot be written, or is there already.
    """
    if target.exists():
        raise FileExistsError(errno.EEXIST, "is there already", str(target))
    snapshot = Snapshot(target / SNAPSHOT, budget)
    snapshot.take(workspace)
    entries = list(snapshot.entries)
    for place, folder in (elsewhere or {}).items():
        inner = [name[len(place) + 1 :] for name in named if f"{name}/".startswith(f"{place}/")]
        if inner:
            other = Snapshot(target / folder.name, budget, prefix=f"{place}/")
            other.take_named(folder, [unspelled(name) for name in sorted(set(inner))])
            entries += other.entries
    found = changes(before.entries, snapshot.entries)
    if not entries and not found and not budget.n_unlisted:
        return None
    target.mkdir(parents=True, exist_ok=True)
    text, truncated = unified(found, before.folder, target / SNAPSHOT, MAX_DIFF_BYTES)
    record = Workspace(
        entries=tuple(sorted(entries, key=lambda entry: entry.path)),
        changes=found,
        is_complete=not budget.n_unlisted and all(one.left_out is None for one in entries),
        n_unlisted=budget.n_unlisted,
        diff_truncated=truncated,
    )
    (target / SNAPSHOT_DIFF).write_bytes(text.encode())
    (target / SNAPSHOT_RECORD).write_bytes(record.model_dump_json(indent=1).encode() + b"\n")
    return record


def free_folder(target: Path) -> Path:
    """Return a name that nothing has: a trial that is asked again has files of its own."""
    if not target.exists():
        return target
    number = 2
    while (other := target.with_name(f"{target.name}-{number}")).exists():
        number += 1
    return other
