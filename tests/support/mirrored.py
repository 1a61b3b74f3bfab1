"""One run's log into the lake, as the collector's child brings it in."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Any

import pyarrow as pa

from schemas.lake.footer import parts_of
from schemas.lake.mirror.run_mirror import RunMirror
from schemas.lake.rows.tables import TABLES


def mirror_run(run_dir: Path, lake: Path) -> list[str]:
    """Bring one run's log into the lake, as far as it is not there, and return the problems.

    Raises:
        MirrorBusy: another process is at it; what it has sealed so far can be read.
    """
    with closing(RunMirror(run_dir, lake)) as mirror:
        mirror.step()
        mirror.seal()
    return mirror.problems


def files_of(lake: Path, table: str, run_id: str) -> list[Path]:
    """Return the live files that hold rows of a run."""
    held = parts_of(lake, table, run_id, passes_damage=True)
    return list(dict.fromkeys(file.path for file, _ in held))


def table_of(table: str, rows: list[dict[str, Any]]) -> pa.Table:
    """Return rows as the declared columns of a table; what else a row holds is passed over."""
    return pa.Table.from_pylist(rows, schema=TABLES[table])
