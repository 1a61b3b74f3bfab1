"""The lake on disk, behind one face: how its tables lie in files is known to this room alone.

Whoever reads needs names and paths: the functions here, which load nothing heavy. Whoever changes
something opens a `Lake`; what that needs of Arrow is loaded when it is asked for.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from schemas.io.own_files import locked
from schemas.lake.aliases import (
    Join,
    add_alias_rows,
    alias_rows,
    join,
    read_aliases,
    remove_alias,
    sync_aliases,
)
from schemas.lake.footer import LAYOUT, holds_run, parts_of
from schemas.lake.layout import (
    ALIASES,
    QUARANTINE,
    RECORDED,
    SYNC_LOCK,
    TABLE_NAMES,
    LakeColumn,
    lake_columns,
    lake_of,
    leave_out,
    live_files,
    may_hold,
    month_of,
    require_own_lake,
)
from schemas.lake.log_coverage import (
    NO_STEP_TEXTS,
    LakeLines,
    LakeLog,
    covered_until,
    holds,
    require_log,
)
from schemas.lake.manifest import LakeChange, Manifest
from schemas.lake.quarantine import SetAside, find_damaged, sentences, set_aside
from schemas.lake.transaction import LakeBusy

if TYPE_CHECKING:
    from schemas.lake.mirror.bulk_load import WholeRun
    from schemas.lake.mirror.exchange import RunRows as RunRows
    from schemas.lake.mirror.run_mirror import RunMirror as RunMirror
    from schemas.lake.mirror.run_rows import TextOf

__all__ = [
    "ALIASES",
    "LAYOUT",
    "QUARANTINE",
    "RECORDED",
    "SYNC_LOCK",
    "TABLE_NAMES",
    "Join",
    "Lake",
    "LakeBusy",
    "LakeChange",
    "LakeColumn",
    "LakeLines",
    "LakeLog",
    "SetAside",
    "add_alias_rows",
    "alias_rows",
    "find_damaged",
    "holds_run",
    "join",
    "lake_columns",
    "lake_of",
    "leave_out",
    "live_files",
    "may_hold",
    "month_of",
    "read_aliases",
    "read_whole",
    "remove_alias",
    "require_log",
    "require_own_lake",
    "rows_of_run",
    "sentences",
    "set_aside",
    "sync_aliases",
]


class Lake(Manifest):
    """A lake with what it knows of itself; whoever changes more than one run opens it before."""

    @classmethod
    @contextmanager
    def open(cls, path: Path) -> Iterator[Self]:
        """Yield a lake that nobody else opens meanwhile, whose work is ours as well: waits for it.

        Raises:
            NotOwnFile: there is a link in the lake.
            OSError: the lake cannot be written.
        """
        require_own_lake(path)
        with locked(path, SYNC_LOCK):
            yield cls(path)

    def append_run(self, *names: str) -> LakeChange:
        """Bring runs in, or what is new of them, by the names of their folders beside the lake.

        A run that another process has is passed over. A broken folder, or one of a newer version,
        is a problem by its name and stops no other. Short logs go together into one file a table.

        Raises:
            OSError: the lake cannot be written.
        """
        from schemas.lake.mirror.load_group import RunGroup

        return RunGroup(self).bring(names)

    def follow_run(self, run_dir: Path, wait_s: float) -> RunMirror:
        """Return what brings in the log of a run as it grows; waits so long for the run's lock.

        Raises:
            MirrorBusy: another process holds it.
            LogLost: the log does not hold what the lake took from it.
        """
        from schemas.lake.mirror.run_mirror import RunMirror

        return RunMirror(run_dir, self.folder, wait_s=wait_s, is_growing=True)

    def compact(self, *, now_ms: int | None = None) -> LakeChange:
        """Compact what pays, complete what was cut off, empty the trash, and save.

        Does nothing while another process does it, and on a lake that cannot be written. `now_ms`
        tells past months from the one that goes on; by default it is asked of the clock.
        """
        from schemas.lake.compact import compact

        return compact(self, now_ms)

    def take_texts(self, *, taken: bool) -> None:
        """Let texts of steps in, or keep those of runs that are not in the lake yet out.

        Raises:
            OSError: the lake cannot be written.
        """
        path = self.folder / NO_STEP_TEXTS
        if taken:
            path.unlink(missing_ok=True)
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.touch()

    def prune(self, run_ids: Collection[str], *, texts_alone: bool = False) -> int:
        """Take the rows of runs out, and return how many there were.

        Folders stay as they are. A run whose folder is there stays out until it is named; texts of
        steps that are taken out alone stay out.

        Raises:
            LakeBusy: another process is rewriting files of the lake.
            MirrorBusy: another process mirrors one of the runs.
            OSError: the lake cannot be written.
        """
        from schemas.lake.mirror.load_group import take_out

        return take_out(self, run_ids, texts_alone=texts_alone)

    def label(self, run_id: str, labels: tuple[str, ...]) -> bool:
        """Set the labels of a run; return whether the lake knows it.

        Raises:
            SchemaError: a file that bears the run's name cannot be read.
            OSError: the lake cannot be written.
        """
        from schemas.lake.mirror.run_rows import set_labels

        return set_labels(self.folder, run_id, labels)

    def drop_cut_off(self) -> None:
        """Remove what a batch left that was cut off: unfinished files, and text without results.

        What is known of the lake has just been refreshed.
        """
        from schemas.lake.mirror.bulk_load import drop_cut_off

        drop_cut_off(self)

    def is_begun_by(self, log: Path, run_id: str) -> bool:
        """Return whether a log begins with what the lake holds of a run, as it does with nothing.

        Raises:
            SchemaError: a file that bears the run's name cannot be read.
        """
        held = parts_of(self.folder, "results", run_id)
        return holds(log, covered_until(part for _, part in held))

    def lock_run(self, run_dir: Path, wait_s: float) -> int:
        """Return a handle that keeps others from bringing a run in, for `fit`.

        Raises:
            MirrorBusy: another process holds it, even after so many seconds.
        """
        from schemas.lake.transaction import lock_run

        return lock_run(run_dir, self.folder, wait_s)

    def read_runs(self, run_ids: Collection[str]) -> dict[str, RunRows]:
        """Return all rows of runs in the order of their logs, by run_id, as far as they are known.

        Raises:
            SchemaError: a file cannot be read, so that rows of any may be missing.
        """
        from schemas.lake.mirror.exchange import read_runs

        return read_runs(self, run_ids)

    def taken_in(self) -> dict[str, str]:
        """Return the hash of each run that was taken in, as far as it was noted."""
        from schemas.lake.mirror.exchange import taken_in

        return taken_in(self.folder)

    def take_in(self, runs: Sequence[RunRows], hashes: Mapping[str, str]) -> LakeChange:
        """Take in runs of one month that another lake holds, and this one holds nothing of.

        Args:
            runs: their rows.
            hashes: of each, by run_id; noted.

        Raises:
            OSError: the lake cannot be written; nothing of the runs is there then.
        """
        from schemas.lake.mirror.exchange import take_in

        files = take_in(self.folder, runs, hashes)
        self.add(files)
        return LakeChange(len(runs), sum(file.n_rows for file in files), files=files)

    def read_log(self, run_id: str, text_of: TextOf) -> LakeLog:
        """Return every row of a run as the line it was made of.

        Raises:
            SchemaError: a file that bears the run's name cannot be read.
        """
        from schemas.lake.mirror.run_rows import read_lake_log

        return read_lake_log(self.folder, run_id, text_of)

    def fit(self, run_dir: Path, lock: int) -> None:
        """Make the lake fit a run's log that was written again; closes the handle of the lock."""
        from schemas.lake.mirror.run_rows import fit_lake

        fit_lake(run_dir, self.folder, lock)


def rows_of_run(
    run_id: str, month: str, tables: Mapping[str, Any], stretches: Mapping[str, Any]
) -> RunRows:
    """Return a run from what another lake holds of it, Arrow tables, in the declared columns.

    Raises:
        SchemaError: a column is missing, or is not known here.
        TypeError: a stretch is none.
    """
    from schemas.lake.mirror.exchange import rows_of

    return rows_of(run_id, month, tables, stretches)


def read_whole(run_dir: Path, *, imported: bool) -> WholeRun:
    """Return all rows that a run's folder holds, as they would come into a lake.

    Raises:
        SchemaError: the folder is no complete run.
        ValidationError: config, plan or import record do not fit their declaration.
        OSError: a file is missing or cannot be read.
    """
    from schemas.lake.mirror import bulk_load

    return bulk_load.read_whole(run_dir, imported=imported)
