"""The lake on disk, behind one face: how its tables lie in files is known to this room alone.

Whoever reads needs names and paths: the functions here, which load nothing heavy. Whoever changes
something opens a `Lake`; what that needs of Arrow is loaded when it is asked for.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from schemas.lake.aliases import (
    Join,
    are_aliases_in_lake,
    join,
    read_aliases,
    remove_alias,
    sync_aliases,
)
from schemas.lake.footer import LAYOUT, holds_run, parts_of
from schemas.lake.layout import (
    ALIASES,
    TABLE_NAMES,
    LakeColumn,
    covered_until,
    lake_columns,
    lake_of,
    leave_out,
    live_files,
    may_hold,
    month_of,
    require_own_lake,
)
from schemas.lake.log_coverage import LakeLog, require_log, size_of, tail_before
from schemas.lake.manifest import Manifest
from schemas.lake.quarantine import SetAside, find_damaged, sentences, set_aside

if TYPE_CHECKING:
    from schemas.lake.bulk_load import WholeRun
    from schemas.lake.coverage import TextOf

__all__ = [
    "ALIASES",
    "LAYOUT",
    "TABLE_NAMES",
    "Join",
    "Lake",
    "LakeColumn",
    "LakeLog",
    "SetAside",
    "are_aliases_in_lake",
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
    "sentences",
    "set_aside",
    "sync_aliases",
]


class Lake(Manifest):
    """A lake that is open, with what it knows of itself; made by the first who writes to it."""

    def is_begun_by(self, log: Path, run_id: str) -> bool:
        """Return whether a log begins with what the lake holds of a run, as it does with nothing.

        Raises:
            SchemaError: a file that bears the run's name cannot be read.
        """
        covered = covered_until(part for _, part in parts_of(self.lake, "results", run_id))
        is_longer = covered.end <= size_of(log)
        return not covered.end or (is_longer and covered.tail == tail_before(log, covered.end))

    def lock_run(self, run_dir: Path, wait_s: float) -> int:
        """Return a handle that keeps others from bringing a run in, for `fit`.

        Raises:
            MirrorBusy: another process holds it, even after so many seconds.
        """
        from schemas.lake.transaction import lock_run

        return lock_run(run_dir, self.lake, wait_s)

    def read_log(self, run_id: str, text_of: TextOf) -> LakeLog:
        """Return every row of a run as the line it was made of.

        Raises:
            SchemaError: a file that bears the run's name cannot be read.
        """
        from schemas.lake.coverage import read_lake_log

        return read_lake_log(self.lake, run_id, text_of)

    def fit(self, run_dir: Path, lock: int) -> None:
        """Make the lake fit a run's log that was written again; closes the handle of the lock."""
        from schemas.lake.coverage import fit_lake

        fit_lake(run_dir, self.lake, lock)


def read_whole(run_dir: Path, *, imported: bool) -> WholeRun:
    """Return all rows that a run's folder holds, as they would come into a lake.

    Raises:
        SchemaError: the folder is no complete run.
        ValidationError: config, plan or import record do not fit their declaration.
        OSError: a file is missing or cannot be read.
    """
    from schemas.lake import bulk_load

    return bulk_load.read_whole(run_dir, imported=imported)
