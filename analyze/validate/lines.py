"""Collects what is wrong with one file: all of it counted, and as much kept as anybody reads.

Lines of a file one after the other, in a memory that no line can fill.

What a record of ours refuses in the text of somebody's JSON, strictly: each place of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import BinaryIO, Literal, NamedTuple

from pydantic import BaseModel, ValidationError

from schemas.base import DocumentKind, Finding, ValidatedFile
from schemas.formats.fields import findings_of

MOST_KEPT = 10_000
"""Findings of a file that are kept; a log in which every line is wrong would fill the memory."""


class Tally:
    """Findings of one file, in the order in which they come."""

    def __init__(self) -> None:
        self._kept: list[Finding] = []
        self._n_errors = 0
        self._n_warnings = 0

    @property
    def is_full(self) -> bool:
        """Return whether so many errors came that more of them tell nothing new."""
        return self._n_errors >= MOST_KEPT

    def add(self, findings: Iterable[Finding]) -> None:
        """Take findings up."""
        for one in findings:
            if one.severity == "error":
                self._n_errors += 1
            else:
                self._n_warnings += 1
            if len(self._kept) < MOST_KEPT:
                self._kept.append(one)

    def put_first(self, one: Finding) -> None:
        """Take up a finding that everybody has to see, however many there are."""
        self._n_errors += one.severity == "error"
        self._n_warnings += one.severity == "warning"
        self._kept.insert(0, one)

    def outcome(self, path: str, kind: DocumentKind) -> ValidatedFile:
        """Return what was found in a file of this path and kind."""
        return ValidatedFile(
            path=path,
            kind=kind,
            valid=not self._n_errors,
            n_errors=self._n_errors,
            n_warnings=self._n_warnings,
            findings=tuple(self._kept),
        )


LONGEST_LINE = 64 * 2**20
"""Bytes of a line that is read; a trial's answer is cut at 64 KiB, a patch has a few MB."""

CHUNK_BYTES = 2**20


class FileLine(NamedTuple):
    """One line; without content where it is too long."""

    number: int
    content: bytes
    """With its newline, where it has one."""
    n_bytes: int

    @property
    def is_too_long(self) -> bool:
        """Return whether the line was passed over because of its length."""
        return self.n_bytes > len(self.content)

    @property
    def is_whole(self) -> bool:
        """Return whether the line ends in a newline."""
        return self.content.endswith(b"\n")


def lines_of(file: BinaryIO) -> Iterator[FileLine]:
    """Yield the lines of a file from where it stands, the first of them as number 1."""
    number = 0
    while content := file.readline(LONGEST_LINE + 1):
        number += 1
        n_bytes = len(content)
        if n_bytes > LONGEST_LINE:
            while not content.endswith(b"\n") and (content := file.readline(CHUNK_BYTES)):
                n_bytes += len(content)
            content = b""
        yield FileLine(number, content, n_bytes)


Unknown = Literal["ignore", "forbid"]


def refused(
    record: type[BaseModel],
    text: bytes,
    line: int | None = None,
    *,
    unknown: Unknown = "ignore",
) -> Iterator[Finding]:
    """Yield what does not fit a record's declaration.

    Args:
        record: the declaration.
        text: one JSON object.
        line: number of the line it stands on, in a file of lines.
        unknown: whether fields that the declaration does not have are passed over, or told as
            warnings.
    """
    try:
        record.model_validate_json(text, strict=True, extra=unknown)
    except ValidationError as exc:
        yield from findings_of(exc, line=line)
