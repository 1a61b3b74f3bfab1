"""Copies that a hook reads: of what a trial left, and of its case's folder.

The sandbox may run as another user than the collector, whom most folders of this one are closed to.
As root the copied files stay root's, and their folders go to that user, so that the sandbox can
remove them.
"""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

from collect.sandbox.base import Folders
from collect.sandbox.trees import usage
from collect.workspace.snapshot import Budget, Snapshot
from schemas.config.sandbox import MB, SandboxLimits
from schemas.errors import ConfigError
from schemas.io.yaml import decode

MAX_CASE_MB = 64
MAX_CASE_FILES = 2_000
"""Of the folder of a case, which is copied once in a run."""

PRIVATE_NAME = ".env"
"""Of files that hold keys; no hook finds one beside its case."""


class CaseTooLarge(Exception):
    """The folder of a case is none that is copied for its hooks; the text says why."""


def stage_snapshot(source: Path | None, folders: Folders, limits: SandboxLimits) -> None:
    """Copy what a trial left into a workspace; nothing where it left nothing.

    Raises:
        OSError: the copy cannot be written.
    """
    if source is not None:
        _copied(source, folders, limits.workspace_mb, limits.workspace_files, limits.file_mb)


def stage_case(source: Path, folders: Folders) -> None:
    """Copy the folder of a case into a workspace, without files that hold keys.

    Raises:
        CaseTooLarge: it has more than 64 MB or 2,000 files.
        OSError: the copy cannot be written.
    """
    *_, found = usage([str(source.resolve())], opens=False)
    if found.size > MAX_CASE_MB * MB or found.files > MAX_CASE_FILES or found.is_too_deep:
        message = (
            f"the folder of test.yaml holds {found.files:,} files and {found.size / MB:,.1f} MB; "
            f"at most {MAX_CASE_FILES:,} and {MAX_CASE_MB} are copied for its hooks"
        )
        raise CaseTooLarge(message)
    _copied(source, folders, MAX_CASE_MB, MAX_CASE_FILES, MAX_CASE_MB)
    for path in folders.workspace.rglob(f"{PRIVATE_NAME}*"):
        if path.is_symlink() or path.is_file():
            path.unlink()


def stage_file(name: str, data: bytes, folders: Folders) -> None:
    """Write a file into a workspace, for all to read; raises OSError."""
    path = folders.workspace / name
    path.write_bytes(data)
    path.chmod(0o644)
    folders.workspace.chmod(0o755)


def hash_of_text(path: Path) -> str | None:
    """Return the sha256 of a file's text, as it is noted when a case is loaded; None: no text."""
    try:
        return hashlib.sha256(decode(path, path.read_bytes()).encode()).hexdigest()
    except (OSError, ConfigError):
        return None


def _copied(source: Path, folders: Folders, size_mb: int, files: int, file_mb: int) -> None:
    """Copy a folder in place of an empty workspace."""
    target, owner = folders.workspace, folders.workspace.stat()
    target.rmdir()
    budget = Budget(size=size_mb * MB, files=files, file_size=file_mb * MB)
    Snapshot(target, budget).take(source.resolve())
    target.mkdir(exist_ok=True)
    _open_to_all(target, owner)


def _open_to_all(top: Path, owner: os.stat_result) -> None:
    """Let the sandbox's user read a copy, whatever the collector's umask is, and remove it."""
    for folder, _, names, handle in os.fwalk(top, follow_symlinks=False):
        os.fchmod(handle, 0o755)
        if os.geteuid() == 0:
            os.fchown(handle, owner.st_uid, owner.st_gid)
        for name in names:
            path = Path(folder, name)
            if not path.is_symlink():
                path.chmod(0o755 if path.stat().st_mode & 0o100 else 0o644)
