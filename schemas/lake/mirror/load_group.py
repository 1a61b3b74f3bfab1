"""Some runs into the lake, or out of it, under their locks.

Whole ones come in together, those that grew one by one.
"""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Callable, Collection, Iterable, Sequence
from pathlib import Path

from pydantic import ValidationError

from schemas.errors import BenchError, DamagedFile, counted, restore_command
from schemas.io.own_files import refuse_other
from schemas.lake.layout import TABLE_NAMES, LakeFile, Part
from schemas.lake.log_coverage import (
    EVALUATION_TABLES,
    NO_STEP_TEXTS,
    RESULT_TABLES,
    STEPS_VERSION,
    LogTables,
    covered_until,
    holds,
    size_of,
)
from schemas.lake.manifest import LakeChange, Manifest, MirroredRun
from schemas.lake.mirror.bulk_load import TABLES_IN_ORDER, WholeRun, read_whole, seal_whole
from schemas.lake.mirror.run_mirror import RunMirror
from schemas.lake.mirror.run_rows import keep_labels
from schemas.lake.recover import prune, remove_part
from schemas.lake.rows.step_rows import may_have_steps
from schemas.lake.transaction import LakeBusy, MirrorBusy, lock_run
from schemas.run.config import PlannedTrial
from schemas.run.import_record import ImportRecord, is_imported
from schemas.run.layout import (
    ARTIFACTS,
    EVALUATIONS,
    IMPORT_FILE,
    LOG,
    NO_LOG,
    LogStat,
    folder_state,
    is_planned,
    run_folders,
)
from schemas.run.result import LineError, misfit

MAX_SHARED_BYTES = 32 * 2**20
"""A longer log has files of its own."""

MAX_SHARED_TRACES = 8 * 2**20
"""Compressed bytes of traces from which steps are made; a run with more has files of its own."""

MAX_HELD_BYTES = 96 * 2**20
"""Of rows that wait to be sealed with those of other runs."""

EVERYWHERE = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EMFILE, errno.ENFILE})
"""Errors that say nothing about the folder in which they happen."""

FILE_OF = {PlannedTrial.__name__: "plan.jsonl", ImportRecord.__name__: IMPORT_FILE}
"""Name of a record to the file that holds it; every other one is in config.json."""


class RunGroup:
    """Brings some runs, by the names of their folders, into the lake beside these.

    The manifest is brought up to date once the runs are locked.
    """

    def __init__(self, manifest: Manifest) -> None:
        self._lake = manifest.folder
        self._runs_dir = manifest.folder.parent
        self._manifest = manifest
        self._brought = LakeChange()
        self._locks: dict[str, int] = {}
        self._imported: dict[str, bool] = {}
        self._looks: dict[str, str] = {}
        self._replaced: dict[str, list[tuple[str, LakeFile, Part]]] = {}
        self._read_again: set[str] = set()

    def bring(self, names: Sequence[str]) -> LakeChange:
        """Bring them in; see `schemas.lake.Lake.append_run`."""
        try:
            for name in names:
                self._guarded(name, self._lock)
            # What another process sealed before these locks were ours is known from here on.
            self._manifest.refresh()
            whole: dict[str, list[WholeRun]] = {}
            n_bytes = 0
            for name in list(self._locks):
                run = self._guarded(name, self._look_at)
                if run is not None:
                    whole.setdefault(run.month, []).append(run)
                    n_bytes += sum(rows.nbytes for rows in run.tables.values())
                if n_bytes > MAX_HELD_BYTES:
                    self._seal_months(whole)
                    n_bytes = 0
            self._seal_months(whole)
        finally:
            for handle in self._locks.values():
                os.close(handle)
        return self._brought

    def _seal_months(self, whole: dict[str, list[WholeRun]]) -> None:
        """Seal runs that were read, by month; none is left."""
        for runs in whole.values():
            others = self._replaced.keys() | self._read_again
            self._seal([run for run in runs if run.run_id not in others])
            self._seal_again([run for run in runs if run.run_id in self._read_again])
            for run in runs:
                if run.run_id in self._replaced:
                    self._seal_again([run])
        whole.clear()

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
        if _is_second_name(folder):
            self._note(name, _log_stat(folder), [], news=[])
            return
        _require_files(folder)
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
        self._note(name, _log_stat(folder), [why], news=[why], refused_as=self._looks[name])
        return None

    def _look_at(self, name: str) -> WholeRun | None:
        folder, imported = self._runs_dir / name, self._imported[name]
        if not imported and not _is_ours(folder):
            self._note(name, _log_stat(folder), [], news=[])  # another tool's results.jsonl
            return None
        held = [
            (table, file, part)
            for table in TABLES_IN_ORDER
            for file, part in self._manifest.parts_of(table, name)
        ]
        seen = _log_stat(folder)
        is_shared = _is_shared(folder, seen)
        if not held and (imported or is_shared):
            return self._read(folder, imported=imported)
        if imported:
            return self._look_again(folder, seen)
        known = self._manifest.runs.get(name)
        is_behind = self._lacks_steps(name)
        if known and known.is_behind and known[1:3] == seen and known.is_complete and not is_behind:
            self._note(name, seen, [*known.problems], news=[])
            return None
        has_looks = _is_held(folder, EVALUATION_TABLES, held)
        if (is_behind or (known and known.is_robbed)) and _is_held(folder, RESULT_TABLES, held):
            if is_shared and has_looks:
                self._read_again.add(name)
                return self._read(folder, imported=False)
            prune(self._lake, [name], RESULT_TABLES.tables)
            self._manifest.refresh()
        if known and known.lacks_looks and has_looks:
            prune(self._lake, [name], EVALUATION_TABLES.tables)
            self._manifest.refresh()
        self._follow(folder, seen)
        return None

    def _read(self, folder: Path, *, imported: bool) -> WholeRun:
        return read_whole(
            folder, imported=imported, with_text=self._takes_texts(folder.name), lake=self._lake
        )

    def _takes_texts(self, name: str) -> bool:
        """Return whether texts of a run's steps go into the lake."""
        known = self._manifest.runs.get(name)
        is_bare = known is not None and known.has_no_texts
        return not is_bare and not (self._lake / NO_STEP_TEXTS).exists()

    def _lacks_steps(self, name: str) -> bool:
        """Return whether a run was brought in before there were the steps that there are now."""
        known = self._manifest.runs.get(name)
        has_steps = known is None and bool(self._manifest.parts_of("steps", name))
        is_made = has_steps if known is None else not known.is_behind
        return not is_made and may_have_steps(self._runs_dir / name / LOG)

    def _look_again(self, folder: Path, seen: LogStat) -> WholeRun | None:
        """Return an earlier tool's run anew when its log is another one than the lake holds."""
        name, log = folder.name, folder / LOG
        covered = covered_until(part for _, part in self._manifest.parts_of("results", name))
        whole = self._read(folder, imported=True)
        is_shorter = covered.end > seen.size
        coverage = whole.results.coverage
        is_same = (covered.end, covered.tail) == (coverage.end, coverage.tail)
        is_there = all(self._manifest.parts_of(table, name) for table in whole.tables)
        if is_shorter or (is_same and is_there and not self._lacks_steps(name)):
            self._note(name, seen, [*whole.problems, *_torn_tail(log, covered.end, seen)], news=[])
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
        seen_looks = _log_stat(folder, EVALUATIONS)
        mirror = RunMirror(
            folder,
            self._lake,
            lock=self._locks.pop(name),
            look=self._manifest.parts_of,
            with_text=self._takes_texts(name),
        )
        try:
            known = self._manifest.runs.get(name)
            problems = (
                mirror.skipped_before()
                if known is None or known.refused_as
                else [
                    one
                    for one in known.problems
                    if any(_line_of(one, of.path) in range(1, of.n_lines + 1) for of in mirror.logs)
                ]
            )
            n_lines = mirror.step()
            mirror.seal()
        finally:
            mirror.close()
        self._brought.files += mirror.sealed
        self._brought.n_rows += n_lines - len(mirror.problems)
        self._brought.n_runs += bool(n_lines)
        tail = _torn_tail(log, mirror.n_bytes, seen)
        lost = tail if seen.size < mirror.n_bytes else []  # a torn line may be written on
        for looks in mirror.logs[1:]:
            tail = [*tail, *_torn_tail(looks.path, looks.n_bytes, seen_looks)]
        news = [*mirror.problems, *lost]
        news += [one for one in mirror.lost if known is None or one not in known.problems]
        self._note(name, seen, [*problems, *mirror.problems, *tail, *mirror.lost], news=news)

    def _seal(self, runs: list[WholeRun]) -> None:
        if not runs:
            return

        def make_room() -> None:
            if again := [run.run_id for run in runs if run.run_id in self._read_again]:
                prune(self._lake, again)
            for run in runs:
                for table, file, part in self._replaced.get(run.run_id, ()):
                    remove_part(self._lake, table, file, part)

        self._brought.files += seal_whole(self._lake, runs, make_room)
        for run in runs:
            self._brought.n_runs += 1
            self._brought.n_rows += run.n_rows
            problems = list(run.problems)
            for whole in run.logs.values():
                problems += _torn_tail(whole.path, whole.coverage.end, whole.stat)
            self._note(run.run_id, run.results.stat, problems, news=problems)

    def _note(
        self, name: str, seen: LogStat, problems: list[str], news: list[str], refused_as: str = ""
    ) -> None:
        self._brought.mirrored[name] = MirroredRun(
            name,
            *seen,
            tuple(problems),
            refused_as=refused_as,
            steps_version=STEPS_VERSION,
            has_no_texts=not self._takes_texts(name),
        )
        self._brought.problems += news


def take_out(known: Manifest, run_ids: Collection[str], *, texts_alone: bool = False) -> int:
    """Remove the rows of runs and note that they stay out; see `schemas.lake.Lake.prune`."""
    runs_dir = known.folder.parent
    there = {name: log for name, log in run_folders(runs_dir) if name in run_ids}
    with contextlib.ExitStack() as locks:
        for run_id in there:
            folder = runs_dir / run_id
            handle = lock_run(folder, known.folder, outside=is_imported(folder))
            locks.callback(os.close, handle)
        n_rows = prune(known.folder, run_ids, ("step_texts",) if texts_alone else TABLE_NAMES)
        for run_id, log in there.items():
            seen = known.runs.get(run_id, MirroredRun(run_id, *log))
            out = MirroredRun(run_id, *log, is_pruned=True)
            known.runs[run_id] = seen._replace(has_no_texts=True) if texts_alone else out
        known.refresh()
        known.save()
    return n_rows


def _is_second_name(folder: Path) -> bool:
    """Return whether a folder is a link to another run beside it, which counts once."""
    target = Path(os.path.realpath(folder))  # a loop is no error here, other than to `resolve`
    is_sibling = target.parent == folder.parent.resolve()
    return folder.is_symlink() and is_sibling and not target.name.startswith(".")


def _is_shared(folder: Path, seen: LogStat) -> bool:
    """Return whether a run is small enough to be read as a whole, and sealed with others."""
    if max(seen.size, size_of(folder / EVALUATIONS)) > MAX_SHARED_BYTES:
        return False
    traces = sum(size_of(path) for path in (folder / ARTIFACTS).glob("*.jsonl.zst"))
    return traces <= MAX_SHARED_TRACES or not may_have_steps(folder / LOG)


def _require_files(folder: Path) -> None:
    """Refuse a folder of which something that is read is a link, a pipe or a device.

    Raises:
        NotOwnFile: names it.
    """
    for name in ("config.json", "plan.jsonl", IMPORT_FILE, LOG, EVALUATIONS):
        path = folder / name
        try:
            facts = path.lstat()
        except OSError:
            continue  # who reads it says why it cannot be read
        refuse_other(path, facts)


def _is_ours(folder: Path) -> bool:
    """Return whether a folder holds a run of ours, or what is left of one."""
    return (folder / "config.json").exists() or (folder / "plan.jsonl").exists()


def _is_held(folder: Path, log: LogTables, held: Iterable[tuple[str, LakeFile, Part]]) -> bool:
    """Return whether a log holds what the lake took from it."""
    return all(
        holds(folder / log.name, part.coverage)
        for table, _, part in held
        if table in log.tables and part.coverage.end
    )


def _log_stat(folder: Path, name: str = LOG) -> LogStat:
    """Return size and time of a log in a folder; zeros while there is none."""
    try:
        facts = (folder / name).stat()
    except OSError:
        return NO_LOG
    return LogStat(facts.st_size, facts.st_mtime_ns)


def _line_of(problem: str, log: Path) -> int:
    """Return the number of the line that a problem is about; 0 when it is about no line."""
    # The folder of runs may have been named another way, or have been elsewhere, at that time.
    number = problem.partition(f"{log.parent.name}/{log.name}:")[2].partition(":")[0]
    return int(number) if number.isdecimal() else 0


def _torn_tail(log: Path, covered: int, seen: LogStat) -> list[str]:
    """Return what is wrong with the end of a log."""
    if seen.size < covered:
        again = f"; `{restore_command(log.parent)}` writes it again" * is_planned(log.parent)
        return [
            f"{log}: is {counted(covered - seen.size, 'byte')} shorter than what the lake holds "
            f"of it; the lake's rows are used{again}"
        ]
    if seen.size > covered:
        n_bytes = counted(seen.size - covered, "byte")
        return [f"{log}: its end is a torn line or not mirrored yet ({n_bytes})"]
    return []
