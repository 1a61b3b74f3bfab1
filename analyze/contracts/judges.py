"""Rows of the views about judges: what one answered, and what all of a profile come to.

Of one trial these are scores; of two trials held against each other, which is preferred.
"""

from __future__ import annotations

from analyze.contracts.base import Columns, raw_columns, view_row
from analyze.contracts.trials import EVALUATION, TRIAL, TRIAL_KEY
from schemas.base import Count, Positive
from schemas.run.evaluation import EvaluationColumns
from schemas.run.judgement import (
    DimensionScores,
    JudgeIteration,
    Judgement,
    JudgeRunScore,
    Score,
    Verdict,
)
from schemas.run.preference import PairIteration, PairRunOutcome, Preference

SCORES: Columns = {
    "verdicts": (
        tuple[Verdict, ...] | None,
        "Of each expectation, by its place in the list of the case; null: no opinion.",
    ),
    **{
        name: (Score | None, f"{field.description} On 0-10; null: no opinion.")
        for name, field in DimensionScores.model_fields.items()
    },
}
"""Columns of one opinion."""

DIMENSIONS = " ".join(DimensionScores.model_fields)

JudgementsRow = view_row(
    "judgements",
    "run_id, evaluation_no",
    f"""
    {TRIAL_KEY} evaluation_no evaluated_at_ms evaluated_at evaluation_profile_id
    evaluation_fingerprint judge_hash status final_score {DIMENSIONS} verdicts pass_threshold passed
    failed_dimensions soft_score check_scores judge_runs is_own is_current benchlake_version
    """,
    EVALUATION,
    TRIAL,
    SCORES,
    raw_columns("judgements", Judgement, EvaluationColumns),
    record_no=(Positive, "Line of results.jsonl that was judged."),
    final_score=(Score | None, "Overall score, on 0-10; null: no answer could be used."),
    passed=(bool | None, "Score at or above the threshold; null: no score, or no threshold."),
    check_scores=(
        DimensionScores,
        "Means of 10 and 0 of the checks that speak for a dimension; beside the scores.",
    ),
    judge_runs=(tuple[JudgeRunScore, ...], "What each judge run of the profile came to."),
    is_own=(bool, "The profile is the run's own, by which judges have a say in its verdicts."),
    is_current=(bool, "The newest of its profile on the record that counts."),
)

JudgeIterationsRow = view_row(
    "judge_iterations",
    "run_id, evaluation_no",
    f"""
    {TRIAL_KEY} evaluation_no evaluated_at_ms evaluated_at evaluation_profile_id judge_run_id
    judge_id iteration requested_model served_model failure error_message overall overall_as_said
    {DIMENSIONS} verdicts summary evidence n_answers attempt_count input_tokens output_tokens
    cost_usd cost_nano_usd cost_source e2e_ms question_hash artifact_path reused_from_run_id
    is_current benchlake_version
    """,
    EVALUATION,
    TRIAL,
    SCORES,
    raw_columns("judge_iterations", JudgeIteration, EvaluationColumns),
    record_no=(Positive, "Line of results.jsonl that was judged."),
    overall=(Score | None, "Of the whole trial, on 0-10; null: the judge failed."),
    evidence=(str | None, "Of `overall`, dimensions and expectations, as JSON text."),
    cost_nano_usd=(Count | None, "cost_usd in whole nano-dollars (USD / 10^9); null: unknown."),
    is_current=(
        bool,
        "The newest of its judge run and iteration on the record that counts.",
    ),
)

OTHER = "other_run_id other_model_id other_record_no"
"""Columns that say which trial a trial is held against."""

PreferencesRow = view_row(
    "preferences",
    "run_id, evaluation_no",
    f"""
    {TRIAL_KEY} evaluation_no evaluated_at_ms evaluated_at evaluation_profile_id {OTHER}
    evaluation_fingerprint status outcome is_identical n_comparisons n_flips_to_first
    n_flips_to_second answer_chars other_answer_chars judge_runs is_current benchlake_version
    """,
    EVALUATION,
    TRIAL,
    raw_columns("preferences", Preference, EvaluationColumns),
    record_no=(Positive, "Line of results.jsonl that is held against another trial."),
    other_record_no=(Positive, "Line of results.jsonl of the other run."),
    judge_runs=(tuple[PairRunOutcome, ...], "What each judge run of the profile came to."),
    is_current=(
        bool,
        "The newest of its profile on the record that counts, against one model of one run.",
    ),
)

PairIterationsRow = view_row(
    "pair_iterations",
    "run_id, evaluation_no",
    f"""
    {TRIAL_KEY} evaluation_no evaluated_at_ms evaluated_at evaluation_profile_id {OTHER}
    judge_run_id judge_id iteration pair_order question_hash requested_model served_model failure
    error_message preferred summary evidence n_answers attempt_count input_tokens output_tokens
    cost_usd cost_nano_usd cost_source e2e_ms artifact_path is_current benchlake_version
    """,
    EVALUATION,
    TRIAL,
    raw_columns("pair_iterations", PairIteration, EvaluationColumns),
    record_no=(Positive, "Line of results.jsonl that is held against another trial."),
    other_record_no=(Positive, "Line of results.jsonl of the other run."),
    evidence=(str | None, "Of what the judge prefers, as JSON text."),
    cost_nano_usd=(Count | None, "cost_usd in whole nano-dollars (USD / 10^9); null: unknown."),
    is_current=(
        bool,
        "The newest of its judge run, iteration and order, against one model of one run.",
    ),
)
