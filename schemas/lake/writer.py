"""Logs to Parquet: follows those of one run and seals what it finds.

The collector's child runs it while a run goes on, the analysis for whatever was not mirrored.
Running it twice changes nothing; a file is whole or not there. Many runs at once, each whole, go
through `schemas.lake.bulk_load`.
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from itertools import islice, takewhile
from pathlib import Path
from typing import BinaryIO, Protocol

import pyarrow as pa
import pyarrow.parquet as pq

from schemas.errors import LogLost
from schemas.io.files import TEMPORARY, sync_path
from schemas.io.own_files import make_own_folder, open_own_file
from schemas.lake.footer import LAYOUT, parts_of
from schemas.lake.layout import NO_COVERAGE, Coverage, LakeFile, Part, month_of, require_own_lake
from schemas.lake.log_coverage import EVALUATION_TABLES, RESULT_TABLES, LogTables, tail_before
from schemas.lake.recover import Look, drop_older_layout, remove_cut_batches
from schemas.lake.rewrite import rows_of_part
from schemas.lake.rows.lines import EvaluationRows, RunRows, planned_run
from schemas.lake.rows.tables import RECORD_KEY, TABLES, compression_of, file_facts
from schemas.lake.transaction import lock_run
from schemas.run.config import RunConfig, config_of

MAX_BATCH_ROWS = 5_000
"""Rows in a sealed file: few enough to hold in memory, enough to compress well."""

MAX_BATCH_BYTES = 32 * 2**20
"""Bytes of the log in a sealed file, where answers are long."""

CHUNK_BYTES = 2**20
"""Bytes of the log that are Python objects, ten times as large as columns, at one moment."""


def seal_files(
    lake: Path,
    month: str,
    rows: Mapping[str, tuple[pa.Table, tuple[Part, ...]]],
    names: tuple[str, str],
    placing: AbstractContextManager[object] | None = None,
) -> list[LakeFile]:
    """Seal rows and their parts by table, in their order, one file each: all of them or none.

    The first of `names`, fsync, rename to the second, fsync of the folder: after a crash a file is
    whole or not there. All are written before the first is renamed, in `placing`, so that a full
    disk leaves nothing.

    Raises:
        OSError: the lake cannot be written; nothing is left there then.
    """
    staged: list[tuple[Path, Path]] = []
    try:
        for table, (content, parts) in rows.items():
            folder = make_own_folder(lake, f"{table}/month={month}")
            written, target = (folder / name for name in names)
            staged.append((written, target))
            whole = content.replace_schema_metadata(file_facts(parts))
            pq.write_table(whole, written, **compression_of(table))
            sync_path(written)
        with placing or nullcontext():
            for written, target in staged:
                written.rename(target)
                sync_path(target.parent)
    except BaseException:
        for written, target in reversed(staged):
            target.unlink(missing_ok=True)
            written.unlink(missing_ok=True)
        raise
    sealed = zip(staged, rows.values(), strict=True)
    return [LakeFile(target, parts, LAYOUT) for (_, target), (_, parts) in sealed]


class LakeWriter:
    """Seals files for one run; every file name is unique, so writers never meet."""

    def __init__(self, lake: Path, run_id: str, month: str) -> None:
        self.lake = lake
        self.run_id = run_id
        self.month = month
        self._writer = uuid.uuid4().hex[:12]
        self._seq = 0

    def seal_batch(self, tables: Mapping[str, pa.Table], coverage: Coverage) -> list[LakeFile]:
        """Seal the tables of one batch in their order, as `seal_files`; they share a number."""
        self._seq += coverage != NO_COVERAGE
        rows = {
            table: (content, (Part(self.run_id, coverage, content.num_rows),))
            for table, content in tables.items()
        }
        temporary = f"{TEMPORARY}{self.run_id}-{uuid.uuid4().hex[:12]}"
        name = f"{self.run_id}-{self._writer}-{self._seq:06d}.parquet"
        return seal_files(self.lake, self.month, rows, (temporary, name))

    def drop_unfinished(self) -> None:
        """Remove what dead writers of this run left half-written.

        Only for the process that holds the run's lock: there is no other writer of the run then.
        Files of other runs, which several collectors may be writing, are not touched.
        """
        for path in self.lake.glob(f"*/month={self.month}/{TEMPORARY}*"):
            if path.name.removeprefix(TEMPORARY).rpartition("-")[0] == self.run_id:
                path.unlink(missing_ok=True)


class LineReader(Protocol):
    """Makes rows of lines of one log, in its order."""

    def read(
        self, lines: Sequence[bytes], first: int
    ) -> tuple[dict[str, pa.Table], list[tuple[int, str]]]:
        """Return the rows of whole lines by table, and the numbers of lines skipped, with why."""


class LogMirror:
    """How far one log of a run is in the lake: reads on from there, and seals what it read.

    Args:
        run_dir: the run's folder.
        log: which of its logs.
        writer: seals the rows.
        covered: what the lake holds of it.
    """

    def __init__(
        self, run_dir: Path, log: LogTables, writer: LakeWriter, covered: Coverage
    ) -> None:
        self.path = run_dir / log.name
        self.problems: list[str] = []
        self.sealed: list[LakeFile] = []
        """Files that were made."""
        self.n_bytes, self.n_lines = covered.end, covered.lines_after
        """How much of the log was read, by earlier mirrors as well."""
        self._log = log
        self._writer = writer
        self._sealed_bytes, self._sealed_lines = covered.end, covered.lines_after
        self._chunks: dict[str, list[pa.Table]] = {table: [] for table in log.tables}
        self._n_pending = 0

    def sealed_rows(self, table: str, columns: Sequence[str]) -> Iterator[pa.Table]:
        """Yield the rows that the lake holds of the run in a table."""
        for file, part in parts_of(self._writer.lake, table, self._writer.run_id):
            yield from rows_of_part(file, part, columns)

    def skipped_before(self, reader: LineReader) -> list[str]:
        """Return why lines that are read already are in no table, from the lines themselves."""
        if not self.n_lines or not self.path.exists():
            return []
        held = {
            number
            for table in self._log.tables
            if table != self._log.text_table
            for rows in self.sealed_rows(table, ["record_no"])
            for number in rows["record_no"].to_pylist()
        }
        if len(held) == self.n_lines:
            return []
        problems = []
        with self._opened() as log:
            for number, line in enumerate(islice(log, self.n_lines), 1):
                if number not in held:
                    problems += reader.read([line], number)[1]
        return self._sentences(problems)

    def _opened(self) -> BinaryIO:
        return open_own_file(self.path.parent, self.path.name)

    def _sentences(self, problems: Iterable[tuple[int, str]]) -> list[str]:
        return [f"{self.path}:{number}: {why}; the line was skipped" for number, why in problems]

    def step(self, reader: LineReader) -> int:
        """Read whole lines that are new, seal full batches, and return how many were read.

        Raises:
            OSError: a batch cannot be written. Nothing is lost: the next step tries again before
                it reads on.
        """
        self._seal_if_full()
        if not self.path.exists():
            return 0
        before = self.n_lines
        with self._opened() as log:
            log.seek(self.n_bytes)
            while lines := self._next_lines(log):
                while lines:
                    room = max(1, MAX_BATCH_ROWS - self._n_pending)
                    self._take(reader, lines[:room])
                    lines = lines[room:]
                    self._seal_if_full()
                log.seek(self.n_bytes)
        return self.n_lines - before

    def _next_lines(self, log: BinaryIO) -> list[bytes]:
        """Return lines that fit into the batch, at least one, up to one that is torn or growing.

        Its rest may have come while the next was read, as a line of its own.
        """
        room = MAX_BATCH_BYTES - (self.n_bytes - self._sealed_bytes)
        lines = log.readlines(max(1, min(CHUNK_BYTES, room)))
        return list(takewhile(lambda line: line.endswith(b"\n"), lines))

    def _take(self, reader: LineReader, lines: list[bytes]) -> None:
        """Turn lines into columns; what cannot be read is reported, never guessed."""
        tables, problems = reader.read(lines, self.n_lines + 1)
        self.n_bytes += sum(map(len, lines))
        self.n_lines += len(lines)
        self.problems += self._sentences(problems)
        for table, content in tables.items():
            self._chunks[table].append(content)
            if table != self._log.text_table:
                self._n_pending += content.num_rows

    def _seal_if_full(self) -> None:
        n_bytes = self.n_bytes - self._sealed_bytes
        if self._n_pending >= MAX_BATCH_ROWS or n_bytes >= MAX_BATCH_BYTES:
            self.seal()

    def seal(self) -> None:
        """Seal all that was read.

        The log is on the disk before the Parquet file that covers it: a power cut never leaves
        the lake with rows that the log does not have.

        Raises:
            OSError: the lake cannot be written, the disk is full; the rows stay to be sealed.
        """
        if self.n_bytes == self._sealed_bytes:
            return
        tail = tail_before(self.path, self.n_bytes)
        sync_log(self.path)
        coverage = Coverage(
            self._sealed_bytes, self.n_bytes, self._sealed_lines, self.n_lines, tail
        )
        tables = {
            table: pa.concat_tables(self._chunks[table] or [TABLES[table].empty_table()])
            for table in self._log.tables
            if self._chunks[table] or table == self._log.tables[-1]
        }
        self.sealed += self._writer.seal_batch(tables, coverage)
        self._chunks = {table: [] for table in self._log.tables}
        self._n_pending = 0
        self._sealed_bytes, self._sealed_lines = self.n_bytes, self.n_lines


class RunMirror:
    """The state of mirroring one run: how far its logs are in the lake.

    One process at a time mirrors a run; the lock is the process's own and ends with it.

    Args:
        run_dir: the run's folder.
        lake: where its rows go.
        wait_s: seconds to wait for another process that mirrors the run.
        is_growing: results are being written, so a log of them that is shorter than what the lake
            holds of it is refused; else it is left as it is, and so are the lake's rows.
        look: returns the parts of a run, for a caller who knows them; by default files are asked.
        lock: a handle that holds the run's lock already.

    Raises:
        MirrorBusy: another process holds the lock.
        LogLost: the log of results does not hold what the lake took from it.
    """

    def __init__(
        self,
        run_dir: Path,
        lake: Path,
        *,
        wait_s: float = 0.0,
        is_growing: bool = False,
        look: Look | None = None,
        lock: int | None = None,
    ) -> None:
        self._lock = lock_run(run_dir, lake, wait_s) if lock is None else lock
        try:
            self._begin(run_dir, lake, is_growing, look)
        except BaseException:
            self.close()
            raise

    def _begin(self, run_dir: Path, lake: Path, is_growing: bool, look: Look | None) -> None:
        """Find out how far the lake is, and put right what a crash may have left there."""
        config = config_of(run_dir)
        self.run_dir = run_dir
        self.lost: list[str] = []
        """Why evaluations are not read: the log of them does not hold what the lake does."""
        self._head: list[LakeFile] = []
        self._look: Look = look or (lambda table, run_id: parts_of(lake, table, run_id))
        self._writer = LakeWriter(lake, config.run_id, month_of(config.started_at_ms))
        require_own_lake(lake)
        self._writer.drop_unfinished()
        log = run_dir / RESULT_TABLES.name
        was_changed = drop_older_layout(lake, config.run_id, log, self._look)
        known = None if was_changed else look
        done = remove_cut_batches(lake, config.run_id, log, is_growing=is_growing, look=known)
        self._results = LogMirror(run_dir, RESULT_TABLES, self._writer, done)
        self._evaluations = self._begin_evaluations(run_dir, known)
        self._seal_plan(config)
        if done.end:
            self._rows.remember(self._results.sealed_rows("results", RECORD_KEY))

    def _begin_evaluations(self, run_dir: Path, look: Look | None) -> LogMirror:
        """Find out how far the evaluations are; a log of them that was replaced stops no results.

        The lake's rows may be all that is left of the old one, and nobody reads on in another.
        """
        log, lake, run_id = run_dir / EVALUATION_TABLES.name, self._writer.lake, self._writer.run_id
        covered = NO_COVERAGE
        try:
            covered = remove_cut_batches(
                lake, run_id, log, EVALUATION_TABLES, is_growing=True, look=look
            )
        except LogLost as exc:
            self.lost.append(str(exc))
        return LogMirror(run_dir, EVALUATION_TABLES, self._writer, covered)

    @property
    def logs(self) -> tuple[LogMirror, ...]:
        """Return the logs that are read."""
        return (self._results,) if self.lost else (self._results, self._evaluations)

    @property
    def n_lines(self) -> int:
        """Return how many lines of results were read, by earlier mirrors as well."""
        return self._results.n_lines

    @property
    def n_bytes(self) -> int:
        """Return how many bytes these are."""
        return self._results.n_bytes

    @property
    def problems(self) -> list[str]:
        """Return why lines were skipped, a sentence each."""
        return [problem for log in self.logs for problem in log.problems]

    @property
    def sealed(self) -> list[LakeFile]:
        """Return the files that were made."""
        return [*self._head, *(file for log in self.logs for file in log.sealed)]

    def skipped_before(self) -> list[str]:
        """Return why lines that are read already are in no table, from the lines themselves."""
        problems = self._results.skipped_before(RunRows(self._writer.run_id, self._rows.planned))
        if not self.lost:
            problems += self._evaluations.skipped_before(self._looks)
        return problems

    def close(self) -> None:
        """Give the lock back; rows that were not sealed are read again by the next mirror."""
        os.close(self._lock)

    def _seal_plan(self, config: RunConfig) -> None:
        """Seal the plan and the run itself, as far as they are not in the lake."""
        self._rows, head = planned_run(self.run_dir, config)
        self._looks = EvaluationRows(config.run_id, self._rows.planned)
        missing = {
            table: rows for table, rows in head.items() if not self._look(table, config.run_id)
        }
        if missing:
            self._head += self._writer.seal_batch(missing, NO_COVERAGE)

    def step(self) -> int:
        """Read whole lines that are new, seal full batches, and return how many were read.

        Raises:
            OSError: a batch cannot be written. Nothing is lost: the next step tries again before
                it reads on.
        """
        n_lines = self._results.step(self._rows)
        return n_lines if self.lost else n_lines + self._evaluations.step(self._looks)

    def seal(self) -> None:
        """Seal all that was read.

        Raises:
            OSError: the lake cannot be written, the disk is full; the rows stay to be sealed.
        """
        for log in self.logs:
            log.seal()


def sync_log(path: Path) -> None:
    """Wait until what was written to a log is on the disk."""
    with open_own_file(path.parent, path.name) as file:
        os.fsync(file.fileno())
