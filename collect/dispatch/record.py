"""The record of a run in several shards, open for writing: each line is on the disk before it acts.

It is locked while it is open, so that no two coordinators divide one budget.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from schemas.errors import CollectError, RunBusy, RunExists
from schemas.io.files import Tail, sync_folder
from schemas.io.own_files import open_own, take_lock
from schemas.run.dispatch import (
    DispatchLine,
    DispatchPlan,
    ShardAttempt,
    ShardEnd,
    ShardGrant,
    ShardLoss,
    dispatch_file,
    read_dispatch,
)

ADVICE = "what was finished is kept; make room, then resume it"


class DispatchRecord:
    """One record, whose only writer this is.

    Attributes:
        plan: its first line.
        lines: what became of it before this process.
    """

    def __init__(
        self, path: Path, plan: DispatchPlan, lines: Iterable[DispatchLine], lock: int
    ) -> None:
        self.path = path
        self.plan = plan
        self.lines = tuple(lines)
        self._lock = lock
        self._tail = Tail(path.parent, path.name, ADVICE)

    @classmethod
    def create(cls, runs_dir: Path, plan: DispatchPlan) -> DispatchRecord:
        """Write the plan of a new run, after which it may begin.

        Raises:
            RunExists: there is one of that name.
            CollectError: it cannot be written.
        """
        path = dispatch_file(runs_dir, plan.dispatch_id)
        try:
            handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644)
        except FileExistsError as exc:
            raise RunExists(path) from exc
        os.close(handle)
        record = cls(path, plan, (), _locked(path))
        record.append(plan)
        sync_folder(runs_dir, ADVICE)
        return record

    @classmethod
    def reopen(cls, runs_dir: Path, dispatch_id: str) -> DispatchRecord:
        """Open the record of a run that is to be completed.

        Raises:
            NotResumable: it cannot be read.
            RunBusy: another coordinator has it.
        """
        path = dispatch_file(runs_dir, dispatch_id)
        lock = _locked(path)
        try:
            plan, lines = read_dispatch(path)
            cut_torn_line(path)
            return cls(path, plan, lines, lock)
        except BaseException:
            os.close(lock)
            raise

    def append(self, line: DispatchLine) -> None:
        """Write a line, and wait until it would survive a power cut.

        Raises:
            CollectError: the disk is full.
        """
        self._tail.append(line.model_dump_json().encode() + b"\n")
        self._tail.sync()

    def close(self) -> None:
        """Let the next coordinator in."""
        self._tail.close()
        os.close(self._lock)


def _locked(path: Path) -> int:
    try:
        handle = open_own(path.parent, path.name, os.O_RDWR)
        take_lock(handle, wait_s=0)
    except BlockingIOError as exc:
        os.close(handle)
        raise RunBusy(path, None) from exc
    except OSError as exc:
        message = f"{path} cannot be locked: {exc.strerror}; choose another --runs"
        raise CollectError(message) from exc
    return handle


def cut_torn_line(path: Path) -> None:
    """Cut off what a crash left of a last line, whose effect never came."""
    content = path.read_bytes()
    if not content.endswith(b"\n"):
        os.truncate(path, content.rfind(b"\n") + 1)


def open_grants(lines: Iterable[DispatchLine]) -> dict[int, int]:
    """Return, by shard, what a process was granted of which nobody wrote how it ended."""
    granted: dict[int, int] = {}
    for line in lines:
        if isinstance(line, ShardGrant):
            granted[line.shard] = line.nano_usd
        elif isinstance(line, ShardEnd | ShardLoss):
            granted.pop(line.shard, None)
    return granted


def attempts_in(lines: Iterable[DispatchLine]) -> dict[int, int]:
    """Return, by shard, how many attempts began."""
    return Counter(line.shard for line in lines if isinstance(line, ShardAttempt))


def unaccounted_in(lines: Iterable[DispatchLine]) -> int:
    """Return what lost processes may have spent, in nano-dollars."""
    return sum(line.unaccounted_nano_usd for line in lines if isinstance(line, ShardLoss))
