"""Whole runs into the lake, several in one file: how a long history comes in quickly.

Only runs of which the lake holds nothing go this way, each log of them as one stretch from its
first byte to its last whole line. The files of a batch share a token in their names; results are
put in place last, so a batch without them was cut off, by kill -9 or a power cut: what it left of
them is cleared away, and it goes again.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

import pyarrow as pa

from schemas.io.files import TEMPORARY
from schemas.io.own_files import locked, open_own_file
from schemas.lake.layout import NO_COVERAGE, Coverage, LakeFile, Part, month_of
from schemas.lake.log_coverage import (
    EVALUATION_TABLES,
    LOG_OF_TABLE,
    LOGS,
    RESULT_TABLES,
    LogTables,
    tail_before,
)
from schemas.lake.manifest import Manifest
from schemas.lake.mirror.log_mirror import LineReader, sync_log
from schemas.lake.rows.lines import EvaluationRows, planned_run
from schemas.lake.rows.row_store import RowStore
from schemas.lake.rows.tables import TABLES
from schemas.lake.writer import seal_files
from schemas.run.config import config_of
from schemas.run.layout import IMPORT_FILE, NO_LOG, LogStat

DEAD_S = 600.0
"""A file that is being written for longer than this has no writer any more."""


TABLES_IN_ORDER = ("plans", "runs", *EVALUATION_TABLES.tables, *RESULT_TABLES.tables)

PREFIX = "sync-"

BATCH = re.compile(PREFIX + r"[0-9a-f]{32}\.parquet")
"""Name of a file of a batch; a run may be called `sync-1`."""

UNFINISHED = ".bulk"
"""Ends the name of a file that is being written."""

LOCK = "manifest/.batch.lock"
"""Of those who put the files of a batch in place, or look for unfinished ones."""

CHUNK_BYTES = 2**20

MAX_HELD_BYTES = 64 * 2**20
"""Of the rows of one run; more of them wait on the disk."""


@dataclass(frozen=True)
class WholeLog:
    """A log that was read to its last whole line."""

    path: Path
    coverage: Coverage
    stat: LogStat
    """As it was before it was read."""


@dataclass(frozen=True)
class WholeRun:
    """All rows of one run."""

    run_id: str
    month: str
    tables: dict[str, RowStore]
    logs: dict[LogTables, WholeLog]
    """Those that were looked for; an imported run has results only."""
    problems: tuple[str, ...]

    @property
    def results(self) -> WholeLog:
        """Return the log of its results."""
        return self.logs[RESULT_TABLES]

    @property
    def n_rows(self) -> int:
        """Return how many lines of logs became rows."""
        tables = {table for log in self.logs for table in log.line_tables}
        return sum(rows.num_rows for table, rows in self.tables.items() if table in tables)

    def coverage_of(self, table: str) -> Coverage:
        """Return the stretch of a log that the rows of a table are made of."""
        log = LOG_OF_TABLE.get(table)
        return NO_COVERAGE if log is None else self.logs[log].coverage


def read_whole(
    run_dir: Path, *, imported: bool, with_text: bool = True, lake: Path | None = None
) -> WholeRun:
    """Return all rows of a run; see `schemas.lake.read_whole`. The caller holds its lock.

    Of a large import what does not fit into memory waits on the disk of the lake, where one is
    named.
    """
    results = _LogReader(run_dir, RESULT_TABLES)
    logs = {RESULT_TABLES: results}
    looked: list[tuple[int, str]] = []
    if imported and (run_dir / IMPORT_FILE).exists():
        from schemas.lake.rows.foreign_rows import ImportRows, import_record_of  # noqa: PLC0415 - few folders are

        reader = ImportRows(import_record_of(run_dir), run_dir, with_text=with_text)
        rows, found = _rows(reader, results, lake)
        run_id, tables = run_dir.name, _stored(reader.head()) | rows
        month = month_of(reader.started_at_ms or results.seen.mtime_ns // 1_000_000)
    elif imported:
        from schemas.config.run_profile import limit_of_config  # noqa: PLC0415
        from schemas.lake.rows.foreign_rows import import_lines  # noqa: PLC0415 - few folders are

        lines = [*chain.from_iterable(results.chunks())]
        whole = import_lines(run_dir.name, lines, limit_ms=limit_of_config(run_dir))
        run_id, tables, found = run_dir.name, _stored(whole.tables), list(whole.problems)
        month = month_of(whole.started_at_ms or results.seen.mtime_ns // 1_000_000)
    else:
        config = config_of(run_dir)
        run_id, month = config.run_id, month_of(config.started_at_ms)
        maker, head = planned_run(run_dir, config, with_text=with_text)
        rows, found = _rows(maker, results, lake)
        tables = _stored(head) | rows
        logs[EVALUATION_TABLES] = _LogReader(run_dir, EVALUATION_TABLES)
        rows, looked = _rows(EvaluationRows(run_id, maker.planned), logs[EVALUATION_TABLES], lake)
        tables |= rows
    done = {log: reader.whole() for log, reader in logs.items()}
    for log, whole_log in done.items():
        if whole_log.coverage.end:
            last = log.tables[-1]
            tables.setdefault(last, RowStore(TABLES[last].empty_table()))
    problems = [
        f"{run_dir / log.name}:{number}: {why}; the line was skipped"
        for log, skipped in zip(LOGS, (found, looked), strict=True)
        for number, why in skipped
    ]
    return WholeRun(run_id, month, tables, done, tuple(problems))


def _stored(tables: Mapping[str, pa.Table]) -> dict[str, RowStore]:
    return {table: RowStore(rows) for table, rows in tables.items()}


class _LogReader:
    """Reads a log of a run, which need not be there, up to its last whole line of this moment."""

    def __init__(self, run_dir: Path, log: LogTables) -> None:
        self._path = run_dir / log.name
        self.seen = NO_LOG
        """How long it was when it was opened."""
        self._end = self._n_lines = 0

    def chunks(self) -> Iterator[list[bytes]]:
        """Yield its whole lines, some at a time."""
        if not self._path.exists():
            return
        with open_own_file(self._path.parent, self._path.name) as file:
            facts = os.fstat(file.fileno())
            self.seen = LogStat(facts.st_size, facts.st_mtime_ns)
            while (room := facts.st_size - self._end) > 0:
                read = b"".join(file.readlines(min(CHUNK_BYTES, room)))
                content = read[:room]
                content = content[: content.rfind(b"\n") + 1]
                if content:
                    lines = io.BytesIO(content).readlines()
                    self._end += len(content)
                    self._n_lines += len(lines)
                    yield lines
                if len(content) < len(read) or not read:  # torn, or it grows or shrank
                    return

    def whole(self) -> WholeLog:
        """Return what was read."""
        tail = tail_before(self._path, self._end) if self._end else ""
        return WholeLog(self._path, Coverage(0, self._end, 0, self._n_lines, tail), self.seen)


def _rows(
    reader: LineReader, log: _LogReader, lake: Path | None
) -> tuple[dict[str, RowStore], list[tuple[int, str]]]:
    """Return the rows of a log, made of a limited number of its lines at a time."""
    stores: dict[str, RowStore] = {}
    problems: list[tuple[int, str]] = []
    n_lines = 0
    for lines in log.chunks():
        tables, found = reader.read(lines, n_lines + 1)
        n_lines += len(lines)
        problems += found
        for table, rows in tables.items():
            if table in stores:
                stores[table].add(rows)
            else:
                stores[table] = RowStore(rows)
        if lake is not None and sum(one.nbytes for one in stores.values()) > MAX_HELD_BYTES:
            for one in stores.values():
                one.spill(lake)
    return stores, problems


def seal_whole(
    lake: Path, runs: Sequence[WholeRun], make_room: Callable[[], None]
) -> list[LakeFile]:
    """Seal runs of one month, one file a table; the caller holds their locks.

    What the runs take the place of is removed by `make_room` once all is written and only the names
    are to be given, so that a full disk takes nothing away.

    Raises:
        OSError: the lake cannot be written; nothing is left there then.
    """
    for log in (log for run in runs for log in run.logs.values()):
        if log.path.exists():
            sync_log(log.path)
    (month,) = {run.month for run in runs}
    token = uuid.uuid4().hex
    rows = {}
    for table in TABLES_IN_ORDER:
        if mine := [run for run in runs if table in run.tables]:
            stores = [run.tables[table] for run in mine]
            parts = (
                Part(run.run_id, run.coverage_of(table), store.num_rows)
                for run, store in zip(mine, stores, strict=True)
            )
            rows[table] = chain.from_iterable(map(RowStore.tables, stores)), tuple(parts)

    @contextlib.contextmanager
    def placing() -> Iterator[None]:
        make_room()
        with locked(lake, LOCK):
            yield

    names = f"{TEMPORARY}{token}{UNFINISHED}", f"{PREFIX}{token}.parquet"
    return seal_files(lake, month, rows, names, placing())


def drop_cut_off(manifest: Manifest) -> None:
    """Remove what a batch left that was cut off; see `schemas.lake.Lake.drop_cut_off`."""
    lake = manifest.folder
    limit = time.time() - DEAD_S
    for path in lake.glob(f"*/month=*/{TEMPORARY}*{UNFINISHED}"):
        with contextlib.suppress(FileNotFoundError):
            if path.stat().st_mtime < limit:
                path.unlink()
    names = [name for name in manifest.names if BATCH.fullmatch(name.rpartition("/")[2])]
    if not names:
        return
    with locked(lake, LOCK):
        for name in names:
            table, _, rest = name.partition("/")
            if table not in RESULT_TABLES.tables[:-1] or (lake / "results" / rest).exists():
                continue
            file = manifest.file(name)
            covers = [part for part in file.parts if part.coverage.end] if file else []
            if any(not (lake.parent / part.run_id).exists() for part in covers):
                continue  # its results were lost in another way, and this is what is left
            if covers and not any(_has_results(manifest, part) for part in covers):
                (lake / name).unlink(missing_ok=True)
                manifest.drop([name])


def _has_results(manifest: Manifest, part: Part) -> bool:
    held = manifest.parts_of("results", part.run_id)
    return any(other.coverage == part.coverage for _, other in held)
