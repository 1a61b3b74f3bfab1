"""Asks again when a compaction moved files away while they were read, or one was damaged."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

import duckdb

from schemas.errors import AnalyzeError, BenchError, DamagedFile

Answer = TypeVar("Answer")

Settle = Callable[[], bool]
"""Puts damaged files out of the way; returns whether there were any."""

MAX_TRIES = 6
"""Times that a question is asked while files are being moved."""

PAUSE_S = 0.05
"""Before the second try; it doubles. The gap of a compaction is far shorter."""

NOT_FOUND = ("No files found", "No such file")

OF_A_FILE = re.compile(
    "parquet|corrupt|thrift|TProtocol|TType|Out of buffer|what type|ZSTD|cannot open file",
    re.IGNORECASE,
)
"""What the engine says of damaged files; its errors have no kind of their own for them."""

KIND = re.compile(r"[A-Z][A-Za-z ]*: ")
"""Begins what the engine says, but where it met bytes that it did not expect."""

OF_A_QUERY = (
    duckdb.BinderException,
    duckdb.CatalogException,
    duckdb.ConversionException,
    duckdb.InterruptException,
    duckdb.OutOfMemoryException,
    duckdb.ParserException,
    duckdb.SyntaxException,
)
"""Errors that a sound lake gives as well."""


class FilesMoved(Exception):
    """A file that was listed a moment before is not there any more."""


def retry_while_moving(lake: Path, question: Callable[[], Answer], settle: Settle) -> Answer:
    """Return the answer to a question, asked again as long as it ends in FilesMoved.

    Args:
        lake: the lake that is asked.
        question: asks it.
        settle: is called when a file seems to be damaged; the question is asked again then.

    Raises:
        AnalyzeError: files were moved at every try.
    """
    is_sure = False
    for attempt in range(MAX_TRIES):
        try:
            return question()
        except FilesMoved:
            time.sleep(PAUSE_S * 2**attempt)
        except BenchError as exc:
            if not speaks_of_damage(exc) or not (settle() or not is_sure):
                raise
            is_sure = True  # where nothing was found, another one may have been quicker
    message = f"{lake}: its files are being moved over and over; try again in a moment"
    raise AnalyzeError(message)


def speaks_of_damage(exc: BenchError) -> bool:
    """Return whether an error may come from a damaged file of the lake."""
    cause = exc.__cause__
    if isinstance(exc, DamagedFile) or not isinstance(cause, duckdb.Error):
        return isinstance(exc, DamagedFile)
    if isinstance(cause, OF_A_QUERY):
        return False
    text = str(cause)
    return OF_A_FILE.search(text) is not None or (
        type(cause) is duckdb.Error and KIND.match(text) is None
    )


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
