"""The first screen of a report: how good each model is, what changed, and what to distrust."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from schemas.base import Count, EpochMillis, Rate, Record
from schemas.output.comparison import Difference, Verdict
from schemas.output.summary import WallClock


class ReportedRun(Record):
    """A run that a report is about, or its baseline: what was asked and how much is there."""

    run_id: str
    suite_id: str
    suite_title: str
    run_profile_id: str | None
    started_at_ms: EpochMillis | None
    wall_clock_ms: WallClock | None = Field(description="First start to last end of a trial.")
    took_ms: WallClock | None = Field(
        default=None,
        description="The same without pauses of more than ten minutes in which no trial was in "
        "progress, as between an interruption and its resume.",
    )
    labels: tuple[str, ...]
    is_imported: bool = Field(description="Another tool made it.")
    shard: str | None = Field(description="`i/n`: it is a part of one plan; null: it is no shard.")
    benchlake_version: str | None = Field(description="That made it.")
    n_cases: Count
    n_planned: Count = Field(description="Trials in the plan.")
    n_total: Count = Field(description="Trials with a result.")
    n_scorable: Count = Field(description="Planned trials that can get a verdict.")
    n_scored: Count = Field(description="Trials with a verdict.")
    coverage: Rate | None = Field(description="n_scored / n_scorable.")


class ModelAnswer(Record):
    """One model on the first screen, best passed rate first, what cannot be ranked behind it."""

    provider: str
    model: str
    thinking_level: str | None
    model_id: str
    passed_rate: Rate | None = Field(description="Null: no trial has a verdict.")
    low: Rate | None = Field(description="95 % interval of the passed rate, by cases.")
    high: Rate | None
    estimate: Rate | None = Field(
        default=None, description="Mean over cases, which the interval is of."
    )
    score_strict: Rate | None = Field(
        default=None, description="With what has no verdict counted as failed."
    )
    coverage: Rate | None = Field(
        default=None, description="Share of the trials that can get a verdict with one."
    )
    n_cases: Count = Field(description="With a verdict.")
    n_clusters: Count | None = Field(
        default=None, description="Units that they make up, where some are in clusters."
    )
    n_scored: Count = Field(description="Trials with a verdict.")
    is_ranked: bool = Field(
        default=True, description="It may be named best: cases and coverage suffice."
    )
    is_leading: bool = Field(
        description="The best of those, or not shown to be worse than it on the same cases."
    )
    change: Verdict | None = Field(
        description="Against the baseline; null: there is none, or it lacks this model."
    )
    change_why: str | None = Field(
        default=None, description="Why there is no difference where the sides can be compared."
    )
    difference: Difference | None = Field(description="Candidate minus base, paired by case.")
    difference_low: Difference | None = Field(description="95 % interval.")
    difference_high: Difference | None = Field(description="95 % interval.")
    n_broke: Count = Field(description="Cases whose majority of verdicts turned to not passed.")
    n_fixed: Count = Field(description="Cases whose majority turned to passed.")


DoubtCode = Literal[
    "no_verdict",
    "missing_trials",
    "coverage",
    "infrastructure",
    "few_cases",
    "one_repetition",
    "identical_repetitions",
    "unpinned_routing",
    "served_model",
    "late_client",
    "timeouts",
    "truncated",
    "reused",
    "shard",
    "narrowed",
    "imported",
    "unknown_cost",
    "not_comparable",
    "changed_with_it",
    "skipped_history",
]


class Doubt(Record):
    """One reason to distrust a number of the report."""

    code: DoubtCode
    is_serious: bool = Field(description="It can turn a verdict; the others are to be known.")
    model_ids: tuple[str, ...] = Field(description="Of these models; empty: of the whole run.")
    sentence: str = Field(description="What is so, with its numbers, and what follows from it.")
    command: str | None = Field(description="That shows more of it, or mends it.")
