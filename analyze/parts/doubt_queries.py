"""What doubts ask the lake of one run; aggregates are SQL, so a handful of rows come back."""

from __future__ import annotations

SCORABLE = """
    select
        model_id,
        count(*) filter (not has_result),
        count(*) filter (failure_type = 'timeout')
    from planned_trials
    where run_id = ? and is_scorable
    group by model_id
"""
"""By model: what has no result and what timed out, of the trials that can get a verdict."""

MEASURED = """
    select
        model_id,
        count(*) filter (is_measured),
        count(e2e_ms) filter (is_measured and is_success),
        count(*) filter (is_measured and is_success and clock_late_ms > ? * e2e_ms),
        max(clock_late_ms) filter (is_measured and is_success and clock_late_ms > ? * e2e_ms)
    from trials
    where run_id = ?
    group by model_id
"""
"""By model: results of this run itself, and how late our own loop was meanwhile."""

OUTSIDE = """
    select
        failed.model_id,
        failed.failure_type,
        coalesce(failed.cause, 'unknown cause'),
        count(*),
        count(*) filter (plans.is_scorable)
    from int_failures as failed
    left join stg_plans as plans
        on failed.run_id = plans.run_id
        and failed.model_id = plans.model_id
        and failed.case_id = plans.case_id
        and failed.repetition = plans.repetition
    where failed.run_id = ? and not failed.counts_against_model
    group by all
    order by failed.model_id, count(*) desc, failed.failure_type
"""
"""Failures that are not the model's, by model and kind; the most frequent first."""

REUSED = """
    select model_id, reused_from_run_id, count(*)
    from trials
    where run_id = ? and is_reused
    group by all
    order by model_id, count(*) desc, reused_from_run_id
"""
"""Results that were taken from older runs, by model and run."""

EVENTS = """
    select event, model_id, detail
    from stg_events
    where run_id = ? and event in ('run_stopped', 'model_stopped', 'provider_note')
    order by record_no
"""
"""What happened to the run, in order."""
