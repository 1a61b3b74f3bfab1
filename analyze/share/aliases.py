"""Case ids that stand for older ones: what one lake knows of them comes into another one.

Rows are only ever added, and of an old id's rows the newest counts, so both have them all.
"""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa

from analyze.share.delta import SharedLake
from analyze.share.digest import digest_of_table
from analyze.share.shared_runs import with_push
from schemas.io.arrow import arrow_schema, record_of
from schemas.lake import ALIASES, add_alias_rows, alias_rows, month_of
from schemas.run.alias import AliasRow


def push_aliases(lake: Path, shared: SharedLake) -> int:
    """Add what a shared lake does not know, and return how many rows that were.

    Raises:
        ShareFailed: the shared lake cannot be read or written.
    """
    here = alias_rows(lake)
    if not here:
        return 0
    there = set(_shared_rows(shared))
    missing = sorted(
        (row for row in here if row not in there),
        key=lambda row: (row.recorded_at_ms, row.suite_id, row.old_case_id),
    )
    if missing:
        rows = pa.Table.from_pylist(
            [row.model_dump() for row in missing], schema=arrow_schema(AliasRow)
        )
        push = digest_of_table(rows)
        month = month_of(missing[0].recorded_at_ms)
        shared.add(ALIASES, with_push(rows, month, push), {push: f"{ALIASES}/{push}"})
    return len(missing)


def pull_aliases(lake: Path, shared: SharedLake) -> int:
    """Add what this lake does not know, and return how many rows that were.

    Raises:
        ShareFailed: the shared lake cannot be read.
        LakeBusy: another process rewrites the lake.
        OSError: the lake cannot be written.
    """
    rows = _shared_rows(shared)
    return add_alias_rows(lake, rows) if rows else 0


def _shared_rows(shared: SharedLake) -> list[AliasRow]:
    names = AliasRow.model_fields
    return [
        record_of(AliasRow, {name: row[name] for name in names}) for row in shared.all_rows(ALIASES)
    ]
