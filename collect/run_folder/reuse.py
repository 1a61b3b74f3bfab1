"""`--reuse`: answers of earlier runs become lines of a new one, before anything is asked (D-F2).

Taken is the newest success of the same fingerprint. The fingerprint holds everything that can
change an answer, the harness' major version included, and the case's hash what decides its verdict;
so the whole line is taken over, with its trace.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO, NamedTuple

import orjson

from collect.plan.changes import newest_first
from collect.plan.plan import trial_of
from collect.run_folder.log import RunLog
from schemas.errors import NotOwnFile
from schemas.io.own_files import open_own_file
from schemas.run.config import FINGERPRINT_VERSION, PlannedTrial
from schemas.run.layout import LOG
from schemas.run.result import LineError, Result, parse_line
from schemas.run.trace import REFERENCE, whole_frame

FINGERPRINT = b'"run_fingerprint":"'
DIGITS = 64
SUCCESS = b'"status":"success"'

OF_PLAN = PlannedTrial.model_fields.keys() & Result.model_fields.keys() - {"record_type"}
"""Columns of a result that say who and what was asked, as the plan does."""


@dataclass(frozen=True, slots=True)
class ReusableResult:
    """One answer that need not be asked for again."""

    run_fingerprint: str
    result: Result
    """As it stands in the run it was found in."""
    run_dir: Path
    """Of that run."""
    number: int
    """Line of its results.jsonl."""
    frame: bytes | None
    """Its trace, compressed; None when the file is gone or torn."""


def find_reusable(runs_dir: Path, run_id: str, wanted: Iterable[str]) -> Iterator[ReusableResult]:
    """Yield for each wanted fingerprint the newest success, as far as there is one.

    The fingerprints are of the current version; the new run is not looked into.
    """
    missing = {fingerprint.encode() for fingerprint in wanted}
    for run_dir in newest_first(runs_dir):
        if not missing:
            return
        if run_dir.name == run_id:
            continue
        for found in _in_run(run_dir, missing):
            missing.discard(found.run_fingerprint.encode())
            yield found


def _in_run(run_dir: Path, wanted: set[bytes]) -> Iterator[ReusableResult]:
    """Yield the last success of each wanted fingerprint in one run, in the order of its lines."""
    with ExitStack() as open_files:
        try:
            log = open_files.enter_context(open_own_file(run_dir, LOG))
        except (OSError, NotOwnFile):
            return
        traces = _Traces(run_dir, open_files)
        for place, number in sorted(_places(log, wanted).values()):
            log.seek(place)
            if (result := _result(log.readline(), wanted)) is not None:
                frame = traces.frame(result)
                yield ReusableResult(result.run_fingerprint or "", result, run_dir, number, frame)


def _places(log: BinaryIO, wanted: set[bytes]) -> dict[bytes, tuple[int, int]]:
    """Return where the last line of each wanted fingerprint begins that looks like a success.

    And its number.

    Only bytes are looked at: the last match is the line's own field, since text of a model lies
    before it, and what JSON escapes cannot look like a field.
    """
    places = {}
    begin = 0
    for number, line in enumerate(log, 1):
        at = line.rfind(FINGERPRINT)
        if at >= 0:
            at += len(FINGERPRINT)
            fingerprint = line[at : at + DIGITS]
            if fingerprint in wanted and line.find(SUCCESS, at) >= 0:
                places[fingerprint] = begin, number
        begin += len(line)
    return places


def _result(line: bytes, wanted: set[bytes]) -> Result | None:
    """Return a line's result, when it is whole, a success, and really of that fingerprint."""
    try:
        result = parse_line(line)
    except LineError:
        return None
    if not isinstance(result, Result):
        return None
    same = (result.run_fingerprint or "").encode() in wanted
    fits = same and result.fingerprint_version == FINGERPRINT_VERSION
    return result if fits and result.success and result.status == "success" else None


@dataclass
class _Traces:
    """The artifact files of one run, each opened once."""

    run_dir: Path
    open_files: ExitStack
    files: dict[str, BinaryIO | None] = field(default_factory=dict)

    def frame(self, result: Result) -> bytes | None:
        match = REFERENCE.fullmatch(result.artifact_path or "")
        if match is None:
            return None
        name = match[1]
        if name not in self.files:
            self.files[name] = self._open(name)
        file = self.files[name]
        return None if file is None else whole_frame(file, int(match[2]))

    def _open(self, name: str) -> BinaryIO | None:
        try:
            return self.open_files.enter_context(open_own_file(self.run_dir, name))
        except (OSError, NotOwnFile):
            return None


def reused_result(result: Result, trial: PlannedTrial, artifact_path: str | None) -> Result:
    """Return the line of a new run for an answer of an earlier one.

    Everything measured and judged is kept; who and what was asked is the new plan's.
    """
    asked = {name: getattr(trial, name) for name in OF_PLAN}
    its_own = {
        "artifact_path": artifact_path,
        "reused_from_run_id": result.reused_from_run_id or result.run_id,
        "elapsed_ms": None,
    }
    return result.model_copy(update=asked | its_own)


class TakenOver(NamedTuple):
    """What a new run has of earlier ones."""

    n_trials: int
    n_unchecked: int
    """Of them, trials one of whose checks could not look."""


def take_over(
    log: RunLog,
    is_final: Callable[[str, str, int], bool],
    before_each: Callable[[ReusableResult, PlannedTrial, int], object] | None = None,
) -> TakenOver:
    """Write a line for every planned trial that an earlier run has answered; return how many.

    The trace is copied, so that the new run holds all of it whatever becomes of the old one.

    Args:
        log: of the new run.
        is_final: whether a trial has its result already.
        before_each: takes an answer, its trial and the line that it is about to get.
    """
    run_dir, taken, unchecked = log.run_dir, 0, 0
    places = _planned_places(run_dir / "plan.jsonl", is_final)
    with (run_dir / "plan.jsonl").open("rb") as plan:
        for found in find_reusable(run_dir.parent, run_dir.name, places):
            for place in places[found.run_fingerprint]:
                plan.seek(place)
                trial = trial_of(plan.readline())
                path = found.frame and log.append_artifact(trial.model_id, found.frame)
                if before_each is not None:
                    before_each(found, trial, log.n_lines + 1)
                log.append(reused_result(found.result, trial, path or None))
                taken += 1
                unchecked += found.result.checks_errored > 0
    return TakenOver(taken, unchecked)


def _planned_places(plan: Path, is_final: Callable[[str, str, int], bool]) -> dict[str, list[int]]:
    """Return where the open trials of each run_fingerprint stand; two model_ids may share one."""
    places: dict[str, list[int]] = {}
    begin = 0
    with plan.open("rb") as file:
        for line in file:
            row = orjson.loads(line)
            if not is_final(row["model_id"], row["case_id"], row["repetition"]):
                places.setdefault(row["run_fingerprint"], []).append(begin)
            begin += len(line)
    return places
