"""Which files of the lake count at this moment, what a sealed one holds, and the columns of tables.

A compaction moves many files away before the one that replaces them takes its name. What it is
about to do stands in `manifest/intent.json` before the first file moves, so that whoever lists the
lake meanwhile, or after it was killed, finds each row exactly once: in the new file when that is in
place, else in the files it replaces, wherever they lie.

Loads nothing heavy: every command looks at the manifest, which knows files by their
parts. Columns are plain data from schemas/json/lake.json: readers of the lake need names, types and
meanings, and neither pyarrow nor the models, whose imports cost more than most queries do.
"""

from __future__ import annotations

import functools
import json
import os
import re
import time
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.resources import files
from pathlib import Path
from typing import NamedTuple, TypeVar

from schemas.errors import NotOwnFile
from schemas.io.files import TEMPORARY
from schemas.io.own_files import LINK

TABLE_NAMES = (
    "results",
    "outputs",
    "events",
    "plans",
    "runs",
    "evaluations",
    "judge_iterations",
    "judgements",
    "pair_iterations",
    "preferences",
    "steps",
    "step_texts",
)
"""Every table of rows of runs."""

RECORDED = "recorded_results"
"""What readers know the results by as their run wrote them, before any evaluation; no files."""

ALIASES = "aliases"
"""The table of case ids that stand for older ones; it belongs to no run."""

TRASH = "trash"
"""Folder of the lake in which replaced files lie for a while, for those who still read them."""

QUARANTINE = "quarantine"
"""Folder of the lake in which damaged files are kept, for people to look at."""

SYNC_LOCK = "manifest/.sync.lock"
"""Who holds it brings in all that is new; nobody else does so meanwhile."""

INTENT = "manifest/intent.json"
"""What the last replacement of files was about to do."""

ONE_RUN = re.compile(r"(?P<run_id>.+)-[0-9a-f]{12}-[0-9]{6,}\.parquet")
"""Name of a file of one run; others are known by what they say about themselves."""

MAX_TRIES = 100
PAUSE_S = 0.005
"""Between two looks at files that are being moved; half a second in all."""

MAX_TIME_MS = 253_402_300_799_000
"""The last second of the year 9999: calendars end there, other than clocks that were set wrong."""


Found = TypeVar("Found")


@dataclass(frozen=True)
class Intent:
    """A replacement that has begun to move files."""

    token: str
    """Unique; also the name of the folder in the trash."""
    table: str
    month: str
    new: str | None
    """Name of the file that replaces the others; None when none does."""
    replaced: tuple[str, ...]
    """Names of the files that are replaced, all of one table and month."""

    def folder(self, lake: Path) -> Path:
        """Return the folder the files belong in."""
        return lake / self.table / f"month={self.month}"

    def trash(self, lake: Path) -> Path:
        """Return the folder the replaced files move to."""
        return lake / TRASH / self.token

    def temporary(self, lake: Path) -> Path:
        """Return the path of the new file before it is in place."""
        return self.folder(lake) / f"{TEMPORARY}{self.token}"


def lake_of(runs_dir: Path) -> Path:
    """Return the lake that belongs to a folder of runs."""
    return runs_dir / "lake"


def month_of(started_at_ms: int) -> str:
    """Return the partition of a run: the month of its start, UTC, as text."""
    return datetime.fromtimestamp(min(started_at_ms, MAX_TIME_MS) / 1000, tz=UTC).strftime("%Y-%m")


def require_own_lake(lake: Path) -> None:
    """Refuse a lake in which a link leads elsewhere; the lake itself may be reached through one.

    A link in the place of a file of a table is none: nobody reads it, and a sync sets it aside.

    Raises:
        NotOwnFile: names the link.
    """
    for folder in _entries(lake):
        is_open = folder.is_dir(follow_symlinks=False) and folder.name != QUARANTINE
        for entry in (folder, *(_entries(Path(folder.path)) if is_open else ())):
            if entry.is_symlink() and not _is_sealed(entry.name):
                raise NotOwnFile(Path(entry.path), LINK)


def retry_while_moving(look: Callable[[], Found]) -> Found:
    """Return what is found, looking again when a file was moved between listing and reading."""
    for _ in range(MAX_TRIES):
        try:
            return look()
        except FileNotFoundError:
            time.sleep(PAUSE_S)
    return look()


def may_hold(path: Path, run_id: str) -> bool:
    """Return whether a file may hold rows of a run: it is another's own, or it is not."""
    name = ONE_RUN.fullmatch(path.name)
    return name is None or name["run_id"] == run_id


def live_files(lake: Path, table: str, months: Collection[str] | None = None) -> list[Path]:
    """Return the files that hold a table, oldest month first: every row once, at every moment.

    A file may be moved to the trash between this and the reading of it: list again then. Only
    files of `months` such as `2026-02` are listed; None: all.
    """
    return [
        path
        for name, path in live_paths(lake, table).items()
        if months is None or name.split("/")[1].removeprefix("month=") in months
        if not (_left_out and is_left_out(path))
    ]


_left_out: dict[str, tuple[int, ...]] = {}
"""Absolute path to size and time of a damaged file; another file by the same name is read."""


def leave_out(paths: Iterable[Path]) -> list[Path]:
    """Let readers of this process go on without some files of a lake that it may not write.

    Returns:
        Those that are new to it.
    """
    new = [path for path in paths if not is_left_out(path) and _size_and_time(path)]
    _left_out.update((str(path.absolute()), _size_and_time(path)) for path in new)
    return new


def is_left_out(path: Path) -> bool:
    """Return whether readers go on without a file."""
    known = _left_out.get(str(path.absolute()))
    return known is not None and known == _size_and_time(path)


def _size_and_time(path: Path) -> tuple[int, ...]:
    try:
        facts = path.stat()
    except OSError:
        return ()
    return facts.st_size, facts.st_mtime_ns


def live_paths(lake: Path, table: str) -> dict[str, Path]:
    """Return the same files by the names they have, or had, in the lake: `results/month=…/…`."""
    n_gone = 0
    while True:
        before = intent_text(lake)
        intent = moving(before)
        if intent is not None and intent.table != table:
            intent = None
        listed, is_whole = _resolved(lake, table, intent)
        if intent_text(lake) == before:
            n_gone += 1  # a file that stays away was deleted by somebody
            if is_whole or n_gone > MAX_TRIES:
                return listed
        time.sleep(PAUSE_S)


def _resolved(lake: Path, table: str, intent: Intent | None) -> tuple[dict[str, Path], bool]:
    """Return the files of a table, and whether all that are being moved were found."""
    found = _listed(lake, table)
    is_whole = True
    if intent is not None:
        month = found.setdefault(f"month={intent.month}", {})
        is_there = intent.new is None or intent.new in month
        for name in intent.replaced:
            if is_there:
                month.pop(name, None)
            elif name not in month:
                trashed = intent.trash(lake) / name
                if trashed.exists():
                    month[name] = trashed
                else:
                    is_whole = False
    listed = {
        f"{table}/{month}/{name}": path
        for month, files in sorted(found.items())
        for name, path in sorted(files.items())
    }
    return listed, is_whole


def _listed(lake: Path, table: str) -> dict[str, dict[str, Path]]:
    """Return the sealed files of a table by month and name, as they lie there."""
    found: dict[str, dict[str, Path]] = {}
    if (lake / table).is_symlink():
        raise NotOwnFile(lake / table, LINK)
    for one in _entries(lake / table):
        if (month := one.name).startswith("month="):
            folder = lake / table / month
            if one.is_symlink():
                raise NotOwnFile(folder, LINK)
            found[month] = {
                entry.name: folder / entry.name
                for entry in _entries(folder)
                if _is_sealed(entry.name) and entry.is_file(follow_symlinks=False)
            }
    return found


def strays(lake: Path, table: str) -> dict[str, Path]:
    """Return what is called as a file of a table and is none, by its name in the lake.

    A folder, a pipe, a device, a link: no reader may open one.
    """
    return {
        f"{table}/{month}/{entry.name}": Path(entry.path)
        for month in (folder.name for folder in _entries(lake / table))
        if month.startswith("month=")
        for entry in _entries(lake / table / month)
        if _is_sealed(entry.name)
        and not entry.is_file(follow_symlinks=False)
        and os.path.lexists(entry.path)
    }


def _is_sealed(name: str) -> bool:
    return name.endswith(".parquet") and not name.startswith(".")


def _entries(folder: Path) -> list[os.DirEntry[str]]:
    try:
        return list(os.scandir(folder))
    except (FileNotFoundError, NotADirectoryError):
        return []


def intent_text(lake: Path) -> bytes:
    """Return what stands in the lake's intent; it is another text after every change."""
    try:
        return (lake / INTENT).read_bytes()
    except FileNotFoundError:
        return b""


def moving(text: bytes) -> Intent | None:
    """Return the replacement that is moving files; None when none is, or the text is not ours."""
    facts = intent_facts(text)
    return intent_of(facts) if facts.get("phase") == "moving" else None


def intent_facts(text: bytes) -> Mapping[str, object]:
    """Return an intent as it was stored; nothing when it cannot be read."""
    try:
        facts = json.loads(text)
    except ValueError:
        return {}
    return facts if isinstance(facts, dict) else {}


def intent_of(facts: Mapping[str, object]) -> Intent | None:
    """Return the replacement that an intent describes; None when it describes none."""
    names = ("token", "table", "month")
    texts = [value for name in names if isinstance(value := facts.get(name), str)]
    new, replaced = facts.get("new"), facts.get("replaced")
    if len(texts) != len(names) or not isinstance(replaced, list):
        return None
    token, table, month = texts
    files = [str(name) for name in ([*replaced] if new is None else [*replaced, new])]
    if any(not name or "/" in name or name.startswith(".") for name in (*texts, *files)):
        return None  # not ours: it would lead out of the folder
    return Intent(
        token, table, month, None if new is None else str(new), tuple(files[: len(replaced)])
    )


@dataclass(frozen=True)
class Coverage:
    """A stretch of a log: bytes [start, end), lines (lines_before, lines_after]."""

    start: int
    end: int
    lines_before: int
    lines_after: int
    tail: str = ""
    """Hash of the last bytes before `end`: tells whether the log still holds this stretch."""


NO_COVERAGE = Coverage(0, 0, 0, 0)


@dataclass(frozen=True)
class Part:
    """The rows of one batch of one run, which follow each other in a file."""

    run_id: str
    coverage: Coverage
    n_rows: int


@dataclass(frozen=True)
class LakeFile:
    """One sealed file; its parts in the order of their rows."""

    path: Path
    parts: tuple[Part, ...]
    layout: int

    @property
    def n_rows(self) -> int:
        """Return how many rows the file holds."""
        return sum(part.n_rows for part in self.parts)


class LakeColumn(NamedTuple):
    """One column of a raw table."""

    name: str
    type: str
    """As DuckDB writes it, such as `BIGINT` or `VARCHAR[]`."""
    nullable: bool
    description: str | None = None
    unit: str | None = None
    default: float | None = None
    """What the only row of `thresholds` holds unless the project says otherwise."""


@functools.cache
def lake_columns() -> dict[str, tuple[LakeColumn, ...]]:
    """Return the columns of every raw table, by the table's name without `raw_`."""
    tables = json.loads((files("schemas") / "json" / "lake.json").read_bytes())
    return {
        table: tuple(LakeColumn(**column) for column in columns)
        for table, columns in tables.items()
    }
