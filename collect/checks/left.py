"""What a trial has left for its checks: a text, calls, files, and what changed among these.

A path is looked up in the trial's workspace first, then beside test.yaml; an absolute one where a
command of the trial saw it, never on this machine (D-H3).
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path, PurePosixPath

from collect.workspace import PLACES, WORKSPACE
from collect.workspace.files import Found, Tree, Unreadable
from schemas.base import slugify
from schemas.errors import BenchError
from schemas.failures import TrialStatus
from schemas.io.own_files import read_own
from schemas.run.layout import SNAPSHOT_RECORD
from schemas.run.workspace import Workspace, WorkspaceEntry, spelled

KEY_OUTPUT = "openclaw_key_output"
"""Type of an artifact that the case's `expected_artifact` names."""

MAX_CONTENT_BYTES = 8_000_000
"""Bytes of a file that is searched; a larger one is told, not searched by half."""

MAX_RECORD_BYTES = 64_000_000
"""Of workspace.json; ours has a fraction of it."""

NOT_KEPT_ANY_MORE = "workspace_not_kept"
THROWN_AWAY = "the files of the trial were not kept; `--keep-workspaces all` keeps them"


class CannotLook(Exception):
    """What a check would look at is not there, for no fault of the model's.

    Attributes:
        reason: a word for it, as it stands in the results.
    """

    def __init__(self, reason: str, what: str) -> None:
        super().__init__(what)
        self.reason = reason


@dataclass(frozen=True)
class OutputArtifact:
    """A file of the workspace that the case asked for."""

    artifact_id: str
    artifact_type: str
    uri: str
    path: str
    """In the workspace."""


@dataclass(frozen=True, kw_only=True)
class Trial:
    """What a check may look at."""

    final_text: str = ""
    last_message: str = ""
    """The last text of the model that is not blank; empty: there is none."""
    n_tool_calls: int | None = 0
    """None: that is not known any more."""
    status: TrialStatus = "success"
    folder: Path | None = None
    """Where test.yaml lies; None for an entry of a prompt list."""
    left: Path | None = None
    """Folder of what the trial has left, `workspace/` and others in it; None: nothing."""
    left_problem: str | None = None
    """Why that folder is not looked into; None: it may be."""
    has_workspace: bool = False
    """The trials of the case have one."""
    expected_artifact: tuple[str, ...] = ()

    @cached_property
    def workspace(self) -> Workspace | None:
        """What is written down of the files and of what changed; None: there is nothing.

        Raises:
            CannotLook: it is gone, or damaged.
        """
        if self.left_problem is not None:
            raise CannotLook(NOT_KEPT_ANY_MORE, self.left_problem)
        if self.left is None:
            return None
        try:
            if (self.left / SNAPSHOT_RECORD).stat().st_size > MAX_RECORD_BYTES:
                raise CannotLook(NOT_KEPT_ANY_MORE, f"{SNAPSHOT_RECORD} is too large to be ours")
            return Workspace.model_validate_json(read_own(self.left, SNAPSHOT_RECORD))
        except (OSError, ValueError, BenchError) as exc:
            what = "what the trial left is not there any more, or damaged"
            raise CannotLook(NOT_KEPT_ANY_MORE, what) from exc

    @cached_property
    def _places(self) -> dict[str, Tree]:
        return {} if self.left is None else {at: Tree(self.left / at) for at in PLACES.values()}

    @cached_property
    def _case(self) -> Tree | None:
        return None if self.folder is None else Tree(self.folder.resolve())

    def find(self, name: str) -> tuple[Tree, str, Found] | None:
        """Return where a path of a check leads: a tree, the path in it, and what is there.

        Raises:
            CannotLook: the trial had files there, which were not kept.
        """
        place, inner = _placed(name)
        if place is not None:
            if self.left_problem is not None:
                raise CannotLook(NOT_KEPT_ANY_MORE, self.left_problem)
            tree = self._places.get(place)
            if tree is not None and (found := tree.find(inner)) is not None:
                return tree, inner, found
            self._require_kept(place, inner if place == PLACES[WORKSPACE] else _written(name))
        if not PurePosixPath(name).is_absolute() and self._case is not None:
            found = self._case.find(inner)
            if found is not None and found.kind in {"file", "folder"}:
                return self._case, inner, found
        return None

    def finds(self, name: str) -> bool:
        """Return whether there is a file or folder at a path; raises as `find`."""
        found = self.find(name)
        return found is not None and found[2].kind in {"file", "folder"}

    def text(self, name: str) -> tuple[str | None, str]:
        """Return the text of a file; None and what was found instead where there is none.

        Raises:
            Unreadable: a file of the user's, beside test.yaml, cannot be read.
            CannotLook: as `find`.
        """
        found = self.find(name)
        if found is None:
            return None, self.absence(name)
        tree, inner, what = found
        if what.kind == "folder":
            return None, f"{name} is a folder"
        try:
            return tree.text(inner, MAX_CONTENT_BYTES), ""
        except Unreadable as exc:
            if tree is self._case:
                raise
            return None, str(exc)

    def _require_kept(self, place: str, path: str) -> None:
        """Refuse to say that a file is not there where it was thrown away.

        Args:
            place: folder that would keep it.
            path: of the file, as workspace.json has it.

        Raises:
            CannotLook: so.
        """
        if self.left is None or _is_own_folder(self.left / place) or self.workspace is None:
            return
        for entry in self.workspace.entries:
            is_it = entry.path == path
            is_on_its_way = entry.kind == "link" and path.startswith(f"{entry.path}/")
            if entry.left_out is None and (is_it or is_on_its_way):
                raise CannotLook(NOT_KEPT_ANY_MORE, f"{path}: {THROWN_AWAY}")

    @property
    def snapshot(self) -> Path | None:
        """The folder of the files that the trial left in its workspace; None: it left none.

        Raises:
            CannotLook: it left some, and they were thrown away.
        """
        if self.left is None and self.left_problem is None:
            return None
        workspace = self.workspace
        folder = None if self.left is None else self.left / PLACES[WORKSPACE]
        if folder is not None and _is_own_folder(folder):
            return folder
        kept = () if workspace is None else workspace.entries
        if any(one.left_out is None and not one.path.startswith("/") for one in kept):
            raise CannotLook(NOT_KEPT_ANY_MORE, THROWN_AWAY)
        return None

    def unkept(self, name: str) -> WorkspaceEntry | None:
        """Return what the trial left at a path and was not kept; raises as `find`."""
        place, inner = _placed(name)
        if place is None or self.workspace is None:
            return None
        is_inside = place == PLACES[WORKSPACE]
        path = inner if is_inside else _written(name)
        entries = self.workspace.entries
        return next((one for one in entries if one.path == path and one.left_out is not None), None)

    def absence(self, name: str) -> str:
        """Return what is said of a path at which nothing can be read; raises as `find`."""
        entry = self.unkept(name)
        if entry is None or entry.left_out is None:
            return f"there is no {name}"
        return f"{name} {LEFT_OUT[entry.left_out]}"

    @cached_property
    def output_artifacts(self) -> tuple[OutputArtifact, ...]:
        """The files that `expected_artifact` names and that the trial has left (D-E16).

        Raises:
            CannotLook: as `find`.
        """
        found = []
        for name in self.expected_artifact if self.has_workspace else ():
            path = str(PurePosixPath(name))
            place = PurePosixPath(WORKSPACE, path)
            if self.is_there(str(place), ("file",)):
                found.append(OutputArtifact(slugify(path), KEY_OUTPUT, place.as_uri(), path))
        return tuple(found)

    def is_there(self, name: str, kinds: Sequence[str]) -> bool:
        """Return whether something of some kinds is at a path, kept or not; raises as `find`."""
        if (found := self.find(name)) is not None:
            return found[2].kind in kinds
        entry = self.unkept(name)  # too large or closed to us, it is there
        return entry is not None and entry.kind in kinds

    @property
    def final_response(self) -> str:
        """The text that the trial ended with.

        Where it has a workspace and the last answer is blank: the last text of the model, else that
        of the first readable file that was expected (D-E16).
        """
        if self.final_text.strip() or not self.has_workspace:
            return self.final_text
        if self.last_message.strip():
            return self.last_message
        for artifact in self.output_artifacts:
            text, _ = self.text(artifact.path)
            if text is not None and text.strip():
                return text
        return ""


LEFT_OUT: Mapping[str, str] = {
    "too_large": "is too large to be kept",
    "too_many": "was not kept: the trial left too many files",
    "too_deep": "lies too deep to be kept",
    "unreadable": "cannot be read",
    "leads_out": "is a link that leads out of the workspace",
    "device": "is a device",
    "pipe": "is a pipe",
    "socket": "is a socket",
}
"""What is said of a file that is not among the kept ones."""


def _is_own_folder(path: Path) -> bool:
    """Return whether there is a folder, and no link to one."""
    return path.is_dir() and not path.is_symlink()


def _placed(name: str) -> tuple[str | None, str]:
    """Return the folder that would keep a path, and the path in it; None: none would."""
    path = PurePosixPath(name)
    if not path.is_absolute():
        return PLACES[WORKSPACE], _written(path)
    for at, folder in PLACES.items():
        if path.is_relative_to(at):
            return folder, _written(path.relative_to(at))
    return None, _written(path)


def _written(path: str | PurePosixPath) -> str:
    """Return a path as workspace.json has it."""
    return spelled(os.fsencode(PurePosixPath(path)))
