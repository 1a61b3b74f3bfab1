"""Keeps the files of a shared lake few, and drops what nobody reads any more.

A month of a table is written anew in one commit, which fails where another one touched that month
meanwhile: its rows are there once before and once after. The library's own `optimize` is left
alone: two of them at a time, from one version, double the rows.

Rows of a push that was replaced go a week later, when nobody reads by a list of runs from before; a
file that no version names any more goes a week after that. Rows of a push that no row of `runs`
names stay: it may be one that is on its way.
"""

from __future__ import annotations

import re
import time
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Collection, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial

import deltalake
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset
import pyarrow.fs
from deltalake.exceptions import DeltaError

from analyze.share.delta import MAX_REBASES, SharedLake
from analyze.share.said import SharedFileDamaged, SharedLakeBusy, ShareFailed, without_panics
from analyze.share.shared_runs import MONTH, PUSH, SharedRun, in_order, read_rows
from schemas.lake import ALIASES, TABLE_NAMES

KEEP_HOURS = 168
"""For which what counts no longer stays; with less a reader might lose what it reads."""

MIN_SMALL_FILES = 8
"""In a month of a table, for which it is written anew."""

SMALL_BYTES = 16_000_000
"""A file below it is small."""

FILE_BYTES = 64_000_000
"""Of a file that is written, about."""

HELD_BYTES = 256_000_000
"""Of rows that are held at a time; those of a larger push are held together."""

FIRST_ROWS = 2_000
"""That are read before it is known how long the rows of a month are."""

ROW_GROUP = 20_000
"""Rows in order of their pushes, by which a reader of some passes over others."""

MAX_RACES = 4
"""Commits of others in the same month, before it is left for the next time."""

A_MONTH = re.compile(r"[-\w]+")


@dataclass(frozen=True)
class CompactedMonth:
    """What became of a month of a table."""

    table: str
    month: str
    n_files_before: int
    n_files: int
    n_rows_dropped: int
    """Of pushes that count no longer."""


@dataclass
class Compacted:
    """What was done to a shared lake."""

    n_runs: int = 0
    """That it has."""
    months: list[CompactedMonth] = field(default_factory=list)
    """Those that were written anew."""
    busy: list[str] = field(default_factory=list)
    """Tables and months where others were always first; they are as they were."""
    damaged: list[str] = field(default_factory=list)
    """What is wrong with a month, in a sentence each; it is as it was."""
    n_removed: int = 0
    """Files that no version names any more."""
    failed: str = ""
    """What ended it before all was done, in a sentence; empty: nothing."""
    is_interrupted: bool = False
    """It was asked to end."""


def compact_shared(
    shared: SharedLake,
    progress: Callable[[str], None] = lambda _: None,
    *,
    keep_hours: float = KEEP_HOURS,
    is_to_end: Callable[[], bool] = lambda: False,
) -> Compacted:
    """Write months of many small files anew, drop rows of older pushes, and remove old files.

    Args:
        shared: the shared lake; others may read and push meanwhile.
        progress: is told what is being done.
        keep_hours: for which what was replaced stays.
        is_to_end: is asked before each month of a table.

    Raises:
        ShareFailed: the list of runs cannot be read; what fails later is told with what was done.
    """
    runs = shared.runs()
    replaced = _replaced(runs, time.time() * 1000 - keep_hours * 3_600_000)
    done = Compacted(n_runs=len(runs))
    names = (*TABLE_NAMES, ALIASES)
    try:
        for name in names:
            for month in _months_of(name, shared, replaced):
                if is_to_end():
                    done.is_interrupted = True
                    return done
                progress(f"compacting {name} of {month}")
                _compact(shared, name, month, replaced.get(month, frozenset()), done)
        for name in names:
            progress(f"removing old files of {name}")
            done.n_removed += shared.changed(name, lambda table: _vacuum(table, keep_hours)) or 0
    except ShareFailed as exc:
        done.failed = str(exc)
    return done


def _replaced(runs: Mapping[str, SharedRun], before_ms: float) -> dict[str, set[str]]:
    """Return the pushes that were replaced before a moment, by month."""
    found: defaultdict[str, set[str]] = defaultdict(set)
    for run in runs.values():
        old = {push for push, since_ms in run.older.items() if since_ms < before_ms}
        if old:
            found[run.month] |= old
    return found


def _months_of(name: str, shared: SharedLake, replaced: Collection[str]) -> list[str]:
    """Return the months of a table that may be written anew."""
    table = shared.table(name)
    if table is None:
        return []
    files = shared.asking(lambda: _sizes(table))
    return [
        month
        for month, sizes in sorted(files.items())
        if A_MONTH.fullmatch(month)
        and (_is_scattered(sizes) or (month in replaced and name != "runs"))
    ]


def _is_scattered(sizes: Collection[int]) -> bool:
    return sum(size < SMALL_BYTES for size in sizes) >= MIN_SMALL_FILES


def _sizes(table: deltalake.DeltaTable) -> dict[str, list[int]]:
    """Return the bytes of each file of a table, by month."""
    found: defaultdict[str, list[int]] = defaultdict(list)
    files = pa.table(table.get_add_actions(flatten=True))
    if files.num_rows:
        months = files.column(f"partition.{MONTH}").to_pylist()
        for month, size in zip(months, files.column("size_bytes").to_pylist(), strict=True):
            found[month or ""].append(size)
    return found


def _compact(
    shared: SharedLake, name: str, month: str, replaced: Collection[str], done: Compacted
) -> None:
    """Write a month of a table anew where it is not in order.

    Rows of `runs` stay, all of them: they say which pushes count no longer.
    """
    gone: frozenset[str] = frozenset() if name == "runs" else frozenset(replaced)
    n_before = n_dropped = 0
    has_written = False

    def attempt(table: deltalake.DeltaTable) -> bool:
        nonlocal n_dropped, n_before, has_written
        sizes = _sizes(table)[month]
        n_rows = shared.asking(lambda: _rows_by_push(table, month))
        n_gone = sum(n for push, n in n_rows.items() if push in gone)
        if not n_gone and not _is_scattered(sizes):
            return has_written  # and the answer was lost
        n_before, n_dropped, has_written = len(sizes), n_gone, True
        kept = {push: n for push, n in sorted(n_rows.items()) if push not in gone}
        trouble: list[ShareFailed] = []
        batches = _batches(shared, table, month, kept, trouble)
        try:
            _write(table, month, batches)
        except DeltaError as exc:
            if trouble:
                raise trouble[0] from exc
            raise
        return True

    try:
        if not shared.changed(name, attempt, max_races=MAX_RACES):
            return
    except SharedFileDamaged as exc:
        done.damaged.append(f"{name} of {month}: {exc}")
        return
    except SharedLakeBusy:
        done.busy.append(f"{name} of {month}")
        return
    table = shared.table(name)
    n_files = 0 if table is None else len(shared.asking(lambda: _sizes(table))[month])
    done.months.append(CompactedMonth(name, month, n_before, n_files, n_dropped))


def _write(table: deltalake.DeltaTable, month: str, batches: Iterator[pa.RecordBatch]) -> None:
    with without_panics():
        deltalake.write_deltalake(
            table,
            pa.RecordBatchReader.from_batches(table.to_pyarrow_dataset().schema, batches),
            mode="overwrite",
            predicate=f"{MONTH} = '{month}'",
            target_file_size=FILE_BYTES,
            writer_properties=deltalake.WriterProperties(
                compression="ZSTD", max_row_group_size=ROW_GROUP
            ),
            commit_properties=deltalake.CommitProperties(max_commit_retries=MAX_REBASES),
        )


def _rows_by_push(table: deltalake.DeltaTable, month: str) -> Counter[str]:
    """Return how many rows of a month each push has."""
    pushes = read_rows(table, pa.dataset.field(MONTH) == month, [MONTH, PUSH]).column(PUSH)
    counts = pc.value_counts(pushes)
    return Counter(dict(zip(counts.field(0).to_pylist(), counts.field(1).to_pylist(), strict=True)))


def _batches(
    shared: SharedLake,
    table: deltalake.DeltaTable,
    month: str,
    pushes: Mapping[str, int],
    trouble: list[ShareFailed],
) -> Iterator[pa.RecordBatch]:
    """Yield the rows of pushes, in their order, some pushes at a time.

    The library asks for them on a thread of its own, on which it cannot read.

    Args:
        shared: the shared lake.
        table: as it is now.
        month: that is read.
        pushes: with how many rows each has.
        trouble: is given what went wrong, of which the library tells a part.
    """
    waiting = deque(pushes.items())
    most = FIRST_ROWS
    with ThreadPoolExecutor(1) as reader:
        while waiting:
            group = dict([waiting.popleft()])
            while waiting and sum(group.values()) + waiting[0][1] <= most:
                group.update([waiting.popleft()])
            wanted = (pa.dataset.field(MONTH) == month) & pa.dataset.field(PUSH).isin(list(group))
            try:
                rows = reader.submit(shared.asking, partial(read_rows, table, wanted)).result()
                if rows.num_rows != sum(group.values()):
                    lost = ValueError(f"{sum(group.values())} rows became {rows.num_rows}")
                    raise SharedFileDamaged(shared.location, lost, "nothing of it is dropped")
            except ShareFailed as exc:
                trouble.append(exc)
                raise
            most = max(int(HELD_BYTES / max(rows.nbytes / max(rows.num_rows, 1), 1)), 1)
            yield from in_order(rows).to_batches()


def _vacuum(table: deltalake.DeltaTable, keep_hours: float) -> int:
    """Remove files that no version names, those of writers that died too; return how many."""
    vacuum = partial(table.vacuum, int(keep_hours), enforce_retention_duration=False, full=True)
    if not (old := vacuum(dry_run=True)):
        return 0
    everything = pyarrow.fs.FileSelector("", recursive=True)
    files = table.to_pyarrow_dataset().filesystem.get_file_info(everything)
    n_there = len(set(old) & {file.path for file in files})  # the log names some long after
    if n_there:
        vacuum(dry_run=False)
    return n_there
