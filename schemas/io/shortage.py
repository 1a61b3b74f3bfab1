"""What a machine has too little of, in a sentence: open files, memory."""

from __future__ import annotations

import errno
import re
from collections.abc import Iterator

from schemas.errors import BenchError

TOO_MANY_FILES = frozenset({errno.EMFILE, errno.ENFILE})

FILES_TEXT = re.compile(r"too many open files", re.IGNORECASE)
"""What engines say, whose errors carry no number."""

MEMORY_TEXT = re.compile(
    r"out of memory|cannot allocate memory|allocation fail|failed to allocate|memory allocation|"
    r"malloc of size|failed to map segment|bad_?alloc|can't start new thread",
    re.IGNORECASE,
)

LEAST_FILES = 256
"""That a command surely gets along with."""

LEAST_ADDRESS_BYTES = 1_500 * 2**20
"""Of addresses; below, the libraries of the analysis end the process without a word."""


def shortage_of(exc: BaseException) -> str | None:
    """Return what was lacking when an error arose, and what helps; None: it has another reason."""
    for one in _chain(exc):
        if isinstance(one, BenchError):
            continue  # its own words may quote what a user wrote
        number = getattr(one, "errno", None)
        if number in TOO_MANY_FILES or FILES_TEXT.search(str(one)):
            return files_sentence()
        if isinstance(one, MemoryError) or number == errno.ENOMEM or MEMORY_TEXT.search(str(one)):
            return memory_sentence()
    return None


def _chain(exc: BaseException | None) -> Iterator[BaseException]:
    seen: set[int] = set()
    while exc is not None and id(exc) not in seen:
        seen.add(id(exc))
        yield exc
        exc = exc.__cause__ or exc.__context__


def files_sentence() -> str:
    """Return that too many files are open, the limit, and what raises it."""
    import resource  # noqa: PLC0415 - for the last words of a command

    most, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return (
        f"too many open files: this process may have {most:,} at once (`ulimit -n`); "
        f"`ulimit -n {max(LEAST_FILES, 4 * most)}` lets it have more, then the same command again"
    )


def memory_sentence() -> str:
    """Return that memory was too small, the limit where one was set, and what helps."""
    import resource  # noqa: PLC0415 - as above

    most, _ = resource.getrlimit(resource.RLIMIT_AS)
    if most != resource.RLIM_INFINITY:
        return (
            f"not enough memory: this process may have {most // 2**20:,} MiB (`ulimit -v`); "
            "`ulimit -v unlimited` lets it have more, then the same command again"
        )
    return (
        "not enough memory: ask for less at a time (one suite, one model, fewer runs) or end other "
        "programs, then the same command again"
    )


def too_few_addresses() -> str | None:
    """Return why the analysis cannot even begin under a limit of this process; None: it can."""
    import resource  # noqa: PLC0415 - as above

    most, _ = resource.getrlimit(resource.RLIMIT_AS)
    is_enough = most == resource.RLIM_INFINITY or most >= LEAST_ADDRESS_BYTES
    return None if is_enough else memory_sentence()
