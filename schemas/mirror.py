"""results.jsonl to Parquet: follows one run's log and seals what it finds.

The only path from a log to the lake: the collector's child runs it while a run goes on, the
analysis runs it for whatever was not mirrored. Running it twice changes nothing.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import time
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import pyarrow as pa

from schemas.arrow import row_of
from schemas.errors import BenchError
from schemas.lake import Coverage, LakeWriter, live_files, month_of, table_of
from schemas.lines import LineError, parse_line
from schemas.reconcile import BATCH_TABLES, put_right, tail_before
from schemas.result import Event, Result
from schemas.run_config import load_run_config
from schemas.trial import PlannedTrial

BATCH_ROWS = 5_000
"""Rows in a sealed file: few enough to hold in memory, enough to compress well."""

BATCH_BYTES = 32 * 2**20
"""Bytes of the log in a sealed file, where answers are long."""

CHUNK_ROWS = 500
"""Rows kept as Python objects, ten times as large as columns, before they become columns."""

LOCK_POLL_S = 0.1


class MirrorBusy(BenchError):
    """Another process is mirroring this run at the moment."""

    def __init__(self, run_dir: Path) -> None:
        super().__init__(f"{run_dir}: another process is writing this run to the lake")


def _locked(run_dir: Path, wait_s: float) -> int:
    """Return a handle that holds the run's lock; the kernel lets go of it with the process."""
    handle = os.open(run_dir / ".mirror.lock", os.O_CREAT | os.O_RDWR, 0o644)
    deadline = time.monotonic() + wait_s
    while True:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as exc:
            if time.monotonic() >= deadline:
                os.close(handle)
                raise MirrorBusy(run_dir) from exc
            time.sleep(LOCK_POLL_S)
        except OSError:
            os.close(handle)
            raise
        else:
            return handle


class RunMirror:
    """The state of mirroring one run: how far its log is in the lake.

    One process at a time mirrors a run; the lock is the process's own and ends with it.

    Args:
        run_dir: the run's folder.
        lake: where its rows go.
        wait_s: seconds to wait for another process that mirrors the run.
        log_rules: the log is being written, so rows of the lake that it does not hold (any more)
            go; else a lake that is ahead of its log is kept, since it may be all that is left.

    Raises:
        MirrorBusy: another process holds the lock.
    """

    def __init__(
        self, run_dir: Path, lake: Path, *, wait_s: float = 0.0, log_rules: bool = False
    ) -> None:
        self._lock = _locked(run_dir, wait_s)
        try:
            self._begin(run_dir, lake, log_rules)
        except BaseException:
            self.close()
            raise

    def _begin(self, run_dir: Path, lake: Path, log_rules: bool) -> None:
        """Find out how far the lake is, and put right what a crash may have left there."""
        config = load_run_config(run_dir / "config.json")
        self.run_dir = run_dir
        self.problems: list[str] = []
        self._log = run_dir / "results.jsonl"
        self._lake = lake
        self._writer = LakeWriter(lake, config.run_id, month_of(config.started_at_ms))
        self._run_id = config.run_id
        self._rows: dict[str, list[dict[str, Any]]] = {table: [] for table in BATCH_TABLES}
        self._chunks: dict[str, list[pa.Table]] = {table: [] for table in BATCH_TABLES}
        self._n_loose = self._n_pending = 0  # rows that are no columns yet; rows not sealed yet
        self._writer.drop_unfinished()
        done = put_right(lake, config.run_id, self._log, log_rules=log_rules)
        self._sealed_bytes, self._sealed_lines = done.end, done.lines_after
        self._read_bytes, self._read_lines = done.end, done.lines_after
        self._seal_plan()

    def close(self) -> None:
        """Give the lock back; rows that were not sealed are read again by the next mirror."""
        os.close(self._lock)

    def _seal_plan(self) -> None:
        if live_files(self._lake, "plans", self._run_id):
            return
        with (self.run_dir / "plan.jsonl").open("rb") as plan:
            rows = (row_of(PlannedTrial.model_validate_json(line)) for line in plan)
            chunks = [table_of("plans", chunk) for chunk in _chunked(rows)]
        table = pa.concat_tables(chunks or [table_of("plans", [])])
        self._writer.seal_batch({"plans": table}, Coverage(0, 0, 0, table.num_rows))

    def step(self) -> int:
        """Read whole lines that are new, seal full batches, and return how many were read.

        Raises:
            OSError: a batch cannot be written. Nothing is lost: the next step tries again before
                it reads on.
        """
        self._seal_if_full()
        if not self._log.exists():
            return 0
        before = self._read_lines
        with self._log.open("rb") as log:
            log.seek(self._read_bytes)
            for line in log:
                if not line.endswith(b"\n"):
                    break  # a torn or still growing tail
                self._read_bytes += len(line)
                self._read_lines += 1
                self._take(line)
                self._seal_if_full()
        return self._read_lines - before

    def _take(self, line: bytes) -> None:
        """Turn one line into rows; what cannot be read is reported, never guessed."""
        number = self._read_lines
        try:
            record = parse_line(line)
        except LineError as exc:
            self.problems.append(f"{self._log}:{number}: {exc}; the line was skipped")
            return
        row = row_of(record)
        row["record_no"] = number
        if isinstance(record, Event):
            self._rows["events"].append(row)
        else:
            row["output_hash"] = _output_hash(record)
            self._rows["results"].append(row)
            self._rows["outputs"].append(row)
        self._n_loose += 1
        self._n_pending += 1
        if self._n_loose >= CHUNK_ROWS:
            self._pack()

    def _pack(self) -> None:
        """Make columns of the rows."""
        for table, rows in self._rows.items():
            if rows:
                self._chunks[table].append(table_of(table, rows))
                self._rows[table] = []
        self._n_loose = 0

    def _seal_if_full(self) -> None:
        n_bytes = self._read_bytes - self._sealed_bytes
        if self._n_pending >= BATCH_ROWS or n_bytes >= BATCH_BYTES:
            self.seal()

    def seal(self) -> None:
        """Seal all that was read.

        The log is on the disk before the Parquet file that covers it: a power cut never leaves
        the lake with rows that the log does not have.

        Raises:
            OSError: the lake cannot be written, the disk is full; the rows stay to be sealed.
        """
        if self._read_bytes == self._sealed_bytes:
            return
        self._pack()
        tail = tail_before(self._log, self._read_bytes)
        _sync(self._log)
        coverage = Coverage(
            self._sealed_bytes, self._read_bytes, self._sealed_lines, self._read_lines, tail
        )
        tables = {
            table: pa.concat_tables(self._chunks[table] or [table_of(table, [])])
            for table in BATCH_TABLES
            if self._chunks[table] or table == "results"
        }
        self._writer.next_sequence()
        self._writer.seal_batch(tables, coverage)
        self._chunks = {table: [] for table in BATCH_TABLES}
        self._n_pending = 0
        self._sealed_bytes, self._sealed_lines = self._read_bytes, self._read_lines


def _chunked(rows: Iterator[dict[str, Any]]) -> Iterator[list[dict[str, Any]]]:
    while chunk := list(islice(rows, CHUNK_ROWS)):
        yield chunk


def _output_hash(result: Result) -> str:
    return hashlib.sha256(result.raw_output.encode()).hexdigest()[:16]


def _sync(path: Path) -> None:
    """Wait until what was written to a file is on the disk."""
    with path.open("rb") as file:
        os.fsync(file.fileno())


def mirror_run(run_dir: Path, lake: Path) -> list[str]:
    """Bring one run's log into the lake, as far as it is not there, and return the problems.

    Raises:
        MirrorBusy: another process is at it; what it has sealed so far can be read.
    """
    mirror = RunMirror(run_dir, lake)
    try:
        mirror.step()
        mirror.seal()
    finally:
        mirror.close()
    return mirror.problems
