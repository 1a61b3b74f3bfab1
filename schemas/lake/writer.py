"""Seals rows into Parquet files: one is whole or not there, and its name is nobody else's."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping
from contextlib import AbstractContextManager, nullcontext
from itertools import chain
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from schemas.io.files import TEMPORARY, sync_path
from schemas.io.own_files import make_own_folder
from schemas.lake.footer import LAYOUT
from schemas.lake.layout import NO_COVERAGE, Coverage, LakeFile, Part
from schemas.lake.rewrite import grouped
from schemas.lake.rows.tables import compression_of, file_facts


def seal_files(
    lake: Path,
    month: str,
    rows: Mapping[str, tuple[Iterable[pa.Table], tuple[Part, ...]]],
    names: tuple[str, str],
    placing: AbstractContextManager[object] | None = None,
) -> list[LakeFile]:
    """Seal rows, one table or several, and their parts by table: one file each, all or none.

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
            groups = grouped(content)
            first = next(groups)
            schema = first.schema.with_metadata(file_facts(parts))
            with pq.ParquetWriter(written, schema, **compression_of(table)) as writer:
                for group in chain([first], groups):
                    writer.write_table(group, row_group_size=max(group.num_rows, 1))
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
            table: ([content], (Part(self.run_id, coverage, content.num_rows),))
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
