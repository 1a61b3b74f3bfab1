"""What a report of the SWE-bench harness says of each instance, as fields of a result.

Its own word stays in `error_code`, its reason in `violation`: an export writes them back.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal, NamedTuple

from schemas.formats.swebench import FAILURE_TIERS, SwebenchReport

Outcome = Literal["resolved", "unresolved", "empty_patch", "error", "unreadable"]

MESSAGES: dict[Outcome, str] = {
    "error": "the harness has no report of this instance",
    "unreadable": "the harness has a report of this instance that cannot be read",
}


class Submitted(NamedTuple):
    """An instance of the data set that something was handed in for."""

    instance_id: str
    outcome: Outcome
    reason: str | None
    """Of a likely failure of the environment, or an ambiguous one."""
    is_infra: bool


def submitted_of(report: SwebenchReport) -> Iterator[Submitted]:
    """Yield the instances that have an outcome, in order of their ids."""
    completed, infra = set(report.completed_ids), set(report.infra_failure_ids or ())
    reasons = report.failure_reasons or {}
    found: dict[str, Outcome] = {}
    for name in report.error_ids:
        found[name] = "unreadable" if name in completed else "error"
    found |= dict.fromkeys(report.resolved_ids, "resolved")
    found |= dict.fromkeys(report.unresolved_ids, "unresolved")
    found |= dict.fromkeys(report.empty_patch_ids, "empty_patch")
    for name in sorted(found):
        reason = reasons.get(name)
        yield Submitted(name, found[name], reason, name in infra or _is_infra(reason))


def _is_infra(reason: str | None) -> bool:
    return reason is not None and FAILURE_TIERS.get(reason) == "infra_failure"


def outside_of(report: SwebenchReport) -> list[str]:
    """Return the ids that something was handed in for, and that are not in the data set."""
    known = {one.instance_id for one in submitted_of(report)} | set(report.incomplete_ids)
    return sorted(set(report.submitted_ids) - known)


def fields_of(one: Submitted) -> dict[str, Any]:
    """Return verdict, failure and the harness' own words of an instance.

    A likely failure of the environment is nobody's verdict; an ambiguous one is, as the harness
    counts it.
    """
    failure: str | None = None
    verdict: bool | None = one.outcome == "resolved"
    if one.outcome == "empty_patch":
        failure = "empty_response"
    elif one.is_infra:
        failure, verdict = "container_error", None
    elif one.outcome in {"error", "unreadable"}:
        failure, verdict = "exception", None
    return {
        "failure_type": failure,
        "objective_pass": None if failure else verdict,
        "passed": verdict,
        "violation": one.reason,
        "error_code": None if one.outcome == "resolved" else one.outcome,
        "error_message": MESSAGES.get(one.outcome),
    }
