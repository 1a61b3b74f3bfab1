"""The append-only run folder: one collector at a time, every line one write, nothing rewritten.

The kernel releases the lock when the process ends. Whether a folder may be resumed is checked
before any byte of it changes. Resuming repairs the log, cuts torn traces, and runs the trials that
the log does not hold: in a folder that lost its log, is a copy of another one or leads elsewhere,
each of these would destroy something or be paid for twice.
"""

from __future__ import annotations

import contextlib
import os
import shlex
import threading
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime
from functools import partial
from itertools import count
from pathlib import Path

from pydantic import BaseModel

from collect.config import LoadedCase
from collect.run_folder.latest_records import LinePlace
from collect.run_folder.repair import repair
from collect.run_folder.stored_inputs import CASES_FILE, write_cases
from schemas.errors import (
    CollectError,
    NotResumable,
    RunBusy,
    RunExists,
    restore_command,
    runs_flag,
)
from schemas.io.files import MAKE_ROOM, Tail, sync_folder, unwritable, write_chunks
from schemas.io.own_files import open_own, open_own_file, require_own_files, take_lock
from schemas.lake import lake_of, require_log, require_own_lake
from schemas.run.config import PlannedTrial, RunConfig, load_run_config, plan_line
from schemas.run.evaluation import EvaluationLine
from schemas.run.inventory import Inventory
from schemas.run.layout import ARTIFACTS, EVALUATIONS, LOG
from schemas.run.result import Event, Result

PLAN = "plan.jsonl"

READ = ("config.json", "inventory.json", PLAN, "cases.jsonl.zst")
WRITTEN = (LOG, EVALUATIONS, "run.log", ".run.lock", ".mirror.lock", ARTIFACTS)

READ_BYTES = 2**20
"""Of a log at once."""

LOCK_FILE = ".run.lock"
"""Holds the process id of the collector at work, for the message to the next one."""


def require_own_run(run_dir: Path) -> RunConfig:
    """Return the config of a run whose folder is its own.

    Raises:
        NotOwnFile: there is a link, a pipe or a device in the folder or in the lake, or a file that
            is to be written to has another name.
        NotResumable: it is the folder of another run, or its config cannot be read.
    """
    require_own_files(run_dir, READ, written=WRITTEN, folders=(ARTIFACTS,))
    require_own_lake(lake_of(run_dir.parent))
    try:
        config = load_run_config(run_dir / "config.json")
    except (OSError, ValueError) as exc:  # pydantic's are ValueErrors
        why = f"config.json is missing or damaged ({type(exc).__name__})"
        raise NotResumable(
            run_dir, f"{why}; a new run with --reuse takes over its answers"
        ) from exc
    if config.run_id != run_dir.name:
        why = (
            f"config.json is of run `{config.run_id}`, so this is a copy of that run under another "
            f"name; resume `{config.run_id}`, or give the folder its name back"
        )
        raise NotResumable(run_dir, why)
    return config


def require_whole(run_dir: Path, config: RunConfig) -> None:
    """Refuse a run of whose plan, log or traces something is gone that was there.

    The caller holds its lock.

    Raises:
        NotResumable: the plan is shorter than it was, or the log is gone with traces still there.
        LogLost: the lake holds results that the log does not.
        SchemaError: a file of the lake that bears the run's name cannot be read.
    """
    again = f"`{restore_command(run_dir)}` writes it again from the lake"
    try:
        with open_own_file(run_dir, PLAN) as plan:
            n_lines = sum(1 for _ in plan)
    except FileNotFoundError as exc:
        raise NotResumable(run_dir, f"{PLAN} is gone; {again}") from exc
    if n_lines < config.n_planned:
        why = f"{PLAN} holds {n_lines:,} of the {config.n_planned:,} trials that were planned"
        raise NotResumable(run_dir, f"{why}; {again}")
    require_log(run_dir, config.started_at_ms)
    if not (run_dir / LOG).exists():
        for path in sorted((run_dir / ARTIFACTS).glob("*")):
            if path.stat().st_size:
                why = (
                    f"{LOG} is gone, {ARTIFACTS}/{path.name} holds traces of its answers and the "
                    "lake none of its rows; put the log back from a copy, or start a new run"
                )
                raise NotResumable(run_dir, why)


def lock_run(run_dir: Path) -> int:
    """Return a handle that holds the run's lock.

    Raises:
        RunBusy: another collector holds it.
        CollectError: the file system has no locks, or refuses this one.
    """
    path = run_dir / LOCK_FILE
    try:
        handle = open_own(run_dir, LOCK_FILE, os.O_CREAT | os.O_RDWR)
    except OSError as exc:
        raise unwritable(path, exc, "a run is completed where it can be written") from exc
    try:
        take_lock(handle, wait_s=0)
    except OSError as exc:
        said = os.pread(handle, 20, 0).strip()
        os.close(handle)
        if isinstance(exc, BlockingIOError):
            raise RunBusy(run_dir, int(said) if said.isdigit() else None) from exc
        message = f"{path} cannot be locked: {exc.strerror}; choose another --runs"
        raise CollectError(message) from exc
    with contextlib.suppress(OSError):  # a full disk: the lock holds, only its text is missing
        os.ftruncate(handle, 0)
        os.pwrite(handle, b"%d\n" % os.getpid(), 0)
    return handle


def resume_command(run_dir: Path) -> str:
    """Return the command that completes a run (D-I2)."""
    return shlex.join(("collect", "run", "--resume", run_dir.name, *runs_flag(run_dir.parent)))


def check_command(run_dir: Path) -> str:
    """Return the command that evaluates a run's trials again."""
    return shlex.join(("collect", "check", run_dir.name, *runs_flag(run_dir.parent)))


def is_begun(run_dir: Path) -> bool:
    """Return whether a run was written down whole before it started: its plan comes last."""
    return (run_dir / "plan.jsonl").exists()


def has_log(run_dir: Path) -> bool:
    """Return whether something was ever written to a run's log, which its plan comes before."""
    with contextlib.suppress(FileNotFoundError):
        return (run_dir / LOG).stat(follow_symlinks=False).st_size > 0
    return False


class RunLog:
    """One run's folder, locked and open for appending: `create`, `create_free` or `reopen` it."""

    def __init__(self, run_dir: Path, lock: int, repaired: tuple[str, ...] = ()) -> None:
        self.run_dir = run_dir
        self.repaired = repaired
        """What had to be put right before the run could go on."""
        self._lock = lock
        self._advice = (
            f"what was finished is kept; {MAKE_ROOM}, then `{resume_command(run_dir)}` completes it"
        )
        self._results = Tail(run_dir, LOG, self._advice)
        self.n_lines = _n_lines(run_dir / LOG)
        """Of results.jsonl."""
        self._artifacts: dict[str, Tail] = {}
        self._evaluations: Tail | None = None
        self._named = 0
        """Artifact files whose names survive a power cut."""
        self._syncing = threading.Lock()
        self._is_closed = False

    @classmethod
    def create(cls, run_dir: Path) -> RunLog:
        """Make the folder of a new run.

        Raises:
            RunExists: the folder is there already.
            CollectError: it cannot be made.
        """
        lock = None
        try:
            run_dir.parent.mkdir(parents=True, exist_ok=True)
            try:
                run_dir.mkdir()
            except FileExistsError as exc:
                raise RunExists(run_dir) from exc
            lock = lock_run(run_dir)
            (run_dir / "artifacts").mkdir()
            return cls(run_dir, lock)
        except BaseException as exc:
            if lock is not None:
                os.close(lock)
            if not isinstance(exc, OSError):
                raise
            message = f"{run_dir} cannot be made: {exc.strerror}; choose another --runs"
            raise CollectError(message) from exc

    @classmethod
    def create_free(
        cls, runs_dir: Path, now: datetime, is_taken: Callable[[str], bool] = lambda _: False
    ) -> RunLog:
        """Make the folder of a new run named `YYYYMMDD_HHMMSS` in UTC, `_2` … when it is there.

        Two collectors that start in the same second get a folder each.

        A name may be taken though there is no folder of it.

        Raises:
            CollectError: no folder can be made.
        """
        stem = now.astimezone(UTC).strftime("%Y%m%d_%H%M%S")
        for number in count(1):
            run_id = stem if number == 1 else f"{stem}_{number}"
            if not is_taken(run_id):
                with contextlib.suppress(RunExists):
                    return cls.create(runs_dir / run_id)
        raise AssertionError  # `count` does not end

    @classmethod
    def reopen(cls, run_dir: Path) -> RunLog:
        """Lock a run that was cut short, put right what the end left behind, and go on writing.

        Raises:
            NotResumable: there is no such run, it never began, or it is not whole.
            LogLost: the lake holds results that the log does not.
            NotOwnFile: something in the folder leads elsewhere.
            RunBusy: another collector works on it.
            CollectError: it cannot be locked or repaired.
        """
        if not (is_begun(run_dir) or has_log(run_dir)):
            why = "it ended before its plan was written" if run_dir.is_dir() else "no such run"
            raise NotResumable(run_dir, f"{why}; start a new one with `collect run`")
        config = require_own_run(run_dir)
        lock = lock_run(run_dir)
        try:
            require_whole(run_dir, config)
            (run_dir / "artifacts").mkdir(exist_ok=True)
            return cls(run_dir, lock, tuple(repair(run_dir)))
        except OSError as exc:
            os.close(lock)
            advice = f"`{resume_command(run_dir)}` tries again"
            raise unwritable(Path(exc.filename or run_dir), exc, advice) from exc
        except BaseException:
            os.close(lock)
            raise

    def begin(
        self,
        config: RunConfig,
        inventory: Inventory,
        cases: Iterable[LoadedCase],
        plan: Iterable[PlannedTrial],
    ) -> int:
        """Write what is known before the first request, and return how many trials are planned.

        The plan comes last: a run that has one began whole. Nothing of it is held in memory.

        Raises:
            CollectError: the disk is full; nothing was asked yet.
        """
        advice = f"nothing was asked yet; {MAKE_ROOM} or choose another --runs"
        folder, planned = self.run_dir, count()
        write_chunks(folder / "config.json", [_pretty(config)], advice)
        write_chunks(folder / "inventory.json", [_pretty(inventory)], advice)
        write_cases(folder / CASES_FILE, cases, advice)
        write_chunks(folder / "plan.jsonl", _plan_lines(plan, planned), advice)
        sync_folder(folder, advice)
        sync_folder(folder.parent, advice)
        return next(planned)

    def append(self, line: Result | Event) -> LinePlace:
        """Append one line, which can be read as soon as this returns, and return where it is."""
        offset = self._results.append(line.model_dump_json().encode() + b"\n")
        self.n_lines += 1
        return LinePlace(self.n_lines, offset)

    def append_evaluation(self, line: EvaluationLine) -> None:
        """Append what was found when a stored answer was looked at again."""
        if self._evaluations is None:
            advice = f"{MAKE_ROOM}, then `{check_command(self.run_dir)}` goes on"
            self._evaluations = Tail(self.run_dir, EVALUATIONS, advice)
        self._evaluations.append(line.model_dump_json().encode() + b"\n")

    def append_artifact(self, of: str, frame: bytes) -> str:
        """Append one trace as a frame of its own and return `file#offset`.

        Args:
            of: the model_id, or another name with a dot in it, as no model_id has.
            frame: of the trace.
        """
        name = f"artifacts/{of}.jsonl.zst"
        tail = self._artifacts.get(of)
        if tail is None:
            tail = self._artifacts[of] = Tail(self.run_dir, name, self._advice)
        return f"{name}#{tail.append(frame)}"

    def write_text(self, name: str, text: str) -> None:
        """Write one small file of the run.

        Raises:
            CollectError: the disk is full.
        """
        path = self.run_dir / name
        try:
            handle = open_own(self.run_dir, name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                file.write(text)
        except OSError as exc:
            raise unwritable(path, exc, self._advice) from exc

    def sync(self) -> None:
        """Make what was appended survive a power cut: traces first, then the lines naming them.

        May be called from another thread than the one that appends.

        Raises:
            CollectError: the disk did not take it.
        """
        with self._syncing:
            if self._is_closed:
                return
            artifacts = list(self._artifacts.values())
            for tail in artifacts:
                tail.sync()
            if len(artifacts) != self._named:
                sync_folder(self.run_dir / "artifacts", self._advice)
                self._named = len(artifacts)
            self._results.sync()
            if self._evaluations is not None:
                self._evaluations.sync()
                os.utime(
                    self.run_dir / LOG, follow_symlinks=False
                )  # whoever looks for news sees it

    def close(self) -> None:
        """Sync and close every file, then let the next collector in."""
        try:
            self.sync()
        finally:
            with self._syncing:
                self._is_closed = True
                evaluations = () if self._evaluations is None else (self._evaluations,)
                for tail in (self._results, *self._artifacts.values(), *evaluations):
                    tail.close()
                os.close(self._lock)


def _n_lines(log: Path) -> int:
    """Return how many lines a log has."""
    with log.open("rb") as file:
        return sum(chunk.count(b"\n") for chunk in iter(partial(file.read, READ_BYTES), b""))


def _plan_lines(plan: Iterable[PlannedTrial], planned: Iterator[int]) -> Iterator[bytes]:
    for trial in plan:
        next(planned)
        yield plan_line(trial)


def _pretty(record: BaseModel) -> bytes:
    return record.model_dump_json(indent=2).encode() + b"\n"
