"""Rows of the views whose columns are named as in the data frames of Inspect."""

from __future__ import annotations

from datetime import datetime

from analyze.contracts.base import GROUP, STARTED_AT, view_row
from schemas.base import Count, Positive
from schemas.run.result import Score

EVAL_ID = "Of the run and its model: `run_id/model_id`."

InspectEvalsRow = view_row(
    "v_inspect_evals",
    "run_id, model_id",
    "",
    GROUP,
    eval_id=(str, EVAL_ID),
    eval_set_id=(str | None, "The run's group, as of its shards; null: it stands alone."),
    run_id=GROUP["run_id"],
    task_id=(str, "Suite the run was made from."),
    created=(datetime | None, f"The run's {STARTED_AT}"),
    tags=(tuple[str, ...], "The run's labels."),
    task_name=(str, "Suite the run was made from."),
    task_display_name=(str, "The suite's title."),
    provider=GROUP["provider"],
    model=GROUP["model"],
    thinking_level=GROUP["thinking_level"],
    model_id=GROUP["model_id"],
    dataset_samples=(Positive, "Cases of the plan."),
    epochs=(Positive, "The highest repetition of the plan."),
    status=(str, "`success` where every planned trial has a result, else `started`."),
    total_samples=(Positive, "Trials of the plan."),
    completed_samples=(Count, "Trials that ended without an error; a limit is none."),
    score_headline_name=(str | None, "`passed`; null: no trial has a verdict."),
    score_headline_metric=(str | None, "`accuracy`; null: no trial has a verdict."),
    score_headline_value=(
        float | None,
        "Mean over cases of the share of their trials with a verdict that passed.",
    ),
    score_headline_stderr=(
        float | None,
        "Standard error of that mean, over cases; null with fewer than two.",
    ),
)

InspectSamplesRow = view_row(
    "v_inspect_samples",
    "run_id, model_id, case_id, epoch",
    "",
    GROUP,
    sample_id=(str, "Of the trial: `run_id/model_id/case_id/repetition`."),
    eval_id=(str, EVAL_ID),
    run_id=GROUP["run_id"],
    provider=GROUP["provider"],
    model=GROUP["model"],
    model_id=GROUP["model_id"],
    task_name=(str, "Suite the run was made from."),
    case_id=(str, "Case that was asked."),
    id=(str, "Of the sample: the prompt_id, in an imported log the sample's own."),
    epoch=(Positive, "The repetition, from 1."),
    input=(str | None, "Null: the lake does not hold it."),
    target=(str | None, "Null: the lake does not hold it."),
    description=(str | None, "Title of the case."),
    scores=(
        tuple[Score, ...] | None,
        "Numbers that another tool gave an imported trial, in its order; null in older lakes.",
    ),
    score_headline_name=(
        str | None,
        "`passed` where there is a verdict, else the first of the scores; null: neither.",
    ),
    score_headline_value=(float | None, "1 or 0 of a verdict, else the first of the scores."),
    input_tokens=(Count | None, "Prompt tokens, cached ones included."),
    output_tokens=(Count | None, "Generated tokens, reasoning included."),
    total_tokens=(Count | None, "Both together; null: not known."),
    total_time=(float, "From start to end, in seconds."),
    working_time=(float | None, "Of the model's answers and its tools, in seconds."),
    error=(str, "What was said about the failure; empty: none, or a limit."),
    limit=(str | None, "Limit that ended the trial, as `time`, `turn`, `message` or `token`."),
    retries=(Count | None, "Attempts before the last one; null: there was none at all."),
)
