"""What judges said of a run, in typed parts of its report."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from schemas.base import Count, Interval, Positive, Rate, Record, UsdSum
from schemas.output.judges import Agreement, JudgeDrift, VarianceSplit
from schemas.run.judgement import Score


class JudgedScore(Record):
    """What the judges of one evaluation profile came to on the trials of one model."""

    model_id: str
    evaluation_profile_id: str
    is_own: bool = Field(description="The profile that the run was made with.")
    decides: bool = Field(description="Its judges have a say in the verdicts of this report.")
    n_judged: Positive = Field(description="Trials with a judgement.")
    n_failed: Count = Field(description="Of these, without an answer that could be used.")
    n_units: Count = Field(description="Cases with a score, or clusters of them.")
    score: Score | None = Field(description="Mean over cases, or clusters of them, on 0-10.")
    score_low: Score | None = Field(description="95 % t interval of that mean; null below two.")
    score_high: Score | None = Field(description="95 % t interval of that mean; null below two.")
    n_decided: Count = Field(description="Trials with a score, where the profile has a threshold.")
    n_passed: Count = Field(description="Of these, at or above the threshold.")
    soft_score: Rate | None = Field(
        description="Mean weighted credit of the soft expectations; null: nothing was said of any."
    )


class ModelPreference(Record):
    """How the trials of one model stand against those of a rival, for the judges of a profile."""

    model_id: str
    evaluation_profile_id: str
    other_run_id: str = Field(description="Run of the rival; perhaps the run itself.")
    other_model_id: str = Field(description="The rival.")
    n_compared: Positive = Field(description="Trials held against one of the rival.")
    n_won: Count = Field(description="Of these, preferred in both orders.")
    n_tied: Count = Field(description="Of these, with no preference that the order leaves alone.")
    n_lost: Count = Field(description="Of these, where the rival is preferred in both orders.")
    n_identical: Count = Field(description="Of those tied, where both left the same.")
    n_cannot_say: Count = Field(description="Of those compared, where no judge can say.")
    n_failed: Count = Field(description="Of those compared, without a usable answer in each order.")
    n_units: Count = Field(description="Cases with an outcome, or clusters of them.")
    share: Rate | None = Field(
        description="Mean over those units of 1 for won, 1/2 for tied and 0 for lost: at 0.5 "
        "neither is preferred; null: no outcome."
    )
    share_ci95: Interval | None = Field(
        description="Its 95 % interval, of a rate over cases; null below two units."
    )
    n_comparisons: Count = Field(description="Questions with an answer in both orders that count.")
    n_flips_to_first: Count = Field(description="Of these, both times for what stood first: ties.")
    n_flips_to_second: Count = Field(
        description="Of these, both times for what stood second: ties."
    )
    n_longer_won: Count = Field(description="Trials won or lost by the longer answer.")
    n_shorter_won: Count = Field(description="Trials won or lost by the shorter answer.")


class JudgeAnswers(Record):
    """What one judge answered; its failures are its own, each by its kind."""

    evaluation_profile_id: str
    judge_id: str
    question: Literal["score", "pair"] = Field(
        description="`score`: of one trial; `pair`: which of two is better."
    )
    n_asked: Positive = Field(
        description="Questions of this run, also those of before another answer."
    )
    n_answered: Count = Field(description="Questions with an answer that could be used.")
    n_refusal: Count = Field(description="It would not judge.")
    n_invalid: Count = Field(description="Its answers did not fit.")
    n_truncated: Count = Field(description="Its answer was cut off.")
    n_no_response: Count = Field(description="Its answers were empty.")
    n_judge_down: Count = Field(description="It could not be reached, or its server failed.")
    cost_usd: UsdSum | None = Field(description="Of answers of known cost; null: of none.")
    n_cost_known: Count = Field(description="Answers of known cost.")


class JudgedParts(Record):
    """Scores, preferences and answers, by evaluation profile."""

    scores: tuple[JudgedScore, ...]
    preferences: tuple[ModelPreference, ...]
    judges: tuple[JudgeAnswers, ...]
    agreement: tuple[Agreement, ...] = Field(
        default=(), description="Of judge runs that were asked more than once, and between them."
    )
    variance: tuple[VarianceSplit, ...] = Field(default=(), description="By judge run and model.")
    drift: tuple[JudgeDrift, ...] = Field(
        default=(), description="Of judge runs that were asked the same again."
    )
