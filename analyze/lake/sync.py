"""Keeps the lake complete: looks for news in a folder of runs, and brings them in.

Looking costs one stat a run folder and loads neither pyarrow nor the models; bringing in does.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from schemas.errors import AnalyzeError, DamagedFile
from schemas.io.files import READ_ONLY
from schemas.lake import (
    Lake,
    LakeBusy,
    LakeChange,
    SetAside,
    lake_of,
    sentences,
    set_aside,
    sync_aliases,
)
from schemas.run.layout import IMPORT_FILE, LogStat, folder_state, run_folders

Progress = Callable[[int, int], None]
"""Is told how many bytes of logs of how many are done."""


@dataclass(frozen=True)
class Synced:
    """What a sync did."""

    n_runs: int = 0
    """Runs of which something was brought in."""
    n_rows: int = 0
    """Results and events that were brought in."""
    problems: tuple[str, ...] = ()
    """What was found wrong now."""
    n_with_problems: int = 0
    """Runs of which problems are known, of earlier syncs as well."""
    known_problems: tuple[str, ...] = ()
    """Of these runs, what was found now included."""
    n_compacted: int = 0
    """Files of the lake that were put into larger ones."""
    set_aside: tuple[str, ...] = ()
    """Damaged files of the lake, each with what became of its rows."""
    n_lost_rows: int = 0
    """Rows of them that could not be made again, now or by the next sync."""
    read_only: bool = False
    """The lake cannot be written, so it is read as it is."""


def has_changes(runs_dir: Path) -> bool:
    """Return whether a run folder or a file of the lake changed; one stat each."""
    lake = Lake(lake_of(runs_dir))
    return bool(_changed(run_folders(runs_dir), lake)) or not lake.is_as_left()


def sync(
    runs_dir: Path,
    *,
    only: Sequence[Path] | None = None,
    progress: Progress | None = None,
    damaged: Sequence[DamagedFile] = (),
) -> Synced:
    """Bring all that is new into the lake, then compact it.

    A run that its collector is mirroring is skipped without a word. A broken folder, or one of a
    newer version, is a problem by its name and stops no other. A damaged file of the lake is set
    aside, and its rows are made again.

    Args:
        runs_dir: the folder that holds the runs.
        only: folders in it; looked at even without news, and brought back after a prune.
        progress: is told of the work.
        damaged: files of the lake that a reader could not read.

    Raises:
        LakeBusy: another process rewrites the lake, in which a file is damaged.
        OSError: the disk is full, or broken; nothing of the runs themselves is lost.
    """
    path = lake_of(runs_dir)
    try:
        with Lake.open(path) as lake:
            folders = dict(run_folders(runs_dir))
            is_quiet = only is None and not damaged and not _changed(folders.items(), lake)
            if is_quiet and lake.is_tidy():
                return _with_known_problems(Synced(), lake)
            return _bring_in(lake, folders, only, progress, damaged)
    except OSError as exc:
        if exc.errno not in READ_ONLY:
            raise
        why = f"{path}: cannot be written ({exc.strerror}); what is sealed so far is read"
        return Synced(problems=(why,), read_only=True)


def problems_of(runs_dir: Path, run_dir: Path) -> list[str]:
    """Return what is known to be wrong with one run's log, as the last sync found it."""
    seen = Lake(lake_of(runs_dir)).runs.get(run_dir.name)
    return [] if seen is None else list(seen.problems)


def _changed(folders: Iterable[tuple[str, LogStat]], lake: Lake) -> list[str]:
    """Return the names of the run folders that changed since they were brought in."""
    known, runs_dir = lake.runs, lake.folder.parent
    names = []
    for name, log in folders:
        seen = known.get(name)
        if seen is None or seen[1:3] != log:  # size and time
            names.append(name)
        elif seen.is_pruned:
            continue
        elif (
            seen.is_behind
            or not seen.is_complete
            or (seen.refused_as and seen.refused_as != folder_state(runs_dir / name))
        ):
            names.append(name)
    return sorted(names)


def _with_known_problems(synced: Synced, lake: Lake) -> Synced:
    """Return what a sync did with the problems of all runs that the lake knows of."""
    bad = [seen.problems for _, seen in sorted(lake.runs.items()) if seen.problems]
    known = tuple(problem for problems in bad for problem in problems)
    return replace(synced, n_with_problems=len(bad), known_problems=known)


def _bring_in(
    lake: Lake,
    folders: Mapping[str, LogStat],
    only: Sequence[Path] | None,
    progress: Progress | None,
    damaged: Sequence[DamagedFile],
) -> Synced:
    """Bring in what is new and compact the lake.

    Files that turn out to be damaged are set aside, and the runs whose rows they held are brought
    in again, as often as another one turns up.
    """
    aside: list[SetAside] = []
    expected: dict[tuple[str, str], int] = {}
    total = LakeChange()
    names = None if only is None else {path.name for path in only}
    while True:
        refreshed = lake.refresh()
        if bad := [*damaged, *refreshed.damaged]:
            moved = set_aside(lake, bad)
            aside += moved
            _expect(lake, moved, expected)
            lake.save()
        done = _bring_once(lake, folders, names, progress)
        compacted = lake.compact()
        lake.save()
        for step in (refreshed, done, compacted):
            total.add(step)
        damaged = [*done.damaged, *compacted.damaged]
        if not damaged or (bad and not moved):
            break
        names = set()
    lost = _lost(lake, expected)
    synced = Synced(
        total.n_runs,
        total.n_rows,
        tuple(dict.fromkeys(total.problems)),
        n_compacted=total.n_compacted,
        set_aside=tuple(sentences(lake.folder, aside, folders, lost)),
        n_lost_rows=sum(n for (_, run_id), n in lost.items() if run_id not in folders),
    )
    return _with_known_problems(synced, lake)


def _bring_once(
    lake: Lake,
    folders: Mapping[str, LogStat],
    only: Collection[str] | None,
    progress: Progress | None,
) -> LakeChange:
    """Bring in what is new."""
    from analyze.lake.load_runs import append_runs  # noqa: PLC0415 - a quiet lake does without

    lake.drop_cut_off()
    names = _changed(folders.items(), lake)
    names = [name for name in names if not _stays_out(lake, name, folders[name])]
    if only is not None:
        seen = ((name, lake.runs.get(name)) for name in names)
        robbed = {name for name, run in seen if run is not None and not run.is_complete}
        names = sorted({*only, *robbed} & folders.keys())
    for name in lake.runs.keys() - folders.keys():
        del lake.runs[name]
    runs_dir = lake.folder.parent
    n_done = 0
    total = LakeChange(problems=[_nameless(runs_dir, name) for name in names if _is_bytes(name)])
    sizes = {name: folders[name].size for name in names if not _is_bytes(name)}
    for group, done in append_runs(lake, sizes):
        lake.add(done.files)
        lake.refresh()  # what was read anew has left files, and is not robbed
        lake.runs.update(done.mirrored)
        total.add(done)
        n_done += sum(sizes[name] for name in group)
        if progress is not None:
            progress(n_done, sum(sizes.values()))
        lake.save()
    try:
        total.problems += [*sync_aliases(lake.folder), *_joined(runs_dir, list(total.mirrored))]
    except LakeBusy as exc:
        total.problems.append(f"{exc}; renamed cases are joined by the next sync")
    except DamagedFile as exc:
        total.damaged.append(exc)
    return total


def _expect(lake: Lake, aside: Iterable[SetAside], expected: dict[tuple[str, str], int]) -> None:
    """Note how many rows of each table and run there were with those of damaged files."""
    for one in aside:
        for run_id, n_rows in (one.rows or {}).items():
            before = expected.get((one.table, run_id), _n_held(lake, one.table, run_id))
            expected[one.table, run_id] = before + n_rows


def _lost(lake: Lake, expected: Mapping[tuple[str, str], int]) -> dict[tuple[str, str], int]:
    """Return how many rows of damaged files no file holds again, by table and run."""
    lost = {}
    for (table, run_id), n_rows in expected.items():
        n_held = _n_held(lake, table, run_id)
        is_enough = table == "runs" or n_held >= n_rows  # of a run's rows there one counts
        if not n_held or not is_enough:
            lost[table, run_id] = max(n_rows - n_held, 0)
    return lost


def _n_held(lake: Lake, table: str, run_id: str) -> int:
    return sum(part.n_rows for _, part in lake.parts_of(table, run_id))


def _joined(runs_dir: Path, run_ids: Sequence[str]) -> list[str]:
    """Join what prompt lists were called before; return what was wrong with that."""
    from analyze.lake.content_ids import join_prefixed  # noqa: PLC0415 - loads the engine

    try:
        join_prefixed(runs_dir, run_ids)
    except (AnalyzeError, LakeBusy) as exc:
        return [f"{exc}; ids of prompt lists that lost a prefix are joined by the next run's sync"]
    return []


def _stays_out(lake: Lake, name: str, log: LogStat) -> bool:
    """Return whether a run was pruned, and nobody has resumed it since, or imported it anew."""
    seen = lake.runs.get(name)
    if seen is None or not seen.is_pruned or lake.parts_of("plans", name):
        return False
    if seen[1:3] != log and (lake.folder.parent / name / IMPORT_FILE).exists():
        return False  # what was imported never changes, so this is another folder
    lake.runs[name] = seen._replace(size=log.size, mtime_ns=log.mtime_ns)
    return True


def _is_bytes(name: str) -> bool:
    """Return whether the name of a folder is no text."""
    return any("\ud800" <= char <= "\udfff" for char in name)


def _nameless(runs_dir: Path, name: str) -> str:
    shown = os.fsencode(name).decode(errors="backslashreplace")
    return f"{runs_dir}/{shown}: its name is not UTF-8, so no run can be called that"
