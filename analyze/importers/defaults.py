"""A line of results.jsonl of which little is known: what the source does not say stays null.

Secrets are taken out of its texts (D-H4); the original beside it stays as it is.
"""

from __future__ import annotations

from typing import Any

from schemas.failures import classify
from schemas.redact import may_hold_secret, redact, redact_json
from schemas.run.result import RAW_OUTPUT_LIMIT, CheckResult, Result

BLANK: dict[str, Any] = {
    name: None for name, info in Result.model_fields.items() if info.is_required()
} | {
    "availability_status": "ok",
    "success": True,
    "raw_output": "",
    "tool_calls": (),
    "tool_call_count": 0,
    "tool_use_success": False,
    "runner_type": "llm_probe",
    "status": "success",
    "attempt_count": 1,
    "checks_passed": 0,
    "checks_failed": 0,
    "checks_errored": 0,
    "checks": (),
    "expected_tools": (),
    "tags": (),
    "raw_output_truncated": False,
}
"""Of every field that a line has; null, or what stands for nothing known."""

FREE_TEXTS = (
    "violation", "raw_output", "parsed_output", "tool_calls", "error_code", "error_message",
    "served_model", "served_provider", "finish_reason",
)  # fmt: skip
"""Fields of which secrets are taken out, as a collector does; all others are ids and names."""


def result_of(*, failure_type: str | None = None, **known: Any) -> Result:
    """Return a line of a trial.

    Success and both statuses follow from the failure, the counts from the checks, and the text is
    cut to what a line may hold.

    Args:
        failure_type: one of `schemas.failures`; None: the model answered.
        known: what the source says, by field.
    """
    fields = BLANK | {"requested_model": known.get("model")} | known
    if failure_type is not None:
        kind = classify(failure_type)
        fields |= {
            "failure_type": failure_type,
            "success": False,
            "status": kind.status,
            "availability_status": kind.availability_status,
        }
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
    if len(text) > RAW_OUTPUT_LIMIT:
        fields["raw_output"] = text[:RAW_OUTPUT_LIMIT].decode(errors="ignore")
        fields["raw_output_truncated"] = True
    return Result(**fields)


def _redacted(check: CheckResult) -> CheckResult:
    if check.message is None or not may_hold_secret(check.message):
        return check
    return check.model_copy(update={"message": redact(check.message)})
