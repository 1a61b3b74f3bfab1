"""A file that cannot be imported: every reason, each with its place."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from schemas.base import Finding
from schemas.errors import EXIT_USAGE, MOST_SHOWN, AnalyzeError, counted, printable, shown

DERIVED = frozenset({"count_contradicts", "ids_contradict", "alias_contradicts"})
"""Errors of what follows from the instances: these count, and the file is imported all the same."""


class NotImportable(AnalyzeError):
    """A document is not what the format asks for; nothing of it was imported."""

    exit_code = EXIT_USAGE

    def __init__(self, places: Iterable[tuple[Path, Finding]]) -> None:
        told = tuple(places)
        self.findings = tuple(finding for _, finding in told)
        lines = [printable(said(path, finding)) for path, finding in told[:MOST_SHOWN]]
        if (more := len(told) - MOST_SHOWN) > 0:
            lines.append(f"and {counted(more, 'more problem')}")
        super().__init__("\n".join(lines))


def said(path: Path, finding: Finding) -> str:
    """Return a finding as a line: `file:line: pointer: sentence`."""
    line = "" if finding.line is None else f":{finding.line}"
    where = f" {finding.pointer}:" if finding.pointer else ""
    return f"{shown(path)}{line}:{where} {finding.message}"


def refuse_errors(
    places: Iterable[tuple[Path, Finding]], tolerated: frozenset[str] = frozenset()
) -> None:
    """Let pass documents without errors, but for those that are tolerated.

    Args:
        places: a finding each, and the file that it is about.
        tolerated: codes of errors that stand in nobody's way.

    Raises:
        NotImportable: there is another one.
    """
    wrong = [
        (path, one) for path, one in places if one.severity == "error" and one.code not in tolerated
    ]
    if wrong:
        raise NotImportable(wrong)
