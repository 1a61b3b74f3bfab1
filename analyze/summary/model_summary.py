"""One model's part of the summary: its mart row, and what statistics adds to it.

Pure: rows in, record out. Reads neither the lake nor a file.
"""

from __future__ import annotations

from collections.abc import Sequence

from analyze.contracts.models import (
    FailureSummaryRow,
    ModelSummaryRow,
    PassCountsRow,
    RepetitionsRow,
    ToolCountsRow,
)
from analyze.stats import rates
from analyze.stats.intervals import percentiles
from schemas.config.project import Thresholds
from schemas.output.summary import GroupSummary, TokenTotals, ToolUse
from schemas.run.inventory import ResourceSnapshot

SAME = sorted(ModelSummaryRow.model_fields.keys() & GroupSummary.model_fields.keys())
"""Numbers that the summary has as the row has them."""


def group_summary(
    row: ModelSummaryRow,
    *,
    repeated: RepetitionsRow,
    failures: Sequence[FailureSummaryRow],
    passes: Sequence[PassCountsRow],
    tool_use: Sequence[ToolCountsRow],
    before: ResourceSnapshot | None,
    after: ResourceSnapshot | None,
    thresholds: Thresholds,
) -> GroupSummary:
    """Return the group of one model, from all that is known about it in one run."""
    scorable = [case for case in passes if case.is_scorable]
    m = _each(scorable, "n_independent")
    c = _each(scorable, "n_independent_passed")
    n_passed, n_scored = _each(passes, "n_passed"), _each(passes, "n_scored")
    passed = rates.case_rate(n_passed, n_scored, _clusters(passes))
    identical = rates.repetitions_identical(repeated.n_repeated_cases, repeated.n_identical_cases)
    return GroupSummary(
        **{name: getattr(row, name) for name in SAME},
        latency_ms=percentiles(
            (row.e2e_ms_p50, row.e2e_ms_p95, row.e2e_ms_p99),
            row.e2e_ms_mean,
            row.n_latency,
            row.n_timeout_counted,
        ),
        resources_before=before,
        resources_after=after,
        passed_ci95=passed.interval,
        score_available=row.passed_rate,
        ttft_ms=percentiles(
            (row.ttft_ms_p50, row.ttft_ms_p95, row.ttft_ms_p99),
            row.ttft_ms_mean,
            row.n_ttft,
            row.n_timeout_counted if row.n_ttft else 0,
        ),
        tokens=TokenTotals(
            input=row.input_tokens,
            output=row.output_tokens,
            reasoning=row.reasoning_tokens,
            cached_input=row.cached_input_tokens,
            n_known=row.n_tokens_known,
        ),
        tool_use=_tool_use(row, tool_use, thresholds),
        repetitions=repeated.repetitions,
        repetitions_identical=identical,
        pass_at_k=rates.pass_curve(rates.pass_at_k, m, c, identical=identical is True),
        pass_hat_k=rates.pass_curve(rates.pass_hat_k, m, c, identical=identical is True),
        failures={failure.failure_type: failure.n_trials for failure in failures},
        success_rate=row.n_success / row.n_total if row.n_total else None,
        n_cases=passed.n_cases,
        n_clusters=passed.n_clusters,
    )


def _each(counted: Sequence[PassCountsRow | ToolCountsRow], name: str) -> list[int]:
    """Return a count of every single case, from cases that were counted together."""
    return [getattr(row, name) for row in counted for _ in range(row.n_cases)]


def _clusters(counted: Sequence[PassCountsRow | ToolCountsRow]) -> list[str | None]:
    """Return the cluster of every single case, in the order of `_each`."""
    return [row.cluster for row in counted for _ in range(row.n_cases)]


def _tool_use(row: ModelSummaryRow, cases: Sequence[ToolCountsRow], bounds: Thresholds) -> ToolUse:
    tier = rates.tier_of(row.tool_use_rate, bounds)
    interval = rates.interval_of_units(
        _clusters(cases), _each(cases, "n_tool_success"), _each(cases, "n_tool_trials")
    )
    return ToolUse(
        n=row.n_tool_trials,
        rate=row.tool_use_rate,
        ci95=interval,
        tier=tier,
        tier_label=None if tier is None else rates.LABELS[tier],
        tier_confident=rates.tier_confident(tier, interval, bounds),
    )
