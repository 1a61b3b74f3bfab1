"""What judges said of a run, in typed parts of its report."""

from __future__ import annotations

from pydantic import Field

from schemas.base import Count, Positive, Rate, Record, UsdSum
from schemas.run.judgement import Score


class JudgedScore(Record):
    """What the judges of one evaluation profile came to on the trials of one model."""

    model_id: str
    evaluation_profile_id: str
    is_own: bool = Field(description="The run's own profile, which has a say in its verdicts.")
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


class JudgeAnswers(Record):
    """What one judge answered; its failures are its own, each by its kind."""

    evaluation_profile_id: str
    judge_id: str
    n_asked: Positive = Field(description="Questions, those of before another answer included.")
    n_answered: Count = Field(description="Questions with an answer that could be used.")
    n_refusal: Count = Field(description="It would not judge.")
    n_invalid: Count = Field(description="Its answers did not fit.")
    n_truncated: Count = Field(description="Its answer was cut off.")
    n_no_response: Count = Field(description="Its answers were empty.")
    n_judge_down: Count = Field(description="It could not be reached, or its server failed.")
    cost_usd: UsdSum | None = Field(description="Of answers of known cost; null: of none.")
    n_cost_known: Count = Field(description="Answers of known cost.")


class JudgedParts(Record):
    """Scores and answers, by evaluation profile."""

    scores: tuple[JudgedScore, ...]
    judges: tuple[JudgeAnswers, ...]
