"""Brings runs into the lake, in groups: two processes when there is much to do.

Each core reads lines of its own. A helper runs `main`: it reads names of runs from its standard
input, a group a line, and answers with a line. It ends with the process that started it, whose end
closes the pipe; a group it has begun is finished under the locks that it holds itself.
"""

from __future__ import annotations

import base64
import os
import pickle
import queue
import resource
import subprocess
import sys
import threading
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import orjson

from analyze.lake.find_changes import Progress, Synced, changed, with_known_problems
from analyze.lake.load_group import LoadedGroup, load_group
from schemas.errors import AnalyzeError, DamagedFile
from schemas.lake import SetAside, sentences, set_aside, sync_aliases
from schemas.lake.bulk_load import drop_cut_off
from schemas.lake.compact import compact
from schemas.lake.layout import lake_of
from schemas.lake.manifest import Manifest, MirroredRun
from schemas.lake.recover import prune
from schemas.lake.transaction import LakeBusy, lock_run
from schemas.run.import_record import is_imported
from schemas.run.layout import IMPORT_FILE, LogStat, run_folders

N_PROCESSES = 2

LAST_GROUP_S = 120
"""How long a process may take to finish its group once no more groups are wanted."""

MAX_GROUP_RUNS = 400
"""Runs that are locked and read together; each lock is an open file."""

MAX_GROUP_BYTES = 64 * 2**20
"""Bytes of logs in a group: what is held in memory at one moment."""

MIN_PARALLEL_BYTES = 48 * 2**20
"""Bytes of logs from which on a second process pays for its start."""


def in_processes(
    runs_dir: Path, groups: list[list[str]]
) -> Iterator[tuple[list[str], LoadedGroup]]:
    """Yield each group with what was brought in of it, as the processes finish them.

    Raises:
        OSError: the lake cannot be written.
        AnalyzeError: a process died.
    """
    todo: queue.SimpleQueue[list[str]] = queue.SimpleQueue()
    for group in groups:
        todo.put(group)
    done: queue.SimpleQueue[tuple[list[str], LoadedGroup] | Exception] = queue.SimpleQueue()
    # Not with -m: there this module, and what it defines and pickles, would have another name.
    command = [sys.executable, "-P", "-c", f"from {__name__} import main; main()", str(runs_dir)]
    processes = [
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        for _ in range(min(N_PROCESSES, len(groups)))
    ]
    for process in processes:
        threading.Thread(target=_feed, args=(process, todo, done), daemon=True).start()
    try:
        for _ in groups:
            answer = done.get()
            if isinstance(answer, Exception):
                raise answer
            yield answer
    finally:
        for process in processes:
            if process.stdin is not None:
                process.stdin.close()
        for process in processes:
            try:
                process.wait(LAST_GROUP_S)
            except subprocess.TimeoutExpired:  # what it was bringing in is brought in by the next
                process.kill()
                process.wait()
            if process.stdout is not None:
                process.stdout.close()


def _feed(
    process: subprocess.Popen[bytes],
    todo: queue.SimpleQueue[list[str]],
    done: queue.SimpleQueue[tuple[list[str], LoadedGroup] | Exception],
) -> None:
    """Give one process a group after the other."""
    assert process.stdin is not None
    assert process.stdout is not None
    while True:
        try:
            group = todo.get_nowait()
        except queue.Empty:
            return
        try:
            process.stdin.write(orjson.dumps(group) + b"\n")
            process.stdin.flush()
            answer = process.stdout.readline()
        except (OSError, ValueError):
            answer = b""
        if not answer:
            done.put(AnalyzeError("a process that brings runs into the lake died; sync again"))
            return
        result = pickle.loads(base64.b64decode(answer))  # noqa: S301 - our own process
        done.put(result if isinstance(result, Exception) else (group, result))
        if isinstance(result, Exception):
            return


def main() -> None:
    """Bring in groups until standard input ends."""
    runs_dir = Path(sys.argv[1])
    for line in sys.stdin.buffer:
        answer: LoadedGroup | Exception
        try:
            answer = load_group(runs_dir, orjson.loads(line))
        except OSError as exc:
            answer = exc
        sys.stdout.buffer.write(base64.b64encode(pickle.dumps(answer)) + b"\n")
        sys.stdout.buffer.flush()


def bring_in(
    runs_dir: Path,
    manifest: Manifest,
    folders: Mapping[str, LogStat],
    only: Sequence[Path] | None,
    progress: Progress | None,
    *,
    damaged: Sequence[DamagedFile] = (),
) -> Synced:
    """Bring in what is new and compact the lake; the caller holds the lock of those who sync.

    Files that turn out to be damaged are set aside, and the runs whose rows they held are brought
    in again, as often as another one turns up.
    """
    lake = manifest.lake
    aside: list[SetAside] = []
    expected: dict[tuple[str, str], int] = {}
    total = Synced()
    names = None if only is None else {path.name for path in only}
    while True:
        refreshed = manifest.refresh()
        if bad := [*damaged, *refreshed.damaged]:
            moved = set_aside(manifest, bad)
            aside += moved
            _expect(manifest, moved, expected)
            manifest.save()
        done, found = _bring_once(runs_dir, manifest, folders, names, progress)
        compacted = compact(lake, manifest)
        manifest.save()
        total = Synced(
            total.n_runs + done.n_runs,
            total.n_rows + done.n_rows,
            (*total.problems, *refreshed.problems, *done.problems, *compacted.problems),
            n_compacted=total.n_compacted + compacted.n_files,
        )
        damaged = [*found, *compacted.damaged]
        if not damaged or (bad and not moved):
            break
        names = set()
    lost = _lost(manifest, expected)
    return replace(
        with_known_problems(total, manifest),
        problems=tuple(dict.fromkeys(total.problems)),
        set_aside=tuple(sentences(lake, aside, folders, lost)),
        n_lost_rows=sum(n for (_, run_id), n in lost.items() if run_id not in folders),
    )


def _bring_once(
    runs_dir: Path,
    manifest: Manifest,
    folders: Mapping[str, LogStat],
    only: Collection[str] | None,
    progress: Progress | None,
) -> tuple[Synced, list[DamagedFile]]:
    """Bring in what is new; return what was done, and files that could not be read meanwhile."""
    drop_cut_off(manifest.lake, manifest)
    sizes = {name: log.size for name, log in folders.items()}
    names = changed(folders.items(), manifest)
    names = [name for name in names if not _stays_out(manifest, name, folders[name])]
    if only is not None:
        robbed = {name for name in names if name in manifest.runs}
        robbed = {name for name in robbed if not manifest.runs[name].is_complete}
        names = sorted({*only, *robbed} & sizes.keys())
    for name in manifest.runs.keys() - sizes.keys():
        del manifest.runs[name]
    n_runs = n_rows = n_done = 0
    seen: list[str] = []
    damaged: list[DamagedFile] = []
    told = [_nameless(runs_dir, name) for name in names if _is_bytes(name)]
    names = [name for name in names if not _is_bytes(name)]
    total = sum(sizes[name] for name in names)
    for group, brought in _brought(manifest, runs_dir, list(_groups(names, sizes)), total):
        manifest.add(brought.files)
        manifest.refresh()  # what was read anew has left files, and is not robbed
        manifest.runs.update(brought.mirrored)
        seen += brought.mirrored
        n_runs, n_rows = n_runs + brought.n_runs, n_rows + brought.n_rows
        told += brought.problems
        damaged += brought.damaged
        n_done += sum(sizes[name] for name in group)
        if progress is not None:
            progress(n_done, total)
        manifest.save()
    try:
        told += [*sync_aliases(manifest.lake), *_joined(runs_dir, seen)]
    except LakeBusy as exc:
        told.append(f"{exc}; renamed cases are joined by the next sync")
    except DamagedFile as exc:
        damaged.append(exc)
    return Synced(n_runs, n_rows, tuple(told)), damaged


def _expect(
    manifest: Manifest, aside: Iterable[SetAside], expected: dict[tuple[str, str], int]
) -> None:
    """Note how many rows of each table and run there were with those of damaged files."""
    for one in aside:
        for run_id, n_rows in (one.rows or {}).items():
            before = expected.get((one.table, run_id), _n_held(manifest, one.table, run_id))
            expected[one.table, run_id] = before + n_rows


def _lost(
    manifest: Manifest, expected: Mapping[tuple[str, str], int]
) -> dict[tuple[str, str], int]:
    """Return how many rows of damaged files no file holds again, by table and run."""
    lost = {}
    for (table, run_id), n_rows in expected.items():
        n_held = _n_held(manifest, table, run_id)
        is_enough = table == "runs" or n_held >= n_rows  # of a run's rows there one counts
        if not n_held or not is_enough:
            lost[table, run_id] = max(n_rows - n_held, 0)
    return lost


def _n_held(manifest: Manifest, table: str, run_id: str) -> int:
    return sum(part.n_rows for _, part in manifest.parts_of(table, run_id))


def _joined(runs_dir: Path, run_ids: Sequence[str]) -> list[str]:
    """Join what prompt lists were called before; return what was wrong with that."""
    from analyze.lake.content_ids import join_prefixed  # noqa: PLC0415 - loads the engine

    try:
        join_prefixed(runs_dir, run_ids)
    except (AnalyzeError, LakeBusy) as exc:
        return [f"{exc}; ids of prompt lists that lost a prefix are joined by the next run's sync"]
    return []


def _stays_out(manifest: Manifest, name: str, log: LogStat) -> bool:
    """Return whether a run was pruned, and nobody has resumed it since, or imported it anew."""
    seen = manifest.runs.get(name)
    if seen is None or not seen.is_pruned or manifest.parts_of("plans", name):
        return False
    if seen[1:3] != log and (manifest.lake.parent / name / IMPORT_FILE).exists():
        return False  # what was imported never changes, so this is another folder
    manifest.runs[name] = seen._replace(size=log.size, mtime_ns=log.mtime_ns)
    return True


def _is_bytes(name: str) -> bool:
    """Return whether the name of a folder is no text."""
    return any("\ud800" <= char <= "\udfff" for char in name)


def _nameless(runs_dir: Path, name: str) -> str:
    shown = os.fsencode(name).decode(errors="backslashreplace")
    return f"{runs_dir}/{shown}: its name is not UTF-8, so no run can be called that"


def _groups(names: Sequence[str], sizes: dict[str, int]) -> Iterator[list[str]]:
    most, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    n_most = (
        MAX_GROUP_RUNS if most == resource.RLIM_INFINITY else max(1, min(MAX_GROUP_RUNS, most // 2))
    )
    group: list[str] = []
    n_bytes = 0
    for name in names:
        if group and (len(group) >= n_most or n_bytes + sizes[name] > MAX_GROUP_BYTES):
            yield group
            group, n_bytes = [], 0
        group.append(name)
        n_bytes += sizes[name]
    if group:
        yield group


def _brought(
    manifest: Manifest, runs_dir: Path, groups: list[list[str]], total: int
) -> Iterator[tuple[list[str], LoadedGroup]]:
    """Yield each group with what was brought in of it; two processes when there is much to do."""
    if total < MIN_PARALLEL_BYTES or len(groups) < 2 or (os.cpu_count() or 1) < 2:
        for group in groups:
            yield group, load_group(runs_dir, group, manifest)
    else:
        yield from in_processes(runs_dir, groups)


def take_out(runs_dir: Path, run_ids: Sequence[str]) -> int:
    """Remove the rows of runs and note that they stay out; see `analyze.lake.sync.prune`."""
    lake = lake_of(runs_dir)
    there = dict(run_folders(runs_dir))
    handles: list[int] = []
    try:
        for run_id in there.keys() & set(run_ids):
            folder = runs_dir / run_id
            handles.append(lock_run(folder, lake, outside=is_imported(folder)))
        n_rows = prune(lake, run_ids)
        manifest = Manifest(lake)
        for run_id in there.keys() & set(run_ids):
            manifest.runs[run_id] = MirroredRun(run_id, *there[run_id], is_pruned=True)
        manifest.refresh()
        manifest.save()
    finally:
        for handle in handles:
            os.close(handle)
    return n_rows
