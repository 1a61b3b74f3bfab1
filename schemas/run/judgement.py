"""What judges say of trials: lines of evaluations.jsonl beside those of later checks.

Of one judge asked once there is a `judge_iteration`, written as its answer comes; what all of them
come to, by the profile, is a `judgement`. Scores are on 0-10.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import Field

from schemas.base import (
    SCHEMA_VERSION,
    Count,
    EpochMillis,
    JsonText,
    Millis,
    Positive,
    Rate,
    Record,
    Sha256,
    Slug,
    Tokens,
    Usd,
)
from schemas.config.checks import Dimension
from schemas.run.result import CostSource

MAX_SCORE = 10.0

ExpectationVerdict = Literal["met", "partly", "missed", "cannot_say"]

JudgeFailure = Literal["refusal", "invalid", "truncated", "no_response", "judge_down"]
"""Why a judge has no say; never the subject's failure."""

Score = Annotated[float, Field(ge=0, le=MAX_SCORE)]
"""On 0-10, whatever scale the judge was shown."""


class DimensionScores(Record):
    """A score of each side of a trial; null: nothing speaks for it."""

    task: Score | None = Field(default=None, description="Was it done, and is it correct?")
    process: Score | None = Field(default=None, description="Were the steps sensible?")
    autonomy: Score | None = Field(default=None, description="Did it go on by itself?")
    closeness: Score | None = Field(default=None, description="Does it keep to what was asked?")
    efficiency: Score | None = Field(default=None, description="Was nothing done in vain?")
    spark: Score | None = Field(default=None, description="Is there more than was asked?")

    @property
    def known(self) -> dict[str, float]:
        """Return the scores that there are, by dimension."""
        return {name: score for name, score in self if score is not None}


class Verdict(Record):
    """What is said of one expectation."""

    expectation: str = Field(
        description="`hard-1`, `soft-1` and so on: its place in the list of the case."
    )
    verdict: ExpectationVerdict


class Opinion(Record):
    """One answer of a judge, or what several come to."""

    overall: Score = Field(description="Of the whole trial.")
    dimensions: DimensionScores = Field(description="Of each side of it.")
    verdicts: tuple[Verdict, ...] = Field(description="Of each expectation.")

    @classmethod
    def of(
        cls,
        overall: float,
        dimensions: Mapping[str, float],
        verdicts: Mapping[str, ExpectationVerdict],
    ) -> Opinion:
        """Return an opinion from scores by dimension and verdicts by expectation."""
        said = tuple(Verdict(expectation=name, verdict=one) for name, one in verdicts.items())
        return cls(overall=overall, dimensions=DimensionScores(**dimensions), verdicts=said)

    @property
    def by_expectation(self) -> dict[str, ExpectationVerdict]:
        """Return the verdicts by the name of the expectation."""
        return {one.expectation: one.verdict for one in self.verdicts}


class JudgedRecord(Record):
    """Which record of which trial is judged, by which profile."""

    record_type: str
    run_id: str = Field(description="Run the trial belongs to.")
    model_id: Slug = Field(description="Local name of the model.")
    case_id: Slug = Field(description="Case that was asked.")
    repetition: Positive = Field(description="From 1.")
    result_no: Positive = Field(description="Line of results.jsonl that was judged.")
    kind: Literal["judge"] = Field(default="judge", description="Always `judge`.")
    evaluated_at_ms: EpochMillis = Field(description="Wall clock, when it was done.")
    evaluation_profile_id: Slug = Field(description="Evaluation profile that names the judges.")


class AskedRecord(JudgedRecord):
    """One judge asked once: who, what it took, and what went wrong."""

    judge_run_id: Slug = Field(description="Of the profile.")
    judge_id: Slug = Field(description="Of the profile.")
    iteration: Positive = Field(description="Of the judge run's repetitions, from 1.")
    question_hash: Sha256 = Field(
        description="Of the judge, its settings and its prompt: with another one it is asked again."
    )
    requested_model: str = Field(description="Model string that was asked for.")
    served_model: str | None = Field(description="Model that answered, as the answer says.")
    failure: JudgeFailure | None = Field(description="Why it has no say; null: it has one.")
    error_message: str | None = Field(description="What was wrong, in a sentence.")
    summary: str | None = Field(description="As the judge wrote it, or its beginning.")
    evidence: JsonText = Field(
        description="By what it speaks for: texts as the judge wrote them, or their beginnings."
    )
    n_answers: Count = Field(description="Answers, repairs included.")
    attempt_count: Count = Field(description="Requests, retries included.")
    input_tokens: Tokens | None = Field(description="Of all answers; null: one does not say.")
    output_tokens: Tokens | None = Field(description="Of all answers; null: one does not say.")
    cost_usd: Usd | None = Field(description="Of all answers, in USD; null: one is unknown.")
    cost_source: CostSource | None = Field(
        description="`provider`: as the server says; `computed` from a price; null: unknown."
    )
    e2e_ms: Millis | None = Field(description="The judge's time over all answers.")
    artifact_path: str | None = Field(description="Prompts and raw answers: file#offset.")
    benchlake_version: str = Field(description="That asked.")
    schema_version: Positive = Field(default=SCHEMA_VERSION, description="Of this line.")


class JudgeIteration(AskedRecord):
    """One judge asked once about one record of a trial."""

    record_type: Literal["judge_iteration"] = Field(
        default="judge_iteration", description="Always `judge_iteration`."
    )
    opinion: Opinion | None = Field(description="Null: the judge failed.")
    overall_as_said: float | None = Field(description="On the rubric's own scale.")
    reused_from_run_id: str | None = Field(
        default=None,
        description="Run that asked; taken over with its answer, without cost and time.",
    )


class JudgeRunScore(Record):
    """What one judge run comes to."""

    judge_run_id: str
    judge_id: str
    n_successful: Count = Field(description="Iterations with an opinion.")
    n_failed: Count = Field(description="Iterations without one.")
    n_used: Count = Field(description="Of those with one, how many count: `sample_size`.")
    opinion: Opinion | None


class Judgement(JudgedRecord):
    """What all judges of a profile come to on one record of a trial."""

    record_type: Literal["judgement"] = Field(
        default="judgement", description="Always `judgement`."
    )
    evaluation_fingerprint: Sha256 = Field(
        description="Of all questions and of how their answers combine."
    )
    status: Literal["success", "failed"] = Field(description="`failed`: no iteration succeeded.")
    opinion: Opinion | None = Field(
        description="Its overall score is the final score; null: no answer could be used."
    )
    pass_threshold: Score | None = Field(description="On 0-10; null: the profile has none.")
    passed: bool | None = Field(
        description="Overall score at or above it; null: no score, or none."
    )
    judge_hash: Sha256 | None = Field(
        default=None,
        description="Of judges, their prompt and aggregation; null: written before it was kept.",
    )
    failed_dimensions: tuple[Dimension, ...] = Field(description="Below it; they decide nothing.")
    soft_score: Rate | None = Field(description="Weighted credit of the soft expectations.")
    check_scores: DimensionScores = Field(
        description="Means of 10 and 0 of the checks that speak for a dimension."
    )
    judge_runs: tuple[JudgeRunScore, ...] = Field(description="What each of them came to.")
    benchlake_version: str = Field(description="That combined them.")
    schema_version: Positive = Field(default=SCHEMA_VERSION, description="Of this line.")
