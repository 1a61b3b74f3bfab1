"""Writes rows of sealed files into a new one: runs in order, a run's rows together.

Row group by row group, so that a month of long answers takes no more memory than one of numbers.
Columns that older files lack are filled in: null, or computed where that can be done.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from schemas.errors import SchemaError
from schemas.lake.footer import LAYOUT, reading
from schemas.lake.layout import LakeFile, Part
from schemas.lake.rows.tables import RECORD_KEY, TABLES, compression_of, file_facts

MAX_GROUP_ROWS = 100_000
MAX_GROUP_BYTES = 48 * 2**20
"""Of a row group, which ends at either; in memory, since answers may be long."""

PartsOfRun = Callable[[str], list[tuple[LakeFile, Part]]]
"""Returns the parts of a run's results, with their files."""


class Unfit(SchemaError):
    """A file that cannot be rewritten without losing something; it stays as it is."""

    def __init__(self, path: Path, why: str) -> None:
        self.path = path
        super().__init__(f"{path}: {why}; it is left as it is")


@dataclass(frozen=True)
class _Piece:
    """A part that goes into the new file, and where its rows are."""

    file: LakeFile
    part: Part
    first_row: int


def rewriting(
    table: str, sources: Iterable[tuple[LakeFile, Sequence[Part]]], parts_of_run: PartsOfRun
) -> Callable[[Path], None]:
    """Return what writes the wanted parts of sealed files of a table to the path it is given.

    It asks for the parts of runs whose files do not say which records supersede which, raises
    `Unfit` when a file holds what would be lost, and `DamagedFile` when one cannot be read.
    """
    pieces = sorted(_pieces(sources), key=_place)

    def write(path: Path) -> None:
        schema = TABLES[table].with_metadata(file_facts(piece.part for piece in pieces))
        with pq.ParquetWriter(path, schema, **compression_of(table)) as writer:
            for group in grouped(_rows(table, pieces, parts_of_run)):
                writer.write_table(group, row_group_size=max(group.num_rows, 1))

    return write


def ordered(
    table: str, sources: Iterable[tuple[LakeFile, Sequence[Part]]], parts_of_run: PartsOfRun
) -> tuple[tuple[Part, ...], Iterator[pa.Table]]:
    """Return the wanted parts of sealed files in order, and their rows in the columns of today.

    Rows are read, and errors raised as `rewriting` says, while they are asked for.
    """
    pieces = sorted(_pieces(sources), key=_place)
    return tuple(piece.part for piece in pieces), _rows(table, pieces, parts_of_run)


def _pieces(sources: Iterable[tuple[LakeFile, Sequence[Part]]]) -> Iterator[_Piece]:
    for file, wanted in sources:
        kept = set(wanted)
        first_row = 0
        for part in file.parts:
            if part in kept:
                yield _Piece(file, part, first_row)
            first_row += part.n_rows


def _place(piece: _Piece) -> tuple[str, int, int, str, int]:
    coverage = piece.part.coverage
    return (
        piece.part.run_id, coverage.start, coverage.end, piece.file.path.name, piece.first_row
    )  # fmt: skip


def _rows(table: str, pieces: Sequence[_Piece], parts_of_run: PartsOfRun) -> Iterator[pa.Table]:
    """Yield the rows of the pieces in their order, in the columns of today."""
    left = Counter(piece.file.path for piece in pieces)
    older = {piece.part.run_id for piece in pieces if piece.file.layout < LAYOUT}
    records = _Records(parts_of_run) if table == "results" else None
    sources: dict[Path, Source] = {}
    try:
        for piece in pieces:
            path = piece.file.path
            if path not in sources:
                sources[path] = Source(path)
            for found in sources[path].rows(piece.first_row, piece.part.n_rows):
                rows = fitted(found, table, path)
                if records is not None and piece.part.run_id in older:
                    rows = records.passed(rows, piece)
                yield rows
            left[path] -= 1
            if not left[path]:
                sources.pop(path).close()
    finally:
        for source in sources.values():
            source.close()


def grouped(tables: Iterable[pa.Table]) -> Iterator[pa.Table]:
    """Yield tables as large as a row group should be."""
    pending: list[pa.Table] = []
    n_rows = n_bytes = 0
    for table in tables:
        pending.append(table)
        n_rows += table.num_rows
        n_bytes += table.nbytes
        if n_rows >= MAX_GROUP_ROWS or n_bytes >= MAX_GROUP_BYTES:
            yield pa.concat_tables(pending).combine_chunks()
            pending, n_rows, n_bytes = [], 0, 0
    if pending:
        yield pa.concat_tables(pending).combine_chunks()


class Source:
    """A sealed file that is read piece by piece; the last row group is kept for the next one."""

    def __init__(self, path: Path, columns: Sequence[str] | None = None) -> None:
        self._path = path
        self._columns = None if columns is None else list(columns)
        self._group: tuple[int, pa.Table] | None = None
        with reading(path, pa.ArrowException):
            self._file = pq.ParquetFile(path, pre_buffer=False)

    def rows(self, first: int, count: int) -> Iterator[pa.Table]:
        """Yield `count` rows from the place `first` on.

        Raises:
            DamagedFile: it cannot be read.
        """
        metadata, begin = self._file.metadata, 0
        for number in range(metadata.num_row_groups):
            end = begin + metadata.row_group(number).num_rows
            if begin < first + count and end > first:
                start = max(first - begin, 0)
                yield self._read(number).slice(start, min(first + count, end) - begin - start)
            begin = end

    def _read(self, number: int) -> pa.Table:
        if self._group is None or self._group[0] != number:
            with reading(self._path, pa.ArrowException):
                table = self._file.read_row_group(number, self._columns, use_threads=False)
            self._group = number, table
        return self._group[1]

    def close(self) -> None:
        """Close the file."""
        self._file.close()


def rows_of_part(
    file: LakeFile, part: Part, columns: Sequence[str] | None = None
) -> Iterator[pa.Table]:
    """Yield the rows of one part of a file.

    Raises:
        DamagedFile: it cannot be read.
    """
    first_row = sum(other.n_rows for other in file.parts[: file.parts.index(part)])
    with closing(Source(file.path, columns)) as source:
        yield from source.rows(first_row, part.n_rows)


def fitted(rows: pa.Table, table: str, path: Path) -> pa.Table:
    """Return rows in the declared columns of a table.

    Raises:
        Unfit: there is a column that is not declared, or one is missing that has no null.
    """
    schema = TABLES[table]
    if rows.schema.equals(schema):
        return rows
    if unknown := set(rows.column_names) - set(schema.names):
        raise Unfit(path, f"has the column `{min(unknown)}`, which this benchlake does not know")
    columns = []
    for field in schema:
        if field.name in rows.column_names:
            column = rows.column(field.name)
            if column.type != field.type:
                column = _cast(column, field, path)
        elif field.nullable:
            column = pa.nulls(rows.num_rows, field.type)
        else:
            raise Unfit(path, f"lacks the column `{field.name}`")
        columns.append(column)
    return pa.table(columns, schema=schema)


def _cast(column: pa.ChunkedArray, field: pa.Field, path: Path) -> pa.ChunkedArray:
    try:
        return column.cast(field.type)
    except pa.ArrowException as exc:
        raise Unfit(path, f"column `{field.name}`: {exc}") from exc


class _Records:
    """The latest record of each trial of a run, while the run's results pass in their order."""

    def __init__(self, parts_of_run: PartsOfRun) -> None:
        self._parts_of_run = parts_of_run
        self._run_id: str | None = None
        self._latest: dict[tuple[object, ...], int] = {}
        self._parts: list[tuple[LakeFile, Part]] = []
        self._seen_until = 0

    def passed(self, rows: pa.Table, piece: _Piece) -> pa.Table:
        """Return the next rows of the run with `supersedes`, where their file does not have it."""
        part = piece.part
        if part.run_id != self._run_id:
            self._run_id, self._latest, self._seen_until = part.run_id, {}, 0
            found = self._parts_of_run(part.run_id)
            self._parts = sorted(found, key=lambda held: held[1].coverage.start)
        for file, other in self._parts:
            stretch = other.coverage
            if self._seen_until <= stretch.start and stretch.end <= part.coverage.start:
                for seen in rows_of_part(
                    file, other, RECORD_KEY
                ):  # of a file that is not rewritten
                    self._note(seen)
                self._seen_until = stretch.end
        before = self._note(rows.select(RECORD_KEY))
        self._seen_until = part.coverage.end
        if piece.file.layout >= LAYOUT:
            return rows
        field = rows.schema.field("supersedes")
        place = rows.schema.get_field_index("supersedes")
        return rows.set_column(place, field, pa.array(before, field.type))

    def _note(self, rows: pa.Table) -> list[int | None]:
        """Return for each row the record before it of the same trial."""
        before = []
        for *trial, record_no in zip(
            *(rows.column(name).to_pylist() for name in RECORD_KEY), strict=True
        ):
            before.append(self._latest.get(tuple(trial)))
            self._latest[tuple(trial)] = record_no
        return before
