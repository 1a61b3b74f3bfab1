"""Work of the engine in a thread of its own, so that Ctrl-C and a time limit are heard at once.

The engine looks for signals between its tasks only, and a task may take as long as a function in
it does. So the thread that gets signals only waits, tells the engine to stop, and leaves when the
engine does not.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Generic, TypeVar

import duckdb

Outcome = TypeVar("Outcome")

NUDGE_S = 0.05
"""Between two requests to stop: one that comes between two queries stops nothing."""

GRACE_S = 3.0
"""For the engine to stop; longer, and it is in a function that hears nothing."""


class _Work(Generic[Outcome]):
    """A piece of work and what came of it."""

    def __init__(self, work: Callable[[], Outcome]) -> None:
        self.done = threading.Event()
        self._work = work
        self._error: BaseException | None = None
        self._results: list[Outcome] = []

    def run(self) -> None:
        try:
            self._results.append(self._work())
        except BaseException as exc:  # noqa: BLE001 - raised again where it is waited for
            self._error = exc
        finally:
            self.done.set()

    def outcome(self) -> Outcome:
        if self._error is not None:
            raise self._error
        return self._results[0]


def watched(
    engine: duckdb.DuckDBPyConnection,
    work: Callable[[], Outcome],
    deadline: float,
    stuck: Callable[[bool], None] | None = None,
) -> Outcome:
    """Return what work on an engine returns.

    Args:
        engine: what the work waits for.
        work: runs in a thread of its own.
        deadline: moment of the monotonic clock at which the engine is stopped.
        stuck: is told when the engine does not stop, and whether that was Ctrl-C; it ends the
            process. Without it the work is waited for.

    Raises:
        InterruptException: it was stopped at its deadline.
        KeyboardInterrupt: Ctrl-C.
    """
    job = _Work(work)
    threading.Thread(target=job.run, daemon=True).start()
    is_interrupted = False
    try:
        while not job.done.wait(min(max(0.0, deadline - time.monotonic()), threading.TIMEOUT_MAX)):
            if time.monotonic() >= deadline:
                break
    except KeyboardInterrupt:
        is_interrupted = True
    asked_at = time.monotonic()
    while not job.done.is_set():
        engine.interrupt()
        try:
            job.done.wait(NUDGE_S)
        except KeyboardInterrupt:
            is_interrupted = True
        if stuck is not None and time.monotonic() > asked_at + GRACE_S:
            stuck(is_interrupted)
    if is_interrupted:
        raise KeyboardInterrupt
    return job.outcome()
