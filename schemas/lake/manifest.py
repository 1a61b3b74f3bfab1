"""What the lake knows of itself, so that looking for news costs one stat a run folder.

`manifest/runs.json` says how far each run folder was mirrored, `manifest/files.json` which parts
lie in which file. Both only save time: whatever is lost, torn or foreign is found out again from
the folders and from the files' own metadata, which also know of files that others sealed.
`manifest/checksums.json` says what the bytes of each file were; a file that it does not know is
taken as it is.
"""

from __future__ import annotations

import contextlib
import functools
from collections import Counter
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import orjson

from schemas.errors import DamagedFile, SchemaError
from schemas.io.files import write_whole
from schemas.io.own_files import locked
from schemas.lake.aliases import are_aliases_in_lake
from schemas.lake.footer import Checksum, checksum_of, looks_unchanged, read_lake_file
from schemas.lake.layout import (
    ALIASES,
    TABLE_NAMES,
    Coverage,
    LakeFile,
    Part,
    intent_text,
    live_paths,
    moving,
    strays,
)
from schemas.lake.log_coverage import EVALUATION_TABLES, LOGS, RESULT_TABLES, STEPS_VERSION
from schemas.lake.transaction import old_trash

RUNS = "manifest/runs.json"
FILES = "manifest/files.json"
CHECKSUMS = "manifest/checksums.json"

LOCK = "manifest/.saving.lock"
"""Of those who save; held for milliseconds, so others wait for it."""

VERSION = 1
"""Of each; another one is not read but made again."""

NO_REGULAR_FILE = "is no regular file"

Row = TypeVar("Row")

OTHER_BYTES = "is not as it was sealed: its bytes are others"


class MirroredRun(NamedTuple):
    """A run folder as it was when it was mirrored last."""

    run_id: str
    size: int
    """Bytes of its log."""
    mtime_ns: int
    """When its log was changed last."""
    problems: tuple[str, ...] = ()
    is_complete: bool = True
    """Nothing of the log is left to be mirrored."""
    is_pruned: bool = False
    """Its rows were taken out of the lake, and it stays out until it is named."""
    refused_as: str = ""
    """What the folder looked like (`schemas.run.layout.folder_state`) when it was refused."""
    is_robbed: bool = False
    """A file with rows of its results is gone, so their log is to be read from its start again."""
    steps_version: int = 0
    """How its steps were made (`STEPS_VERSION`); 0: before there were any."""
    has_no_texts: bool = False
    """Texts of its steps were taken out or never came in, and stay out."""
    lacks_looks: bool = False
    """As `is_robbed`, of its evaluations."""

    @property
    def is_behind(self) -> bool:
        """Return whether its steps are to be made, or made again."""
        return self.steps_version < STEPS_VERSION and not self.refused_as


@dataclass
class LakeChange:
    """What was done to a lake, or found there; a step of it, or several."""

    n_runs: int = 0
    """Runs of which something was brought in."""
    n_rows: int = 0
    """Results and events that were brought in."""
    n_compacted: int = 0
    """Files that were put into larger ones."""
    problems: list[str] = field(default_factory=list)
    """A sentence each, as of files of a newer version, which are passed over."""
    damaged: list[DamagedFile] = field(default_factory=list)
    """Files that cannot be read, are not ours, or are not as they were sealed."""
    mirrored: dict[str, MirroredRun] = field(default_factory=dict)
    """What is known of each folder that was looked at; none for a run that another process has."""
    files: list[LakeFile] = field(default_factory=list)
    """Files that were sealed."""

    def add(self, other: LakeChange) -> None:
        """Take in a further step."""
        for one in fields(self):
            value, more = getattr(self, one.name), getattr(other, one.name)
            setattr(self, one.name, value | more if isinstance(value, dict) else value + more)


class Manifest:
    """The manifest of a lake, as far as it can be read: loaded, changed, saved.

    Another process may save in between.

    Attributes:
        folder: of the lake.
        runs: what was seen of each run folder, by the folder's name; to be changed freely.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.runs: dict[str, MirroredRun] = _load_runs(folder)
        self._runs_before = dict(self.runs)
        self._files: dict[str, LakeFile] = {}
        self._changes: dict[str, list[Any] | None] = {}
        self._changed_sums: dict[str, Checksum | None] = {}
        self._by_run: dict[tuple[str, str], list[str]] | None = None

    @property
    def names(self) -> frozenset[str]:
        """Names of the files that are known, such as `results/month=2026-11/….parquet`."""
        return frozenset(self._rows)

    @functools.cached_property
    def _rows(self) -> dict[str, list[Any]]:
        return _load(self.folder / FILES)

    @functools.cached_property
    def _sums(self) -> dict[str, Checksum]:
        return _load_sums(self.folder)

    def checksum(self, name: str) -> Checksum | None:
        """Return what the bytes of a file were when they were looked at first."""
        return self._sums.get(name)

    def file(self, name: str) -> LakeFile | None:
        """Return what is known of a file, by its name in the lake."""
        if name not in self._files:
            with contextlib.suppress(KeyError, TypeError, ValueError):
                self._files[name] = _lake_file(self.folder / name, self._rows[name])
        return self._files.get(name)

    def add(self, files: Iterable[LakeFile]) -> None:
        """Note files that were sealed."""
        for file in files:
            self._put(file.path.relative_to(self.folder).as_posix(), file)

    def _put(self, name: str, file: LakeFile) -> None:
        self._rows[name] = self._changes[name] = _stored(file)
        self._files[name] = file
        with contextlib.suppress(OSError):  # moved away just now
            self._sums[name] = self._changed_sums[name] = checksum_of(file.path)
        if self._by_run is not None:
            for run_id in {part.run_id for part in file.parts}:
                self._by_run.setdefault((name.partition("/")[0], run_id), []).append(name)

    def drop(self, names: Iterable[str]) -> None:
        """Forget files."""
        for name in names:
            self._rows.pop(name, None)
            self._files.pop(name, None)
            self._sums.pop(name, None)
            self._changes[name] = self._changed_sums[name] = None
        self._by_run = None

    def parts_of(self, table: str, run_id: str) -> list[tuple[LakeFile, Part]]:
        """Return the known parts of a run; `schemas.lake.footer.parts_of` asks the files."""
        names = dict.fromkeys(self._names_of_runs().get((table, run_id), ()))
        known = (self.file(name) for name in names)
        files = [file for file in known if file is not None]
        return [(file, part) for file in files for part in file.parts if part.run_id == run_id]

    def files_of(self, table: str, run_ids: Iterable[str]) -> list[LakeFile]:
        """Return the known files of a table that hold rows of some runs."""
        by_run = self._names_of_runs()
        names = dict.fromkeys(name for run in run_ids for name in by_run.get((table, run), ()))
        return [file for file in map(self.file, names) if file is not None]

    def row_counts(self) -> Counter[tuple[str, str]]:
        """Return how many rows are known, by table and run."""
        counts: Counter[tuple[str, str]] = Counter()
        for name in self.names:
            file = self.file(name)
            for part in file.parts if file is not None else ():
                counts[name.partition("/")[0], part.run_id] += part.n_rows
        return counts

    @property
    def run_ids(self) -> frozenset[str]:
        """Names of the runs of which rows are known."""
        return frozenset(run_id for _, run_id in self._names_of_runs())

    def _names_of_runs(self) -> dict[tuple[str, str], list[str]]:
        """Return the names of files by the table and the run that they hold rows of."""
        if self._by_run is None:
            self._by_run = {}
            for name in self._rows:
                file = self.file(name)
                for one in {part.run_id for part in file.parts} if file is not None else ():
                    self._by_run.setdefault((name.partition("/")[0], one), []).append(name)
        return self._by_run

    def refresh(self) -> LakeChange:
        """Hold the files that are known against those that are there.

        Runs of which somebody deleted files are not complete any more.
        """
        found = LakeChange()
        there: dict[str, Path] = {}
        astray: dict[str, Path] = {}
        for table in TABLE_NAMES:
            there |= live_paths(self.folder, table)
        for table in (*TABLE_NAMES, ALIASES):
            astray |= strays(self.folder, table)
        found.damaged += [DamagedFile(path, NO_REGULAR_FILE) for path in astray.values()]
        lost = self._rows.keys() - there.keys() - astray.keys()
        gone = {name: self.file(name) for name in lost}
        self.drop(gone)
        for name, path in there.items():
            if self.file(name) is None:
                try:
                    self._put(name, read_lake_file(path))
                except FileNotFoundError:
                    continue  # it was moved just now; the next look finds where to
                except DamagedFile as exc:
                    found.damaged.append(exc)
                except (SchemaError, OSError) as exc:
                    found.problems.append(str(exc))
            elif not self._is_as_sealed(name, path):
                found.damaged.append(DamagedFile(path, OTHER_BYTES))
        self.miss("plans", self._robbed(gone))
        for log in LOGS:
            of_log = {
                name: file for name, file in gone.items() if name.partition("/")[0] in log.tables
            }
            self.miss(log.tables[-1], self._robbed(of_log))
        return found

    def is_as_left(self) -> bool:
        """Return whether the files are those that were left there; one stat a file.

        Always so where nobody noted which those were, as earlier versions did not.
        """
        sums = self._sums
        if not are_aliases_in_lake(self.folder):
            return False
        if not sums:
            return True
        there: dict[str, Path] = {}
        for table in TABLE_NAMES:
            if strays(self.folder, table):
                return False
            there |= live_paths(self.folder, table)
        try:
            return there.keys() == sums.keys() and all(
                looks_unchanged(path, sums[name]) for name, path in there.items()
            )
        except OSError:
            return False  # moved just now, or worse

    def is_tidy(self) -> bool:
        """Return whether the files are those that are known, with nothing left to clear away."""
        if moving(intent_text(self.folder)) is not None or old_trash(self.folder):
            return False
        there = (name for table in TABLE_NAMES for name in live_paths(self.folder, table))
        return set(there) == self.names and self.is_as_left()

    def _is_as_sealed(self, name: str, path: Path) -> bool:
        """Return whether the bytes of a known file are what they were; notes those of a new one."""
        known = self._sums.get(name)
        try:
            if known is not None and looks_unchanged(path, known):
                return True
            now = checksum_of(path)
        except FileNotFoundError:
            return True  # it was moved just now
        except PermissionError:
            return False
        if known is not None and now.crc32 != known.crc32:
            return False
        self._sums[name] = self._changed_sums[name] = now
        return True

    def miss(self, table: str, run_ids: Collection[str] | None) -> None:
        """Note that rows of runs are gone, so that they are brought in again; None: of any run."""
        for folder, seen in self.runs.items():
            if (run_ids is None or seen.run_id in run_ids) and not seen.is_pruned:
                self.runs[folder] = seen._replace(
                    is_complete=False,
                    is_robbed=seen.is_robbed or table in RESULT_TABLES.tables,
                    lacks_looks=seen.lacks_looks or table in EVALUATION_TABLES.tables,
                )

    def _robbed(self, gone: dict[str, LakeFile | None]) -> frozenset[str]:
        """Return the runs with parts in files that are gone, and in no other."""
        robbed = set()
        bare = {seen.run_id for seen in self.runs.values() if seen.has_no_texts}
        for name, file in gone.items():
            table = name.partition("/")[0]
            for part in file.parts if file is not None else ():
                if table == "step_texts" and part.run_id in bare:
                    continue
                held = self.parts_of(table, part.run_id)
                if all(part != other for _, other in held):
                    robbed.add(part.run_id)
        return frozenset(robbed)

    def save(self) -> None:
        """Store what was changed, beside what others stored meanwhile.

        Raises:
            OSError: the lake cannot be written.
        """
        changed = {
            folder: list(run)
            for folder, run in self.runs.items()
            if self._runs_before.get(folder) != run
        }
        news: dict[str, dict[str, Any]] = {
            RUNS: changed | dict.fromkeys(self._runs_before.keys() - self.runs.keys()),
            FILES: self._changes,
            CHECKSUMS: {name: one and list(one) for name, one in self._changed_sums.items()},
        }
        if not any(news.values()):
            return
        with locked(self.folder, LOCK):
            for path, rows in ((self.folder / name, rows) for name, rows in news.items() if rows):
                stored = {name: row for name, row in (_load(path) | rows).items() if row}
                write_whole(path, orjson.dumps({"version": VERSION, path.stem: stored}))
            if news[RUNS]:
                self.runs = _load_runs(self.folder)
        self._runs_before, self._changes, self._changed_sums = dict(self.runs), {}, {}


def _stored(file: LakeFile) -> list[Any]:
    parts = [[part.run_id, *vars(part.coverage).values(), part.n_rows] for part in file.parts]
    return [file.layout, parts]


def _lake_file(path: Path, stored: list[Any]) -> LakeFile:
    layout, rows = stored
    parts = (Part(run_id, Coverage(*coverage), n_rows) for run_id, *coverage, n_rows in rows)
    return LakeFile(path, tuple(parts), layout)


def _load_runs(lake: Path) -> dict[str, MirroredRun]:
    """Return what was seen of runs; the folder of a row that is not ours is looked at again."""

    def seen(row: Any) -> MirroredRun:
        run_id, size, mtime_ns, problems, *more = row
        return MirroredRun(run_id, size, mtime_ns, tuple(problems), *more)

    return _load_rows(lake / RUNS, seen)


def _load_sums(lake: Path) -> dict[str, Checksum]:
    """Return what the bytes of files were; the file of a row that is not ours is taken as it is."""
    return _load_rows(lake / CHECKSUMS, lambda row: Checksum(*map(int, row)))


def _load_rows(path: Path, read: Callable[[Any], Row]) -> dict[str, Row]:
    rows = {}
    for name, row in _load(path).items():
        try:
            rows[name] = read(row)
        except (TypeError, ValueError):
            continue
    return rows


def _load(path: Path) -> dict[str, Any]:
    """Return what is stored; nothing when it is not there, torn, or of another version."""
    try:
        stored = orjson.loads(path.read_bytes())
    except (OSError, ValueError):
        return {}
    if not isinstance(stored, dict) or stored.get("version") != VERSION:
        return {}
    content = stored.get(path.stem)
    return content if isinstance(content, dict) else {}
