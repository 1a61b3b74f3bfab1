"""Keeps the lake complete: looks for news in a folder of runs, and brings them in.

Looking costs one stat a run folder and loads neither pyarrow nor the models; what follows from news
does (`analyze.lake.load_runs`).
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from analyze.lake.find_changes import Progress, Synced, changed, with_known_problems
from schemas.errors import DamagedFile
from schemas.io.files import READ_ONLY
from schemas.io.own_files import locked
from schemas.lake import are_aliases_in_lake
from schemas.lake.layout import (
    TABLE_NAMES,
    TRASH,
    intent_text,
    lake_of,
    live_paths,
    moving,
    require_own_lake,
)
from schemas.lake.manifest import Manifest, is_as_left
from schemas.run.layout import run_folders

__all__ = ["Progress", "Synced", "has_changes", "problems_of", "prune", "sync"]


def has_changes(runs_dir: Path) -> bool:
    """Return whether a run folder or a file of the lake changed; one stat each."""
    lake = lake_of(runs_dir)
    if changed(run_folders(runs_dir), Manifest(lake)):
        return True
    return not (is_as_left(lake) and are_aliases_in_lake(lake))


@contextmanager
def one_sync(lake: Path) -> Iterator[None]:
    """Hold the lock of those who sync; another one's work is ours as well, so wait for its end.

    Raises:
        OSError: the lake cannot be written.
    """
    require_own_lake(lake)
    with locked(lake, "manifest/.sync.lock"):
        yield


def sync(
    runs_dir: Path,
    *,
    only: Sequence[Path] | None = None,
    progress: Progress | None = None,
    damaged: Sequence[DamagedFile] = (),
) -> Synced:
    """Bring all that is new into the lake, then compact it.

    A run that its collector is mirroring is skipped without a word. A broken folder, or one of a
    newer version, is a problem by its name and stops no other. A damaged file of the lake is set
    aside, and its rows are made again.

    Args:
        runs_dir: the folder that holds the runs.
        only: folders in it; looked at even without news, and brought back after a prune.
        progress: is told of the work.
        damaged: files of the lake that a reader could not read.

    Raises:
        LakeBusy: another process rewrites the lake, in which a file is damaged.
        OSError: the disk is full, or broken; nothing of the runs themselves is lost.
    """
    lake = lake_of(runs_dir)
    try:
        with one_sync(lake):
            manifest = Manifest(lake)
            folders = dict(run_folders(runs_dir))
            is_quiet = only is None and not damaged and not changed(folders.items(), manifest)
            if is_quiet and _is_tidy(manifest):
                return with_known_problems(Synced(), manifest)
            from analyze.lake.load_runs import bring_in  # noqa: PLC0415 - loads pyarrow and the models

            return bring_in(runs_dir, manifest, folders, only, progress, damaged=damaged)
    except OSError as exc:
        if exc.errno not in READ_ONLY:
            raise
        why = f"{lake}: cannot be written ({exc.strerror}); what is sealed so far is read"
        return Synced(problems=(why,), read_only=True)


def _is_tidy(manifest: Manifest) -> bool:
    """Return whether the lake's files are those that are known, with nothing left to clear away."""
    lake = manifest.lake
    if moving(intent_text(lake)) is not None or any(map(_is_old, (lake / TRASH).glob("*"))):
        return False
    there = (name for table in TABLE_NAMES for name in live_paths(lake, table))
    return set(there) == manifest.names and is_as_left(lake) and are_aliases_in_lake(lake)


def _is_old(trashed: Path) -> bool:
    from schemas.lake.transaction import TRASH_S  # noqa: PLC0415 - looking for news does without

    try:
        return time.time() - trashed.stat().st_mtime > TRASH_S
    except FileNotFoundError:
        return False


def problems_of(runs_dir: Path, run_dir: Path) -> list[str]:
    """Return what is known to be wrong with one run's log, as the last sync found it."""
    seen = Manifest(lake_of(runs_dir)).runs.get(run_dir.name)
    return [] if seen is None else list(seen.problems)


def prune(runs_dir: Path, run_ids: Sequence[str]) -> int:
    """Take the rows of runs out of the lake, and return how many there were.

    Folders stay as they are. A run whose folder is there stays out of the lake until
    `analyze sync RUN` names it.

    Raises:
        BenchError: another process rewrites the lake, or mirrors one of the runs.
        OSError: the lake cannot be written.
    """
    from analyze.lake.load_runs import take_out  # noqa: PLC0415

    with one_sync(lake_of(runs_dir)):
        return take_out(runs_dir, run_ids)
