"""A run folder made of another tool's files: built out of sight, and given its name when whole.

A folder that begins with a dot is no run, so a killed import leaves nothing that anybody reads; the
next one clears it away. What has the name already is the same import, or something to be kept. A
file that cannot be imported is refused with every reason, each with its place.

Traces are a frame of artifacts/<model_id>.jsonl.zst each, as a collector's.
"""

from __future__ import annotations

import os
import re
import shutil
import uuid
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from pydantic import ValidationError

from analyze.importers.growth import grow
from analyze.importers.lines import Packed
from analyze.importers.originals import copy_originals, digest_of, hashes_of
from schemas.base import Finding, slugify
from schemas.errors import (
    EXIT_USAGE,
    MAX_SHOWN_PROBLEMS,
    AnalyzeError,
    BenchError,
    ConfigError,
    Problem,
    counted,
    display_path,
    printable,
)
from schemas.io.files import BUFFER_BYTES, sync_path
from schemas.io.own_files import take_lock
from schemas.lake import Lake, lake_of
from schemas.run.import_record import SOURCE_FOLDER, ImportRecord, load_import_record
from schemas.run.layout import IMPORT_FILE, LOG, refuse_name
from schemas.run.result import Result
from schemas.run.trace import Artifact, artifact_frame

ADVICE = "--run-id NAME gives this import another name"

OF_ONE_IMPORT = ("benchlake_version", "source_name", "started_at_ms")
"""Fields of a record in which the same import may differ from itself: a copy has other times."""

FOLDER = "artifacts"

STAGING = ".importing-"
"""Begins the name of a folder that is being made."""

DERIVED = frozenset({"count_contradicts", "ids_contradict", "alias_contradicts"})
"""Errors of what follows from the instances: these count, and the file is imported all the same."""


def refuse_other(run_dir: Path, record: ImportRecord) -> None:
    """Let pass a folder that the same import made before.

    Raises:
        ConfigError: it is any other.
    """
    try:
        there = load_import_record(run_dir)
    except (OSError, ValidationError, BenchError):
        raise _in_the_way(run_dir, "is there and was not made by an import of ours") from None
    if there.source_sha256 != record.source_sha256:
        name = there.source_name
        raise _in_the_way(run_dir, f"was imported from other files, of `{name}`")
    again = {name: getattr(there, name) for name in OF_ONE_IMPORT}
    if there != record.model_copy(update=again):
        raise _in_the_way(run_dir, "was imported from the same files in another way")


def _in_the_way(run_dir: Path, what: str) -> ConfigError:
    return ConfigError([Problem(run_dir, what, advice=ADVICE)])


def refuse_lost_rows(runs_dir: Path, run_id: str, log: Path) -> None:
    """Let nothing take the place of rows whose folder is gone, unless its log begins with theirs.

    Raises:
        ConfigError: the lake holds another run by this name.
    """
    lake = lake_of(runs_dir)
    if not Lake(lake).is_begun_by(log, run_id):
        what = f"{lake} holds rows of a run `{run_id}` whose folder is gone"
        also = f"{ADVICE}; `analyze sync --prune {run_id}` removes those rows"
        raise ConfigError([Problem(None, what, advice=also)])


class TraceFiles:
    """Writes traces into a run folder that is being made.

    Args:
        run_dir: the folder.
    """

    def __init__(self, run_dir: Path) -> None:
        self._folder = run_dir / FOLDER
        self._files: dict[str, BinaryIO] = {}
        self._n_bytes: Counter[str] = Counter()
        """Written so far; to ask the file takes longer than to write a trace."""

    def add(self, artifact: Artifact) -> str:
        """Append one trace and return `file#offset`, where it will be found.

        Raises:
            OSError: the disk is full.
        """
        return self.add_frame(artifact.model_id, artifact_frame(artifact.model_dump()))

    def add_frame(self, model_id: str, frame: bytes) -> str:
        """Append one trace as a frame; as `add`."""
        if model_id not in self._files:
            self._folder.mkdir(exist_ok=True)
            path = self._folder / f"{model_id}.jsonl.zst"
            self._files[model_id] = path.open("wb", buffering=BUFFER_BYTES)
        file = self._files[model_id]
        place = f"{FOLDER}/{model_id}.jsonl.zst#{self._n_bytes[model_id]}"
        file.write(frame)
        self._n_bytes[model_id] += len(frame)
        return place

    def close(self) -> None:
        """Wait until every trace is on the disk."""
        for file in self._files.values():
            file.flush()
            os.fsync(file.fileno())
            file.close()
        if self._files:
            sync_path(self._folder)


class Traced(NamedTuple):
    """A result with its whole trace, from which its `artifact_path` follows."""

    result: Result
    artifact: Artifact


@dataclass(frozen=True)
class Written:
    """A run folder that an import made, or found made already."""

    run_dir: Path
    n_trials: int
    """Trials with a result."""
    n_unfinished: int = 0
    """Trials that the source knows of, without a result."""
    is_new: bool = True
    """Written now; else the same import was there already, or nothing was added to it."""
    findings: tuple[Finding, ...] = ()
    """What the source holds that was not understood, or contradicts itself."""


def run_id_of(text: str) -> str:
    """Return a text as a run id: what a folder cannot be called becomes `_`."""
    name = re.sub(r"[^A-Za-z0-9._()-]+", "_", text)[:128].lstrip("._()-")
    return name if name and name != "lake" else f"run_{slugify(text)}"[:128]


@cache
def _own_version() -> str:
    return version("benchlake")  # read from a file, as long as a small log


def new_record(*, sources: Mapping[str, Path], **fields: Any) -> ImportRecord:
    """Return the record of an import, with the hashes of its originals.

    Args:
        sources: the originals by their path below `source/`.
        fields: all others of `ImportRecord` that have no default.

    Raises:
        OSError: an original cannot be read.
    """
    hashes = hashes_of(sources)
    return ImportRecord(
        source_sha256=digest_of(hashes),
        files=hashes,
        benchlake_version=_own_version(),
        **fields,
    )


def write_run(
    runs_dir: Path,
    record: ImportRecord,
    results: Iterable[Result | Traced | Packed],
    sources: Mapping[str, Path],
    findings: tuple[Finding, ...] = (),
    *,
    growth: bool = False,
) -> Written:
    """Make one run folder; nothing of it is seen before it is whole.

    Args:
        runs_dir: where runs are kept; made when it is missing.
        record: of the import, with the hashes of its sources.
        results: in the order of the log; asked for only when there is something to write.
        sources: the originals by their path below `source/`.
        findings: are handed through, for who shows what was written.
        growth: the source may have gone on since it was imported first; then the run goes on too.

    Raises:
        ConfigError: the name is no run id, another run has it, or there is no trial to write.
        SourceChanged: an original was written to meanwhile.
        OSError: the folder cannot be written; nothing of it stays.
    """
    run_id = record.run_id
    refuse_name(run_id)
    with one_import(runs_dir) as staging:
        target = runs_dir / run_id
        if os.path.lexists(target):
            if growth and _is_earlier(target, record):
                n_trials = _fill(staging, record, results, sources)
                grow(target, staging, ADVICE)
                return Written(target, n_trials, len(record.unfinished), True, findings)
            refuse_other(target, record)
            n_trials = n_lines(target / LOG)
            return Written(target, n_trials, len(record.unfinished), False, findings)
        n_trials = _fill(staging, record, results, sources)
        if not n_trials and not record.unfinished:
            what = f"`{record.source_name}` has neither a result nor a planned trial"
            raise ConfigError([Problem(None, f"{what}, so there is nothing to import")])
        refuse_lost_rows(runs_dir, run_id, staging / LOG)
        staging.rename(target)
        sync_path(runs_dir)
    return Written(target, n_trials, len(record.unfinished), True, findings)


def _is_earlier(run_dir: Path, record: ImportRecord) -> bool:
    """Return whether a folder was made by an import of the same run from other files."""
    try:
        there = load_import_record(run_dir)
    except (OSError, ValidationError, BenchError):
        return False
    same = ("source_format", "run_id", "suite_id")
    is_same_run = all(getattr(there, name) == getattr(record, name) for name in same)
    return is_same_run and there.source_sha256 != record.source_sha256


def _fill(
    staging: Path,
    record: ImportRecord,
    results: Iterable[Result | Traced | Packed],
    sources: Mapping[str, Path],
) -> int:
    """Write all files of a run and return how many results it has."""
    source = staging / SOURCE_FOLDER
    source.mkdir()
    copy_originals(sources, record.files, source)
    traces, n_trials = TraceFiles(staging), 0
    with (staging / LOG).open("wb", buffering=BUFFER_BYTES) as log:
        for one in results:
            log.write(_line_of(one, traces))
            n_trials += 1
        log.flush()
        os.fsync(log.fileno())
    traces.close()
    path = staging / IMPORT_FILE
    path.write_bytes(record.model_dump_json(indent=2).encode() + b"\n")
    sync_path(path)
    sync_path(staging)
    return n_trials


def _line_of(one: Result | Traced | Packed, traces: TraceFiles) -> bytes:
    """Return the line of a result, with the place of the trace that was written."""
    if isinstance(one, Packed):
        return one.line(None if one.frame is None else traces.add_frame(one.model_id, one.frame))
    if isinstance(one, Traced):
        place = traces.add(one.artifact)
        one = one.result.model_copy(update={"artifact_path": place})
    return one.model_dump_json().encode() + b"\n"


@contextmanager
def one_import(runs_dir: Path) -> Iterator[Path]:
    """Yield a new folder to build in, as the only import there at the moment.

    What an earlier one left is no other's, since it would hold the lock, and is removed. The folder
    of runs is made when it is missing, and goes again when nothing was put into it.
    """
    is_first = not runs_dir.exists()
    runs_dir.mkdir(parents=True, exist_ok=True)
    handle = os.open(runs_dir, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        take_lock(handle)
        for left in runs_dir.glob(f"{STAGING}*"):
            if left.is_dir() and not left.is_symlink():
                shutil.rmtree(left)
            else:
                left.unlink()
        staging = runs_dir / f"{STAGING}{uuid.uuid4().hex[:12]}"
        staging.mkdir()
        try:
            yield staging
        finally:
            shutil.rmtree(staging, ignore_errors=True)
            if is_first and not any(runs_dir.iterdir()):
                runs_dir.rmdir()
    finally:
        os.close(handle)


def n_lines(path: Path) -> int:
    """Return how many whole lines a file has; 0 where it is missing."""
    try:
        with path.open("rb") as file:
            return sum(chunk.count(b"\n") for chunk in iter(lambda: file.read(2**20), b""))
    except FileNotFoundError:
        return 0


class NotImportable(AnalyzeError):
    """A document is not what the format asks for; nothing of it was imported."""

    exit_code = EXIT_USAGE

    def __init__(self, places: Iterable[tuple[Path, Finding]]) -> None:
        pairs = tuple(places)
        self.findings = tuple(finding for _, finding in pairs)
        lines = [
            printable(finding_line(path, finding)) for path, finding in pairs[:MAX_SHOWN_PROBLEMS]
        ]
        if (more := len(pairs) - MAX_SHOWN_PROBLEMS) > 0:
            lines.append(f"and {counted(more, 'more problem')}")
        super().__init__("\n".join(lines))


def finding_line(path: Path, finding: Finding) -> str:
    """Return a finding as a line: `file:line: pointer: sentence`."""
    line = "" if finding.line is None else f":{finding.line}"
    where = f" {finding.pointer}:" if finding.pointer else ""
    return f"{display_path(path)}{line}:{where} {finding.message}"


def refuse_errors(
    places: Iterable[tuple[Path, Finding]], tolerated: frozenset[str] = frozenset()
) -> None:
    """Let pass documents without errors, but for those that are tolerated.

    Args:
        places: a finding each, and the file that it is about.
        tolerated: codes of errors that stand in nobody's way.

    Raises:
        NotImportable: there is another one.
    """
    wrong = [
        (path, one) for path, one in places if one.severity == "error" and one.code not in tolerated
    ]
    if wrong:
        raise NotImportable(wrong)
