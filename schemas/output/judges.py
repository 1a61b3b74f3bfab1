"""What `analyze judges` prints as JSON: how far the judges of runs can be believed."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from schemas.base import SCHEMA_VERSION, Count, EpochMillis, Interval, Positive, Rate, Record
from schemas.output.score_drift import DriftVerdict

AgreementScope = Literal["within", "between"]

AgreementOf = Literal["score", "expectations", "pass"]


class MeanWithLimits(Record):
    """A mean over cases, or clusters of them, with the limits of Student's t."""

    mean: float
    low: float | None = Field(description="95 % limit; null below five units.")
    high: float | None = Field(description="95 % limit; null below five units.")
    n_units: Positive = Field(description="Cases, or clusters of them.")


class JudgeRunFigure(Record):
    """What is said of one judge run of an evaluation profile."""

    evaluation_profile_id: str
    judge_run_id: str
    judge_id: str


class Agreement(Record):
    """How alike answers about the same trials are."""

    evaluation_profile_id: str
    scope: AgreementScope = Field(
        description="`within`: iterations of one judge run; `between`: what judge runs come to."
    )
    of: AgreementOf = Field(
        description="`score` on 0-10, `expectations` missed, partly or met, `pass`: at or above "
        "the threshold."
    )
    judge_run_ids: tuple[str, ...] = Field(description="One within, two or more between.")
    judge_ids: tuple[str, ...] = Field(description="Their judges, in that order.")
    alpha: float | None = Field(
        description="Krippendorff's alpha, interval for scores, ordinal for expectations, nominal "
        "for passes: 1 the same, 0 as by chance; null: nothing varies."
    )
    alpha_low: float | None = Field(
        description="95 % limit by a bootstrap over cases, approximate; null below 20 cases."
    )
    alpha_high: float | None = Field(description="The same.")
    n_units: Count = Field(description="Trials, or expectations of them, with two answers or more.")
    n_cases: Count = Field(description="Cases, or clusters of them, that these are of.")
    n_cannot_say: Count = Field(description="Answers without an opinion on an expectation.")
    bias: MeanWithLimits | None = Field(
        description="Second minus first on the same trials, of scores in points: of two judge "
        "runs, or of the last and the first iteration; null of anything else."
    )
    mean_absolute_difference: float | None = Field(
        description="Of pairs of answers about one trial, in points; null of anything but scores."
    )
    within_one_point: Rate | None = Field(
        description="Share of these pairs that differ by at most one point."
    )


class VarianceSplit(JudgeRunFigure):
    """Where scores of a judge run vary: between cases, trials of a case, answers about a trial."""

    model_id: str
    n_cases: Count = Field(description="Cases, or clusters of them.")
    n_trials: Count
    n_scores: Count
    case_sd: float | None = Field(description="Points; null: no two cases.")
    agent_sd: float | None = Field(
        description="Points between trials of a case, without the judge's own noise; null: no case "
        "has two."
    )
    judge_sd: float | None = Field(
        description="Points between answers about one trial; null: no trial has two."
    )


class CaseSpread(Record):
    """A trial whose judge is of several minds."""

    evaluation_profile_id: str
    judge_run_id: str
    run_id: str
    model_id: str
    case_id: str
    repetition: Positive
    n_answers: Positive
    low: float = Field(description="Lowest score.")
    high: float = Field(description="Highest score.")
    sd: float = Field(description="Standard deviation, in points.")


class PlaceEffect(JudgeRunFigure):
    """How often one judge run prefers a place, of two answers shown in both orders."""

    n_comparisons: Count = Field(description="Answered in both orders, without `cannot_say`.")
    n_flips_to_first: Count = Field(description="Both times for what stood first.")
    n_flips_to_second: Count = Field(description="Both times for what stood second.")
    flip_rate: Rate | None = Field(description="Mean over cases of the share of either.")
    flip_ci95: Interval | None
    leans_to: Literal["first", "second"] | None = Field(
        description="Flips go there more often than to the other place, by a sign test over cases; "
        "null: that is not shown."
    )


class LengthEffect(JudgeRunFigure):
    """How scores go with the length of answers to the same case by the same model."""

    points_per_doubling: float = Field(description="Of the answer's length.")
    low: float | None = Field(description="95 % limit; null below five cases.")
    high: float | None = Field(description="95 % limit; null below five cases.")
    n_trials: Count
    n_cases: Count = Field(description="Cases, or clusters of them, with answers of two lengths.")


class SelfPreference(JudgeRunFigure):
    """What a judge gives models of its own family beyond what the other judges give them."""

    family: str
    difference: MeanWithLimits = Field(
        description="Own family's lead over the others, in points, less that by the other judges."
    )


class OrderReversal(Record):
    """Two models that two judge runs rank otherwise, by their mean scores over common cases."""

    evaluation_profile_id: str
    judge_run_ids: tuple[str, str]
    model_ids: tuple[str, str]
    differences: tuple[float, float] = Field(
        description="Second model minus the first, in points, for either judge run."
    )


class RankAgreement(Record):
    """How alike two judge runs order the models."""

    evaluation_profile_id: str
    judge_run_ids: tuple[str, str]
    n_models: Count
    tau: float | None = Field(
        description="Kendall's tau-b of mean scores over common cases; null below five models."
    )


class JudgeDrift(JudgeRunFigure):
    """One judge run asked the same about the same stored answers at two times."""

    n_trials: Count = Field(description="Stored answers that were judged again.")
    n_cases: Count = Field(description="Cases, or clusters of them.")
    first_at_ms: EpochMillis = Field(description="When the first of them was judged.")
    last_at_ms: EpochMillis = Field(description="When the last of them was judged again.")
    first_models: tuple[str, ...] = Field(description="Models that answered at first.")
    last_models: tuple[str, ...] = Field(description="Models that answered at last.")
    difference: MeanWithLimits = Field(description="Last minus first score, in points.")
    verdict: DriftVerdict = Field(
        description="`unchanged`: the 90 % interval lies within 0.25 points; `drifted`: p at most "
        "0.05; `too_few`: below 20 answers or five cases."
    )


class RateWithLimits(Record):
    """A rate with its 95 % limits."""

    estimate: Rate
    low: Rate
    high: Rate


class Calibration(Record):
    """How the verdicts or scores of judges stand to labels of people."""

    evaluation_profile_id: str
    judge_run_id: str | None = Field(description="Null: what all of the profile come to.")
    judge_hashes: tuple[str, ...] = Field(
        description="Ways to judge that were found; a calibration is of one of them."
    )
    served_models: tuple[str, ...] = Field(description="Models that answered as judges.")
    pass_threshold: float | None = Field(description="From which score on a trial passes.")
    n_labels: Count = Field(description="Trials with a label and a score of the judge.")
    n_units: Count = Field(description="Cases, or clusters of them, that these are of.")
    n_unjudged: Count = Field(description="Trials with a label and no score.")
    n_undecided: Count = Field(description="Trials about which annotators are divided evenly.")
    n_judged: Count = Field(description="Trials with a score.")
    n_pass_pass: Count | None = Field(description="Passed by people and by the judge.")
    n_pass_fail: Count | None = Field(description="Passed by people, failed by the judge.")
    n_fail_pass: Count | None = Field(description="Failed by people, passed by the judge.")
    n_fail_fail: Count | None = Field(description="Failed by both.")
    sensitivity: Rate | None = Field(description="Share of what people passed that it passes.")
    sensitivity_ci95: Interval | None
    specificity: Rate | None = Field(description="Share of what people failed that it fails.")
    specificity_ci95: Interval | None
    youden: float | None = Field(
        description="Sensitivity + specificity - 1: 1 always right, 0 as a constant answer."
    )
    youden_low: float | None = Field(description="Lower 95 % limit of it.")
    accuracy: Rate | None = Field(description="Share on which both say the same.")
    constant_accuracy: Rate | None = Field(
        description="That of a judge that always says what people say more often."
    )
    label_rate: Rate | None = Field(description="Passed by the labels alone: mean over cases.")
    label_ci95: Interval | None = Field(description="Of that; needs no judge to be right.")
    judge_rate: Rate | None = Field(description="Passed by the judge, of all that it judged.")
    ppi: RateWithLimits | None = Field(
        description="Passed by PPI++: the judge's rate on all cases, corrected by the labels; "
        "null below 60 labelled cases."
    )
    rogan_gladen: RateWithLimits | None = Field(
        description="The same by sensitivity and specificity; null below 60, and where the judge "
        "may be no better than chance."
    )
    bias: MeanWithLimits | None = Field(
        description="Judge minus people, in points; null: labels are no scores."
    )
    mean_absolute_error: float | None = Field(description="In points.")


class Labelling(Record):
    """What a file of labels holds."""

    path: str
    kind: Literal["verdict", "score"]
    n_trials: Positive
    annotators: tuple[str, ...] = Field(description="An empty name: the file does not say.")
    agreement: float | None = Field(
        description="Krippendorff's alpha of the annotators, nominal or interval; null: no trial "
        "has two, or nothing varies."
    )
    n_shared: Count = Field(default=0, description="Trials with labels of two annotators or more.")
    same: Rate | None = Field(
        default=None, description="Of pairs of labels of a trial, those that are the same verdict."
    )
    kappa: float | None = Field(
        default=None,
        description="Cohen's, where two annotators gave verdicts; falls where nearly "
        "all pass, or fail.",
    )
    ac1: float | None = Field(default=None, description="Gwet's, of verdicts; does not fall there.")
    pass_share: Rate | None = Field(
        default=None, description="Of the labels of these trials, verdicts that are `pass`."
    )


class JudgesReport(Record):
    """How far judges can be believed."""

    schema_version: Positive = SCHEMA_VERSION
    run_ids: tuple[str, ...]
    agreement: tuple[Agreement, ...]
    variance: tuple[VarianceSplit, ...]
    spread: tuple[CaseSpread, ...] = Field(description="Widest first.")
    places: tuple[PlaceEffect, ...]
    lengths: tuple[LengthEffect, ...]
    self_preference: tuple[SelfPreference, ...]
    ranks: tuple[RankAgreement, ...]
    reversals: tuple[OrderReversal, ...]
    drift: tuple[JudgeDrift, ...] = Field(
        default=(), description="Of judge runs that were asked the same again."
    )
    labels: Labelling | None = Field(default=None, description="Null: no labels were given.")
    calibration: tuple[Calibration, ...] = ()
