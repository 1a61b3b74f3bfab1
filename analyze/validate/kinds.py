"""Which kind a JSON document or a file of lines is: told by content, never by the file's name.

A file of lines is told from a document by the first of its lines that can be read. Lines come one
after the other, in a memory that no line can fill; all that is wrong with a file is counted, and as
much kept as anybody reads. What a record of ours refuses is found as strictly as the lake reads:
nothing is converted, so `"5"` is no number.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import BinaryIO, Literal, NamedTuple

import orjson
from pydantic import BaseModel, ValidationError

from schemas.base import DocumentKind, Finding, ValidatedFile, error
from schemas.formats.fields import findings_of
from schemas.formats.report_v1 import is_old_version, is_result, is_v2, shape_of
from schemas.formats.report_v2 import EvaluationReport
from schemas.formats.swebench import SwebenchReport
from schemas.io.json_text import BOM, described, excerpt, read_json_text
from schemas.run.evaluation import evaluation_model
from schemas.run.layout import EVALUATIONS, LOG

MAX_FINDINGS = 10_000
"""Findings of a file that are kept; a log in which every line is wrong would fill the memory."""

MAX_LINE_BYTES = 64 * 2**20
"""Bytes of a line that is read; a trial's answer is cut at 64 KiB, a patch has a few MB."""

CHUNK_BYTES = 2**20

Unknown = Literal["ignore", "forbid"]

LinesKind = Literal["results", "evaluations", "predictions"]
"""Kinds of which each record stands on a line of its own."""

NAMED: Mapping[str, LinesKind] = {LOG: "results", EVALUATIONS: "evaluations"}
"""Files whose lines are of a kind although none of the first can be read."""

HARNESS_ONLY = frozenset(
    name
    for name in SwebenchReport.model_fields
    if name.endswith("_instances") or name in {"submitted_ids", "incomplete_ids"}
)
"""Top-level keys of a SWE-bench report that an evaluation report v2 does not have."""

V2_ONLY = EvaluationReport.model_fields.keys() - {
    "schema_version", "run_id", "model_name", "dataset", "created_at", "start_time", "end_time",
    "config", "instances", "environment",
}  # fmt: skip
"""Keys of an evaluation report v2 that none of an earlier schema has."""

MAX_KEYS = 4
"""More than these of its keys make a report v2 of a document without instances."""

MAX_MEMBERS = 20
"""Members of a list or an object that are looked at."""

MAX_NAMED_KEYS = 8
"""Keys of a document of no known kind that are named."""

LOOKED_FOR = (
    "an evaluation report (`schema_version`, `instances`, `summary`)",
    "one of an earlier schema (`instances`; `results` with `task_id`; `statistics`)",
    "a SWE-bench report (`submitted_instances`, `submitted_ids`)",
    "predictions (`instance_id`, `model_patch`)",
    "results.jsonl or evaluations.jsonl (lines with `record_type`)",
    "summary.json (`generated_at`, `models`)",
)

HEAD_BYTES = 2**20

SUFFIXES = frozenset({".jsonl", ".ndjson"})


class Tally:
    """Findings of one file, in the order in which they come."""

    def __init__(self) -> None:
        self._kept: list[Finding] = []
        self._counts = Counter[str]()

    @property
    def is_full(self) -> bool:
        """Return whether so many errors came that more of them tell nothing new."""
        return self._counts["error"] >= MAX_FINDINGS

    def add(self, findings: Iterable[Finding]) -> None:
        """Take findings up."""
        for one in findings:
            self._counts[one.severity] += 1
            if len(self._kept) < MAX_FINDINGS:
                self._kept.append(one)

    def put_first(self, one: Finding) -> None:
        """Take up a finding that everybody has to see, however many there are."""
        self._counts[one.severity] += 1
        self._kept.insert(0, one)

    def outcome(self, path: str, kind: DocumentKind) -> ValidatedFile:
        """Return what was found in a file of this path and kind."""
        return ValidatedFile(
            path=path,
            kind=kind,
            valid=not self._counts["error"],
            n_errors=self._counts["error"],
            n_warnings=self._counts["warning"],
            findings=tuple(self._kept),
        )


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
    while content := file.readline(MAX_LINE_BYTES + 1):
        number += 1
        n_bytes = len(content)
        if n_bytes > MAX_LINE_BYTES:
            while not content.endswith(b"\n") and (content := file.readline(CHUNK_BYTES)):
                n_bytes += len(content)
            content = b""
        yield FileLine(number, content, n_bytes)


def refused(
    record: type[BaseModel], text: bytes, line: int | None = None, *, unknown: Unknown = "ignore"
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


def kind_of(value: object) -> DocumentKind:
    """Return the kind of a JSON document, from what was parsed of it."""
    if isinstance(value, list):
        return "predictions" if _any_patch(value) else "unknown"
    if not isinstance(value, dict):
        return "unknown"
    if (record := kind_of_record(value)) is not None:
        return record
    if len(HARNESS_ONLY & value.keys()) > 1:
        return "swebench"
    if (report := _report_of(value)) is not None:
        return report
    if isinstance(value.get("models"), list) and {"generated_at", "run_wall_clock_ms"} & set(value):
        return "summary"
    return "predictions" if _any_patch(value.values()) else "unknown"


def kind_of_record(value: object) -> LinesKind | None:
    """Return the kind of file that a line with this content belongs to; None for neither."""
    if not isinstance(value, Mapping):
        return None
    if value.get("record_type") in ("result", "event"):
        return "results"
    if evaluation_model(value) is not None:
        return "evaluations"
    keys = {"model_patch", "model_name_or_path"} & value.keys()
    return "predictions" if keys and "instance_id" in value else None


def _any_patch(values: Iterable[object]) -> bool:
    """Return whether one of the first values is what a model handed in."""
    return any(
        isinstance(one, dict) and ("model_patch" in one or kind_of_record(one) == "predictions")
        for one in islice(values, MAX_MEMBERS)
    )


def _report_of(value: dict[str, object]) -> DocumentKind | None:
    """Return which schema of an evaluation report this is; None when it is no such report."""
    n_known = len(EvaluationReport.model_fields.keys() & value.keys())
    if not is_old_version(value):
        return "report-v2" if "instances" in value or is_v2(value) or n_known > MAX_KEYS else None
    if "schema_version" not in value and (len(V2_ONLY & value.keys()) > 1 or _any_scored(value)):
        return "report-v2"
    return None if shape_of(value) is None else "report-v1"


def _any_scored(report: dict[str, object]) -> bool:
    """Return whether one of the first instances has the components that only v2 knows."""
    instances = report.get("instances")
    first = islice(instances, MAX_MEMBERS) if isinstance(instances, list) else ()
    return any(isinstance(one, dict) and "validation" in one for one in first)


def unknown_kind(value: object, line: int | None = None) -> Finding:
    """Return the finding that a document, or a file of such lines, is of no known kind."""
    if is_result(value):
        message = (
            "the result of one task, which is no report; "
            "`analyze migrate DIR -o OUT` makes one of the folder that holds them"
        )
        return error("unknown_kind", "", message, line)
    if isinstance(value, Mapping):
        names = [excerpt(key) for key in islice(value, MAX_NAMED_KEYS)]
        more = f" and {len(value) - MAX_NAMED_KEYS:,} more" if len(value) > MAX_NAMED_KEYS else ""
        found = f"an object with {', '.join(names)}{more}" if names else "an empty object"
    else:
        found = described(value)
    message = f"of no known kind; looked for {'; '.join(LOOKED_FOR)}; found {found}"
    return error("unknown_kind", "", message, line)


def kind_of_lines(path: Path, file: BinaryIO) -> LinesKind | None:
    """Return the kind of a file of lines; None when it has to be read as one document.

    Args:
        path: its name says whether lines that cannot be read may come first.
        file: as it was opened; it stands at its beginning again afterwards.
    """
    lines = _first_lines(file)
    is_named = path.suffix.lower() in SUFFIXES
    for line in lines if is_named else lines[:1]:
        if (kind := kind_of_record(_content(line))) is not None:
            return kind
    return NAMED.get(path.name)


def _first_lines(file: BinaryIO) -> list[bytes]:
    """Return the first whole lines that are not blank; a last line needs no newline."""
    head = file.read(HEAD_BYTES)
    is_all = len(head) < HEAD_BYTES
    if b"\n" not in head:
        head += file.readline(MAX_LINE_BYTES)
        is_all = is_all or not file.read(1)
    file.seek(0)
    *lines, rest = head.removeprefix(BOM).split(b"\n")
    return [line for line in (*lines, *([rest] if is_all else [])) if line.strip()]


def _content(line: bytes) -> object:
    """Return what stands on a line, as far as it can be read; None where it cannot."""
    try:
        content: object = orjson.loads(line)
    except orjson.JSONDecodeError:  # a quick no, as to a lone surrogate
        content, _ = read_json_text(line)
    return content
