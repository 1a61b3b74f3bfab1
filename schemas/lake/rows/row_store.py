"""Rows of one table that are made piece by piece: in memory, and on disk once they are too many."""

from __future__ import annotations

import tempfile
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, cast

import pyarrow as pa
from pyarrow import ipc

PACKED = ipc.IpcWriteOptions(compression="lz4")


class RowStore:
    """Tables of one kind, in the order in which they were added."""

    def __init__(self, first: pa.Table) -> None:
        self._held = [first]
        self._spilled: BinaryIO | None = None
        self._writer: ipc.RecordBatchStreamWriter | None = None
        self.num_rows = first.num_rows
        self.nbytes = first.nbytes
        """Bytes in memory."""

    def add(self, rows: pa.Table) -> None:
        """Add rows behind those that are there."""
        self._held.append(rows)
        self.num_rows += rows.num_rows
        self.nbytes += rows.nbytes

    def spill(self, folder: Path) -> None:
        """Move what is in memory to a file without a name, which is gone with the process.

        Raises:
            OSError: the disk is full.
        """
        if self._writer is None:
            self._spilled = cast("BinaryIO", tempfile.TemporaryFile(dir=folder))  # noqa: SIM115
            weakref.finalize(self, self._spilled.close)
            self._writer = ipc.new_stream(self._spilled, self._held[0].schema, options=PACKED)
        for rows in self._held:
            self._writer.write_table(rows)
        self._held, self.nbytes = [], 0

    def tables(self) -> Iterator[pa.Table]:
        """Yield the rows in their order, a part at a time; nothing can be added from here on.

        Raises:
            OSError: the disk is full, or the file cannot be read.
        """
        if self._writer is not None and self._spilled is not None:
            self._writer.close()
            self._spilled.seek(0)
            for batch in ipc.open_stream(self._spilled):
                yield pa.Table.from_batches([batch])
        yield from self._held

    def whole(self) -> pa.Table:
        """Return all rows in memory."""
        return pa.concat_tables(self.tables())
