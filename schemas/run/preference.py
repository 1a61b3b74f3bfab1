"""Two trials of one case held against each other by judges: lines of evaluations.jsonl.

A judge is asked in both orders, since what stands first has a better chance with most of them. Of
one judge asked once, in one order, there is a `pair_iteration`; what all of them come to is a
`preference`. `this` is the trial that the line is about, `other` the one it is held against.
"""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from schemas.base import SCHEMA_VERSION, Count, Positive, Record, Sha256, Slug
from schemas.run.judgement import AskedRecord, JudgedRecord

PairOrder = Literal["this_first", "other_first"]

Preferred = Literal["this", "other", "tie", "cannot_say"]

PairOutcome = Literal["won", "tied", "lost"]


class PairedRecord(JudgedRecord):
    """Which trial a trial is held against: of the same case and repetition."""

    other_run_id: str = Field(description="Run of the other trial.")
    other_model_id: Slug = Field(description="Local name of its model.")
    other_result_no: Positive = Field(description="Its line of that run's results.jsonl.")


class PairIteration(AskedRecord, PairedRecord):
    """One judge asked once which of two trials is better, in one order."""

    record_type: Literal["pair_iteration"] = Field(
        default="pair_iteration", description="Always `pair_iteration`."
    )
    pair_order: PairOrder = Field(description="Which of both the judge was shown first.")
    preferred: Preferred | None = Field(description="Null: the judge failed.")


class PairRunOutcome(Record):
    """What one judge run comes to; a comparison is one iteration in both orders."""

    judge_run_id: str
    judge_id: str
    n_successful: Count = Field(description="Comparisons with an answer in both orders.")
    n_failed: Count = Field(description="Comparisons without.")
    n_used: Count = Field(description="Of those with, how many count: `sample_size`.")
    outcome: PairOutcome | None = Field(description="Of this trial; null: nothing can be said.")


class Preference(PairedRecord):
    """What all judges of a profile come to on two trials."""

    record_type: Literal["preference"] = Field(
        default="preference", description="Always `preference`."
    )
    evaluation_fingerprint: Sha256 = Field(
        description="Of all questions and of how their answers combine."
    )
    status: Literal["success", "failed"] = Field(
        description="`failed`: no comparison has an answer in both orders."
    )
    outcome: PairOutcome | None = Field(
        description="Of this trial: preferred in both orders, or the other one, else tied; null: "
        "no judge can say."
    )
    is_identical: bool = Field(description="Both left the same: tied, and nobody is asked.")
    n_comparisons: Count = Field(description="That count.")
    n_flips_to_first: Count = Field(
        description="Of these, in both orders for whichever stood first: a tie."
    )
    n_flips_to_second: Count = Field(
        description="Of these, in both orders for whichever stood second: a tie."
    )
    answer_chars: Count = Field(description="Characters of this trial's final answer.")
    other_answer_chars: Count = Field(description="Characters of the other one's.")
    judge_runs: tuple[PairRunOutcome, ...] = Field(description="What each of them came to.")
    benchlake_version: str = Field(description="That combined them.")
    schema_version: Positive = Field(default=SCHEMA_VERSION, description="Of this line.")
