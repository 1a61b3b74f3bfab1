"""`collect restore`: a run's logs and plan again, from what the lake and the traces hold of them.

Where a log and the lake hold the same record, the line of the log is used, byte for byte. The old
log is never lost: unless the new file begins with it, it is kept beside it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import orjson
import zstandard

from collect.run_folder.log import PLAN, lock_run, require_own_run, resume_command
from schemas.errors import EXIT_BAD_NEWS, EXIT_OK, RunNotFound, counted, display_path, printable
from schemas.io.files import sync_folder, write_chunks
from schemas.io.own_files import open_own_file, read_own
from schemas.lake import Lake, LakeLines, lake_of
from schemas.run.evaluation import EVALUATION_LINES, EvaluationLine, parse_evaluation
from schemas.run.layout import ARTIFACTS, EVALUATIONS, LOG
from schemas.run.result import Event, LineError, Result, cut, loose_content_of, parse_line
from schemas.run.trace import REFERENCE, frames, whole_frame

LOCK_WAIT_S = 60.0
"""For the mirror of a collector that was killed: it seals what is there before it goes."""

MAX_NAMED_TRIALS = 20
"""Trials that are named; of more, only how many there are. With --json all are."""

FOUND = ".found-"
"""In the name of a copy of what was found."""

ADVICE = "nothing was changed; make room, then try again"

RESULT = b'{"record_type":"result"'
"""Begins a line of a result: events of two runs may well be the same."""

EVALUATION = tuple(b'{"record_type":"%s"' % kind.encode() for kind in EVALUATION_LINES)

Parse = Callable[[bytes], Result | Event | EvaluationLine]
"""Takes a line; raises LineError where it is no record."""

Trial = tuple[str, str, int]
"""(model_id, case_id, repetition)."""


@dataclass(frozen=True, slots=True)
class Restored:
    """What was written again, and from where; of a dry run, what would be."""

    run_id: str
    run_dir: str
    is_dry_run: bool
    lines: int = 0
    """Of the log, now."""
    lines_kept: int = 0
    """That the log as found had."""
    lines_from_lake: int = 0
    evaluations: int = 0
    """Lines of evaluations.jsonl, now."""
    evaluations_from_lake: int = 0
    texts_from_traces: int = 0
    """Answers of lines from the lake whose text only their trace had."""
    plan_lines: int = 0
    """Written again; 0 when the plan was whole."""
    plan_missing: int = 0
    """Trials that neither the plan nor the lake has."""
    kept_beside: tuple[str, ...] = ()
    """Copies of what was found, where the new file does not begin with it."""
    without_text: tuple[Trial, ...] = ()
    """Their verdicts and numbers are back, their text is nowhere."""
    not_restored: tuple[Trial, ...] = ()
    """They have a trace, and a result neither in the log nor in the lake."""
    next_command: str = ""

    @property
    def exit_code(self) -> int:
        """Bad news is a trial of which something cannot be brought back."""
        is_bad = self.without_text or self.not_restored or self.plan_missing
        return EXIT_BAD_NEWS if is_bad else EXIT_OK


def restore(runs_dir: Path, run: str, *, dry_run: bool = False) -> Restored:
    """Write a run's log, and its plan, again as far as the lake holds them, or only say so.

    Raises:
        RunNotFound: there is no such folder.
        NotResumable: it is the folder of another run, or has no config.
        NotOwnFile: something in it leads elsewhere.
        RunBusy: a collector works on it.
        MirrorBusy: another process is bringing it into the lake.
        CollectError: the disk did not take it; what was found is still there.
    """
    run_dir = runs_dir / run
    if not run_dir.is_dir():
        names = [path.name for path in runs_dir.glob("*") if (path / "config.json").exists()]
        raise RunNotFound(run, runs_dir, names)
    config = require_own_run(run_dir)
    lake = Lake(lake_of(runs_dir))
    with ExitStack() as held:
        rows_lock = -1
        if not dry_run:
            held.callback(os.close, lock_run(run_dir))
            rows_lock = lake.lock_run(run_dir, LOCK_WAIT_S)
            held.callback(os.close, rows_lock)
        traces = _Traces(run_dir, held)
        stored = lake.read_log(config.run_id, traces.text)
        found = _read(run_dir, LOG)
        log = _Log(found, stored, partial(_record, config.run_id, parse_line), RESULT)
        found_looks = _read(run_dir, EVALUATIONS)
        look_of = partial(_record, config.run_id, parse_evaluation)
        looks = _Log(found_looks, stored.evaluations, look_of, EVALUATION)
        plan = _read(run_dir, PLAN)
        is_short = plan.count(b"\n") < config.n_planned
        has_plan = len(stored.plan) >= config.n_planned
        new: dict[str, tuple[bytes, bytes]] = {}
        if is_short and has_plan:
            new[PLAN] = plan, b"".join(stored.plan)
        if not found.startswith(log.content):
            new[LOG] = found, log.content
        if not found_looks.startswith(looks.content):
            new[EVALUATIONS] = found_looks, looks.content
        stamp = datetime.now(tz=UTC).strftime("%Y%m%d_%H%M%S_%f")
        copies = [
            run_dir / f"{name}{FOUND}{stamp}"
            for name, (old, now) in new.items()
            if not now.startswith(old)
        ]
        if not dry_run:
            _write(run_dir, new, copies)
            if new and (has_plan or not is_short):
                lake.fit(run_dir, os.dup(rows_lock))
        known = set(log.trials)
        return Restored(
            run_id=config.run_id,
            run_dir=str(run_dir),
            is_dry_run=dry_run,
            lines=log.n_lines,
            lines_kept=log.n_kept,
            lines_from_lake=log.n_lines - log.n_kept,
            evaluations=looks.n_lines,
            evaluations_from_lake=looks.n_lines - looks.n_kept,
            texts_from_traces=len(stored.from_traces),
            plan_lines=len(stored.plan) if PLAN in new else 0,
            plan_missing=config.n_planned - plan.count(b"\n") if is_short and not has_plan else 0,
            kept_beside=tuple(map(str, copies)),
            without_text=tuple(stored.without_text),
            not_restored=tuple(trial for trial in traces.trials() if trial not in known),
            next_command=resume_command(run_dir),
        )


def _write(run_dir: Path, new: dict[str, tuple[bytes, bytes]], copies: Sequence[Path]) -> None:
    """Put new files in place of those that were found, which are kept first and survive."""
    for copy in copies:
        old, _ = new[copy.name.partition(FOUND)[0]]
        write_chunks(copy, [old], ADVICE)
    sync_folder(run_dir, ADVICE)
    for name, (_, content) in new.items():
        write_chunks(run_dir / name, [content], ADVICE)
    sync_folder(run_dir, ADVICE)


def _read(run_dir: Path, name: str) -> bytes:
    try:
        return read_own(run_dir, name)
    except FileNotFoundError:
        return b""


class _Log:
    """The log that the log as found and the lake make together.

    Args:
        found: the log as it was found.
        stored: what the lake holds of it.
        record_of: returns a line as it is written today, None where it is no record of the run.
        telling: begins lines that tell whether both are one log: others may be the same in two.
    """

    def __init__(
        self,
        found: bytes,
        stored: LakeLines,
        record_of: Callable[[bytes], bytes | None],
        telling: bytes | tuple[bytes, ...],
    ) -> None:
        lines = [line + b"\n" for line in found.split(b"\n")]
        if record_of(lines[-1]) is None:
            del lines[-1]  # a torn line, or nothing
        kept: list[bytes] = []
        self.n_kept = 0
        goes_on = True
        for number in range(1, stored.n_lines + 1):
            line = lines[number - 1] if number <= len(lines) else None
            row = stored.lines.get(number)
            is_same = line is not None and row in {None, record_of(line)}
            self.n_kept += is_same
            kept.append(line if is_same and line is not None else row or b"\n")
            if row is None or row.startswith(telling):
                goes_on = is_same
        if goes_on:  # what follows was not mirrored yet; else it follows another log
            kept += lines[stored.n_lines :]
            self.n_kept += len(lines[stored.n_lines :])
        self.n_lines = len(kept)
        self.content = b"".join(kept)
        self._lines = kept

    @property
    def trials(self) -> Iterator[Trial]:
        """Yield the trials that have a result."""
        for line in self._lines:
            trial = _trial(loose_content_of(line) or {})
            if trial is not None:
                yield trial


def _record(run_id: str, parse: Parse, line: bytes) -> bytes | None:
    """Return the line as today's benchlake writes it; None when it is no record of the run."""
    try:
        record = parse(line)
    except LineError:
        return None
    return record.model_dump_json().encode() + b"\n" if record.run_id == run_id else None


class _Traces:
    """The artifact files of one run."""

    def __init__(self, run_dir: Path, held: ExitStack) -> None:
        self._files = {
            f"{ARTIFACTS}/{path.name}": held.enter_context(
                open_own_file(run_dir, f"{ARTIFACTS}/{path.name}")
            )
            for path in sorted((run_dir / ARTIFACTS).glob("*.jsonl.zst"))
        }

    def text(self, reference: str | None) -> str | None:
        """Return the answer in a trace, as a log has it; None when it is gone."""
        match = REFERENCE.fullmatch(reference or "")
        file = None if match is None else self._files.get(match[1])
        frame = None if match is None or file is None else whole_frame(file, int(match[2]))
        for event in reversed(_trace(frame).get("trace", ())):
            if event.get("event_type") == "final_output":
                return cut(event["content"])[0]
        return None

    def trials(self) -> Iterator[Trial]:
        """Yield the trials that have a trace, each once."""
        seen: set[Trial] = set()
        for file in self._files.values():
            for _, frame in frames(file):
                row = _trace(frame)
                trial = _trial(row)
                if trial is not None and trial not in seen:
                    seen.add(trial)
                    yield trial


def _trace(frame: bytes | None) -> dict[str, Any]:
    try:
        line = zstandard.ZstdDecompressor().decompressobj().decompress(frame or b"")
        return loose_content_of(line) or {}
    except zstandard.ZstdError:
        return {}


def _trial(row: Mapping[str, Any]) -> Trial | None:
    """Return the trial of a result or a trace; None where it is none."""
    match row:
        case {"model_id": str(model_id), "case_id": str(case_id), "repetition": int(repetition)}:
            return model_id, case_id, repetition
    return None


def restored_json(restored: Restored) -> str:
    """Return what was done as one JSON object."""
    return orjson.dumps(asdict(restored)).decode()


def restored_text(restored: Restored) -> str:
    """Return what was done, in lines for people."""
    run_dir = Path(restored.run_dir)
    log = display_path(run_dir / LOG)
    is_whole = not restored.lines_from_lake
    would = "would have" if restored.is_dry_run and not is_whole else "has"
    lines = [
        f"{log} {would} {counted(restored.lines, 'line')}: "
        f"{restored.lines_kept:,} as found, {restored.lines_from_lake:,} from the lake"
    ]
    if is_whole and not restored.plan_lines and not restored.evaluations_from_lake:
        lines = [f"nothing to restore: {log} holds all that the lake does"]
    if restored.evaluations_from_lake:
        would = "would have" if restored.is_dry_run else "has"
        n_kept = restored.evaluations - restored.evaluations_from_lake
        lines.append(
            f"{display_path(run_dir / EVALUATIONS)} {would} "
            f"{counted(restored.evaluations, 'line')}: {n_kept:,} as found, "
            f"{restored.evaluations_from_lake:,} from the lake"
        )
    if restored.texts_from_traces:
        lines.append(f"{counted(restored.texts_from_traces, 'text')} of them came from their trace")
    if restored.plan_lines:
        made = "would be" if restored.is_dry_run else "was"
        lines.append(
            f"{display_path(run_dir / PLAN)} {made} written again: "
            f"{counted(restored.plan_lines, 'trial')}"
        )
    if restored.plan_missing:
        what = counted(restored.plan_missing, "planned trial is", "planned trials are")
        lines.append(f"{what} neither in {display_path(run_dir / PLAN)} nor in the lake")
    for path in restored.kept_beside:
        made = "would be" if restored.is_dry_run else "is"
        lines.append(f"what was found {made} kept in {display_path(Path(path))}")
    lines += _trials("without its text, which is nowhere", restored.without_text)
    lines += _trials("cannot be restored: a trace, and no result anywhere", restored.not_restored)
    if not restored.is_dry_run:
        lines.append(f"`{restored.next_command}` asks what is missing")
    return "\n".join(printable(line) for line in lines)


def _trials(what: str, trials: Sequence[Trial]) -> list[str]:
    lines = [
        f"{model_id} / {case_id} / {repetition}: {what}"
        for model_id, case_id, repetition in trials[:MAX_NAMED_TRIALS]
    ]
    more = len(trials) - MAX_NAMED_TRIALS
    return [*lines, f"and {counted(more, 'more trial')}: {what}"] if more > 0 else lines
