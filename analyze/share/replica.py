"""A shared lake as a lake of this machine, so that every command reads it as one of its own.

Each keeps what it has pulled and asks for what is new alone: what was pushed never changes.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from analyze.share import open_shared
from schemas.errors import UnusablePath, display_path
from schemas.io.cache_folder import CACHE, cache_folder

if TYPE_CHECKING:
    from analyze.share.pull import Pulled


def replica_of(url: str, progress: Callable[[str], None]) -> tuple[Path, Pulled]:
    """Return the folder of runs that holds what a shared lake does now, and what came in.

    Raises:
        ConfigError: that is no URL of a shared lake.
        ShareFailed: it cannot be read.
        UnusablePath: the folder cannot be written.
    """
    shared = open_shared(url)
    from analyze.share.pull import pull_runs  # noqa: PLC0415 - needs the library of shared lakes

    name = hashlib.sha256(shared.location.url.encode()).hexdigest()[:16]
    folder = cache_folder() / "shared" / name
    try:
        folder.mkdir(parents=True, exist_ok=True)
        return folder, pull_runs(folder, shared, progress=progress)
    except OSError as exc:
        message = f"{display_path(folder)}: {exc.strerror or exc}; {CACHE} names another folder"
        raise UnusablePath(message) from exc
