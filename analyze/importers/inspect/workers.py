"""The samples of a large log as lines, made by processes of their own, in the order of the log."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from typing import NamedTuple

from analyze.importers.inspect.archive import Archive
from analyze.importers.inspect.log import EvalFile, Log
from analyze.importers.inspect.row import Notes, Place, packed_of
from analyze.importers.inspect.samples import Entry, Part, SampleError, Samples
from analyze.importers.lines import Packed

MIN_BYTES = 1 << 25
"""Of samples, unpacked; from here on processes are worth their start."""

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


def made_rows(log: Log, jobs: Sequence[Job], place: Place, notes: Notes) -> Iterator[Made]:
    """Yield the line of each sample, in order.

    Args:
        log: to read.
        jobs: samples of it.
        place: of the log.
        notes: takes what was not understood.

    Raises:
        BrokenProcessPool: a process was killed.
        OSError: the file cannot be read.
    """
    n_processes = min(os.cpu_count() or 1, MAX_PROCESSES)
    # a log of the other kind is in memory already
    if not isinstance(log, EvalFile) or n_processes == 1 or _n_bytes(log, jobs) < MIN_BYTES:
        yield from (made(log, job, place, notes) for job in jobs)
        return
    pool = ProcessPoolExecutor(
        n_processes,
        mp_context=multiprocessing.get_context("spawn"),
        initializer=_start,
        initargs=(place,),
    )
    waiting: deque[Future[tuple[list[Made], Notes]]] = deque()
    with pool:
        try:
            for some in _chunks(log, jobs):
                waiting.append(pool.submit(_make, log.part([one.entry for one in some]), some))
                if len(waiting) > AHEAD * n_processes:
                    yield from _taken(waiting.popleft(), notes)
            while waiting:
                yield from _taken(waiting.popleft(), notes)
        finally:
            pool.shutdown(cancel_futures=True)


def _n_bytes(log: EvalFile, jobs: Sequence[Job]) -> int:
    return sum(log.n_bytes(job.entry) for job in jobs)


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


def _taken(future: Future[tuple[list[Made], Notes]], notes: Notes) -> list[Made]:
    rows, more = future.result()
    notes.values.update(more.values)
    notes.shown = more.shown | notes.shown
    return rows


_places: list[Place] = []
"""Of a process that makes lines: that of its log."""


def _start(place: Place) -> None:
    """Begin a process of its own, which ends with its parent."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent, which waits for us
    threading.Thread(target=_end_with_parent, daemon=True).start()
    _places.append(place)


def _end_with_parent() -> None:
    """End when the parent is gone, however it died."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _make(part: Part, jobs: Sequence[Job]) -> tuple[list[Made], Notes]:
    (place,) = _places
    notes = Notes()
    archive = Archive(part.path, part.members)
    try:
        samples = Samples(archive, part.chunks)
        return [made(samples, job, place, notes) for job in jobs], notes
    finally:
        archive.close()
