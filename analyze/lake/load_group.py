"""Some runs into the lake, under their locks: whole ones together, those that grew one by one.

Of the rows of a run in the lake the newest counts; a run that is read anew keeps the labels of it.
"""

from __future__ import annotations

import contextlib
import errno
import os
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from pydantic import ValidationError

from analyze.lake.find_changes import (
    is_ours,
    is_second_name,
    line_of,
    log_stat,
    require_files,
    torn_tail,
)
from schemas.errors import BenchError, DamagedFile
from schemas.io.arrow import record_of
from schemas.lake.bulk_load import TABLES_IN_ORDER, WholeRun, read_whole, seal_whole
from schemas.lake.footer import parts_of
from schemas.lake.layout import (
    BATCH_TABLES,
    NO_COVERAGE,
    LakeFile,
    Part,
    covered_until,
    lake_of,
    month_of,
)
from schemas.lake.log_coverage import holds, tail_before
from schemas.lake.manifest import Manifest, MirroredRun
from schemas.lake.recover import prune, remove_part
from schemas.lake.rewrite import rows_of_part
from schemas.lake.rows import run_table
from schemas.lake.tables import RunRow
from schemas.lake.transaction import LakeBusy, MirrorBusy, lock_run
from schemas.lake.writer import LakeWriter, RunMirror
from schemas.run.config import PlannedTrial
from schemas.run.import_record import ImportRecord, is_imported
from schemas.run.layout import IMPORT_FILE, LOG, LogStat, folder_state
from schemas.run.result import LineError, misfit

MAX_SHARED_BYTES = 32 * 2**20
"""A longer log has files of its own."""

EVERYWHERE = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EMFILE, errno.ENFILE})
"""Errors that say nothing about the folder in which they happen."""

FILE_OF = {PlannedTrial.__name__: "plan.jsonl", ImportRecord.__name__: IMPORT_FILE}
"""Name of a record to the file that holds it; every other one is in config.json."""


@dataclass
class LoadedGroup:
    """What was brought in of a group of runs."""

    mirrored: dict[str, MirroredRun] = field(default_factory=dict)
    """What is known of each folder now; none for a run that another process has."""
    files: list[LakeFile] = field(default_factory=list)
    n_runs: int = 0
    n_rows: int = 0
    problems: list[str] = field(default_factory=list)
    damaged: list[DamagedFile] = field(default_factory=list)
    """Files of the lake that could not be read; their runs are not brought in yet."""


def load_group(runs_dir: Path, names: list[str], manifest: Manifest | None = None) -> LoadedGroup:
    """Bring some runs into the lake.

    Args:
        runs_dir: the folder that holds the runs.
        names: the runs' folders.
        manifest: is brought up to date once the runs are locked; by default it is loaded.

    Raises:
        OSError: the lake cannot be written.
    """
    return _Group(runs_dir, manifest or Manifest(lake_of(runs_dir))).bring(names)


class _Group:
    def __init__(self, runs_dir: Path, manifest: Manifest) -> None:
        self._runs_dir = runs_dir
        self._lake = lake_of(runs_dir)
        self._manifest = manifest
        self._brought = LoadedGroup()
        self._locks: dict[str, int] = {}
        self._imported: dict[str, bool] = {}
        self._looks: dict[str, str] = {}
        self._replaced: dict[str, list[tuple[str, LakeFile, Part]]] = {}
        self._read_again: set[str] = set()

    def bring(self, names: list[str]) -> LoadedGroup:
        try:
            for name in names:
                self._guarded(name, self._lock)
            # What another process sealed before these locks were ours is known from here on.
            self._manifest.refresh()
            whole: dict[str, list[WholeRun]] = {}
            for name in list(self._locks):
                run = self._guarded(name, self._look_at)
                if run is not None:
                    whole.setdefault(run.month, []).append(run)
            for runs in whole.values():
                others = self._replaced.keys() | self._read_again
                self._seal([run for run in runs if run.run_id not in others])
                self._seal_again([run for run in runs if run.run_id in self._read_again])
                for run in runs:
                    if run.run_id in self._replaced:
                        self._seal_again([run])
        finally:
            for handle in self._locks.values():
                os.close(handle)
        return self._brought

    def _seal_again(self, runs: list[WholeRun]) -> None:
        """Seal runs in the place of what the lake holds of them."""
        try:
            self._seal(runs)
        except LakeBusy:
            pass  # the next sync finds it again
        except DamagedFile as exc:
            self._brought.damaged.append(exc)

    def _lock(self, name: str) -> None:
        folder = self._runs_dir / name
        self._looks[name] = folder_state(folder)
        if is_second_name(folder):
            self._note(name, log_stat(folder), [], told=[])
            return
        require_files(folder)
        self._imported[name] = is_imported(folder)
        with contextlib.suppress(MirrorBusy):  # its collector brings it in
            self._locks[name] = lock_run(folder, self._lake, outside=self._imported[name])

    def _guarded(self, name: str, work: Callable[[str], WholeRun | None]) -> WholeRun | None:
        """Return a run that is to be sealed with others; what is wrong with it is noted."""
        folder = self._runs_dir / name
        try:
            return work(name)
        except LakeBusy:
            return None  # the next sync finds it again
        except DamagedFile as exc:
            self._brought.damaged.append(exc)
            return None
        except ValidationError as exc:
            file = FILE_OF.get(exc.title, "config.json")
            why = f"{folder / file}: {misfit(exc)}"
        except (BenchError, LineError) as exc:
            why = str(exc)
        except OSError as exc:
            is_own = Path(exc.filename or "").is_relative_to(folder)
            is_gone = isinstance(exc, FileNotFoundError)
            if is_gone and not (is_own and folder.exists()):
                return None  # the folder, or a file of the lake, was moved away just now
            if not is_own or exc.errno in EVERYWHERE:
                raise
            cannot = "is missing, so this is no complete run"
            why = f"{exc.filename}: {cannot if is_gone else f'cannot be read ({exc.strerror})'}"
        self._note(name, log_stat(folder), [why], told=[why], refused_as=self._looks[name])
        return None

    def _look_at(self, name: str) -> WholeRun | None:
        folder, imported = self._runs_dir / name, self._imported[name]
        if not imported and not is_ours(folder):
            self._note(name, log_stat(folder), [], told=[])  # another tool's results.jsonl
            return None
        held = [
            (table, file, part)
            for table in TABLES_IN_ORDER
            for file, part in self._manifest.parts_of(table, name)
        ]
        seen = log_stat(folder)
        if not held and (imported or seen.size <= MAX_SHARED_BYTES):
            return read_whole(folder, imported=imported)
        if imported:
            return self._look_again(folder, seen)
        known = self._manifest.runs.get(name)
        logged = [part for table, _, part in held if table in BATCH_TABLES]
        is_held = (holds(folder / LOG, part.coverage) for part in logged if part.coverage.end)
        if known and known.is_robbed and all(is_held):
            if seen.size <= MAX_SHARED_BYTES:
                self._read_again.add(name)
                return read_whole(folder, imported=False)
            prune(self._lake, [name], BATCH_TABLES)
            self._manifest.refresh()
        self._follow(folder, seen)
        return None

    def _look_again(self, folder: Path, seen: LogStat) -> WholeRun | None:
        """Return an earlier tool's run anew when its log is another one than the lake holds."""
        name, log = folder.name, folder / LOG
        covered = covered_until(part for _, part in self._manifest.parts_of("results", name))
        whole = read_whole(folder, imported=True)
        is_shorter = covered.end > seen.size
        is_same = covered.end == whole.coverage.end and covered.tail == (
            tail_before(log, covered.end) if covered.end else ""
        )
        is_there = all(self._manifest.parts_of(table, name) for table in whole.tables)
        if is_shorter or (is_same and is_there):
            self._note(name, seen, [*whole.problems, *torn_tail(log, covered.end, seen)], told=[])
            return None

        keep_labels(self._lake, whole)
        self._replaced[name] = [
            (table, file, part)
            for table in reversed(TABLES_IN_ORDER)
            for file, part in self._manifest.parts_of(table, name)
            if table != "runs"
        ]
        return whole

    def _follow(self, folder: Path, seen: LogStat) -> None:
        """Bring in what a run wrote since; its lock goes over to the mirror."""
        name, log = folder.name, folder / LOG
        mirror = RunMirror(
            folder, self._lake, lock=self._locks.pop(name), look=self._manifest.parts_of
        )
        try:
            begin = mirror.n_lines
            known = self._manifest.runs.get(name)
            problems = (
                mirror.skipped_before()
                if known is None or known.refused_as
                else [one for one in known.problems if line_of(one, log) in range(1, begin + 1)]
            )
            n_lines = mirror.step()
            mirror.seal()
        finally:
            mirror.close()
        self._brought.files += mirror.sealed
        self._brought.n_rows += n_lines - len(mirror.problems)
        self._brought.n_runs += bool(n_lines)
        tail = torn_tail(log, mirror.n_bytes, seen)
        lost = tail if seen.size < mirror.n_bytes else []  # a torn line may be written on
        self._note(name, seen, [*problems, *mirror.problems, *tail], told=[*mirror.problems, *lost])

    def _seal(self, runs: list[WholeRun]) -> None:
        if not runs:
            return

        def make_room() -> None:
            if again := [run.run_id for run in runs if run.run_id in self._read_again]:
                prune(self._lake, again)
            for run in runs:
                for table, file, part in self._replaced.get(run.run_id, ()):
                    remove_part(self._lake, table, file, part)

        folders = {run.run_id: self._runs_dir / run.run_id for run in runs}
        self._brought.files += seal_whole(
            self._lake, runs, (folder / LOG for folder in folders.values()), make_room
        )
        for run in runs:
            log = folders[run.run_id] / LOG
            self._brought.n_runs += 1
            self._brought.n_rows += sum(
                run.tables[table].num_rows for table in ("results", "events") if table in run.tables
            )
            problems = [*run.problems, *torn_tail(log, run.coverage.end, run.log_stat)]
            self._note(run.run_id, run.log_stat, problems, told=problems)

    def _note(
        self, name: str, seen: LogStat, problems: list[str], told: list[str], refused_as: str = ""
    ) -> None:
        self._brought.mirrored[name] = MirroredRun(
            name, *seen, tuple(problems), refused_as=refused_as
        )
        self._brought.problems += told


def seal_row(lake: Path, row: RunRow) -> None:
    """Seal a newer row of a run."""
    now_ms = max(time.time_ns() // 1_000_000, row.recorded_at_ms + 1)
    writer = LakeWriter(lake, row.run_id, month_of(row.started_at_ms or 0))
    newer = row.model_copy(update={"recorded_at_ms": now_ms})
    writer.seal_batch({"runs": run_table(newer)}, NO_COVERAGE)


def latest_row(lake: Path, run_id: str) -> RunRow | None:
    """Return the row of a run that counts; None when the lake does not know it."""
    rows = [
        record_of(RunRow, row)
        for file, part in parts_of(lake, "runs", run_id)
        for table in rows_of_part(file, part)
        for row in table.to_pylist()
    ]
    return max(rows, key=lambda row: row.recorded_at_ms, default=None)


def keep_labels(lake: Path, whole: WholeRun) -> None:
    """Give a run that is read anew the labels it has; they are nowhere but in the lake."""
    (row,) = whole.tables["runs"].to_pylist()
    new, old = record_of(RunRow, row), latest_row(lake, whole.run_id)
    if old is not None:
        now_ms = max(time.time_ns() // 1_000_000, old.recorded_at_ms + 1)
        newer = new.model_copy(update={"labels": old.labels, "recorded_at_ms": now_ms})
        whole.tables["runs"] = run_table(newer)
