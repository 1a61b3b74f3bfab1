"""Puts the many small files of a month into few: what makes a long history quick to read.

Only stretches that are unbroken and complete go in, never what a crash left of a batch, and no run
that is being mirrored at the moment. Whoever collects does not wait for it.
"""

from __future__ import annotations

import shutil
import time
from collections import Counter
from collections.abc import Iterable, Mapping

from schemas.errors import DamagedFile
from schemas.io.files import READ_ONLY
from schemas.lake.footer import read_lake_file
from schemas.lake.layout import (
    TABLE_NAMES,
    Coverage,
    LakeFile,
    Part,
    month_of,
)
from schemas.lake.log_coverage import LOG_OF_TABLE, LOGS, LogTables, whole_batches
from schemas.lake.manifest import LakeChange, Manifest
from schemas.lake.rewrite import Unfit, rewriting
from schemas.lake.transaction import LakeBusy, is_locked, lake_lock, old_trash, swap

MAX_SMALL_FILES = 64
"""In the month that goes on; others are compacted when there is more than one."""

MAX_MERGED_ROWS = 1_000_000
MAX_MERGED_BYTES = 256 * 2**20
"""A file above either stays as it is."""

MAX_CHEAP_ROWS = 20_000
MAX_CHEAP_BYTES = 4 * 2**20
"""Rewriting a file below both costs nothing worth saving."""

MAX_SIZE_RATIO = 4
"""A larger file is rewritten when it is at most this many times all the smaller ones together, so
that each row is rewritten a few times in its life, however often small files follow."""


def compact(known: Manifest, now_ms: int | None) -> LakeChange:
    """Compact a lake; see `schemas.lake.Lake.compact`."""
    this_month = month_of(now_ms if now_ms is not None else time.time_ns() // 1_000_000)
    lake, done = known.folder, LakeChange()
    if not lake.is_dir():
        return done
    try:
        with lake_lock(lake):
            for folder in old_trash(lake):
                shutil.rmtree(folder, ignore_errors=True)
            done.add(known.refresh())
            bad = {one.path for one in done.damaged}
            for month, names in sorted(_by_month(known).items()):
                most = 1 if month < this_month else MAX_SMALL_FILES
                if all(len(files) <= most for files in names.values()):
                    continue
                for table, files in _whole(known, names).items():
                    sound = (file for file in files if file.path not in bad)
                    for group in _groups(sound, most):
                        done.add(_put_together(known, table, month, group))
            known.save()
    except LakeBusy:
        pass  # that one does it
    except OSError as exc:
        if exc.errno not in READ_ONLY:
            why = exc.strerror or str(exc)
            done.problems.append(f"{exc.filename or lake}: small files stay as they are: {why}")
    return done


def _by_month(known: Manifest) -> dict[str, dict[str, list[str]]]:
    """Return the names of all files, by month and table."""
    months: dict[str, dict[str, list[str]]] = {}
    for name in known.names:
        table, folder, _ = name.split("/")
        months.setdefault(folder.removeprefix("month="), {}).setdefault(table, []).append(name)
    return months


def _whole(known: Manifest, names: dict[str, list[str]]) -> dict[str, list[LakeFile]]:
    """Return the files of a month, by table, all of whose parts are whole and at rest."""
    files = {
        table: [file for name in names.get(table, ()) if (file := known.file(name)) is not None]
        for table in TABLE_NAMES
    }
    held = {table: [part for file in files[table] for part in file.parts] for table in files}
    times = {
        table: Counter((part.run_id, part.coverage) for part in parts)
        for table, parts in held.items()
    }
    at_rest = _at_rest(known, {part.run_id for parts in held.values() for part in parts})
    batches = {log.name: _batches(log, held) for log in LOGS}

    def is_whole(table: str, part: Part) -> bool:
        if part.run_id not in at_rest:
            return False
        if table == "runs":
            return True  # a run that was given other labels has several rows
        is_once = times[table][part.run_id, part.coverage] == 1
        if (log := LOG_OF_TABLE.get(table)) is None:
            return is_once
        return is_once and part.coverage in batches[log.name].get(part.run_id, ())

    return {
        table: [file for file in there if all(is_whole(table, part) for part in file.parts)]
        for table, there in files.items()
    }


def _batches(log: LogTables, held: Mapping[str, Iterable[Part]]) -> dict[str, set[Coverage]]:
    """Return by run the stretches of a log that are unbroken and have their text."""
    parts: dict[str, dict[str, list[Part]]] = {}
    for table in log.tables:
        for part in held.get(table, ()):
            parts.setdefault(part.run_id, {name: [] for name in log.tables})[table].append(part)
    return {
        run_id: {part.coverage for part in whole_batches(log, found)}
        for run_id, found in parts.items()
    }


def _at_rest(known: Manifest, run_ids: Iterable[str]) -> set[str]:
    """Return the runs that nobody is mirroring."""
    folders = {seen.run_id: folder for folder, seen in known.runs.items()}
    runs_dir = known.folder.parent
    return {
        run_id
        for run_id in run_ids
        if not is_locked(runs_dir / folders.get(run_id, run_id), known.folder)
    }


def _groups(files: Iterable[LakeFile], most: int) -> list[list[LakeFile]]:
    """Return the files that become one file each time, when there are more than `most` small."""
    sized = sorted((file.path.stat().st_size, file.path.name, file) for file in files)
    small = [
        (size, file)
        for size, _, file in sized
        if size < MAX_MERGED_BYTES and file.n_rows < MAX_MERGED_ROWS
    ]
    if len(small) <= most:
        return []
    chosen: list[tuple[int, LakeFile]] = []
    n_rows = n_bytes = 0
    for size, file in small:
        is_cheap = file.n_rows <= MAX_CHEAP_ROWS and size <= MAX_CHEAP_BYTES
        pays = file.n_rows <= MAX_SIZE_RATIO * n_rows and size <= MAX_SIZE_RATIO * n_bytes
        if chosen and not (is_cheap or pays):
            break
        chosen.append((size, file))
        n_rows, n_bytes = n_rows + file.n_rows, n_bytes + size
    chosen.sort(key=lambda one: _first(one[1]))
    return [group for group in _cut(chosen) if len(group) > 1]


def _first(file: LakeFile) -> tuple[str, int, str]:
    begins = ((part.run_id, part.coverage.start) for part in file.parts)
    return (*min(begins, default=("", 0)), file.path.name)


def _cut(files: Iterable[tuple[int, LakeFile]]) -> list[list[LakeFile]]:
    """Return files in groups of which none makes a file that is too large."""
    groups: list[list[LakeFile]] = []
    n_rows = n_bytes = 0
    for size, file in files:
        n_rows, n_bytes = n_rows + file.n_rows, n_bytes + size
        if not groups or n_rows > MAX_MERGED_ROWS or n_bytes > MAX_MERGED_BYTES:
            groups.append([])
            n_rows, n_bytes = file.n_rows, size
        groups[-1].append(file)
    return groups


def _put_together(known: Manifest, table: str, month: str, files: list[LakeFile]) -> LakeChange:
    """Make one file of several; those that cannot be part of one stay as they are."""
    done = LakeChange()
    while len(files) > 1:
        write = rewriting(
            table,
            [(file, file.parts) for file in files],
            lambda run_id: known.parts_of("results", run_id),
        )
        try:
            new = swap(known.folder, table, month, [file.path.name for file in files], write)
        except (Unfit, DamagedFile) as exc:
            if isinstance(exc, DamagedFile):
                done.damaged.append(exc)
            else:
                done.problems.append(str(exc))
            files = [file for file in files if file.path != exc.path]
            continue
        if new is not None:
            known.drop(f"{table}/month={month}/{file.path.name}" for file in files)
            known.add([read_lake_file(new)])
            done.n_compacted = len(files)
        break
    return done
