"""Everything wrong with one file: it is recognised by its content, and read once.

What `analyze validate` found is told as text that editors can jump from, and as JSON.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, BinaryIO

from analyze.render.text import cells, fit, safe
from analyze.validate.kinds import (
    MAX_FINDINGS,
    MAX_LINE_BYTES,
    FileLine,
    LinesKind,
    Tally,
    kind_of,
    kind_of_lines,
    lines_of,
    unknown_kind,
)
from schemas.base import DocumentKind, Finding, ValidatedFile, error, warning
from schemas.errors import MAX_SHOWN_PROBLEMS, NotMigratable, counted
from schemas.io.json_text import BOM, read_json_text

MAX_DOCUMENT_BYTES = 512 * 2**20
"""Bytes of a file that is read as one document; its values take several times as much memory."""

MEGABYTE = 10**6

MAX_NAME_CHARS = 40
"""Columns of a terminal that a file's name takes while work on it is told."""

FileProgress = Callable[[str, int, int], None]
LineProblems = Callable[[FileLine], Iterable[Finding]]


def document_problems(content: bytes) -> tuple[DocumentKind, tuple[Finding, ...]]:
    """Return the kind of a document, and every problem of it, from all bytes of its file."""
    value, findings = read_json_text(content)
    if value is None and findings:
        first, wrong = read_json_text(content.partition(b"\n")[0])
        is_other = isinstance(first, dict) and not wrong and kind_of(first) == "unknown"
        return "unknown", (unknown_kind(first, line=1),) if is_other else findings
    kind = kind_of(value)
    if (problems := _problems(kind, value, content)) is None:
        return "unknown", (*findings, unknown_kind(value))
    return kind, (*findings, *problems)


def _problems(kind: DocumentKind, value: Any, content: bytes) -> Iterable[Finding] | None:
    """Return what is wrong with a document; None where its kind is one of lines, or not known."""
    if kind == "report-v2":
        from schemas.formats.report_v2_problems import schema_problems  # noqa: PLC0415 - not for all

        return schema_problems(value)
    if kind == "report-v1":
        return _earlier_report(value)
    if kind == "swebench":
        from schemas.formats.swebench import swebench_problems  # noqa: PLC0415 - same

        return swebench_problems(value)
    if kind == "predictions":
        from schemas.formats.swebench import prediction_problems  # noqa: PLC0415 - same

        return prediction_problems(value)
    if kind == "summary":
        from analyze.validate.results_log import summary_problems  # noqa: PLC0415 - same

        return summary_problems(value, content.removeprefix(BOM))
    return None


def _earlier_report(value: object) -> Iterable[Finding]:
    from schemas.formats.migration.migrate import migration_of  # noqa: PLC0415 - not for every kind

    try:
        migration_of(value)
    except NotMigratable as exc:
        findings = [one for one in exc.findings if isinstance(one, Finding)]
        return findings or (error("not_migratable", "", str(exc)),)
    message = "a report of an earlier schema; `analyze migrate FILE -o OUT` makes it one of today"
    return (warning("migrate", "", message),)


def validated(path: Path, progress: FileProgress | None = None) -> ValidatedFile:
    """Return what is wrong with a file, whatever is in it.

    Args:
        path: of a regular file.
        progress: is called with what is counted, how much of it is done, and how much there is.

    Raises:
        OSError: the file cannot be read.
    """
    tally = Tally()
    with path.open("rb") as file:
        size = os.fstat(file.fileno()).st_size
        name = fit(safe(printed_path(Path(path.name))), MAX_NAME_CHARS)

        def report(n_bytes: int) -> None:
            if progress is not None:
                progress(f"MB of {name} read", n_bytes // MEGABYTE, size // MEGABYTE)

        kind: DocumentKind = "unknown"
        if (lines_kind := kind_of_lines(path, file)) is not None:
            kind = lines_kind
            _check_lines(file, _line_problems(lines_kind), tally, report)
        elif size > MAX_DOCUMENT_BYTES:
            message = f"the document is larger than {MAX_DOCUMENT_BYTES // 2**20} MiB"
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
    file: BinaryIO, problems: LineProblems, tally: Tally, report: Callable[[int], None]
) -> None:
    n_bytes = reported = 0
    for line in lines_of(file):
        if tally.is_full:
            message = f"{MAX_FINDINGS:,} errors before this line: the rest was not looked at"
            tally.put_first(error("stopped", "", message, line.number))
            return
        n_bytes += line.n_bytes
        if n_bytes - reported > MEGABYTE:
            reported = n_bytes
            report(n_bytes)
        if line.is_too_long:
            message = f"the line is longer than {MAX_LINE_BYTES // 2**20} MiB, and was not read"
            tally.add((error("too_long", "", message, line.number),))
        else:
            tally.add(problems(line))


def _line_problems(kind: LinesKind) -> LineProblems:
    """Return who knows what is wrong with the lines of a file."""
    from analyze.validate.results_log import (  # noqa: PLC0415 - the lake's
        EvaluationLines,
        PredictionLines,
        ResultsCheck,
    )

    if kind == "results":
        return ResultsCheck().problems
    return EvaluationLines().problems if kind == "evaluations" else PredictionLines().problems


def validation_lines(files: Sequence[ValidatedFile]) -> Iterator[str]:
    """Yield one line a file, and below it each of its findings as `path:line pointer: sentence`."""
    kinds = max((cells(one.kind) for one in files), default=0)
    paths = max((cells(safe(one.path)) for one in files), default=0)
    for one in files:
        path = safe(one.path)
        room = " " * (paths - cells(path))
        counts = f"{counted(one.n_errors, 'error')}, {counted(one.n_warnings, 'warning')}"
        verdict = "ok" if one.valid else "invalid"
        yield f"{verdict:<7}  {one.kind:<{kinds}}  {path}{room}  {counts}"
        for finding in one.findings[:MAX_SHOWN_PROBLEMS]:
            yield f"  {_finding_line(path, finding)}"
        if more := one.n_errors + one.n_warnings - len(one.findings[:MAX_SHOWN_PROBLEMS]):
            yield f"  {path}: and {more:,} more"


def validation_json(files: Sequence[ValidatedFile]) -> str:
    """Return a list of what was found, one entry a file; ASCII only."""
    return json.dumps([one.model_dump(mode="json") for one in files], indent=2)


def _finding_line(path: str, finding: Finding) -> str:
    where = path if finding.line is None else f"{path}:{finding.line}"
    place = f" {safe(finding.pointer)}" if finding.pointer else ""
    return f"{where}{place}: {finding.severity}: {safe(finding.message)}"
