"""Which model for which need, as `analyze route --json` prints it."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from schemas.base import Count, Interval, Positive, Rate, Record

VERSION = 2
"""Since 2, models are compared on the cases that both were asked; a time-out is a late answer."""

Need = Literal["tool_use", "quality", "cost", "latency"]
State = Literal["met", "missed", "unknown", "not_asked"]
Standing = Literal[
    "better", "worse", "likely_better", "likely_worse", "fuller", "thinner", "level", "apart"
]


class RoutedName(Record):
    """One way to run a model."""

    provider: str
    model: str
    thinking_level: str | None


class NearestMiss(RoutedName):
    """Who came nearest to a need that nobody met together with the others."""

    why: str


class RouteNeeds(Record):
    """What was asked for; null: it does not matter."""

    tool_use: bool
    min_quality: Rate | None
    max_cost_usd_per_1000_trials: float | None
    max_latency_ms: float | None
    suite: str | None


class RoutedRate(Record):
    """A rate of one model, over the cases as they are now."""

    rate: Rate | None
    n_trials: Count = Field(description="That count as draws of their own.")
    n_cases: Count = Field(description="Cases that it was asked.")
    n_identical: Count = Field(
        default=0,
        description="Further repetitions of cases that came back byte for byte the same: not in "
        "n_trials.",
    )
    n_reused: Count = Field(
        default=0, description="Answers taken over from another run: not in n_trials."
    )
    n_lacking: Count = Field(description="Cases that another model was asked, and it was not.")
    ci95: Interval | None
    low_if_lacking_failed: Rate | None = Field(
        description="Lower end of the interval with those counted as failed: what a need is held "
        "against."
    )


class RoutedReason(Record):
    """What speaks for or against one model."""

    need: Need
    state: State
    why: str
    more_cases: Count | None = Field(
        description="Cases that would settle it, or clusters where cases are in some; null: not "
        "lacking."
    )


class ComparedQuality(Record):
    """A model beside the one that stands first, on the cases that both were asked."""

    standing: Standing = Field(
        description="`better`, `worse`: shown; `thinner`: nothing shown, and it lacks cases of the "
        "first; `fuller`: the other way round; `likely_`: not shown, above the margin; `level`; "
        "`apart`: no case in common."
    )
    n_shared: Count = Field(description="Cases that both were asked.")
    n_own: Count = Field(description="Cases that this model was asked.")
    n_first: Count = Field(description="Cases that the first one was asked.")
    rate: Rate | None = Field(description="Mean of its case rates over the shared cases.")
    first_rate: Rate | None = Field(description="The same of the first one.")
    p: Rate | None = Field(description="Of the paired test; null without a shared case.")
    why: str


class RoutedModel(RoutedName):
    """One way to run a model, and all that speaks for and against it."""

    fits: bool
    tool_use: RoutedRate
    quality: RoutedRate
    cost_usd_per_1000_trials: float | None
    n_cost_known: Count
    n_measured: Count
    e2e_p95_ms: float | None = Field(
        description="A time-out is later than every answer; null: none, or beyond the time limit."
    )
    is_p95_beyond_limit: bool
    n_latency: Count = Field(description="Answered trials whose time is known.")
    n_timeouts: Count = Field(description="Time-outs that count against the model.")
    compared: ComparedQuality | None = Field(description="Null: it stands first, or nothing fits.")
    reasons: tuple[RoutedReason, ...]


class RouteResult(Record):
    """The whole answer; models that fit come first, in the order in which they are named."""

    schema_version: Positive = VERSION
    needs: RouteNeeds
    chosen: RoutedName | None = Field(
        description="Null: nothing fits, or `not_comparable` has others."
    )
    not_comparable: tuple[RoutedName, ...] = Field(
        description="Models that fit and share no case with the first: none of them is recommended."
    )
    models: tuple[RoutedModel, ...]
    nearest: dict[Need, NearestMiss] = Field(description="Only where nothing fits.")
