"""What is wrong with logs of runs, summary.json (ours or the earlier tool's) and predictions.

A line of a log is wrong when readers of the log refuse it, and they pass over it then. Several
results of one trial are no mistake: the last one counts. Predictions are lines for SWE-bench.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from analyze.validate.kinds import FileLine, Unknown, refused
from schemas.base import Count, Finding, Rate, error, pointer, warning
from schemas.errors import counted
from schemas.formats.swebench import PredictionCheck
from schemas.io.json_text import described, excerpt, read_json_text, value_problems
from schemas.output.summary import SUMMARY_VERSION, RunSummary, WallClock
from schemas.run.evaluation import EVALUATION_LINES, evaluation_model, parse_evaluation
from schemas.run.import_record import DocumentResult, is_document_line
from schemas.run.result import Event, Result, content_of, parse_line

MAX_TYPES = 100
"""Unknown record types that are remembered; after them each line is told."""

TORN = "the last line has no newline: it was cut short, and readers pass over it"

OTHERS = ("n_skipped_unavailable", "n_rate_limited", "n_error", "n_auth_error")
"""Counts that add up to the total with `n_ok`; the earlier tool has no `n_auth_error`."""


class ResultsCheck:
    """Looks at the lines of one log in turn; the first record says which tool wrote it."""

    def __init__(self) -> None:
        self._is_earlier: bool | None = None
        self._types = RecordTypes("`result` or `event`")

    def problems(self, line: FileLine) -> Iterator[Finding]:
        """Yield what is wrong with the next line."""
        if not line.is_whole:
            yield warning("torn_line", "", TORN, line.number)
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
        value, faults = _object_of(line)
        if value is None:
            yield from faults
            return
        kind = value.get("record_type")
        if kind not in ("result", "event"):
            yield from self._types.unknown(kind, line.number)
            return
        record = Event if kind == "event" else DocumentResult if self._is_earlier else Result
        findings = tuple(refused(record, line.content, line.number))
        yield from findings or [error("refused", "", why, line.number)]


class EvaluationLines:
    """Looks at the lines of one evaluations.jsonl in turn, as the lake reads them."""

    def __init__(self) -> None:
        self._types = RecordTypes(", ".join(f"`{kind}`" for kind in EVALUATION_LINES))

    def problems(self, line: FileLine) -> Iterator[Finding]:
        """Yield what is wrong with the next line."""
        if not line.is_whole:
            yield warning("torn_line", "", TORN, line.number)
            return
        try:
            parse_evaluation(line.content)
        except ValueError as exc:
            value, faults = _object_of(line)
            if value is None:
                yield from faults
            elif (model := evaluation_model(value)) is None:
                yield from self._types.unknown(value.get("record_type"), line.number)
            else:
                findings = tuple(refused(model, line.content, line.number))
                yield from findings or [error("refused", "", str(exc), line.number)]


class RecordTypes:
    """Kinds of records that are unknown in a log, each of which is told once.

    Args:
        wanted: the kinds that it has, in words.
    """

    def __init__(self, wanted: str) -> None:
        self._wanted = wanted
        self._types: set[str] = set()

    def unknown(self, kind: object, number: int) -> Iterator[Finding]:
        """Yield what is wrong with the kind of a line."""
        where = pointer("record_type")
        if not isinstance(kind, str):
            message = f"{self._wanted} is needed, found {described(kind)}"
            code = "missing_field" if kind is None else "wrong_type"
            yield error(code, where, message, number)
        elif kind not in self._types:
            if len(self._types) < MAX_TYPES:
                self._types.add(kind)
            message = f"{excerpt(kind)} is a kind of record that is unknown; readers pass over it"
            yield warning("unknown_record_type", where, message, number)


def _object_of(line: FileLine) -> tuple[dict[str, Any] | None, tuple[Finding, ...]]:
    """Return the JSON object on a line that was refused; without one, why there is none."""
    if not line.content.strip():
        return None, (error("not_json", "", "the line is empty", line.number),)
    value, faults = read_json_text(line.content)
    if faults := faults or tuple(value_problems(value)):
        return None, tuple(one.model_copy(update={"line": line.number}) for one in faults)
    if not isinstance(value, dict):
        message = f"an object is needed, found {described(value)}"
        return None, (error("not_an_object", "", message, line.number),)
    return value, ()


class PredictionLines:
    """Looks at the lines of one file in turn; the last of them needs no newline."""

    def __init__(self) -> None:
        self._check = PredictionCheck()

    def problems(self, line: FileLine) -> Iterator[Finding]:
        """Yield what is wrong with the next line."""
        if not line.content.strip():
            yield error("not_json", "", "the line is empty: the harness stops there", line.number)
            return
        value, faults = read_json_text(line.content)
        yield from (one.model_copy(update={"line": line.number}) for one in faults)
        if not faults:
            yield from self._check.look(value, line=line.number).findings


class EarlierRecord(BaseModel):
    """A part of the earlier tool's summary; what else stands there passes through."""

    model_config = ConfigDict(extra="allow", allow_inf_nan=False, defer_build=True)


class EarlierPercentiles(EarlierRecord):
    """Latency of successes, in ms."""

    p50: float | None
    p95: float | None
    p99: float | None
    mean: float | None


class EarlierGroup(EarlierRecord):
    """One model, in the older tool's fields."""

    provider: str
    model: str
    thinking_level: str | None
    n_total: Count
    n_ok: Count
    n_success: Count
    n_skipped_unavailable: Count
    n_rate_limited: Count
    n_error: Count
    success_rate_ok: Rate | None
    objective_pass_rate: Rate | None
    wall_clock_ms: WallClock | None
    latency_ms: EarlierPercentiles
    resources_before: dict[str, Any] | None
    resources_after: dict[str, Any] | None


class EarlierSummary(EarlierRecord):
    """summary.json of the earlier tool."""

    generated_at: str | None
    run_dir: str
    run_wall_clock_ms: WallClock | None
    models: Annotated[tuple[EarlierGroup, ...], Field(strict=False)]


def summary_problems(value: dict[str, Any], text: bytes) -> Iterator[Finding]:
    """Yield every problem of a summary.json.

    Args:
        value: the parsed document.
        text: the same as it stands in the file, without a byte order mark.
    """
    if unwritable := value_problems(value):
        yield from unwritable
        return
    version = value.get("schema_version")
    if type(version) is int and version > SUMMARY_VERSION:
        message = f"found {version}; this benchlake reads up to {SUMMARY_VERSION}"
        yield error("unsupported_version", pointer("schema_version"), message)
        return
    is_earlier = "run_dir" in value and "schema_version" not in value
    if is_earlier:
        message = "a summary of the earlier tool, checked by its rules"
        yield warning("earlier_tool", "", message)
    declaration = EarlierSummary if is_earlier else RunSummary
    unknown: Unknown = "ignore" if is_earlier else "forbid"
    findings = tuple(refused(declaration, text, unknown=unknown))
    yield from findings
    if all(one.severity != "error" for one in findings):
        for place, group in enumerate(value["models"]):
            yield from _counts(group, pointer("models", place))


def _counts(group: dict[str, Any], where: str) -> Iterator[Finding]:
    """Yield counts of one model that contradict each other."""
    total, ok, success = group["n_total"], group["n_ok"], group["n_success"]
    known = ok + sum(group.get(name, 0) for name in OTHERS)
    if known > total or (known < total and "n_auth_error" in group):
        names = ", ".join(f"`{name}`" for name in ("n_ok", *OTHERS) if name in group)
        message = f"{total} is not the {known} that {names} make together"
        yield error("count_contradicts", where + pointer("n_total"), message)
    if success > ok:
        message = f"{success} answered of {counted(ok, 'trial')} that the provider served"
        yield error("count_contradicts", where + pointer("n_success"), message)
