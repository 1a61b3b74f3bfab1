"""The lake on disk: where files lie, how one is sealed, what is live, and its only writer.

`runs/lake/<table>/month=YYYY-MM/<run_id>-<writer>-<seq>.parquet`. A file is written under a
temporary name and renamed when it is whole, so a plain glob never meets half a file. Each names
the bytes and lines of results.jsonl that it covers; the next mirror goes on where they end.
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from schemas.arrow import arrow_schema
from schemas.base import SCHEMA_VERSION
from schemas.errors import SchemaError, UnknownVersion
from schemas.result import OUTPUT_FIELDS, TRIAL_KEY, Event, LakeColumns, Result
from schemas.trial import PlannedTrial

TABLES: Mapping[str, pa.Schema] = {
    "results": arrow_schema(Result, LakeColumns, drop=OUTPUT_FIELDS),
    "outputs": arrow_schema(Result, LakeColumns, only=(*TRIAL_KEY, *OUTPUT_FIELDS, "record_no")),
    "events": arrow_schema(Event, LakeColumns, drop=("output_hash",)),
    "plans": arrow_schema(PlannedTrial),
}
"""Every table of the lake and its columns; `month` comes from the folder's name."""

TEXT_TABLES = frozenset({"outputs"})
"""Compressed lightly: the text of answers is what conversion costs."""

PREFIX = "benchlake."

TEMPORARY = ".tmp-"
"""Begins the name of a file that is being written; the run's id follows."""


@dataclass(frozen=True)
class Coverage:
    """The stretch of results.jsonl that a file holds: bytes [start, end), lines (first, last]."""

    start: int
    end: int
    lines_before: int
    lines_after: int
    tail: str = ""
    """Hash of the last bytes before `end`: tells whether the log still holds this stretch."""


@dataclass(frozen=True)
class LakeFile:
    """One sealed file."""

    path: Path
    run_id: str
    coverage: Coverage
    n_rows: int


def lake_of(runs_dir: Path) -> Path:
    """Return the lake that belongs to a folder of runs."""
    return runs_dir / "lake"


def month_of(started_at_ms: int) -> str:
    """Return the partition of a run: the month of its start, UTC, as text."""
    return datetime.fromtimestamp(started_at_ms / 1000, tz=UTC).strftime("%Y-%m")


def live_files(lake: Path, table: str, run_id: str | None = None) -> list[Path]:
    """Return the sealed files of a table, oldest month first; of one run when it is named."""
    pattern = (
        f"{table}/month=*/*.parquet"
        if run_id is None
        else (f"{table}/month=*/{_escaped(run_id)}-*.parquet")
    )
    files = sorted(lake.glob(pattern))
    if run_id is None:
        return files
    return [path for path in files if path.stem.rsplit("-", 2)[0] == run_id]


def _escaped(name: str) -> str:
    """Return a name with the wildcards of glob taken literally."""
    return "".join(f"[{char}]" if char in "*?[" else char for char in name)


def read_lake_file(path: Path) -> LakeFile:
    """Read what a sealed file says about itself.

    Raises:
        SchemaError: it is no Parquet file, or not one of ours.
        UnknownVersion: a newer benchlake wrote it.
    """
    try:
        with pq.ParquetFile(path) as file:
            raw, n_rows = file.schema_arrow.metadata or {}, file.metadata.num_rows
    except pa.ArrowInvalid as exc:
        message = f"{path}: not a Parquet file: {exc}"
        raise SchemaError(message) from exc
    facts = {key.decode(): value.decode(errors="replace") for key, value in raw.items()}
    if PREFIX + "schema_version" not in facts:
        message = f"{path}: was not written by benchlake; the lake holds its own files only"
        raise SchemaError(message)
    version = int(facts[PREFIX + "schema_version"])
    if version > SCHEMA_VERSION:
        message = f"{path}: schema_version {version}, this benchlake reads up to {SCHEMA_VERSION}"
        raise UnknownVersion(message)
    start, end, before, after = (int(number) for number in facts[PREFIX + "coverage"].split())
    coverage = Coverage(start, end, before, after, facts.get(PREFIX + "tail", ""))
    return LakeFile(path, facts[PREFIX + "run_id"], coverage, n_rows)


def table_of(table: str, rows: list[dict[str, Any]]) -> pa.Table:
    """Return rows as the declared columns of a table; what else a row holds is passed over."""
    return pa.Table.from_pylist(rows, schema=TABLES[table])


class LakeWriter:
    """Seals files for one run; every file name is unique, so writers never meet."""

    def __init__(self, lake: Path, run_id: str, month: str) -> None:
        self.lake = lake
        self.run_id = run_id
        self.month = month
        self._writer = uuid.uuid4().hex[:12]
        self._seq = 0

    def next_sequence(self) -> None:
        """Begin the next batch: the files of one batch share a sequence number."""
        self._seq += 1

    def seal_batch(self, tables: Mapping[str, pa.Table], coverage: Coverage) -> None:
        """Seal the tables of one batch in their order, one file each: all of them or none.

        Temporary name, fsync, rename, fsync of the folder: after a crash a file is whole or not
        there. All are written before the first is renamed, so that a full disk leaves nothing.
        """
        staged: list[tuple[Path, Path]] = []
        try:
            for table, content in tables.items():
                folder = self.lake / table / f"month={self.month}"
                folder.mkdir(parents=True, exist_ok=True)
                temporary = folder / f"{TEMPORARY}{self.run_id}-{uuid.uuid4().hex[:12]}"
                target = folder / f"{self.run_id}-{self._writer}-{self._seq:06d}.parquet"
                staged.append((temporary, target))
                self._write(table, content, coverage, temporary)
                _fsync(temporary)
            for temporary, target in staged:
                temporary.rename(target)
                _fsync(target.parent)
        except BaseException:
            for temporary, target in reversed(staged):
                target.unlink(missing_ok=True)
                temporary.unlink(missing_ok=True)
            raise

    def _write(self, table: str, content: pa.Table, coverage: Coverage, path: Path) -> None:
        facts = {
            PREFIX + "schema_version": str(SCHEMA_VERSION),
            PREFIX + "run_id": self.run_id,
            PREFIX + "coverage": (
                f"{coverage.start} {coverage.end} {coverage.lines_before} {coverage.lines_after}"
            ),
            PREFIX + "tail": coverage.tail,
        }
        pq.write_table(
            content.replace_schema_metadata(facts),
            path,
            compression="zstd",
            compression_level=1 if table in TEXT_TABLES else 3,
        )

    def drop_unfinished(self) -> None:
        """Remove what dead writers of this run left half-written.

        Only for the process that holds the run's lock: there is no other writer of the run then.
        Files of other runs, which several collectors may be writing, are not touched.
        """
        for path in self.lake.glob(f"*/month=*/{TEMPORARY}*"):
            if path.name.removeprefix(TEMPORARY).rpartition("-")[0] == self.run_id:
                path.unlink(missing_ok=True)


def _fsync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def unbroken(files: Iterable[LakeFile]) -> list[LakeFile]:
    """Return the files that cover the log from byte 0 without a gap or an overlap, in order."""
    chain: list[LakeFile] = []
    for file in sorted(files, key=lambda file: (file.coverage.start, file.coverage.end)):
        if file.coverage.start == (chain[-1].coverage.end if chain else 0):
            chain.append(file)
    return chain


def covered_until(files: Iterable[LakeFile]) -> Coverage:
    """Return the stretch from byte 0 that the files cover without a gap."""
    chain = unbroken(files)
    last = chain[-1].coverage if chain else Coverage(0, 0, 0, 0)
    return Coverage(0, last.end, 0, last.lines_after, last.tail)
