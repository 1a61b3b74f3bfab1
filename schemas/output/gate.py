"""What a gate says, as `analyze gate --format json` prints it."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from schemas.base import Positive, Record
from schemas.config.known_issues import Acknowledged, Quarantined
from schemas.output.comparison import Comparison, Metric
from schemas.output.regressions import OpenShift

GATE_VERSION = 2
"""Of the document: 2 has the shifts that stand, and fails while one does."""

Outcome = Literal["passed", "failed", "cannot_judge"]


class GateRules(Record):
    """What was asked of the candidate."""

    metrics: tuple[Metric, ...]
    max_drop: float = Field(
        ge=0,
        description="Tolerated drop of the passed rate (0.02: 2 points); of a ratio: growth.",
    )
    min_coverage: float = Field(ge=0, le=1)
    prove: bool = Field(description="Passed only when a larger drop is ruled out.")


class GateLine(Record):
    """One model and one metric."""

    model_id: str
    metric: Metric
    outcome: Outcome
    why: str = Field(description="One sentence, with the number that decides.")
    unseen: float | None = Field(
        description="Drops (or growth) smaller than this would not have been seen; null: unknown."
    )
    confirmed: bool | None = Field(
        default=None, description="A fresh run says the same; null: none was asked."
    )
    by_open_shift: bool = Field(
        default=False, description="Failed by an open shift alone: the comparison fails nothing."
    )
    base_run_ids: tuple[str, ...] = Field(
        default=(), description="Runs that it is held against, oldest first; empty: not known."
    )


class BaselineComparison(Record):
    """Metrics that are held against the same runs, and what came of it."""

    metrics: tuple[Metric, ...]
    comparison: Comparison
    confirmation: Comparison | None = Field(
        default=None, description="The fresh run against the same baseline."
    )


class GateResult(Record):
    """The whole gate: `failed` goes before `cannot_judge`, that before `passed`."""

    schema_version: Positive = Field(
        default=GATE_VERSION,
        description="2 since `open_shifts`: an open shift of the passed rate fails the gate.",
    )
    outcome: Outcome
    exit_code: Literal[0, 1, 3]
    rules: GateRules
    lines: tuple[GateLine, ...]
    quarantined: tuple[Quarantined, ...] = Field(description="Entries that took a case out.")
    expired: tuple[Quarantined, ...] = Field(
        default=(), description="Entries whose last day is over: they take nothing out."
    )
    unused: tuple[Quarantined, ...] = Field(
        default=(), description="Entries that hold, and name no case of this test."
    )
    open_shifts: tuple[OpenShift, ...] = Field(
        default=(),
        description="Shifts for the worse of what was asked that nobody has acknowledged and that "
        "have not recovered.",
    )
    unused_shifts: tuple[Acknowledged, ...] = Field(
        default=(), description="Acknowledged, and no such shift in what was asked."
    )
    comparison: Comparison = Field(
        description="Of the passed rate where it was asked, else of the first metric; and of every "
        "metric that `other_baselines` does not name."
    )
    confirmation: Comparison | None = Field(description="The fresh run against the same baseline.")
    other_baselines: tuple[BaselineComparison, ...] = Field(
        default=(),
        description="Each metric is held against runs since its own last level shift: those of "
        "which these are other runs.",
    )
