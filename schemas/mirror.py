"""results.jsonl to Parquet: follows one run's log and seals what it finds.

The only path from a log to the lake: the collector's child runs it while a run goes on, the
analysis runs it for whatever was not mirrored. Running it twice changes nothing.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
from pathlib import Path
from typing import Any

import orjson
from pydantic import ValidationError

from schemas.arrow import row_of
from schemas.errors import BenchError
from schemas.lake import (
    Coverage,
    LakeFile,
    LakeWriter,
    covered_until,
    live_files,
    month_of,
    read_lake_file,
)
from schemas.result import OUTPUT_FIELDS, TRIAL_KEY, Event, Result
from schemas.run_config import load_run_config
from schemas.trial import PlannedTrial

BATCH_ROWS = 5_000
"""Rows in a sealed file: few enough to hold in memory, enough to compress well."""

NARROW = ("results", "outputs", "events")


class MirrorBusy(BenchError):
    """Another process is mirroring this run at the moment."""

    def __init__(self, run_dir: Path) -> None:
        super().__init__(f"{run_dir}: another process is writing this run to the lake")


def _locked(run_dir: Path) -> int:
    """Return a handle that holds the run's lock; the kernel lets go of it with the process."""
    handle = os.open(run_dir / ".mirror.lock", os.O_CREAT | os.O_RDWR, 0o644)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as exc:
        os.close(handle)
        if isinstance(exc, BlockingIOError):
            raise MirrorBusy(run_dir) from exc
        raise
    return handle


class RunMirror:
    """The state of mirroring one run: how far its log is in the lake.

    One process at a time mirrors a run; the lock is the process's own and ends with it.

    Raises:
        MirrorBusy: another process holds the lock.
    """

    def __init__(self, run_dir: Path, lake: Path) -> None:
        self._lock = _locked(run_dir)
        try:
            self._begin(run_dir, lake)
        except BaseException:
            self.close()
            raise

    def _begin(self, run_dir: Path, lake: Path) -> None:
        """Find out how far the lake is, and put right what a crash may have left there."""
        config = load_run_config(run_dir / "config.json")
        self.run_dir = run_dir
        self.problems: list[str] = []
        self._log = run_dir / "results.jsonl"
        self._lake = lake
        self._writer = LakeWriter(lake, config.run_id, month_of(config.started_at_ms))
        self._run_id = config.run_id
        self._drop_orphans()
        done = covered_until(self._sealed("results"))
        self._sealed_bytes, self._sealed_lines = done.end, done.lines_after
        self._read_bytes, self._read_lines = done.end, done.lines_after
        self._rows: dict[str, list[dict[str, Any]]] = {table: [] for table in NARROW}
        self._seal_plan()

    def close(self) -> None:
        """Give the lock back; rows that were not sealed are read again by the next mirror."""
        os.close(self._lock)

    def _sealed(self, table: str) -> list[LakeFile]:
        return [read_lake_file(path) for path in live_files(self._lake, table, self._run_id)]

    def _drop_orphans(self) -> None:
        """Remove what will be read again: batches that are not whole, or lie beyond a gap.

        A batch is sealed text first, results last; a crash in between, or somebody who deletes a
        file, leaves parts of batches behind, and a plain glob would count their rows twice.
        """
        texts = {file.coverage for file in self._sealed("outputs")}
        results = self._sealed("results")
        whole = [file for file in results if file.n_rows == 0 or file.coverage in texts]
        until = covered_until(whole).end
        sealed = {file.coverage for file in whole if file.coverage.end <= until}
        for file in results:
            if file.coverage not in sealed:
                file.path.unlink()
        for table in ("outputs", "events"):
            for file in self._sealed(table):
                if file.coverage not in sealed:
                    file.path.unlink()

    def _seal_plan(self) -> None:
        if live_files(self._lake, "plans", self._run_id):
            return
        lines = (self.run_dir / "plan.jsonl").read_bytes().splitlines()
        rows = [row_of(PlannedTrial.model_validate_json(line)) for line in lines]
        self._writer.seal("plans", rows, Coverage(0, 0, 0, len(rows)))

    @property
    def pending(self) -> int:
        """Rows read and not sealed yet."""
        return len(self._rows["results"]) + len(self._rows["events"])

    def step(self) -> int:
        """Read whole lines that are new, seal full batches, and return how many were read."""
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
                if self.pending >= BATCH_ROWS:
                    self.seal()
        return self._read_lines - before

    def _take(self, line: bytes) -> None:
        """Turn one line into rows; what cannot be read is reported, never guessed."""
        number = self._read_lines
        try:
            kind = orjson.loads(line).get("record_type")
            if kind == "result":
                self._take_result(Result.model_validate_json(line, strict=True, extra="ignore"))
            elif kind == "event":
                event = Event.model_validate_json(line, strict=True, extra="ignore")
                self._rows["events"].append(row_of(event) | {"record_no": number})
            else:
                self._note(number, f"record_type {kind!r} is unknown; the line was skipped")
        except ValidationError as exc:
            first = exc.errors()[0]
            where = ".".join(str(part) for part in first["loc"])
            self._note(number, f"`{where}`: {first['msg']}; the line was skipped")
        except (orjson.JSONDecodeError, AttributeError) as exc:
            self._note(number, f"not a JSON object ({exc}); the line was skipped")

    def _take_result(self, result: Result) -> None:
        digest = hashlib.sha256(result.raw_output.encode()).hexdigest()[:16]
        row = row_of(result) | {"record_no": self._read_lines, "output_hash": digest}
        text = {name: row.pop(name) for name in OUTPUT_FIELDS}
        key = {name: row[name] for name in (*TRIAL_KEY, "record_no")}
        self._rows["results"].append(row)
        self._rows["outputs"].append(key | text)

    def _note(self, number: int, problem: str) -> None:
        self.problems.append(f"{self._log}:{number}: {problem}")

    def seal(self) -> None:
        """Seal all that was read; results last, since they say that the batch is complete."""
        if self._read_bytes == self._sealed_bytes:
            return
        coverage = Coverage(
            self._sealed_bytes, self._read_bytes, self._sealed_lines, self._read_lines
        )
        self._writer.next_sequence()
        for table in ("outputs", "events", "results"):
            if self._rows[table] or table == "results":
                self._writer.seal(table, self._rows[table], coverage)
            self._rows[table] = []
        self._sealed_bytes, self._sealed_lines = self._read_bytes, self._read_lines


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
