"""A shared lake as a lake of this machine, so that every command reads it as one of its own.

Each keeps what it has pulled and asks for what is new alone: what was pushed never changes.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import platformdirs

from analyze.share import open_shared
from schemas.errors import UnusablePath, display_path

if TYPE_CHECKING:
    from analyze.share.pull import Pulled

CACHE = "BENCHLAKE_CACHE"
"""Variable that names another folder for what can be fetched again."""


def replica_of(url: str, progress: Callable[[str], None]) -> tuple[Path, Pulled]:
    """Return the folder of runs that holds what a shared lake does now, and what came in.

    Raises:
        ConfigError: that is no URL of a shared lake.
        ShareFailed: it cannot be read.
        UnusablePath: the folder cannot be written.
    """
    shared = open_shared(url)
    from analyze.share.pull import pull_runs  # noqa: PLC0415 - needs the library of shared lakes

    override = os.environ.get(CACHE)
    cache = Path(override) if override else platformdirs.user_cache_path("benchlake")
    name = hashlib.sha256(shared.location.url.encode()).hexdigest()[:16]
    folder = cache / "shared" / name
    try:
        folder.mkdir(parents=True, exist_ok=True)
        return folder, pull_runs(folder, shared, progress=progress)
    except OSError as exc:
        message = f"{display_path(folder)}: {exc.strerror or exc}; {CACHE} names another folder"
        raise UnusablePath(message) from exc
