"""What is wrong with a document that somebody else may have written, as values rather than errors.

A finding names its place by JSON pointer, and in files of lines by line: an editor finds it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from pydantic import Field

from schemas.base import Count, Positive, Record

Severity = Literal["error", "warning"]

DocumentKind = Literal[
    "report-v2",
    "report-v1",
    "swebench",
    "predictions",
    "results",
    "summary",
    "unknown",
]
"""Kinds of documents that `analyze validate` knows by their content."""


class Finding(Record):
    """One thing wrong with one place of a document."""

    severity: Severity
    code: str = Field(description="Stable name of the kind of finding, such as `wrong_type`.")
    pointer: str = Field(description="RFC 6901, from the document's root; empty: the root.")
    line: Positive | None = Field(default=None, description="In files of lines, from 1.")
    message: str = Field(description="One sentence: what was found, and what is allowed.")


class ValidatedFile(Record):
    """What `analyze validate` found in one file."""

    path: str
    kind: DocumentKind
    valid: bool = Field(description="No finding is an error.")
    n_errors: Count
    n_warnings: Count
    findings: tuple[Finding, ...]


def pointer(*parts: str | int) -> str:
    """Return the JSON pointer of a place (RFC 6901): `/instances/3/status`."""
    return "".join("/" + str(part).replace("~", "~0").replace("/", "~1") for part in parts)


def error(code: str, where: str, message: str, line: int | None = None) -> Finding:
    """Return a finding that makes its document invalid."""
    return Finding(severity="error", code=code, pointer=where, line=line, message=message)


def warning(code: str, where: str, message: str, line: int | None = None) -> Finding:
    """Return a finding that leaves its document valid."""
    return Finding(severity="warning", code=code, pointer=where, line=line, message=message)


def is_valid(findings: Iterable[Finding]) -> bool:
    """Return whether no finding is an error."""
    return all(one.severity != "error" for one in findings)
