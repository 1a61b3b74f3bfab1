"""The samples of large logs as lines, made by processes of their own, in the order of each log."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from typing import NamedTuple

from analyze.importers.inspect.archive import Archive
from analyze.importers.inspect.log import EvalFile, Log
from analyze.importers.inspect.row import Notes, Place, packed_of
from analyze.importers.inspect.samples import Entry, Part, SampleError, Samples
from analyze.importers.lines import Packed
from schemas.errors import AnalyzeError

MIN_BYTES = 1 << 23
"""Of logs, as they lie on the disk; from here on processes are worth their start."""

MAX_PROCESSES = 8
CHUNK, CHUNK_BYTES = 100, 1 << 23
"""Samples that a process takes at once, and from where on they are enough."""

AHEAD = 3
"""Chunks a process that may wait to be written."""


class Job(NamedTuple):
    """A sample to read, and the case that it is."""

    entry: Entry
    case_id: str


class Made(NamedTuple):
    """A sample as a line; else why there is none."""

    entry: Entry
    packed: Packed | None
    why: str = ""


class LineMakers:
    """Makes lines of samples, in processes where these are worth their start; a context manager.

    Args:
        n_bytes: of all logs.
    """

    def __init__(self, n_bytes: int) -> None:
        n_processes = min(os.cpu_count() or 1, MAX_PROCESSES)
        self._n_processes = n_processes if n_processes > 1 and n_bytes >= MIN_BYTES else 0
        self._pool: ProcessPoolExecutor | None = None
        self._n_waiting = 0
        """Chunks that are made or wait to be taken, of all logs."""

    def __enter__(self) -> LineMakers:
        return self

    def __exit__(self, *_: object) -> None:
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)

    def start(self) -> None:
        """Start the processes, while there is other work."""
        if not self._n_processes or self._pool is not None:
            return
        self._pool = ProcessPoolExecutor(
            self._n_processes,
            mp_context=multiprocessing.get_context("spawn"),
            initializer=_start,
        )
        for _ in range(self._n_processes):
            self._pool.submit(os.getpid)

    @property
    def has_room(self) -> bool:
        """Whether another chunk may be made before those that wait are taken."""
        return self._n_waiting < AHEAD * self._n_processes

    def begin(self, log: Log, jobs: Sequence[Job], place: Place, notes: Notes) -> Iterator[Made]:
        """Begin to make the line of each sample; the lines come in order.

        Args:
            log: to read; it stays open until the last line was taken.
            jobs: samples of it.
            place: of the log.
            notes: takes what was not understood.

        Raises:
            AnalyzeError: a process was killed, now or while they come.
            OSError: while they come, the file cannot be read.
        """
        self.start()
        if self._pool is None or not isinstance(log, EvalFile):  # the other kind is in memory
            return (made(log, job, place, notes) for job in jobs)
        chunks = _chunks(log, jobs)
        begun: deque[Future[tuple[list[Made], Notes]]] = deque()
        self._submit(log, chunks, place, begun)
        return self._taken(log, chunks, place, notes, begun)

    def _submit(
        self, log: EvalFile, chunks: Iterator[list[Job]], place: Place,
        begun: deque[Future[tuple[list[Made], Notes]]],
    ) -> None:  # fmt: skip
        """Hand chunks to the processes as long as there is room, and one where none is begun."""
        assert self._pool is not None
        while self.has_room or not begun:
            some = next(chunks, None)
            if some is None:
                return
            part = log.part([one.entry for one in some])
            with _alive():
                begun.append(self._pool.submit(_make, part, some, place))
            self._n_waiting += 1

    def _taken(
        self, log: EvalFile, chunks: Iterator[list[Job]], place: Place, notes: Notes,
        begun: deque[Future[tuple[list[Made], Notes]]],
    ) -> Iterator[Made]:  # fmt: skip
        while begun:
            with _alive():
                rows, more = begun.popleft().result()
            self._n_waiting -= 1
            self._submit(log, chunks, place, begun)
            notes.values.update(more.values)
            notes.shown = more.shown | notes.shown
            yield from rows


@contextmanager
def _alive() -> Iterator[None]:
    """Say in a sentence that a process is gone."""
    try:
        yield
    except BrokenProcessPool:
        message = (
            "a process that reads samples was killed, most often since memory ran out; nothing of "
            "this log was imported, and the same command tries again"
        )
        raise AnalyzeError(message) from None


def _chunks(log: EvalFile, jobs: Sequence[Job]) -> Iterator[list[Job]]:
    some: list[Job] = []
    n_bytes = 0
    for job in jobs:
        some.append(job)
        n_bytes += log.n_bytes(job.entry)
        if len(some) >= CHUNK or n_bytes >= CHUNK_BYTES:
            yield some
            some, n_bytes = [], 0
    if some:
        yield some


def made(log: Log | Samples, job: Job, place: Place, notes: Notes) -> Made:
    """Return one sample as a line."""
    key = job.entry.sample_id, job.entry.epoch
    try:
        sample = log.sample(job.entry)
        return Made(job.entry, packed_of(sample, job.case_id, key, place, notes))
    except (SampleError, TypeError, RecursionError) as exc:
        return Made(job.entry, None, str(exc))


def _start() -> None:
    """Begin a process of its own, which ends with its parent."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent, which waits for us
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    """End when the parent is gone, however it died."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _make(part: Part, jobs: Sequence[Job], place: Place) -> tuple[list[Made], Notes]:
    notes = Notes()
    archive = Archive(part.path, part.members)
    try:
        samples = Samples(archive, part.chunks)
        return [made(samples, job, place, notes) for job in jobs], notes
    finally:
        archive.close()
