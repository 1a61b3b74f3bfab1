"""Sets damaged files of the lake aside: nothing is deleted, and no reader meets them again.

`lake/quarantine/<time>-<table>-<run>-<name>` with a `.json` beside it that says what was found and
whose rows it held. The rows are made again from the runs' folders, where those are there.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

import orjson

from schemas.errors import DamagedFile, SchemaError, counted, display_path, plural
from schemas.io.files import sync_path, write_whole
from schemas.lake.aliases import alias_file
from schemas.lake.footer import Checksum, checksum_of, read_lake_file, reading
from schemas.lake.layout import (
    ALIASES,
    ONE_RUN,
    QUARANTINE,
    TABLE_NAMES,
    is_left_out,
    live_paths,
    strays,
)
from schemas.lake.manifest import NO_REGULAR_FILE, OTHER_BYTES, Manifest
from schemas.lake.transaction import LOCK_WAIT_S, lake_lock

MAX_NAME_BYTES = 200
"""Of the name that a file gets: file systems end at 255."""

MAX_NAMED_RUNS = 5


@dataclass(frozen=True)
class SetAside:
    """A damaged file that was moved out of the way."""

    name: str
    """In the lake, such as `results/month=2026-11/….parquet`."""
    found: str
    """What is wrong with it, as the end of a sentence."""
    kept_as: str
    """Where it lies now, below the lake."""
    rows: dict[str, int] | None
    """Run to the rows that it held of it, as far as is known; None: nobody knows whose."""

    @property
    def table(self) -> str:
        """Return the table that the file belonged to."""
        return self.name.partition("/")[0]


def _damage_of(path: Path, known: Checksum | None = None) -> DamagedFile | None:
    """Return what is wrong with a file of the lake; None when it is sound.

    Reads all of it. A file of a newer version is no damaged one, nor is one that was moved away,
    nor one for which the memory is too small.

    Args:
        path: the file.
        known: what its bytes were when it was sealed.
    """
    if path.is_symlink() or not path.is_file():
        return DamagedFile(path, NO_REGULAR_FILE) if os.path.lexists(path) else None
    try:
        read_lake_file(path)
        with reading(path):
            if known is not None and checksum_of(path).crc32 != known.crc32:
                return DamagedFile(path, OTHER_BYTES)
        _read_all(path)
    except DamagedFile as exc:
        return exc
    except (FileNotFoundError, SchemaError, MemoryError):
        return None
    return None


def _read_all(path: Path) -> None:
    """Read every page of a file, a row group at a time, in the types of its table."""
    import pyarrow as pa  # noqa: PLC0415 - for after an error
    import pyarrow.parquet as pq  # noqa: PLC0415

    from schemas.lake.rows.tables import TABLES  # noqa: PLC0415

    declared = TABLES.get(path.parent.parent.name)
    with reading(path, pa.ArrowException), pq.ParquetFile(path) as file:
        for number in range(file.metadata.num_row_groups):
            group = file.read_row_group(number)
            for field in declared or ():
                if field.name in group.column_names:
                    group.column(field.name).cast(field.type)


def find_damaged(lake: Manifest) -> list[DamagedFile]:
    """Return every damaged file that readers meet; reads all of the lake, for after an error."""
    found: list[DamagedFile] = []
    for table in (*TABLE_NAMES, ALIASES):
        astray = strays(lake.folder, table).values()
        found += [DamagedFile(path, NO_REGULAR_FILE) for path in astray]
        for name, path in live_paths(lake.folder, table).items():
            if not is_left_out(path) and (damage := _damage_of(path, lake.checksum(name))):
                found.append(damage)
    return found


def set_aside(lake: Manifest, damaged: Iterable[DamagedFile]) -> list[SetAside]:
    """Move damaged files to the quarantine, and note in the manifest whose rows are gone.

    Another process may have done so meanwhile: each is looked at again under the lake's lock.

    Args:
        lake: is told; the caller saves it.
        damaged: what was found.

    Raises:
        LakeBusy: another process rewrites the lake.
        OSError: the lake cannot be written.
    """
    done: list[SetAside] = []
    with lake_lock(lake.folder, LOCK_WAIT_S):
        for one in dict.fromkeys(damage.path for damage in damaged):
            name = one.relative_to(lake.folder).as_posix()
            damage = _damage_of(one, lake.checksum(name))
            if damage is not None and not name.startswith(f"{QUARANTINE}/"):
                done.append(_moved(lake.folder, name, damage, _rows_of(lake, name, one)))
    for moved in done:
        lake.miss(moved.table, None if moved.rows is None else moved.rows.keys())
        lake.drop([moved.name])
    return done


def _rows_of(manifest: Manifest, name: str, path: Path) -> dict[str, int] | None:
    """Return whose rows a file held: as was noted, else as it says, else as it is called."""
    if name.startswith(f"{ALIASES}/"):
        return {}  # of no run
    file = manifest.file(name)
    if file is None and path.is_file() and not path.is_symlink():
        try:
            file = read_lake_file(path)
        except (SchemaError, OSError, MemoryError):
            file = None
    if file is not None:
        rows: dict[str, int] = {}
        for part in file.parts:
            rows[part.run_id] = rows.get(part.run_id, 0) + part.n_rows
        return rows
    found = ONE_RUN.fullmatch(path.name)
    return {found["run_id"]: 0} if found else None


def _moved(lake: Path, name: str, damage: DamagedFile, rows: dict[str, int] | None) -> SetAside:
    """Move one file, with a note beside it."""
    now = datetime.now(UTC)
    folder = lake / QUARANTINE
    folder.mkdir(parents=True, exist_ok=True)
    table, old = name.partition("/")[0], damage.path.name
    first, *more = [""] if not rows or ONE_RUN.fullmatch(old) else rows
    runs = first + (f"-and-{len(more)}-more" if more else "")
    stem = "-".join(filter(None, (now.strftime("%Y%m%dT%H%M%S.%fZ"), table, runs)))
    short = stem.encode()[: MAX_NAME_BYTES - len(old.encode())].decode(errors="ignore")
    target = folder / f"{short}-{old}"
    damage.path.rename(target)
    sync_path(damage.path.parent)
    sync_path(folder)
    kept_as = target.relative_to(lake).as_posix()
    aside = SetAside(name, damage.found, kept_as, rows)
    note = asdict(aside) | {"set_aside_at": now.isoformat()}
    write_whole(target.with_name(f"{target.name}.json"), orjson.dumps(note))
    return aside


def sentences(
    lake: Path, aside: Iterable[SetAside], there: Iterable[str], lost: Iterable[tuple[str, str]]
) -> Iterator[str]:
    """Yield what became of each file: where it is, and which rows are made again or not.

    Args:
        lake: the lake.
        aside: the files.
        there: names of the run folders.
        lost: (table, run) whose rows were not made again.
    """
    folders, missing = frozenset(there), frozenset(lost)
    for one in aside:
        where = display_path(lake / one.name)
        text = f"{where}: {one.found}; it is kept as {display_path(lake / one.kept_as)}"
        if one.table == ALIASES:
            yield f"{text}; what it said is written again from {display_path(alias_file(lake))}"
            continue
        if one.rows is None:
            yield f"{text}; nobody knows whose rows it held: every run's folder was looked at again"
            continue
        again = {run: n for run, n in one.rows.items() if (one.table, run) not in missing}
        waits = {run: n for run, n in one.rows.items() if run not in again and run in folders}
        gone = {run: n for run, n in one.rows.items() if run not in again and run not in folders}
        if again:
            folder = plural(len(again), "folder")
            text += f"; {_rows(one.table, again)} made again from the {folder}"
        if waits:
            folder = plural(len(waits), "folder")
            text += f"; {_rows(one.table, waits)} still to be made again from the {folder}"
            text += ": `analyze sync` goes on"
        if gone:
            text += f"; {_rows(one.table, gone)} lost, since there is no folder to make them from"
        yield text


def _rows(table: str, rows: dict[str, int]) -> str:
    """Return `12 rows of results of run a are`."""
    n_rows = sum(rows.values())
    what = f"{counted(n_rows, 'row')} of {table}" if n_rows else f"rows of {table}"
    some = ", ".join(f"`{run}`" for run in sorted(rows)[:MAX_NAMED_RUNS])
    more = f" and {len(rows) - MAX_NAMED_RUNS:,} more" if len(rows) > MAX_NAMED_RUNS else ""
    verb = "is" if n_rows == 1 else "are"
    return f"{what} of {'run' if len(rows) == 1 else 'runs'} {some}{more} {verb}"
