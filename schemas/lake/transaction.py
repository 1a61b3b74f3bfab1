"""Replaces sealed files by others: the only module that moves files of the lake.

The intent is stored first, the new file is written under a temporary name, the replaced ones move
to the trash, the new one takes its name, and the intent is done. A plain glob may miss rows for a
moment, which is loud, and never counts one twice; `live_files` finds each row once at any moment.
Killed in between, the next one to hold the lock completes it or takes it back. A run's rows have a
lock of their own: one process at a time brings a run into the lake.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path, PurePosixPath

import orjson

from schemas.errors import BenchError, NotOwnFile
from schemas.io.files import READ_ONLY, sync_path, write_whole
from schemas.io.own_files import is_lock_held, locked, make_own_folder, open_own, take_lock
from schemas.lake.layout import (
    INTENT,
    TRASH,
    Intent,
    intent_facts,
    intent_of,
    intent_text,
    require_own_lake,
)

TRASH_S = 600.0
"""A reader may hold a list of files this long and still find them."""

LOCK_WAIT_S = 10.0
"""For another process that replaces files; it holds the lock for one month's files at a time."""

Write = Callable[[Path], None]

LOCK_FILE = ".mirror.lock"


class LakeBusy(BenchError):
    """Another process replaces files of the lake at the moment."""

    def __init__(self, lake: Path) -> None:
        super().__init__(f"{lake}: another process is rewriting files of the lake")


@contextlib.contextmanager
def lake_lock(lake: Path, wait_s: float = 0.0) -> Iterator[None]:
    """Hold the lake's lock, which the kernel lets go of with the process.

    What another one left half-done is completed, or taken back, before the block begins.

    Raises:
        LakeBusy: another process holds it.
        NotOwnFile: there is a link in the lake.
        OSError: the lake cannot be written.
    """
    require_own_lake(lake)
    with contextlib.ExitStack() as stack:
        try:
            stack.enter_context(locked(lake, "manifest/.lock", wait_s))
        except BlockingIOError as exc:
            raise LakeBusy(lake) from exc
        _finish_what_was_cut_off(lake)
        yield


def swap(
    lake: Path, table: str, month: str, replaced: Sequence[str], write: Write | None
) -> Path | None:
    """Replace files of one table and month by what `write` makes; the caller holds the lake's lock.

    Returns:
        The new file; None when there is none, or when a file that was to be replaced went away
        meanwhile, in which case everything is as before.

    Raises:
        OSError: the disk is full; everything is as before, or will be for the next one.
    """
    token = uuid.uuid4().hex[:12]
    new = None if write is None else f"together-{token}.parquet"
    intent = Intent(token, table, month, new, tuple(replaced))
    _note(lake, intent, "writing")
    try:
        if write is not None:
            write(intent.temporary(lake))
            sync_path(intent.temporary(lake))
        _note(lake, intent, "moving")
        is_done = _move(lake, intent)
    except BaseException:
        if new is None or not (intent.folder(lake) / new).exists():  # else only the note is missing
            with contextlib.suppress(OSError):
                _take_back(lake, intent)
        raise
    return intent.folder(lake) / new if is_done and new is not None else None


def _move(lake: Path, intent: Intent) -> bool:
    """Move the replaced files away and the new one in; take it back when one is not there."""
    folder, trash = intent.folder(lake), intent.trash(lake)
    trash.mkdir(parents=True, exist_ok=True)
    for name in intent.replaced:
        try:
            (folder / name).rename(trash / name)
        except FileNotFoundError:
            if not (trash / name).exists():
                _take_back(lake, intent)
                return False
    sync_path(trash)
    sync_path(folder)
    if intent.new is not None:
        intent.temporary(lake).rename(folder / intent.new)
        sync_path(folder)
    _note(lake, intent, "done")
    return True


def _take_back(lake: Path, intent: Intent) -> None:
    """Move the replaced files back to where they were; for as long as the new one is not there."""
    folder, trash = intent.folder(lake), intent.trash(lake)
    for name in intent.replaced:
        with contextlib.suppress(FileNotFoundError):
            (trash / name).rename(folder / name)
    sync_path(folder)
    intent.temporary(lake).unlink(missing_ok=True)
    with contextlib.suppress(OSError):
        trash.rmdir()
    _note(lake, intent, "done")


def _finish_what_was_cut_off(lake: Path) -> None:
    facts = intent_facts(intent_text(lake))
    intent = intent_of(facts)
    if intent is None or facts.get("phase") == "done":
        return
    folder = intent.folder(lake)
    if intent.new is not None and (folder / intent.new).exists():
        for name in intent.replaced:  # none, unless somebody put one back
            with contextlib.suppress(FileNotFoundError):
                (folder / name).rename(intent.trash(lake) / name)
        sync_path(folder)
        _note(lake, intent, "done")
    elif facts.get("phase") == "moving" and (intent.new is None or intent.temporary(lake).exists()):
        _move(lake, intent)
    else:
        _take_back(lake, intent)


def _note(lake: Path, intent: Intent, phase: str) -> None:
    """Store how far a replacement is; only one that moves files names them."""
    facts: dict[str, object] = {"phase": phase, "token": intent.token}
    facts |= {"table": intent.table, "month": intent.month}
    if phase != "done":
        facts |= {"new": intent.new, "replaced": intent.replaced if phase == "moving" else ()}
    write_whole(lake / INTENT, orjson.dumps(facts))


def old_trash(lake: Path) -> list[Path]:
    """Return the folders of what was replaced so long ago that nobody reads it any more."""
    oldest = time.time() - TRASH_S
    found = []
    for folder in (lake / TRASH).glob("*"):
        with contextlib.suppress(FileNotFoundError):  # another process empties it
            if folder.stat().st_mtime < oldest:
                found.append(folder)
    return found


class MirrorBusy(BenchError):
    """Another process is mirroring this run at the moment."""

    def __init__(self, run_dir: Path) -> None:
        super().__init__(f"{run_dir}: another process is writing this run to the lake")


def lock_run(run_dir: Path, lake: Path, wait_s: float = 0.0, *, outside: bool = False) -> int:
    """Return a handle that holds a run's lock; the kernel lets go of it with the process.

    Args:
        run_dir: the run's folder, which holds the lock unless it cannot be written.
        lake: holds the lock otherwise.
        wait_s: seconds to wait for another process.
        outside: write nothing into the folder, which is another tool's.

    Raises:
        MirrorBusy: another process holds it.
        OSError: neither can be written.
    """
    handle = _open(run_dir, lake, outside)
    try:
        take_lock(handle, wait_s)
    except OSError as exc:
        os.close(handle)
        if isinstance(exc, BlockingIOError):
            raise MirrorBusy(run_dir) from exc
        raise
    return handle


def _open(run_dir: Path, lake: Path, outside: bool) -> int:
    flags = os.O_CREAT | os.O_RDWR
    if not outside:
        try:
            return open_own(run_dir, LOCK_FILE, flags)
        except OSError as exc:
            if exc.errno not in READ_ONLY:
                raise
        with contextlib.suppress(OSError):
            return open_own(run_dir, LOCK_FILE, os.O_RDONLY)  # of another user, who may hold it
    name = _outside(run_dir)
    make_own_folder(lake, str(PurePosixPath(name).parent))
    return open_own(lake, name, flags)


def _outside(run_dir: Path) -> str:
    """Return where in the lake the lock of a folder lies that is not written into."""
    return f"manifest/locks/{hashlib.sha256(os.fsencode(run_dir.name)).hexdigest()[:16]}"


def is_locked(run_dir: Path, lake: Path) -> bool:
    """Return whether a process holds a run's lock at the moment; there may be no such folder."""
    for folder, name in ((run_dir, LOCK_FILE), (lake, _outside(run_dir))):
        try:
            handle = open_own(folder, name, os.O_RDONLY)
        except (OSError, NotOwnFile):
            continue  # nobody has ever mirrored it from here
        try:
            if is_lock_held(handle):
                return True
        finally:
            os.close(handle)
    return False
