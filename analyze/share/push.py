"""Brings runs of a lake into a shared one."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import pyarrow as pa

from analyze.share.aliases import push_aliases
from analyze.share.delta import SharedLake
from analyze.share.digest import digest_of_run, digests_of_runs
from analyze.share.shared_runs import GROWING, SharedRun, with_push
from schemas.errors import counted
from schemas.lake import LAYOUT, TABLE_NAMES, Lake, lake_of
from schemas.run.layout import SCHEMA_VERSION

if TYPE_CHECKING:
    from schemas.lake import RunRows

MAX_ROWS = 100_000
"""Rows of all tables that are read and sent together; a larger run goes alone."""

MAX_RUNS = 500
"""Runs of one commit."""

Outcome = Literal["pushed", "pushed again", "there already", "not pushed"]


@dataclass(frozen=True)
class Pushed:
    """What became of one run."""

    run_id: str
    outcome: Outcome
    n_rows: int = 0
    """Rows of all tables that the run has."""
    why: str = ""
    """That it was not pushed."""


def push_runs(
    runs_dir: Path,
    run_ids: Sequence[str],
    shared: SharedLake,
    progress: Callable[[str], None] = lambda _: None,
) -> Iterator[Pushed]:
    """Push runs, and yield what became of each.

    A run whose rows are there as they are here is left; one with other rows is pushed again, unless
    the shared lake has more of it. Small runs of a month go together, in one commit a table.

    Args:
        runs_dir: the folder that holds the runs.
        run_ids: of runs in its lake.
        shared: where they go.
        progress: is told what is being done.

    Raises:
        ShareFailed: the shared lake cannot be read or written; runs before it are there.
        SchemaError: a file of the lake cannot be read.
    """
    lake, known = Lake(lake_of(runs_dir)), shared.runs()
    push_aliases(lake.folder, shared)
    lake.refresh()
    n_done, n_rows = 0, Counter[str]()
    for (_, run_id), n in lake.row_counts().items():
        n_rows[run_id] += n
    for group in _groups(run_ids, n_rows):
        progress(f"pushing {n_done:,} of {len(run_ids):,} runs")
        n_done += len(group)
        found = lake.read_runs(group)
        months: dict[str, list[Push]] = {}
        hashes = digests_of_runs([run.tables for run in found.values()])
        digests = dict(zip(found, hashes, strict=True))
        for run_id in group:
            run = found.get(run_id)
            if run is None or "runs" not in run.tables:
                yield Pushed(run_id, "not pushed", why="the lake does not say what run it is")
                continue
            there = known.get(run_id)
            push = Push.of(run, digests[run_id], there)
            if there is not None and there.push == push.name:
                yield Pushed(run_id, "there already", push.n_rows)
            elif there is not None and (why := push.behind(there)):
                yield Pushed(run_id, "not pushed", push.n_rows, why)
            else:
                months.setdefault(run.month, []).append(push)
        for pushes in months.values():
            kept = _send(pushes, shared)
            for push in pushes:
                run_id = push.run.run_id
                if run_id in kept:  # another machine was there meanwhile
                    yield Pushed(run_id, "not pushed", push.n_rows, push.behind(kept[run_id]))
                else:
                    is_new = run_id not in known
                    yield Pushed(run_id, "pushed" if is_new else "pushed again", push.n_rows)


def _groups(run_ids: Sequence[str], n_rows: Mapping[str, int]) -> Iterator[list[str]]:
    """Yield runs that are read together."""
    group: list[str] = []
    n_all = 0
    for run_id in run_ids:
        if group and (n_all + n_rows.get(run_id, 0) > MAX_ROWS or len(group) >= MAX_RUNS):
            yield group
            group, n_all = [], 0
        group.append(run_id)
        n_all += n_rows.get(run_id, 0)
    if group:
        yield group


@dataclass(frozen=True)
class Push:
    """A run as it is pushed."""

    run: RunRows
    name: str
    """Hash of its rows, as `SharedRun.push` has it."""
    content: Mapping[str, Mapping[str, object]]
    """By table: `sha256`, `n_rows`, `stretches`."""

    @classmethod
    def of(cls, run: RunRows, digests: Mapping[str, str], there: SharedRun | None) -> Push:
        """Return the push of a run by the hashes of its tables, onto what is there of it."""
        stretches = run.stretches()
        content = {
            table: {
                "sha256": digests[table],
                "n_rows": rows.num_rows,
                "stretches": stretches[table],
            }
            for table, rows in run.tables.items()
        }
        digest = digest_of_run(digests)
        if there is None:
            return cls(run, digest, content)
        name = there.push if there.digest == digest else there.next_push(digest)
        return cls(run, name, content)

    @property
    def n_rows(self) -> int:
        """How many rows of all tables it has."""
        return sum(rows.num_rows for rows in self.run.tables.values())

    def behind(self, there: SharedRun) -> str:
        """Return why it may not take the place of what is there; empty where it may."""
        for table in GROWING:
            rows = self.run.tables.get(table)
            n_here = 0 if rows is None else rows.num_rows
            if there.n_rows(table) > n_here:
                return (
                    f"the shared lake has {counted(there.n_rows(table), 'row')} of its {table}, "
                    f"and this lake {n_here:,}; `analyze pull` brings them here where there is no "
                    "folder"
                )
        return ""

    def rows(self, table: str) -> pa.Table:
        """Return the rows of a table with what they are of."""
        return with_push(self.run.tables[table], self.run.month, self.name)

    def run_rows(self, there: SharedRun | None) -> pa.Table | None:
        """Return the rows of `runs`, each with what the push is; None: it may not be added."""
        if there is not None and self.behind(there):
            return None
        rows = self.rows("runs")
        facts = {
            "push_no": 1 if there is None else there.push_no + 1,
            "pushed_at_ms": time.time_ns() // 1_000_000,
            "schema_version": SCHEMA_VERSION,
            "layout": LAYOUT,
            "content": json.dumps(self.content, separators=(",", ":")),
        }
        for name, value in facts.items():
            rows = rows.append_column(name, pa.array([value] * rows.num_rows))
        return rows


def _send(pushes: Sequence[Push], shared: SharedLake) -> dict[str, SharedRun]:
    """Add pushes of one month to every table, and what they are last.

    Returns:
        What stays in the place of pushes that have less of a run, by run_id.
    """
    for table in TABLE_NAMES:
        some = [push for push in pushes if table in push.run.tables]
        rows = [push.rows(table) for push in some if push.run.tables[table].num_rows]
        if table != "runs" and rows:
            shared.add(
                table,
                pa.concat_tables(rows),
                {push.name: f"{push.run.run_id}/{push.name}" for push in some},
            )
    kept = shared.add_runs({(push.run.run_id, push.name): push.run_rows for push in pushes})
    return {run.run_id: run for run in kept}
