"""The lake's tables and sealed files: columns, what a file says about itself, where a run is.

`runs/lake/<table>/month=YYYY-MM/<run_id>-<writer>-<seq>.parquet`. A file is written under a
temporary name and renamed when it is whole, so a plain glob never meets half a file. Each names
the stretches of results.jsonl that it covers, one a run and batch: the next mirror goes on where
they end. A compaction puts the stretches of several runs into one file.
"""

from __future__ import annotations

import contextlib
import errno
import functools
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import orjson
import pyarrow as pa
import pyarrow.parquet as pq

from schemas.base import SCHEMA_VERSION
from schemas.errors import DamagedFile, SchemaError, printable
from schemas.io.arrow import arrow_schema
from schemas.lake.footer import LAYOUT, PREFIX, sealed_file
from schemas.lake.layout import (
    ONE_RUN,
    lake_of,
    live_files,
    month_of,
    once_it_holds_still,
)
from schemas.parts import Coverage, LakeFile, Part, covered_until, unbroken
from schemas.run.plan import PlannedTrial
from schemas.run.result import OUTPUT_FIELDS, TRIAL_KEY, Event, LakeColumns, Result
from schemas.run_row import RunRow

__all__ = [
    "LAYOUT", "PREFIX", "TABLES", "Coverage", "LakeFile", "Part", "compression_of",
    "covered_until", "file_facts", "files_of", "lake_of", "live_files", "month_of", "parts_of",
    "read_lake_file", "table_of", "unbroken",
]  # fmt: skip


def _nullable(schema: pa.Schema, *names: str) -> pa.Schema:
    """Return the columns, those named nullable: folders of an earlier tool do not have them."""
    return pa.schema(
        [field.with_nullable(field.nullable or field.name in names) for field in schema]
    )


TABLES: Mapping[str, pa.Schema] = {
    "results": arrow_schema(Result, LakeColumns, drop=OUTPUT_FIELDS),
    "outputs": arrow_schema(Result, LakeColumns, only=(*TRIAL_KEY, *OUTPUT_FIELDS, "record_no")),
    "events": _nullable(
        arrow_schema(Event, LakeColumns, drop=("output_hash", "supersedes")), "at_ms"
    ),
    "plans": _nullable(
        arrow_schema(PlannedTrial), "case_hash", "run_fingerprint", "fingerprint_parts"
    ),
    "runs": arrow_schema(RunRow),
}
"""Every table of the lake and its columns; `month` comes from the folder's name."""

TEXT_TABLES = frozenset({"outputs"})
"""Compressed lightly: the text of answers is what conversion costs."""

OF_THE_FILE = frozenset({errno.EACCES, errno.EPERM, errno.EISDIR, errno.EIO, errno.EINVAL})
"""Errors that speak of the one file that was opened, and of no other."""


def read_lake_file(path: Path) -> LakeFile:
    """Read what a sealed file says about itself.

    Raises:
        FileNotFoundError: a compaction moved it away; list again.
        DamagedFile: it is no Parquet file, or not one of ours.
        UnknownVersion: a newer benchlake wrote it.
    """
    with reading(path), pq.ParquetFile(path) as file:
        raw, n_rows = file.schema_arrow.metadata or {}, file.metadata.num_rows
    facts = {
        key.decode(errors="replace"): value.decode(errors="replace") for key, value in raw.items()
    }
    return sealed_file(path, facts, n_rows)


@contextlib.contextmanager
def reading(path: Path) -> Iterator[None]:
    """Turn what Arrow and the disk say of a damaged file into an error that names it.

    Raises:
        FileNotFoundError: it was moved away.
        DamagedFile: it cannot be read.
        OSError: nothing can be read at the moment, as when too many files are open.
    """
    try:
        yield
    except MemoryError:
        raise  # Arrow's error of its own is one, and says nothing of the file
    except (pa.ArrowException, OSError) as exc:
        number = getattr(exc, "errno", None)
        if isinstance(exc, OSError) and number is not None and number not in OF_THE_FILE:
            raise
        said = exc.strerror if number is not None else printable(str(exc).partition("\n")[0])
        found = f"cannot be read ({said})"
        if path.is_file() and not path.stat().st_size:
            found = "is empty"
        elif isinstance(exc, pa.ArrowInvalid) and "magic bytes" in str(exc):
            found = "is no Parquet file, or the end of one is missing"
        raise DamagedFile(path, found) from exc


def stored_part(part: Part) -> dict[str, Any]:
    """Return a part as it is stored in a file's metadata: flat, plain values."""
    return {"run_id": part.run_id, **vars(part.coverage), "n_rows": part.n_rows}


def files_of(lake: Path, table: str, run_id: str) -> list[Path]:
    """Return the live files that hold rows of a run.

    Raises:
        SchemaError: a file that bears the run's name is not one of ours.
        UnknownVersion: a newer benchlake wrote it.
    """
    return once_it_holds_still(lambda: _files_of(lake, table, run_id))


def parts_of(lake: Path, table: str, run_id: str) -> list[tuple[LakeFile, Part]]:
    """Return the parts of a run with the live files they are in.

    Raises:
        SchemaError: a file that bears the run's name is not one of ours.
        UnknownVersion: a newer benchlake wrote it.
    """

    def read() -> list[tuple[LakeFile, Part]]:
        files = [read_lake_file(path) for path in _files_of(lake, table, run_id)]
        return [(file, part) for file in files for part in file.parts if part.run_id == run_id]

    return once_it_holds_still(read)


def _files_of(lake: Path, table: str, run_id: str) -> list[Path]:
    found = []
    for path in live_files(lake, table):
        name = ONE_RUN.fullmatch(path.name)
        if name is not None:
            if name["run_id"] == run_id:
                found.append(path)
            continue
        try:
            file = _read_once(path, path.stat().st_mtime_ns)
        except SchemaError:
            if path.name.startswith(f"{run_id}-"):
                raise
        else:
            if any(part.run_id == run_id for part in file.parts):
                found.append(path)
    return found


@functools.lru_cache(maxsize=256)
def _read_once(path: Path, changed_ns: int) -> LakeFile:  # noqa: ARG001
    """Read what a file of several runs says about itself; it is asked for every run there is."""
    return read_lake_file(path)


def table_of(table: str, rows: list[dict[str, Any]]) -> pa.Table:
    """Return rows as the declared columns of a table; what else a row holds is passed over."""
    return pa.Table.from_pylist(rows, schema=TABLES[table])


def file_facts(parts: Iterable[Part]) -> dict[str, bytes | str]:
    """Return what a file says about itself in its metadata."""
    return {
        PREFIX + "schema_version": str(SCHEMA_VERSION),
        PREFIX + "layout": str(LAYOUT),
        PREFIX + "parts": orjson.dumps([stored_part(part) for part in parts]),
    }


def compression_of(table: str) -> dict[str, Any]:
    """Return how the files of a table are compressed, as arguments of a Parquet writer."""
    return {"compression": "zstd", "compression_level": 1 if table in TEXT_TABLES else 3}
