"""Asks again when a compaction moved files away while they were read."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

import duckdb

from schemas.errors import AnalyzeError

Answer = TypeVar("Answer")

TRIES = 6
"""Times that a question is asked while files are being moved."""

PAUSE_S = 0.05
"""Before the second try; it doubles. The gap of a compaction is far shorter."""

NOT_FOUND = ("No files found", "No such file")


class FilesMoved(Exception):
    """A file that was listed a moment before is not there any more."""


def until_settled(lake: Path, question: Callable[[], Answer]) -> Answer:
    """Return the answer to a question, asked again as long as it ends in FilesMoved.

    Raises:
        AnalyzeError: files were moved at every try.
    """
    for attempt in range(TRIES):
        try:
            return question()
        except FilesMoved:
            time.sleep(PAUSE_S * 2**attempt)
    message = f"{lake}: its files are being moved over and over; try again in a moment"
    raise AnalyzeError(message)


def have_moved(exc: BaseException | None, files: Iterable[Path]) -> bool:
    """Return whether an error came from files that were moved after they were listed."""
    if isinstance(exc, duckdb.IOException) and any(words in str(exc) for words in NOT_FOUND):
        return True
    return any(not path.exists() for path in files)


@contextmanager
def interruptible() -> Iterator[None]:
    """Let Ctrl-C end a query as it ends everything else; the engine has an error of its own."""
    try:
        yield
    except RuntimeError as exc:
        if "interrupted" in str(exc):
            raise KeyboardInterrupt from exc
        raise
