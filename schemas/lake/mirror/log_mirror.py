"""How far one log of a run is in the lake: it is read on from there, and sealed in batches."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice, takewhile
from pathlib import Path
from typing import BinaryIO, Protocol

import pyarrow as pa

from schemas.io.own_files import open_own_file
from schemas.lake.footer import parts_of
from schemas.lake.layout import Coverage, LakeFile
from schemas.lake.log_coverage import LogTables, tail_before
from schemas.lake.rewrite import rows_of_part
from schemas.lake.rows.tables import TABLES
from schemas.lake.writer import LakeWriter

MAX_BATCH_ROWS = 5_000
"""Rows in a sealed file: few enough to hold in memory, enough to compress well."""

MAX_BATCH_BYTES = 32 * 2**20
"""Bytes of the log in a sealed file, where answers are long."""

FIRST_LINES = 64
"""Of a log whose lines name traces: how long these are is known after some."""

MAX_DERIVED_BYTES = 8 * 2**20
"""Of the rows that are made of traces at one moment."""

CHUNK_BYTES = 2**20
"""Bytes of the log that are Python objects, ten times as large as columns, at one moment."""


class LineReader(Protocol):
    """Makes rows of lines of one log, in its order."""

    def read(
        self, lines: Sequence[bytes], first: int
    ) -> tuple[dict[str, pa.Table], list[tuple[int, str]]]:
        """Return the rows of whole lines by table, and the numbers of lines skipped, with why."""


class LogMirror:
    """How far one log of a run is in the lake: reads on from there, and seals what it read.

    Args:
        run_dir: the run's folder.
        log: which of its logs.
        writer: seals the rows.
        covered: what the lake holds of it.
    """

    def __init__(
        self, run_dir: Path, log: LogTables, writer: LakeWriter, covered: Coverage
    ) -> None:
        self.path = run_dir / log.name
        self.problems: list[str] = []
        self.sealed: list[LakeFile] = []
        """Files that were made."""
        self.n_bytes, self.n_lines = covered.end, covered.lines_after
        """How much of the log was read, by earlier mirrors as well."""
        self._log = log
        self._writer = writer
        self._sealed_bytes, self._sealed_lines = covered.end, covered.lines_after
        self._chunks: dict[str, list[pa.Table]] = {table: [] for table in log.tables}
        self._n_pending = self._n_derived = 0
        self._most_lines = FIRST_LINES if log.derived else MAX_BATCH_ROWS

    def sealed_rows(self, table: str, columns: Sequence[str]) -> Iterator[pa.Table]:
        """Yield the rows that the lake holds of the run in a table."""
        for file, part in parts_of(self._writer.lake, table, self._writer.run_id):
            yield from rows_of_part(file, part, columns)

    def skipped_before(self, reader: LineReader) -> list[str]:
        """Return why lines that are read already are in no table, from the lines themselves."""
        if not self.n_lines or not self.path.exists():
            return []
        held = {
            number
            for table in self._log.line_tables
            for rows in self.sealed_rows(table, ["record_no"])
            for number in rows["record_no"].to_pylist()
        }
        if len(held) == self.n_lines:
            return []
        problems = []
        with self._opened() as log:
            for number, line in enumerate(islice(log, self.n_lines), 1):
                if number not in held:
                    problems += reader.read([line], number)[1]
        return self._sentences(problems)

    def _opened(self) -> BinaryIO:
        return open_own_file(self.path.parent, self.path.name)

    def _sentences(self, problems: Iterable[tuple[int, str]]) -> list[str]:
        return [f"{self.path}:{number}: {why}; the line was skipped" for number, why in problems]

    def step(self, reader: LineReader) -> int:
        """Read whole lines that are new, seal full batches, and return how many were read.

        Raises:
            OSError: a batch cannot be written. Nothing is lost: the next step tries again before
                it reads on.
        """
        self._seal_if_full()
        if not self.path.exists():
            return 0
        before = self.n_lines
        with self._opened() as log:
            log.seek(self.n_bytes)
            while lines := self._next_lines(log):
                while lines:
                    room = max(1, min(MAX_BATCH_ROWS - self._n_pending, self._most_lines))
                    self._take(reader, lines[:room])
                    lines = lines[room:]
                    self._seal_if_full()
                log.seek(self.n_bytes)
        return self.n_lines - before

    def _next_lines(self, log: BinaryIO) -> list[bytes]:
        """Return lines that fit into the batch, at least one, up to one that is torn or growing.

        Its rest may have come while the next was read, as a line of its own.
        """
        room = MAX_BATCH_BYTES - (self.n_bytes - self._sealed_bytes)
        lines = log.readlines(max(1, min(CHUNK_BYTES, room)))
        return list(takewhile(lambda line: line.endswith(b"\n"), lines))

    def _take(self, reader: LineReader, lines: list[bytes]) -> None:
        """Turn lines into columns; what cannot be read is reported, never guessed."""
        tables, problems = reader.read(lines, self.n_lines + 1)
        self.n_bytes += sum(map(len, lines))
        self.n_lines += len(lines)
        self.problems += self._sentences(problems)
        for table, content in tables.items():
            self._chunks[table].append(content)
            if table in self._log.line_tables:
                self._n_pending += content.num_rows
        derived = sum(tables[table].nbytes for table in self._log.derived if table in tables)
        self._n_derived += derived
        if self._log.derived:
            per_line = derived / len(lines)
            self._most_lines = max(1, int(MAX_DERIVED_BYTES / max(per_line, 1)))

    def _seal_if_full(self) -> None:
        n_bytes = max(self.n_bytes - self._sealed_bytes, self._n_derived)
        if self._n_pending >= MAX_BATCH_ROWS or n_bytes >= MAX_BATCH_BYTES:
            self.seal()

    def seal(self) -> None:
        """Seal all that was read.

        The log is on the disk before the Parquet file that covers it: a power cut never leaves
        the lake with rows that the log does not have.

        Raises:
            OSError: the lake cannot be written, the disk is full; the rows stay to be sealed.
        """
        if self.n_bytes == self._sealed_bytes:
            return
        tail = tail_before(self.path, self.n_bytes)
        sync_log(self.path)
        coverage = Coverage(
            self._sealed_bytes, self.n_bytes, self._sealed_lines, self.n_lines, tail
        )
        tables = {
            table: pa.concat_tables(self._chunks[table] or [TABLES[table].empty_table()])
            for table in self._log.tables
            if self._chunks[table] or table == self._log.tables[-1]
        }
        self.sealed += self._writer.seal_batch(tables, coverage)
        self._chunks = {table: [] for table in self._log.tables}
        self._n_pending = self._n_derived = 0
        self._sealed_bytes, self._sealed_lines = self.n_bytes, self.n_lines


def sync_log(path: Path) -> None:
    """Wait until what was written to a log is on the disk."""
    with open_own_file(path.parent, path.name) as file:
        os.fsync(file.fileno())
