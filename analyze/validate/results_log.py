"""What is wrong with the lines of a results.jsonl, of ours or of the earlier tool.

A line is wrong when readers of the log refuse it, and they pass over it then. Several results of
one trial are no mistake: the last one counts.

What is wrong with the lines of a predictions file for SWE-bench.
"""

from __future__ import annotations

from collections.abc import Iterator

from analyze.validate.lines import FileLine, refused
from schemas.base import Finding, error, pointer, warning
from schemas.formats.swebench_problems import PredictionCheck
from schemas.io.json_text import described, read_json_text, shown, value_problems
from schemas.lake.bulk_load import is_document_line
from schemas.lake.foreign_rows import DocumentResult
from schemas.run.log_lines import content_of, parse_line
from schemas.run.result import Event, Result

MOST_TYPES = 100
"""Unknown record types that are remembered; after them each line is told."""


class ResultsCheck:
    """Looks at the lines of one log in turn; the first record says which tool wrote it."""

    def __init__(self) -> None:
        self._is_earlier: bool | None = None
        self._types: set[str] = set()

    def problems(self, line: FileLine) -> Iterator[Finding]:
        """Yield what is wrong with the next line."""
        if not line.is_whole:
            message = "the last line has no newline: it was cut short, and readers pass over it"
            yield warning("torn_line", "", message, line.number)
            return
        try:
            self._read(line.content)
        except ValueError as exc:
            yield from self._reasons(line, str(exc))

    def _read(self, content: bytes) -> None:
        """Read a line as the lake does.

        Raises:
            ValueError: it is refused.
        """
        if self._is_earlier is None:
            first = content_of(content)
            if first.get("record_type") in ("result", "event"):
                self._is_earlier = is_document_line(first)
        if not self._is_earlier:
            parse_line(content)
            return
        kind = content_of(content).get("record_type")
        if kind == "result":
            DocumentResult.model_validate_json(content, strict=True, extra="ignore")
        elif kind != "event":
            message = "no record of a results.jsonl"
            raise ValueError(message)

    def _reasons(self, line: FileLine, why: str) -> Iterator[Finding]:
        """Yield each reason for which a line is refused, `why` if none can be placed."""
        if not line.content.strip():
            yield error("not_json", "", "the line is empty", line.number)
            return
        value, told = read_json_text(line.content)
        if told := told or tuple(value_problems(value)):
            yield from (one.model_copy(update={"line": line.number}) for one in told)
            return
        if not isinstance(value, dict):
            message = f"an object is needed, found {described(value)}"
            yield error("not_an_object", "", message, line.number)
            return
        kind = value.get("record_type")
        if kind not in ("result", "event"):
            yield from self._unknown(kind, line.number)
            return
        record = Event if kind == "event" else DocumentResult if self._is_earlier else Result
        findings = tuple(refused(record, line.content, line.number))
        yield from findings or [error("refused", "", why, line.number)]

    def _unknown(self, kind: object, number: int) -> Iterator[Finding]:
        where = pointer("record_type")
        if not isinstance(kind, str):
            message = f"`result` or `event` is needed, found {described(kind)}"
            code = "missing_field" if kind is None else "wrong_type"
            yield error(code, where, message, number)
        elif kind not in self._types:
            if len(self._types) < MOST_TYPES:
                self._types.add(kind)
            message = f"{shown(kind)} is a kind of record that is unknown; readers pass over it"
            yield warning("unknown_record_type", where, message, number)


class PredictionLines:
    """Looks at the lines of one file in turn; the last of them needs no newline."""

    def __init__(self) -> None:
        self._check = PredictionCheck()

    def problems(self, line: FileLine) -> Iterator[Finding]:
        """Yield what is wrong with the next line."""
        if not line.content.strip():
            yield error("not_json", "", "the line is empty: the harness stops there", line.number)
            return
        value, told = read_json_text(line.content)
        yield from (one.model_copy(update={"line": line.number}) for one in told)
        if not told:
            yield from self._check.look(value, line=line.number).findings
