"""What moved the scores of judges: the judges themselves, or the model."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from schemas.base import Count, EpochMillis, Record

DriftVerdict = Literal["drifted", "unchanged", "inconclusive", "too_few"]

Cause = Literal["judge", "model", "both", "not_known"]
"""What has likelier moved the scores of judges."""


class ScoreDrift(Record):
    """Scores of answers of the base about which judges were asked the same at two times.

    Two differences over the same cases: `difference` is the judge's, of the base's answers alone;
    `candidate_difference` the candidate's, from what the judge said of the base at last.
    """

    n_trials: Count = Field(description="Answers of the base that were judged again.")
    n_cases: Count = Field(description="Their cases with a score of the candidate.")
    n_clusters: Count | None = Field(
        default=None, description="Units that they make up, where some are in clusters."
    )
    first_at_ms: EpochMillis = Field(description="When the first of them was judged.")
    last_at_ms: EpochMillis = Field(description="When the last of them was judged again.")
    candidate_at_ms: EpochMillis = Field(description="When the candidate was last judged.")
    difference: float | None = Field(description="Last minus first; null below five units.")
    low: float | None = Field(description="95 % interval.")
    high: float | None = Field(description="95 % interval.")
    verdict: DriftVerdict = Field(
        description="`unchanged`: the 90 % interval lies within 0.25 points; `drifted`: p at most "
        "alpha; `too_few`: below 20 answers or five units."
    )
    candidate_difference: float | None = Field(
        description="Candidate minus last, of the same cases."
    )
    candidate_low: float | None = Field(description="95 % interval.")
    candidate_high: float | None = Field(description="95 % interval.")
    cause: Cause | None = Field(
        description="Likelier cause, five times as likely as the other; `not_known`: neither is, "
        "or the base was judged again more than a day before or after the candidate; null: nothing "
        "is shown to have changed, or it is too few."
    )


class JudgedLevel(Record):
    """Judges of one evaluation profile beside a level shift of what they have a say in."""

    evaluation_profile_id: str
    drift: ScoreDrift | None = Field(
        description="Of answers before the shift, judged again since; null: there are none."
    )
    next_command: str | None = Field(
        description="Has answers judged again that were judged before; null: they were."
    )
