"""What a comparison of runs or models says, as `analyze compare --format json` prints it.

Rates lie between 0 and 1, differences between -1 and 1 (candidate minus base), ratios are candidate
over base, times in ms, costs in USD. Nothing here is rounded.
"""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from schemas.base import Count, Interval, PassK, Positive, Rate, Record
from schemas.config.project import Thresholds
from schemas.output.score_drift import ScoreDrift
from schemas.run.alias import Rename

COMPARISON_VERSION = 2
"""2: another test where repetitions are unequal, `margin` and `missing_p`; reused answers and
repetitions of the same bytes are no trials of a test."""

Axis = Literal[
    "case",
    "settings",
    "tools",
    "endpoint",
    "model_build",
    "agent",
    "image",
    "harness",
    "judge",
    "served_model",
    "routing",
]
"""Each thing that can change an answer or its verdict, beside what is compared."""

Verdict = Literal["improved", "regressed", "unchanged", "inconclusive", "not_comparable"]

RatioMetric = Literal["e2e_ms", "ttft_ms", "input_tokens", "output_tokens", "cost_usd"]
Metric = Literal["passed_rate", "e2e_ms", "ttft_ms", "input_tokens", "output_tokens", "cost_usd"]
"""The first is the primary metric, the others are compared as ratios."""

Difference = Annotated[float, Field(ge=-1, le=1)]

UNITS = "Units that they make up, where some are in clusters; null: each case is one."


class ThresholdsUsed(Record):
    """Where numbers became verdicts, and which file said so."""

    thresholds: Thresholds
    path: str | None = Field(description="benchlake.yaml that was used; null: packaged defaults.")
    sha256: str | None = Field(description="Of that file.")


class Side(Record):
    """One side of a comparison as it was asked for, and the runs that this means."""

    MODEL_FIELDS: ClassVar[tuple[str, ...]] = ("model",)

    asked: str = Field(description="Such as `latest`, a run id, `label:NAME` or `last:7`.")
    run_ids: tuple[str, ...] = Field(description="Oldest first; shards of one plan together.")
    model: str | None = Field(description="Only this model of them; null: every one.")


class AxisReport(Record):
    """One axis: where the two sides differ in it."""

    axis: Axis
    is_allowed: bool = Field(description="A difference here keeps nothing out.")
    n_differ: Count = Field(description="Pairs of model and case that differ.")
    n_same: Count = Field(description="Pairs that are known to be the same.")
    n_unknown: Count = Field(description="Pairs of which one side does not say it.")
    base: tuple[str, ...] = Field(description="Values where they differ: hashes, or names.")
    candidate: tuple[str, ...] = Field(description="Values where they differ: hashes, or names.")
    model_ids: tuple[str, ...] = Field(description="Models with a difference.")


Exclusion = Literal[
    "only_in_base", "only_in_candidate", "axis_differs", "no_verdict_in_base",
    "no_verdict_in_candidate", "quarantined",
]  # fmt: skip


class ExcludedCase(Record):
    """A case that is not in the test, and why."""

    model_id: str = Field(description="Of the candidate; of the base where only that has it.")
    suite_id: str
    case_id: str
    reason: Exclusion
    axes: tuple[Axis, ...] = Field(default=(), description="That differ and are not allowed.")


class SideFacts(Record):
    """One group on one side, over the cases that both sides planned and that are comparable."""

    model_id: str
    run_ids: tuple[str, ...]
    n_cases: Count
    n_planned: Count
    n_scorable: Count = Field(description="Planned trials that can get a verdict.")
    n_total: Count = Field(description="Trials with a result.")
    n_reused: Count = Field(description="Results taken from an older run.")
    n_scored: Count = Field(description="Trials with a verdict.")
    n_passed: Count
    n_timeout: Count = Field(description="Of the trials that can get a verdict.")
    n_truncated: Count = Field(default=0, description="Answers cut off at a limit of length.")
    truncated_after: tuple[Count, Count] | None = Field(
        default=None, description="Fewest and most output tokens of an answer that was cut off."
    )
    passed_rate: Rate | None = Field(description="n_passed / n_scored.")
    ci95: Interval | None
    score_strict: Rate | None = Field(description="n_passed / n_scorable: the lower bound.")
    score_upper: Rate | None = Field(description="What is missing counted as passed.")
    score_available: Rate | None = Field(description="n_passed / n_scored.")
    coverage: Rate | None = Field(description="n_scored / n_scorable.")
    timeout_share: Rate | None = Field(description="n_timeout / n_scorable.")
    causes: dict[str, Count] = Field(
        description="Why trials have no verdict: cause of the failure, `missing`, or `unknown`."
    )
    served_models: tuple[str, ...] = Field(description="What the server said it served.")
    pass_at_k: tuple[PassK, ...]
    pass_hat_k: tuple[PassK, ...]


class NightNoise(Record):
    """How much nights vary, which a difference between runs of different nights has in it."""

    basis: Literal["measured", "assumed"] = Field(
        description="Past runs of the same level say it, or there are fewer than three of them."
    )
    n_runs: Count = Field(description="Past runs behind it.")
    sd: float = Field(
        ge=0,
        description="Standard deviation of a night: of the passed rate, or of the logarithm of a "
        "time, a count or a cost (0.08: 8 %). Past runs, drawn towards the assumption.",
    )
    seen_sd: float | None = Field(
        default=None, ge=0, description="That the past runs show alone; null: fewer than three."
    )
    df: Count = Field(description="Degrees of freedom of it, those of the assumption included.")
    n_base_runs: Count = Field(description="Nights that the base is the mean of.")
    n_candidate_runs: Count = Field(description="Nights that the candidate is the mean of.")
    low: Difference | None = Field(
        default=None, description="95 % limit of the rate difference with nights in it."
    )
    high: Difference | None = None
    low90: Difference | None = Field(default=None, description="The same at 90 %.")
    high90: Difference | None = None


class RateDifference(Record):
    """Paired difference of the passed rate over cases, candidate minus base.

    Of trials made in the runs: answers that were taken over count in the rates of a side, and not
    here.
    """

    method: Literal["mover_wilson"] = "mover_wilson"
    test: Literal["sign_flip_mid_p", "sign_flip", "sign_flip_normal", "intersection_union"] = Field(
        description=(
            "intersection_union: cases have not as many trials on both sides, so the permutation "
            "within cases must agree with interval or t over cases. sign_flip: of version 1."
        )
    )
    cases: Literal["sample"] = "sample"
    n_cases: Count = Field(description="With a verdict of their own on both sides.")
    n_clusters: Count | None = Field(default=None, description=UNITS)
    n_nonzero: Count = Field(description="Units with a different rate on the two sides.")
    base_rate: Rate = Field(description="Mean over these units of the share that passed.")
    candidate_rate: Rate = Field(description="Mean over these units of the share that passed.")
    difference: Difference
    low: Difference = Field(description="95 % interval.")
    high: Difference = Field(description="95 % interval.")
    low90: Difference = Field(description="90 % interval: two one-sided tests.")
    high90: Difference = Field(description="90 % interval.")
    p: Rate
    q: Rate | None = Field(description="After Benjamini and Hochberg, over the models of the call.")
    detectable: Rate | None = Field(
        description="Smallest drop that a plan of the size of both sides shows four times in five, "
        "by the candidate's history; 1: none. `smallest_difference` of `analyze power`."
    )
    is_borderline: bool = Field(description="Test and interval disagree; the test decides.")
    cases_needed: Count | None = Field(
        description=(
            "About so many units, each with `repetitions` trials, show four times in five that "
            "nothing changed by the margin, with what nights vary by where there are two; null: "
            "there are as many, or `is_beyond_reach`. `cases_unchanged` of `analyze power`."
        )
    )
    cases_needed_same_night: Count | None = Field(
        default=None, description="The same within one night; null: written before it was kept."
    )
    is_beyond_reach: bool = Field(
        default=False, description="Nights vary too much for any number of units to show it."
    )
    n_planned_units: Count | None = Field(
        default=None,
        description="Units that both sides planned trials of their own for, whose size `detectable`"
        " is of; null: written before it was kept.",
    )
    repetitions: float | None = Field(
        default=None,
        ge=1,
        description="Trials of each unit in `cases_needed`: the candidate's, of several runs the "
        "harmonic mean of both sides, and 1 where repeating shows nothing; null: written before "
        "it was kept.",
    )
    planned_repetitions: tuple[Positive, Positive] | None = Field(
        default=None,
        description="Trials of a case that base and candidate planned, behind `detectable`; null: "
        "written before it was kept.",
    )
    margin: Rate | None = Field(
        default=None, description="Margin at this base rate, smaller near 0 and 1; null: version 1."
    )
    missing_p: Rate | None = Field(
        default=None,
        description=(
            "p with every missing verdict failed on both sides, 1 where the sign turns; "
            "null: none is missing."
        ),
    )
    night_p: Rate | None = Field(
        default=None,
        description="p with the noise of nights; a verdict between nights needs it too. "
        "Null: both sides are the same nights.",
    )
    night: NightNoise | None = Field(default=None, description="Null: the same nights.")

    @property
    def n_units(self) -> int:
        """Draws that the test rests on."""
        return self.n_cases if self.n_clusters is None else self.n_clusters


class Ratio(Record):
    """Paired ratio of a cost or a time over cases, candidate over base."""

    metric: RatioMetric
    method: Literal["t_of_log_case_means"] = "t_of_log_case_means"
    n_cases: Count = Field(description="Measured on both sides.")
    n_clusters: Count | None = Field(default=None, description=UNITS)
    ratio: float | None = Field(description="Null below five cases, and where a side cost 0.")
    low: float | None = Field(description="95 % interval.")
    high: float | None = Field(description="95 % interval.")
    low90: float | None
    high90: float | None
    p: Rate | None
    q: Rate | None = Field(description="After Benjamini and Hochberg, a family of its own.")
    left_out_base: Rate | None = Field(description="Share of the trials that are not in it.")
    left_out_candidate: Rate | None = Field(description="Share of the trials that are not in it.")
    totals_ratio: float | None = Field(description="Of the sums over the same trials, untested.")
    verdict: Verdict = Field(description="regressed: higher, which costs more or takes longer.")
    reason: str | None = Field(
        description="Why it is not comparable, such as `censored`, or unchanged without a ratio: "
        "nothing was paid on either side."
    )
    night: NightNoise | None = Field(
        default=None, description="What is in the interval and p; null: the same nights."
    )

    @property
    def n_units(self) -> int:
        """Draws that the test rests on."""
        return self.n_cases if self.n_clusters is None else self.n_clusters


class ScoreDifference(Record):
    """Paired difference of judges' scores over cases, candidate minus base, on 0-10."""

    evaluation_profile_id: str
    method: Literal["t_of_case_means"] = "t_of_case_means"
    n_cases: Count = Field(description="With a score on both sides.")
    n_clusters: Count | None = Field(default=None, description=UNITS)
    n_base: Count = Field(description="Trials of the base with a score.")
    n_candidate: Count = Field(description="Trials of the candidate with a score.")
    base_score: float | None = Field(description="Mean over these units; null: there are none.")
    candidate_score: float | None = Field(description="Mean over these units.")
    difference: float | None = Field(description="Null below five units.")
    low: float | None = Field(description="95 % interval.")
    high: float | None = Field(description="95 % interval.")
    low90: float | None
    high90: float | None
    p: Rate | None
    q: Rate | None = Field(
        description="After Benjamini and Hochberg, of one family with the ratios."
    )
    verdict: Verdict = Field(description="unchanged: the 90 % interval lies within 0.25 points.")
    reason: str | None = Field(
        description="Why it is not comparable, such as `censored` or `judged otherwise`."
    )
    decides: bool = Field(default=False, description="Its judges have a say in what passed.")
    drift: ScoreDrift | None = Field(default=None, description="Null: none was judged again.")
    next_command: str | None = Field(
        default=None, description="Has answers judged again, where a change may be the judge's own."
    )

    @property
    def n_units(self) -> int:
        """Draws that the test rests on."""
        return self.n_cases if self.n_clusters is None else self.n_clusters


class CaseChange(Record):
    """One case with one model on both sides; a case alone has no verdict."""

    suite_id: str
    case_id: str
    model_id: str = Field(description="Of the base.")
    candidate_model_id: str
    base_passed: Count
    base_scored: Positive
    candidate_passed: Count
    candidate_scored: Positive
    difference: Difference
    flip: Literal["broke", "fixed"] | None = Field(
        description="The majority of the verdicts changed; null: it did not, or there is none."
    )
    commands: tuple[str, ...] = Field(description="That show the answers of both sides.")


class GroupComparison(Record):
    """One model on both sides: the facts, the difference, the verdict."""

    provider: str
    model: str
    thinking_level: str | None
    model_id: str
    candidate_provider: str
    candidate_model: str
    candidate_thinking_level: str | None
    candidate_model_id: str
    verdict: Verdict
    reasons: tuple[str, ...] = Field(description="Why it is not comparable, or what limits it.")
    warnings: tuple[str, ...] = Field(description="Such as many time-outs.")
    base: SideFacts
    candidate: SideFacts
    difference: RateDifference | None = Field(
        description="Null below two cases, or clusters, on both sides."
    )
    n_cases: Count | None = Field(
        default=None,
        description="With a verdict of a trial made in the runs, on both sides: what a test can "
        "rest on; null: written before it was kept.",
    )
    n_clusters: Count | None = Field(default=None, description=UNITS)
    ratios: tuple[Ratio, ...]
    scores: tuple[ScoreDifference, ...] = Field(
        default=(), description="By evaluation profile, of those with a score on both sides."
    )

    @property
    def n_units(self) -> int:
        """Draws that a test can rest on."""
        return (self.n_cases or 0) if self.n_clusters is None else self.n_clusters


class PlainDifference(Record):
    """Rates of some cases on both sides with an interval and no verdict: overall, or of a tag."""

    name: str = Field(description="The tag, or `overall`.")
    model_id: str | None = Field(description="Null: all models together.")
    n_cases: Count
    n_clusters: Count | None = Field(default=None, description=UNITS)
    base_rate: Rate
    candidate_rate: Rate
    difference: Difference
    low: Difference
    high: Difference


class Comparison(Record):
    """Two sides, what differs between them, and what follows for each model."""

    MODEL_WORDS: ClassVar[tuple[str, ...]] = ("unmatched",)

    schema_version: Positive = COMPARISON_VERSION
    base: Side
    candidate: Side
    allowed: tuple[Axis, ...]
    limits: ThresholdsUsed
    axes: tuple[AxisReport, ...] = Field(description="Every axis, in their order.")
    excluded: tuple[ExcludedCase, ...]
    unmatched: tuple[str, ...] = Field(description="Models that only one side has, in words.")
    renames: tuple[Rename, ...] = Field(
        default=(),
        description="Cases with the content of one that is gone, by another id: not paired.",
    )
    groups: tuple[GroupComparison, ...]
    next_command: str | None = Field(
        default=None,
        description="Compares a model of each side, where none is on both; null: one is.",
    )
    overall: PlainDifference | None = Field(description="Only where there are several models.")
    tags: tuple[PlainDifference, ...] = Field(description="With `--by tag`.")
    cases: tuple[CaseChange, ...] = Field(description="All that changed, worst first.")
