"""A line of results.jsonl from a source that knows little: what it does not hold stays null.

Secrets are taken out of its texts (D-H4); the original beside it stays as it is. An answer that is
longer than a line may hold has its whole text in a trace. Times that other tools wrote as text
become milliseconds, and without a zone they are UTC. Names that they gave to cases and models
become slugs that stay apart.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from analyze.importers.base import Traced
from analyze.importers.lines import FREE_TEXTS, fields_of
from schemas.base import set_apart, slugify
from schemas.redact import may_hold_secret, redact, redact_json
from schemas.run.result import MAX_RAW_OUTPUT_BYTES, CheckResult, Result
from schemas.run.trace import Artifact, FinalOutputEvent

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MILLISECOND = timedelta(milliseconds=1)


def result_of(*, failure_type: str | None = None, **known: Any) -> Result:
    """Return a line of a trial.

    Success and both statuses follow from the failure, the counts from the checks, and the text is
    cut to what a line may hold.

    Args:
        failure_type: one of `schemas.failures`; None: the model answered.
        known: what the source says, by field.
    """
    fields = fields_of(failure_type, known)
    checks: tuple[CheckResult, ...] = tuple(map(_redacted, fields["checks"]))
    fields["checks"] = checks
    if checks:
        outcomes = [check.outcome for check in checks]
        fields |= {
            "checks_passed": outcomes.count("passed"),
            "checks_failed": outcomes.count("failed"),
            "checks_errored": outcomes.count("error"),
        }
    fields |= {name: redact_json(fields.get(name)) for name in FREE_TEXTS}
    text = fields["raw_output"].encode()
    if len(text) > MAX_RAW_OUTPUT_BYTES:
        fields["raw_output"] = text[:MAX_RAW_OUTPUT_BYTES].decode(errors="ignore")
        fields["raw_output_truncated"] = True
    return Result(**fields)


def _redacted(check: CheckResult) -> CheckResult:
    if check.message is None or not may_hold_secret(check.message):
        return check
    return check.model_copy(update={"message": redact(check.message)})


def with_whole_text(result: Result, text: str) -> Result | Traced:
    """Return a result, with a trace of the whole text where its line was cut."""
    if not result.raw_output_truncated:
        return result
    artifact = Artifact(
        run_id=result.run_id,
        model_id=result.model_id,
        case_id=result.case_id,
        repetition=result.repetition,
        wall_ms=result.ended_at_ms - result.started_at_ms,
        request={},
        trace=(FinalOutputEvent(sequence=0, at_ms=result.ended_at_ms, content=text),),
    )
    return Traced(result, artifact)


def moment_of(text: object) -> int | None:
    """Return the milliseconds since 1970 of an ISO 8601 time; None when it is none we can use."""
    if not isinstance(text, str):
        return None
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        return None
    if found.tzinfo is None:
        found = found.replace(tzinfo=UTC)
    since = (found - EPOCH) // MILLISECOND
    return since if since >= 0 else None


def file_moment(path: Path) -> int:
    """Return the milliseconds since 1970 at which a file was last written.

    Raises:
        OSError: it is not there.
    """
    return max(0, path.stat().st_mtime_ns // 1_000_000)


def slugs_of(names: Iterable[str]) -> dict[str, str]:
    """Return a slug for each name; names that would get the same one get a hash as well."""
    return set_apart({name: slugify(name) for name in names}, str)


def slug_of(name: str) -> str:
    """Return one name as a slug of a length that an id may have."""
    return slugs_of([name])[name]
