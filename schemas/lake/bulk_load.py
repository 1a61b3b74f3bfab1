"""Whole runs into the lake, several in one file: how a long history comes in quickly.

Only runs of which the lake holds nothing go this way, each as one stretch from the first byte of
its log to the last whole line. The files of a batch share a token in their names; results are put
in place last, so a batch without them was cut off, by kill -9 or a power cut: what it left is
cleared away, and it goes again.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from schemas.io.files import TEMPORARY
from schemas.io.own_files import locked, open_own_file
from schemas.lake.layout import NO_COVERAGE, Coverage, LakeFile, Part, month_of
from schemas.lake.log_coverage import tail_before
from schemas.lake.manifest import Manifest
from schemas.lake.rows.lines import RunRows, planned_run
from schemas.lake.rows.tables import TABLES
from schemas.lake.writer import seal_files, sync_log
from schemas.run.config import config_of
from schemas.run.layout import IMPORT_FILE, LOG, NO_LOG, LogStat

DEAD_S = 600.0
"""A file that is being written for longer than this has no writer any more."""


TABLES_IN_ORDER = ("plans", "runs", "outputs", "events", "results")

PREFIX = "sync-"

BATCH = re.compile(PREFIX + r"[0-9a-f]{32}\.parquet")
"""Name of a file of a batch; a run may be called `sync-1`."""

UNFINISHED = ".bulk"
"""Ends the name of a file that is being written."""

LOCK = "manifest/.batch.lock"
"""Of those who put the files of a batch in place, or look for unfinished ones."""

CHUNK_BYTES = 2**20


@dataclass(frozen=True)
class WholeRun:
    """All rows of one run."""

    run_id: str
    month: str
    tables: dict[str, pa.Table]
    coverage: Coverage
    problems: tuple[str, ...]
    log_stat: LogStat
    """The log as it was before it was read."""


def read_whole(run_dir: Path, *, imported: bool) -> WholeRun:
    """Return all rows of a run; see `schemas.lake.read_whole`. The caller holds its lock."""
    log, seen, content = run_dir / LOG, NO_LOG, b""
    if log.exists():
        with open_own_file(run_dir, LOG) as file:
            facts = os.fstat(file.fileno())
            seen = LogStat(facts.st_size, facts.st_mtime_ns)
            content = file.read(facts.st_size)
    end = content.rfind(b"\n") + 1
    lines = io.BytesIO(content[:end]).readlines()
    coverage = Coverage(0, end, 0, len(lines), tail_before(log, end) if end else "")
    if imported and (run_dir / IMPORT_FILE).exists():
        from schemas.lake.rows.foreign_rows import ImportRows, import_record_of  # noqa: PLC0415 - few folders are

        reader = ImportRows(import_record_of(run_dir))
        rows, found = _rows(reader, lines)
        run_id, tables = run_dir.name, reader.head() | rows
        month = month_of(reader.started_at_ms or seen.mtime_ns // 1_000_000)
    elif imported:
        from schemas.config.run_profile import limit_of_config  # noqa: PLC0415
        from schemas.lake.rows.foreign_rows import import_lines  # noqa: PLC0415 - few folders are

        whole = import_lines(run_dir.name, lines, limit_ms=limit_of_config(run_dir))
        run_id, tables, found = run_dir.name, whole.tables, list(whole.problems)
        month = month_of(whole.started_at_ms or seen.mtime_ns // 1_000_000)
    else:
        config = config_of(run_dir)
        run_id, month = config.run_id, month_of(config.started_at_ms)
        maker, head = planned_run(run_dir, config)
        rows, found = _rows(maker, lines)
        tables = head | rows
    if end:
        tables.setdefault("results", TABLES["results"].empty_table())
    problems = [f"{log}:{number}: {why}; the line was skipped" for number, why in found]
    return WholeRun(run_id, month, tables, coverage, tuple(problems), seen)


def _rows(
    run: RunRows, lines: Sequence[bytes]
) -> tuple[dict[str, pa.Table], list[tuple[int, str]]]:
    """Return the rows of lines, made of a limited number at a time."""
    chunks: dict[str, list[pa.Table]] = {}
    problems: list[tuple[int, str]] = []
    begin = 0
    while begin < len(lines):
        end, n_bytes = begin, 0
        while end < len(lines) and n_bytes < CHUNK_BYTES:
            n_bytes += len(lines[end])
            end += 1
        tables, found = run.read(lines[begin:end], begin + 1)
        problems += found
        for table, content in tables.items():
            chunks.setdefault(table, []).append(content)
        begin = end
    return {table: pa.concat_tables(parts) for table, parts in chunks.items()}, problems


def seal_whole(
    lake: Path, runs: Sequence[WholeRun], logs: Iterable[Path], make_room: Callable[[], None]
) -> list[LakeFile]:
    """Seal runs of one month, one file a table; the caller holds their locks.

    What the runs take the place of is removed by `make_room` once all is written and only the names
    are to be given, so that a full disk takes nothing away.

    Raises:
        OSError: the lake cannot be written; nothing is left there then.
    """
    for log in logs:
        if log.exists():
            sync_log(log)
    (month,) = {run.month for run in runs}
    token = uuid.uuid4().hex
    rows = {}
    for table in TABLES_IN_ORDER:
        if mine := [run for run in runs if table in run.tables]:
            has_log = table not in {"plans", "runs"}
            parts = (
                Part(run.run_id, run.coverage if has_log else NO_COVERAGE, len(run.tables[table]))
                for run in mine
            )
            rows[table] = pa.concat_tables([run.tables[table] for run in mine]), tuple(parts)

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
            if table == "results" or (lake / "results" / rest).exists():
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
