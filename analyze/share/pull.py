"""Brings runs of a shared lake into a lake of this machine."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from analyze.share.aliases import pull_aliases
from analyze.share.delta import SharedLake
from analyze.share.digest import digest_of_run, digests_of_runs
from analyze.share.said import SharedFileDamaged
from analyze.share.shared_runs import GROWING, PUSH, SharedRun, without_push
from schemas.errors import SchemaError
from schemas.lake import TABLE_NAMES, Lake, lake_columns, lake_of, rows_of_run
from schemas.run.layout import is_run_folder

if TYPE_CHECKING:
    from schemas.lake import RunRows

MAX_ROWS = 100_000
"""Rows of results and steps that are read together; a larger run is read alone."""


@dataclass
class Pulled:
    """What a pull did."""

    n_known: int = 0
    """Runs that the shared lake has since the month that was asked for."""
    suites: list[str] = field(default_factory=list)
    """Theirs."""
    n_runs: int = 0
    """Runs that were brought in."""
    n_rows: int = 0
    n_there: int = 0
    """Runs that were here as they are there."""
    own: list[str] = field(default_factory=list)
    """Runs whose folder is here: that is the truth of them."""
    ahead: list[str] = field(default_factory=list)
    """Runs of which this lake has more, such as labels: a push brings that there."""
    refused: list[str] = field(default_factory=list)
    """What is wrong with a run, in a sentence each."""


def pull_runs(
    runs_dir: Path,
    shared: SharedLake,
    wanted: Callable[[SharedRun], bool] = lambda _: True,
    progress: Callable[[str], None] = lambda _: None,
    *,
    from_month: str | None = None,
) -> Pulled:
    """Bring in the runs that are wanted and not here.

    A run that is here with other rows, from an earlier pull, gives way to what is there now, unless
    there is more of it here. Rows are held against their hashes before anything of a run comes in.

    Args:
        runs_dir: the folder of runs, whose lake they come into; made where there is none.
        shared: where they are.
        wanted: whether a run is; months in which none is are not read.
        progress: is told what is being done.
        from_month: such as `2026-02`: no run that began before it is wanted.

    Raises:
        ShareFailed: the shared lake cannot be read; runs before it are here.
        LakeBusy: another process rewrites the lake.
        OSError: the lake cannot be written.
    """
    known = list(shared.runs(from_month).values())
    found = sorted(filter(wanted, known), key=lambda run: (run.month, run.run_id))
    done = Pulled(n_known=len(known), suites=sorted({run.suite_id for run in known}))
    if not found:
        return done
    runs_dir.mkdir(parents=True, exist_ok=True)
    pull_aliases(lake_of(runs_dir), shared)
    with Lake.open(lake_of(runs_dir)) as lake:
        lake.refresh()
        held, noted = lake.row_counts(), lake.taken_in()
        missing = []
        for run in found:
            if is_run_folder(runs_dir / run.run_id):
                done.own.append(run.run_id)
            elif _has_more(run, held):
                done.ahead.append(run.run_id)
            elif _is_here(lake, run, held, noted.get(run.run_id, "")):
                done.n_there += 1
            else:
                missing.append(run)
        n_seen = 0
        for group in _groups(missing):
            progress(f"pulling {n_seen + 1:,} of {len(missing):,} runs")
            n_seen += len(group)
            whole = list(_checked(group, shared, done))
            if old := [run.run_id for run in whole if run.run_id in lake.run_ids]:
                lake.prune(old)
            if whole:
                hashes = {run.run_id: run.digest for run in group}
                brought = lake.take_in(whole, {one.run_id: hashes[one.run_id] for one in whole})
                done.n_runs += brought.n_runs
                done.n_rows += brought.n_rows
                lake.save()
        if done.n_runs:
            lake.compact()
    return done


def _has_more(run: SharedRun, held: Mapping[tuple[str, str], int]) -> bool:
    """Return whether a lake would lose rows to the shared one's: nothing that counts may go."""
    more = {table: held.get((table, run.run_id), 0) - run.n_rows(table) for table in TABLE_NAMES}
    grew = any(more[table] > 0 for table in GROWING)
    return grew or (max(more.values()) > 0 and min(more.values()) >= 0)


def _is_here(lake: Lake, run: SharedRun, held: Mapping[tuple[str, str], int], noted: str) -> bool:
    """Return whether the lake holds a run as the shared one does.

    Args:
        lake: the lake.
        run: as it is shared.
        held: rows that the lake holds, by table and run.
        noted: hash with which the run was taken in; empty where that is not known.
    """
    if any(held.get((table, run.run_id), 0) != run.n_rows(table) for table in run.content):
        return False
    if noted or run.run_id not in lake.run_ids:
        return noted == run.digest
    own = lake.read_runs([run.run_id])[run.run_id].tables
    (digests,) = digests_of_runs([own])
    return digest_of_run(digests) == run.digest


def _groups(runs: Iterable[SharedRun]) -> Iterator[list[SharedRun]]:
    """Yield runs of one month that are read together."""
    group: list[SharedRun] = []
    n_rows = 0
    for run in runs:
        more = run.n_rows("results") + run.n_rows("steps") + run.n_rows("judge_iterations")
        if group and (run.month != group[0].month or n_rows + more > MAX_ROWS):
            yield group
            group, n_rows = [], 0
        group.append(run)
        n_rows += more
    if group:
        yield group


def _checked(group: Sequence[SharedRun], shared: SharedLake, done: Pulled) -> Iterator[RunRows]:
    """Yield the rows of runs that are as they were pushed."""
    try:
        yield from _read(group, shared, done)
    except SharedFileDamaged as exc:
        if len(group) > 1:  # one of their files is: the others come in
            for run in group:
                yield from _checked([run], shared, done)
        else:
            done.refused.append(f"run `{group[0].run_id}`: {exc}")


def _read(group: Sequence[SharedRun], shared: SharedLake, done: Pulled) -> Iterator[RunRows]:
    pushes, months = [run.push for run in group], {run.month for run in group}
    tables = sorted({table for run in group for table in run.content})
    found = {table: _by_push(shared.rows(table, pushes, months)) for table in tables}
    read = []
    for run in group:
        try:
            run.require_known(shared.location)
            read.append((run, _rows(run, found)))
        except (SchemaError, TypeError, KeyError) as exc:
            done.refused.append(str(exc))
    hashes = digests_of_runs([rows.tables for _, rows in read])
    for (run, rows), digests in zip(read, hashes, strict=True):
        if problem := _difference(run, rows, digests):
            done.refused.append(f"{shared.location.url}: {problem}")
        else:
            yield rows


def _by_push(rows: pa.Table | None) -> dict[str, pa.Table]:
    """Return the rows of each push, from rows in the order of pushes."""
    if rows is None or not rows.num_rows:
        return {}
    runs = pc.run_end_encode(pa.concat_arrays(rows.column(PUSH).chunks), pa.int64())
    parts, first = {}, 0
    for push, end in zip(runs.values.to_pylist(), runs.run_ends.to_pylist(), strict=True):
        parts[push] = rows.slice(first, end - first)
        first = end
    return parts


def _rows(run: SharedRun, found: Mapping[str, Mapping[str, pa.Table]]) -> RunRows:
    """Return the rows of a run.

    Raises:
        SchemaError: a column is missing, or is not known here.
    """
    tables = {
        table: without_push(rows, [column.name for column in lake_columns()[table]])
        for table in run.content
        if (rows := found[table].get(run.push)) is not None
    }
    stretches = {table: one["stretches"] for table, one in run.content.items()}
    return rows_of_run(run.run_id, run.month, tables, stretches)


def _difference(run: SharedRun, rows: RunRows, digests: Mapping[str, str]) -> str:
    """Return what is not as it was pushed; empty where all is."""
    for table, one in run.content.items():
        if digests[table] != one["sha256"]:
            n_rows = rows.tables[table].num_rows
            return (
                f"run `{run.run_id}`: its {table} are not as they were pushed ({n_rows:,} of "
                f"{one['n_rows']:,} rows); nothing of it came in"
            )
    return ""
