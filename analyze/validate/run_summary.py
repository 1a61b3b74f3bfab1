"""What is wrong with a summary.json, of ours or of the earlier tool."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from analyze.validate.lines import Unknown, refused
from schemas.base import Count, Finding, Rate, error, pointer, warning
from schemas.errors import counted
from schemas.io.json_text import value_problems
from schemas.output.summary import SUMMARY_VERSION, RunSummary, WallClock

OTHERS = ("n_skipped_unavailable", "n_rate_limited", "n_error", "n_auth_error")
"""Counts that add up to the total with `n_ok`; the earlier tool has no `n_auth_error`."""


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
