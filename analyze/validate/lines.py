"""Collects what is wrong with one file: all of it counted, and as much kept as anybody reads."""

from __future__ import annotations

from collections.abc import Iterable

from schemas.base import DocumentKind, Finding, ValidatedFile

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
