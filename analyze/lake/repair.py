"""What a reader does when files of the lake are moved or damaged while it asks.

It asks again. A damaged file is set aside before; where that cannot be done, it goes on without it.
"""

from __future__ import annotations

import os
import re
import shlex
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import duckdb

from schemas.errors import (
    AnalyzeError,
    BenchError,
    DamagedFile,
    counted,
    display_path,
    printable,
    runs_flag,
)
from schemas.io.files import READ_ONLY
from schemas.io.own_files import is_lock_held, open_own
from schemas.lake import QUARANTINE, SYNC_LOCK, Lake, find_damaged, leave_out

if TYPE_CHECKING:
    from analyze.lake.sync import Synced

Answer = TypeVar("Answer")

Settle = Callable[[], bool]
"""Puts damaged files out of the way; returns whether there were any."""

LineProgress = Callable[[str], None]
"""Takes a line for the user."""

MAX_NAMED_FILES = 5
"""Damaged files that are told of one by one; each has a note beside it in the quarantine."""


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


def retry_while_moving(
    lake: Path, question: Callable[[list[Path]], Answer], settle: Settle
) -> Answer:
    """Return the answer to a question, asked again as long as files are moved under it.

    Args:
        lake: the lake that is asked.
        question: asks it, and adds the files that it listed to a list.
        settle: is called when a file seems to be damaged; the question is asked again then.

    Raises:
        AnalyzeError: files were moved at every try.
    """
    is_sure = False
    for attempt in range(MAX_TRIES):
        files: list[Path] = []
        try:
            return question(files)
        except (BenchError, duckdb.Error) as exc:
            if _have_moved(exc.__cause__, files):
                time.sleep(PAUSE_S * 2**attempt)
                continue
            if not _speaks_of_damage(exc) or not (settle() or not is_sure):
                raise
            is_sure = True  # where nothing was found, another one may have been quicker
    message = f"{lake}: its files are being moved over and over; try again in a moment"
    raise AnalyzeError(message)


def _speaks_of_damage(exc: Exception) -> bool:
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


def _have_moved(exc: BaseException | None, files: Iterable[Path]) -> bool:
    """Return whether an error came from files that were moved after they were listed."""
    if isinstance(exc, duckdb.InterruptException):
        return False
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


def on_stderr(line: str) -> None:
    """Write a line for the user to standard error."""
    sys.stderr.write(f"{line}\n")


def settle(lake: Path, *, writes: bool, progress: LineProgress | None = None) -> bool:
    """Put damaged files out of the way of readers; return whether there were any new ones.

    Reads the whole lake: for after an error of a reader, never before one. What another process
    sets aside at the moment is waited for.

    Args:
        lake: the lake.
        writes: set them aside and make their rows again; else they are left out and named.
        progress: by default it goes to standard error.

    Raises:
        BenchError: another process is at the lake.
        OSError: the lake cannot be written, for another reason than that it must not be.
    """
    opened = Lake(lake)
    found = [one for one in find_damaged(opened) if one.path.is_file()]
    say = progress or on_stderr
    is_done = writes and _set_aside(lake, found, say)
    return bool(found) and (is_done or _left_out(opened, found, say))


def list_settled(
    lake: Path, list_files: Callable[[], object], *, writes: bool, progress: LineProgress | None
) -> None:
    """List the live files of a lake, never between a file's being set aside and its rows' return.

    Whoever sets a file aside moves it before its rows are made again. That shows in the time of
    the quarantine, so the files are listed again until it stays the same; a lake without one costs
    two stats.

    Args:
        lake: the lake.
        list_files: lists them; called again where they may be too few.
        writes: what is half done is completed; else another process is waited for while it is at
            it, and rows that nobody makes again are missing.
        progress: by default it goes to standard error.
    """
    while True:
        before = _quarantined_at(lake)
        if before is not None:
            _await_rows(lake, writes=writes, progress=progress or on_stderr)
        list_files()
        if _quarantined_at(lake) == before:
            return


def _quarantined_at(lake: Path) -> int | None:
    """Return when a file was last set aside, in ns; None: never."""
    try:
        return (lake / QUARANTINE).stat().st_mtime_ns
    except OSError:
        return None


def _await_rows(lake: Path, *, writes: bool, progress: LineProgress) -> None:
    from analyze.lake.sync import has_changes  # noqa: PLC0415 - a lake without damage does without

    if not has_changes(lake.parent) or (writes and _set_aside(lake, (), progress)):
        return
    try:
        handle = open_own(lake, SYNC_LOCK, os.O_RDONLY)
    except OSError:
        return
    try:
        while is_lock_held(handle):
            time.sleep(PAUSE_S)
    finally:
        os.close(handle)


def report_quarantined(synced: Synced, progress: Callable[[str], None]) -> None:
    """Say which files of the lake were damaged, and what became of their rows."""
    for one in synced.set_aside[:MAX_NAMED_FILES]:
        progress(f"warning: {printable(one)}")
    if more := len(synced.set_aside[MAX_NAMED_FILES:]):
        progress(
            f"warning: {counted(more, 'more damaged file was', 'more damaged files were')} found"
        )


def _set_aside(lake: Path, found: Sequence[DamagedFile], progress: LineProgress) -> bool:
    from analyze.lake.sync import sync  # noqa: PLC0415 - loads pyarrow

    try:
        synced = sync(lake.parent, damaged=found)
    except OSError as exc:
        if exc.errno in READ_ONLY:
            return False
        raise
    report_quarantined(synced, progress)
    return not synced.read_only


def _left_out(lake: Lake, found: Sequence[DamagedFile], progress: LineProgress) -> bool:
    new = frozenset(leave_out(one.path for one in found))
    again = shlex.join(["analyze", "sync", *runs_flag(lake.folder.parent)])
    for one in found:
        if one.path in new:
            file = lake.file(one.path.relative_to(lake.folder).as_posix())
            n_rows = file.n_rows if file is not None else 0
            what = f" ({counted(n_rows, 'row')} of {one.path.parent.parent.name})" * bool(n_rows)
            progress(
                f"warning: {printable(f'{display_path(one.path)}: {one.found}')}; "
                f"it is left out{what}, "
                f"so what is shown is not all; `{again}` sets it aside and makes its rows again"
            )
    return bool(new)
