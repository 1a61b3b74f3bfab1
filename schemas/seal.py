"""Puts the rows of one run into the lake: a file is whole or not there."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from schemas.io.disk import sync_path
from schemas.io.own_files import make_own_folder
from schemas.lake.layout import TEMPORARY
from schemas.lake.tables import LAYOUT, compression_of, file_facts
from schemas.parts import Coverage, LakeFile, Part


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

    def seal_batch(self, tables: Mapping[str, pa.Table], coverage: Coverage) -> list[LakeFile]:
        """Seal the tables of one batch in their order, one file each: all of them or none.

        Temporary name, fsync, rename, fsync of the folder: after a crash a file is whole or not
        there. All are written before the first is renamed, so that a full disk leaves nothing.
        """
        staged: list[tuple[Path, Path]] = []
        sealed: list[LakeFile] = []
        try:
            for table, content in tables.items():
                folder = make_own_folder(self.lake, f"{table}/month={self.month}")
                temporary = folder / f"{TEMPORARY}{self.run_id}-{uuid.uuid4().hex[:12]}"
                target = folder / f"{self.run_id}-{self._writer}-{self._seq:06d}.parquet"
                staged.append((temporary, target))
                part = Part(self.run_id, coverage, content.num_rows)
                pq.write_table(
                    content.replace_schema_metadata(file_facts([part])),
                    temporary,
                    **compression_of(table),
                )
                sync_path(temporary)
                sealed.append(LakeFile(target, (part,), LAYOUT))
            for temporary, target in staged:
                temporary.rename(target)
                sync_path(target.parent)
        except BaseException:
            for temporary, target in reversed(staged):
                target.unlink(missing_ok=True)
                temporary.unlink(missing_ok=True)
            raise
        return sealed

    def drop_unfinished(self) -> None:
        """Remove what dead writers of this run left half-written.

        Only for the process that holds the run's lock: there is no other writer of the run then.
        Files of other runs, which several collectors may be writing, are not touched.
        """
        for path in self.lake.glob(f"*/month={self.month}/{TEMPORARY}*"):
            if path.name.removeprefix(TEMPORARY).rpartition("-")[0] == self.run_id:
                path.unlink(missing_ok=True)
