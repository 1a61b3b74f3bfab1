"""What sealed files of the lake say about themselves, and whether they are what was sealed.

A collector asks which stretches of its log the lake holds, and stays thin, so no engine of Parquet
is loaded: pyarrow would be a third of a second and 40 MB before its first request. A footer is a
Thrift struct in the compact protocol (parquet.thrift, `FileMetaData`), of which two fields count
here; all others are passed over.

A sealed file never changes, which tells a damaged one from a sound one. One whose size and time are
as before is taken as it is; of any other one the bytes are read again, and where they are the same
it was only copied.
"""

from __future__ import annotations

import contextlib
import errno
import functools
import os
import zlib
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import orjson

from schemas.errors import DamagedFile, SchemaError, UnknownVersion, counted, printable
from schemas.io.own_files import open_own_file
from schemas.lake.layout import (
    Coverage,
    LakeFile,
    Part,
    live_files,
    may_hold,
    retry_while_moving,
)
from schemas.run.layout import SCHEMA_VERSION

PREFIX = "benchlake."

LAYOUT = 2
"""Of the files we write; 1 had one run a file and results without `supersedes`."""

MAGIC = b"PAR1"
NO_PARQUET = "is no Parquet file, or the end of one is missing"
NUM_ROWS, KEY_VALUES = 3, 5
"""Fields of `FileMetaData`."""

KEY, VALUE = 1, 2
"""Fields of `KeyValue`."""

I16, I32, I64, DOUBLE, BINARY, LIST, SET, MAP, STRUCT = range(4, 13)
"""Types of the compact protocol; 1 and 2 are a boolean's values, 3 is a byte."""

CHUNK_BYTES = 2**20


OF_THE_FILE = frozenset({errno.EACCES, errno.EPERM, errno.EISDIR, errno.EIO, errno.EINVAL})
"""Errors that speak of the one file that was opened, and of no other."""


@contextlib.contextmanager
def reading(path: Path, *errors: type[Exception]) -> Iterator[None]:
    """Turn what the disk, and an engine by errors of its own, say of a file into one that names it.

    Raises:
        FileNotFoundError: it was moved away.
        DamagedFile: it cannot be read.
        OSError: nothing can be read at the moment, as when too many files are open.
    """
    known: tuple[type[Exception], ...] = (OSError, *errors)
    try:
        yield
    except MemoryError:
        raise  # Arrow's error of its own is one, and says nothing of the file
    except known as exc:
        number = getattr(exc, "errno", None)
        if isinstance(exc, OSError) and number is not None and number not in OF_THE_FILE:
            raise
        said = getattr(exc, "strerror", None) or printable(str(exc).partition("\n")[0])
        found = f"cannot be read ({said})"
        if path.is_file() and not path.stat().st_size:
            found = "is empty"
        elif "magic bytes" in str(exc):
            found = NO_PARQUET
        raise DamagedFile(path, found) from exc


def parts_of(
    lake: Path,
    table: str,
    run_id: str,
    months: Collection[str] | None = None,
    *,
    passes_damage: bool = False,
) -> list[tuple[LakeFile, Part]]:
    """Return the parts of a run with the live files they are in.

    Args:
        lake: the lake's folder.
        table: such as `results`.
        run_id: the run.
        months: such as `2026-02`: only these are looked through; None: all.
        passes_damage: of what cannot be read by anybody nothing is said.

    Raises:
        DamagedFile: a file that bears the run's name is not one of ours.
        UnknownVersion: a newer benchlake wrote it.
    """

    def read() -> list[tuple[LakeFile, Part]]:
        found = []
        for path in live_files(lake, table, months):
            if not may_hold(path, run_id):
                continue
            try:
                file = _read_once(path, path.stat().st_mtime_ns)
            except SchemaError as exc:
                is_passed = passes_damage and isinstance(exc, DamagedFile)
                if path.name.startswith(f"{run_id}-") and not is_passed:
                    raise
                continue
            found += [(file, part) for part in file.parts if part.run_id == run_id]
        return found

    return retry_while_moving(read)


def holds_run(lake: Path, run_id: str, months: Collection[str] | None = None) -> bool:
    """Return whether a lake holds rows of a run, in `months` or any; raises as `parts_of`."""
    tables = ("plans", "runs", "results")
    return any(parts_of(lake, table, run_id, months, passes_damage=True) for table in tables)


def read_lake_file(path: Path) -> LakeFile:
    """Return what a sealed file says about itself.

    Raises:
        FileNotFoundError: a compaction moved it away; list again.
        DamagedFile: it is no Parquet file, or not one of ours.
        UnknownVersion: a newer benchlake wrote it.
    """
    lake = path.parents[2]
    with reading(path), open_own_file(lake, path.relative_to(lake).as_posix()) as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(max(0, size - 8))
        length, magic = int.from_bytes(file.read(4), "little"), file.read(4)
        if magic != MAGIC or length + 8 > size:
            raise DamagedFile(path, NO_PARQUET if size else "is empty")
        file.seek(size - 8 - length)
        footer = file.read(length)
    try:
        facts, n_rows = _Footer(footer).facts()
    except (IndexError, ValueError) as exc:
        raise DamagedFile(path, "cannot be read (its footer)") from exc
    return _sealed_file(path, facts, n_rows)


@functools.lru_cache(maxsize=256)
def _read_once(path: Path, changed_ns: int) -> LakeFile:  # noqa: ARG001
    """Return the same of a file of several runs, which is asked for every run there is."""
    return read_lake_file(path)


def _sealed_file(path: Path, facts: Mapping[str, str], n_rows: int) -> LakeFile:
    """Return a sealed file from the texts in its metadata; raises as `read_lake_file`."""
    if PREFIX + "schema_version" not in facts:
        raise DamagedFile(path, "was not written by benchlake")
    try:
        version = int(facts[PREFIX + "schema_version"])
        layout = int(facts.get(PREFIX + "layout", 1))
    except ValueError as exc:
        raise DamagedFile(path, f"says of itself what is no version ({exc})") from exc
    if version > SCHEMA_VERSION or layout > LAYOUT:
        newer = f"layout {layout}" if version <= SCHEMA_VERSION else f"schema_version {version}"
        known = LAYOUT if version <= SCHEMA_VERSION else SCHEMA_VERSION
        message = f"{path}: {newer}, this benchlake reads up to {known}"
        raise UnknownVersion(message)
    try:
        parts = _parts(facts, layout, n_rows)
    except (KeyError, TypeError, ValueError) as exc:
        raise DamagedFile(path, f"does not say which rows it holds ({exc})") from exc
    if parts and sum(part.n_rows for part in parts) != n_rows:
        said = counted(sum(part.n_rows for part in parts), "row")
        raise DamagedFile(path, f"holds {counted(n_rows, 'row')} and says {said}")
    return LakeFile(path, parts, layout)


def _parts(facts: Mapping[str, str], layout: int, n_rows: int) -> tuple[Part, ...]:
    if layout == 1:
        start, end, before, after = (int(number) for number in facts[PREFIX + "coverage"].split())
        coverage = Coverage(start, end, before, after, facts.get(PREFIX + "tail", ""))
        return (Part(facts[PREFIX + "run_id"], coverage, n_rows),)
    return tuple(_part_of(row) for row in orjson.loads(facts[PREFIX + "parts"]))


def _part_of(stored: Mapping[str, Any]) -> Part:
    """Return a part from its stored form."""
    facts = dict(stored)
    run_id, n_rows = facts.pop("run_id"), facts.pop("n_rows")
    return Part(run_id, Coverage(**facts), n_rows)


class _Footer:
    """Reads a struct of the compact protocol from its first byte to its last."""

    def __init__(self, content: bytes) -> None:
        self._content = content
        self._at = 0

    def facts(self) -> tuple[dict[str, str], int]:
        """Return the texts that the file has by name, and how many rows it has."""
        found: dict[str, str] = {}
        n_rows = 0
        for field, kind in self._fields():
            if field == NUM_ROWS:
                n_rows = self._number()
            elif field == KEY_VALUES:
                size, _ = self._list_head()
                for _ in range(size):
                    texts = {KEY: "", VALUE: ""}
                    texts |= {
                        at: self._bytes().decode(errors="replace") for at, _ in self._fields()
                    }
                    found[texts[KEY]] = texts[VALUE]
            else:
                self._skip(kind)
        return found, n_rows

    def _fields(self) -> Iterator[tuple[int, int]]:
        """Yield number and type of each field of a struct; the value is read before the next."""
        field = 0
        while head := self._next():
            field = field + (head >> 4) if head >> 4 else self._number()
            yield field, head & 15

    def _next(self) -> int:
        self._at += 1
        return self._content[self._at - 1]

    def _varint(self) -> int:
        value = shift = 0
        while (byte := self._next()) & 128:
            value |= (byte & 127) << shift
            shift += 7
        return value | byte << shift

    def _number(self) -> int:
        value = self._varint()
        return value >> 1 ^ -(value & 1)

    def _bytes(self) -> bytes:
        length = self._varint()
        self._at += length
        if self._at > len(self._content):
            raise IndexError
        return self._content[self._at - length : self._at]

    def _list_head(self) -> tuple[int, int]:
        head = self._next()
        return (self._varint() if head >> 4 == 15 else head >> 4), head & 15

    def _skip(self, kind: int, *, inside: bool = False) -> None:
        """Pass over a value; a boolean of a struct is in its head, one of a list is a byte."""
        if kind <= 3:
            self._at += inside or kind == 3
        elif kind <= I64:
            self._varint()
        elif kind == DOUBLE:
            self._at += 8
        elif kind == BINARY:
            self._bytes()
        elif kind in {LIST, SET}:
            size, inner = self._list_head()
            for _ in range(size):
                self._skip(inner, inside=True)
        elif kind == STRUCT:
            for _, inner in self._fields():
                self._skip(inner)
        else:
            message = f"type {kind}"
            raise ValueError(message)


class Checksum(NamedTuple):
    """Of one file."""

    size: int
    """Bytes."""
    mtime_ns: int
    """When it was changed last."""
    crc32: int


def checksum_of(path: Path) -> Checksum:
    """Return the checksum of a file; reads all of it, a second a gigabyte.

    Raises:
        OSError: it cannot be read.
    """
    total = 0
    with path.open("rb") as file:
        facts = path.stat()
        while chunk := file.read(CHUNK_BYTES):
            total = zlib.crc32(chunk, total)
    return Checksum(facts.st_size, facts.st_mtime_ns, total)


def looks_unchanged(path: Path, known: Checksum) -> bool:
    """Return whether size and time of a file are as they were; one stat.

    Raises:
        OSError: it is gone.
    """
    facts = path.stat()
    return (facts.st_size, facts.st_mtime_ns) == known[:2]
