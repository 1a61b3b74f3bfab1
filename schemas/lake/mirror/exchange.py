"""The rows of one run as they leave a lake, and as they come into another one.

They stand in the order of the run's logs, with the stretches of those that they are made of: so a
lake that took a run in knows what a folder of the run, which is copied there later, adds to it.
"""

from __future__ import annotations

import uuid
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from operator import attrgetter
from pathlib import Path
from typing import Any

import orjson
import pyarrow as pa

from schemas.io.files import TEMPORARY, write_whole
from schemas.io.own_files import locked
from schemas.lake.layout import (
    NO_COVERAGE,
    TABLE_NAMES,
    Coverage,
    LakeFile,
    Part,
    month_of,
    retry_while_moving,
)
from schemas.lake.manifest import Manifest
from schemas.lake.mirror.bulk_load import LOCK, PREFIX, TABLES_IN_ORDER, UNFINISHED
from schemas.lake.rewrite import fitted, ordered
from schemas.lake.rows.tables import TABLES
from schemas.lake.writer import seal_files

TAKEN_IN = "manifest/taken_in.json"
"""Hash of each run that came from another lake, by its id; only saves time."""


@dataclass(frozen=True)
class RunRows:
    """All rows of one run."""

    run_id: str
    month: str
    """Of its start, such as `2026-02`: where its files lie."""
    tables: Mapping[str, pa.Table]
    """By name, in the declared columns; one of which the lake holds nothing is not there."""
    parts: Mapping[str, tuple[Part, ...]]
    """Of each table, in the order of its rows."""

    def stretches(self) -> dict[str, list[dict[str, Any]]]:
        """Return the parts of each table as JSON has them, for `rows_of`."""
        return {
            table: [{"n_rows": part.n_rows, **vars(part.coverage)} for part in parts]
            for table, parts in self.parts.items()
        }


def rows_of(
    run_id: str,
    month: str,
    tables: Mapping[str, pa.Table],
    stretches: Mapping[str, Iterable[Mapping[str, Any]]],
) -> RunRows:
    """Return a run from what another lake holds of it.

    Args:
        run_id: of it.
        month: of its start.
        tables: with the columns of whoever wrote them; one without rows may be left out.
        stretches: as `RunRows.stretches` gave them.

    Raises:
        SchemaError: a column is missing, or is not known here.
        TypeError: a stretch is none.
    """
    parts = {}
    for table, stored in stretches.items():
        facts = [dict(one) for one in stored]
        parts[table] = tuple(
            Part(run_id, n_rows=one.pop("n_rows"), coverage=Coverage(**one)) for one in facts
        )
    fit = {
        table: fitted(tables[table], table, Path(f"{table} of {run_id}"))
        if table in tables
        else TABLES[table].empty_table()
        for table in stretches
    }
    return RunRows(run_id, month, fit, parts)


def read_runs(known: Manifest, run_ids: Collection[str]) -> dict[str, RunRows]:
    """Return the rows of runs; see `schemas.lake.Lake.read_runs`."""

    def look() -> dict[str, RunRows]:
        if damaged := known.refresh().damaged:
            raise damaged[0]  # whose rows they are may not be known
        return _read(known, frozenset(run_ids))

    return retry_while_moving(look)


def _read(known: Manifest, wanted: frozenset[str]) -> dict[str, RunRows]:
    tables: defaultdict[str, dict[str, pa.Table]] = defaultdict(dict)
    parts: defaultdict[str, dict[str, tuple[Part, ...]]] = defaultdict(dict)
    for table in TABLE_NAMES:
        sources = list(_once(known.files_of(table, wanted), wanted))
        pieces, rows = ordered(table, sources, partial(known.parts_of, "results"))
        content = pa.concat_tables([TABLES[table].empty_table(), *rows])
        first = 0
        for run_id, some in groupby(pieces, key=attrgetter("run_id")):
            mine = tuple(some)
            n_rows = sum(part.n_rows for part in mine)
            own = content.slice(first, n_rows)
            first += n_rows
            tables[run_id][table] = own.sort_by("recorded_at_ms") if table == "runs" else own
            parts[run_id][table] = mine
    return {
        run_id: RunRows(run_id, _month(found), found, parts[run_id])
        for run_id, found in tables.items()
    }


def _month(tables: Mapping[str, pa.Table]) -> str:
    started = tables["runs"].column("started_at_ms").to_pylist() if "runs" in tables else []
    return month_of(next(iter(started), None) or 0)


def _once(
    files: Iterable[LakeFile], wanted: frozenset[str]
) -> Iterator[tuple[LakeFile, list[Part]]]:
    """Yield files with their parts of some runs, each stretch of a log once."""
    seen = set()
    for file in files:
        kept = []
        for part in file.parts:
            place = part.run_id, part.coverage
            if part.run_id in wanted and (part.coverage == NO_COVERAGE or place not in seen):
                seen.add(place)
                kept.append(part)
        yield file, kept


def taken_in(lake: Path) -> dict[str, str]:
    """Return the hash of each run that came from another lake, as far as it was noted."""
    try:
        noted = orjson.loads((lake / TAKEN_IN).read_bytes())
    except (OSError, ValueError):
        return {}
    return noted if isinstance(noted, dict) else {}


def take_in(lake: Path, runs: Sequence[RunRows], hashes: Mapping[str, str]) -> list[LakeFile]:
    """Seal the rows of runs of one month, a file a table; see `schemas.lake.Lake.take_in`."""
    (month,) = {run.month for run in runs}
    token = uuid.uuid4().hex
    rows = {}
    for table in TABLES_IN_ORDER:
        mine = [run for run in runs if table in run.tables]
        if mine:
            content = [run.tables[table] for run in mine]
            rows[table] = content, tuple(part for run in mine for part in run.parts[table])
    names = f"{TEMPORARY}{token}{UNFINISHED}", f"{PREFIX}{token}.parquet"
    files = seal_files(lake, month, rows, names, locked(lake, LOCK))
    write_whole(lake / TAKEN_IN, orjson.dumps({**taken_in(lake), **hashes}))
    return files
