"""What a row of `runs` says of a push, and the rows of pushes as they lie in a Delta table.

A run that was pushed again has a push with a higher number, and the older ones count no longer: a
name that stood there once never counts again, so that its rows may be dropped.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import deltalake
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset

from schemas.errors import UnknownVersion
from schemas.io.shared_url import Location
from schemas.lake import LAYOUT
from schemas.run.layout import SCHEMA_VERSION

MONTH, PUSH, ROW = "month", "push", "push_row"
"""Columns beside those of a lake: the partition, the hash of the run's rows, and their order."""

OF_A_PUSH = {
    "push_no": pa.int64(),
    "pushed_at_ms": pa.int64(),
    "schema_version": pa.int64(),
    "layout": pa.int64(),
    "content": pa.string(),
}
"""Columns of `runs` alone; `content` is JSON: hash, number of rows and stretches of each table."""

GROWING = ("results", "evaluations")
"""Tables that say how far a run is: what has less of one is older."""

LISTED = ("run_id", "suite_id", "started_at_ms", MONTH, PUSH, *OF_A_PUSH)

LARGE = {pa.string(): pa.large_string(), pa.binary(): pa.large_binary()}

MAX_TAKEN = 10_000
"""Rows that are put in their order together."""

MAX_READERS = 8
"""Files that are read at a time."""


@dataclass(frozen=True)
class SharedRun:
    """A run of a shared lake: the push that counts."""

    run_id: str
    suite_id: str
    started_at_ms: int | None
    month: str
    push: str
    """Hash of its rows; with `-3` behind it where they were there before and others came since."""
    push_no: int
    schema_version: int
    layout: int
    content: Mapping[str, Any]
    """By table: `sha256`, `n_rows`, `stretches`."""
    older: Mapping[str, int]
    """Its other pushes, with the moment since which they count no longer, in ms since 1970."""

    @property
    def digest(self) -> str:
        """Hash of its rows."""
        return self.push.partition("-")[0]

    def next_push(self, digest: str) -> str:
        """Return the name of a push of other rows: no name counts again once it was replaced."""
        was_there = any(push.partition("-")[0] == digest for push in self.older)
        return f"{digest}-{self.push_no + 1}" if was_there else digest

    def n_rows(self, table: str) -> int:
        """Return how many rows of a table it has."""
        return int(self.content.get(table, {}).get("n_rows", 0))

    def require_known(self, location: Location) -> None:
        """Refuse what a newer benchlake pushed.

        Raises:
            UnknownVersion: names the run and the version.
        """
        for fact, number, known in (
            ("schema_version", self.schema_version, SCHEMA_VERSION),
            ("layout", self.layout, LAYOUT),
        ):
            if number > known:
                message = (
                    f"{location.url}: run `{self.run_id}` has {fact} {number}, this "
                    f"benchlake reads up to {known}"
                )
                raise UnknownVersion(message)


def read_rows(
    table: deltalake.DeltaTable,
    wanted: pyarrow.dataset.Expression,
    columns: Sequence[str] | None = None,
) -> pa.Table:
    """Return the rows that are wanted; only files that may hold some are read.

    Row groups are chosen by what their file says of them, and rows once they are there: in a file
    that the library's own `optimize` rewrote, texts are of a type that Arrow's data set reads and
    cannot compare.
    """
    files = table.to_pyarrow_dataset()
    names = list(columns or files.schema.names)
    empty = files.schema.empty_table().select(names)
    chosen = list(files.get_fragments(filter=wanted))

    def rows_of(file: pyarrow.dataset.ParquetFileFragment) -> pa.Table:
        place = file.physical_schema.get_field_index(PUSH)
        if place < 0:
            message = f"a file has no column {PUSH}"
            raise pa.ArrowInvalid(message)
        is_plain = file.physical_schema.field(place).type == pa.string()
        some = file.subset(filter=wanted, schema=files.schema) if is_plain else file
        return some.to_table(schema=files.schema, columns=names)

    with ThreadPoolExecutor(min(len(chosen), MAX_READERS) or 1) as readers:
        return pa.concat_tables([empty, *readers.map(rows_of, chosen)]).filter(wanted)


def in_order(rows: pa.Table) -> pa.Table:
    """Return rows with those of each push together and in their order.

    Most lie so already. To put others in order, texts of more than 2 GB have to be in a type of
    their own meanwhile.
    """
    order = pc.sort_indices(rows.select([PUSH, ROW]), [(PUSH, "ascending"), (ROW, "ascending")])
    if pc.all(pc.equal(order, pa.array(range(rows.num_rows), order.type))).as_py() is not False:
        return rows
    types = [(field.name, LARGE.get(field.type, field.type)) for field in rows.schema]
    large = rows.cast(pa.schema(types)).combine_chunks()
    parts = (
        large.take(order.slice(begin, MAX_TAKEN)).cast(rows.schema)
        for begin in range(0, rows.num_rows, MAX_TAKEN)
    )
    return pa.concat_tables(parts)


def runs_in(table: deltalake.DeltaTable, from_month: str | None = None) -> dict[str, SharedRun]:
    """Return every run of the table `runs` by its id.

    Args:
        table: it.
        from_month: runs that began before it are left out, and their files are not read.
    """
    wanted = pa.dataset.field(MONTH) >= (from_month or "")
    rows = read_rows(table, wanted, LISTED).to_pylist()
    rows.sort(key=lambda row: (row["push_no"], row[PUSH]))
    found: dict[str, SharedRun] = {}
    for row in rows:
        before = found.get(row["run_id"])
        older = {} if before is None else dict(before.older)
        if before is not None and before.push != row[PUSH]:  # a push has several rows here
            older[before.push] = row["pushed_at_ms"]
        older.pop(row[PUSH], None)
        facts = {name: row[name] for name in LISTED if name != "pushed_at_ms"}
        facts["content"] = json.loads(row["content"])
        found[row["run_id"]] = SharedRun(**facts, older=older)
    return found


def with_push(rows: pa.Table, month: str, push: str) -> pa.Table:
    """Return rows with the columns that a shared lake has beside those of a lake.

    They come first: a Delta table keeps the least and greatest value of the first 32 columns of
    each file, by which a reader of some pushes passes over the files of others.
    """
    n = rows.num_rows
    own = {
        MONTH: pa.array([month] * n, pa.string()),
        PUSH: pa.array([push] * n, pa.string()),
        ROW: pa.array(range(n), pa.int64()),
    }
    columns = own | dict(zip(rows.column_names, rows.columns, strict=True))
    return pa.table(columns, schema=pa.schema([*_fields(own), *rows.schema]))


def _fields(columns: Mapping[str, pa.Array]) -> list[pa.Field]:
    return [pa.field(name, values.type) for name, values in columns.items()]


def without_push(rows: pa.Table, columns: Iterable[str]) -> pa.Table:
    """Return rows in the columns of a lake, as far as they are there."""
    there = frozenset(rows.column_names)
    return rows.select([name for name in columns if name in there])
