"""Everything wrong with one file: it is recognised by its content, and read once."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import BinaryIO

from analyze.render.text import fit, safe
from analyze.validate.documents import document_problems
from analyze.validate.file_lines import LONGEST_LINE, FileLine, lines_of
from analyze.validate.head import kind_of_lines
from analyze.validate.kinds import LinesKind
from analyze.validate.lines import MOST_KEPT, Tally
from schemas.base import DocumentKind, Finding, ValidatedFile, error

LARGEST_DOCUMENT = 512 * 2**20
"""Bytes of a file that is read as one document; its values take several times as much memory."""

MEGABYTE = 10**6

LONGEST_NAME = 40
"""Columns of a terminal that a file's name takes while work on it is told."""

Told = Callable[[str, int, int], None]
LineProblems = Callable[[FileLine], Iterable[Finding]]


def validated(path: Path, told: Told | None = None) -> ValidatedFile:
    """Return what is wrong with a file, whatever is in it.

    Args:
        path: of a regular file.
        told: is called as the work goes on, with what is counted, how much is done, and how much
            there is.

    Raises:
        OSError: the file cannot be read.
    """
    tally = Tally()
    with path.open("rb") as file:
        size = os.fstat(file.fileno()).st_size
        name = fit(safe(printed_path(Path(path.name))), LONGEST_NAME)

        def report(n_bytes: int) -> None:
            if told is not None:
                told(f"MB of {name} read", n_bytes // MEGABYTE, size // MEGABYTE)

        kind: DocumentKind = "unknown"
        if (lines_kind := kind_of_lines(path, file)) is not None:
            kind = lines_kind
            _check_lines(file, LINES[lines_kind](), tally, report)
        elif size > LARGEST_DOCUMENT:
            message = f"the document is larger than {LARGEST_DOCUMENT // 2**20} MiB"
            tally.add((error("too_large", "", message),))
        else:
            kind, findings = document_problems(file.read())
            report(size)
            tally.add(findings)
    return tally.outcome(printed_path(path), kind)


def printed_path(path: Path) -> str:
    """Return a path as text that JSON can carry: bytes that are no UTF-8 stand as escapes."""
    return os.fsencode(path).decode("utf-8", "backslashreplace")


def _check_lines(
    file: BinaryIO,
    problems: LineProblems,
    tally: Tally,
    report: Callable[[int], None],
) -> None:
    n_bytes = reported = 0
    for line in lines_of(file):
        if tally.is_full:
            message = f"{MOST_KEPT:,} errors before this line: the rest was not looked at"
            tally.put_first(error("stopped", "", message, line.number))
            return
        n_bytes += line.n_bytes
        if n_bytes - reported > MEGABYTE:
            reported = n_bytes
            report(n_bytes)
        if line.is_too_long:
            message = f"the line is longer than {LONGEST_LINE // 2**20} MiB, and was not read"
            tally.add((error("too_long", "", message, line.number),))
        else:
            tally.add(problems(line))


def _results() -> LineProblems:
    from analyze.validate.results_log import ResultsCheck  # noqa: PLC0415 - the lake's reader

    return ResultsCheck().problems


def _predictions() -> LineProblems:
    from analyze.validate.prediction_lines import PredictionLines  # noqa: PLC0415 - same

    return PredictionLines().problems


LINES: dict[LinesKind, Callable[[], LineProblems]] = {
    "results": _results,
    "predictions": _predictions,
}
"""Who knows what is wrong with the lines of a file, by its kind."""
