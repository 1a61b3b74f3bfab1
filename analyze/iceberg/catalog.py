"""Registers the lake's files in a catalog of Iceberg, and takes out those that are there no more.

Nothing is copied: a table of the catalog names the Parquet files of a table of the lake that are
live now. Each table changes in one commit, so that whoever reads it finds every row once; where a
registration is cut off between two tables, the next one brings the others up to date.

Rows are those of the files, as their runs and judges wrote them. The catalog is derived: removed,
it is made again.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.exceptions import CommitFailedException, NoSuchTableError
from pyiceberg.io.pyarrow import parquet_files_to_data_files
from pyiceberg.table import TableProperties
from sqlalchemy.exc import SQLAlchemyError

from analyze.lake.raw_tables import connect, declared, layouts_of
from schemas.errors import AnalyzeError, display_path
from schemas.lake import ALIASES, TABLE_NAMES, Lake, LakeBusy, live_files

if TYPE_CHECKING:
    from pyiceberg.table import Table

NAMESPACE = "benchlake"
"""Of the tables, and the name of the catalog."""

TABLES = (*TABLE_NAMES, ALIASES)

FOLDER, FILE = "iceberg", "catalog.db"

PROPERTIES = {
    "write.metadata.delete-after-commit.enabled": "true",
    "write.metadata.previous-versions-max": "10",
}
"""Of each table: it is registered after every night."""

MAX_TRIES = 5
"""Commits of a table that others came before."""


@dataclass(frozen=True)
class RegisteredTable:
    """What a registration did to one table, in files and rows."""

    table: str
    n_files: int
    n_rows: int
    n_added: int
    """Files that were not there before."""
    n_removed: int
    """Files that are live no more: they were compacted or pruned."""


def catalog_file(lake: Path) -> Path:
    """Return where the catalog of a lake is unless another place is asked for."""
    return lake / FOLDER / FILE


def open_catalog(path: Path) -> SqlCatalog:
    """Return a catalog in a file of SQLite; metadata of its tables lies beside it.

    Raises:
        AnalyzeError: the file is no database, or cannot be written.
    """
    path = path.absolute()
    path.parent.mkdir(parents=True, exist_ok=True)
    with _of_the_file(path):
        catalog = SqlCatalog(NAMESPACE, uri=f"sqlite:///{path}", warehouse=str(path.parent))
        catalog.create_namespace_if_not_exists(NAMESPACE)
    return catalog


def register_lake(lake: Path, path: Path) -> list[RegisteredTable]:
    """Let a catalog hold the live files of a lake; nobody compacts it meanwhile.

    Args:
        lake: the lake's folder.
        path: the catalog's file; made where there is none.

    Raises:
        AnalyzeError: the catalog cannot be read or written.
        LakeBusy: a compaction was cut off; `analyze sync` completes it.
        SchemaError: a file of the lake is not ours, or of a newer version.
        OSError: the disk is full, or the lake cannot be written.
    """
    schemas = _schemas()
    with Lake.open(lake):
        catalog = open_catalog(path)
        with _of_the_file(path):
            return [
                _register(catalog, table, _live(lake, table), schemas[table]) for table in TABLES
            ]


def _live(lake: Path, table: str) -> list[str]:
    """Return the paths of a table's files, none of which is about to go."""
    files = live_files(lake, table)
    with connect() as engine:
        layouts_of(engine, files)
    folder = lake / table
    if any(not path.is_relative_to(folder) for path in files):
        raise LakeBusy(lake)
    return [str(path.absolute()) for path in files]


def _register(
    catalog: SqlCatalog, name: str, live: list[str], schema: pa.Schema
) -> RegisteredTable:
    """Let a table of the catalog name these files, in one commit."""
    for attempt in range(MAX_TRIES):
        table = _opened(catalog, name, schema)
        held = {task.file.file_path: task.file for task in table.scan().plan_files()}
        new = [path for path in live if path not in held]
        gone = [file for path, file in held.items() if path not in set(live)]
        try:
            _commit(table, schema, new, gone)
        except CommitFailedException:
            if attempt + 1 == MAX_TRIES:
                raise
            continue
        _forget_older(catalog, name)
        snapshot = catalog.load_table((NAMESPACE, name)).current_snapshot()
        facts: Mapping[str, Any] = (
            {} if snapshot is None else snapshot.summary.additional_properties
        )
        n_rows = int(facts.get("total-records", 0))
        return RegisteredTable(name, len(live), n_rows, len(new), len(gone))
    raise AssertionError


def _commit(table: Table, schema: pa.Schema, new: list[str], gone: list[Any]) -> None:
    known = {field.name for field in table.schema().fields}
    if not new and not gone and known.issuperset(schema.names):
        return
    with table.transaction() as change:
        with change.update_schema() as columns:
            columns.union_by_name(schema)
        mapping = change.table_metadata.schema().name_mapping.model_dump_json()
        change.set_properties({TableProperties.DEFAULT_NAME_MAPPING: mapping})
        if not new and not gone:
            return
        added = parquet_files_to_data_files(table.io, change.table_metadata, iter(new))
        update = change.update_snapshot()
        with update.overwrite() if gone else update.fast_append() as files:
            for one in gone:
                files.delete_data_file(one)
            for one in added:
                files.append_data_file(one)


def _opened(catalog: SqlCatalog, name: str, schema: pa.Schema) -> Table:
    """Return a table, made where there is none or its metadata has gone, as with a moved folder."""
    place = NAMESPACE, name
    try:
        return catalog.load_table(place)
    except FileNotFoundError:
        catalog.drop_table(place)
    except NoSuchTableError:
        pass
    return catalog.create_table(place, schema, properties=PROPERTIES)


def _forget_older(catalog: SqlCatalog, name: str) -> None:
    """Take out what a table was before, since files of that may have gone."""
    table = catalog.load_table((NAMESPACE, name))
    current = table.current_snapshot()
    older = [one.snapshot_id for one in table.snapshots() if current is None or one != current]
    if older:
        table.maintenance.expire_snapshots().by_ids(older).commit()


def _schemas() -> dict[str, pa.Schema]:
    """Return the declared columns of every table; each may be null, as in files of before it."""
    with connect(threads=1) as engine, declared(engine, TABLES):
        return {table: engine.sql(f"from raw_{table}").to_arrow_table().schema for table in TABLES}


@contextlib.contextmanager
def _of_the_file(path: Path) -> Iterator[None]:
    """Turn what is wrong with the catalog's file into a sentence."""
    try:
        yield
    except SQLAlchemyError as exc:
        said = str(getattr(exc, "orig", exc)).splitlines()[0]
        message = (
            f"{display_path(path)}: is no catalog that can be used ({said}); it holds no rows, so "
            "remove it, or name another with --catalog, then: analyze iceberg"
        )
        raise AnalyzeError(message) from exc
