-- One row per run and model, by the column names of Inspect's `evals_df`.
-- The headline is the accuracy of `passed`, epochs of a sample first, then samples; null where the
-- run has no verdicts. Rates of samples are summed as whole numbers of 1e-12, so a row does not
-- depend on the order of its trials.
with

ended as (
    select
        trials.run_id,
        trials.model_id,
        count(*) as n_ended,
        count(
            case when trials.is_success or limits.record_no is not null then 1 end
        ) as n_completed
    from trials
    left join int_limits as limits
        on trials.run_id = limits.run_id
        and trials.record_no = limits.record_no
    group by trials.run_id, trials.model_id
),

planned as (
    select
        run_id,
        model_id,
        count(distinct case_id) as n_samples,
        max(repetition) as epochs
    from stg_plans
    group by run_id, model_id
),

scored as (
    select
        run_id,
        model_id,
        case_id,
        cast(sum(case when passed then 1 else 0 end) as double) / count(*) as rate
    from trials
    where passed is not null
    group by run_id, model_id, case_id
),

summed as (
    select
        run_id,
        model_id,
        count(*) as n_scored,
        cast(sum(cast(round(rate * 1e12) as bigint)) as double) / 1e12 as total,
        cast(sum(cast(round(rate * rate * 1e12) as bigint)) as double) / 1e12 as total_squares
    from scored
    group by run_id, model_id
),

headline as (
    select
        run_id,
        model_id,
        n_scored,
        total / n_scored as accuracy,
        (total_squares - total * total / n_scored) / nullif(n_scored - 1, 0) / n_scored as variance
    from summed
)

select
    models.run_id || '/' || models.model_id as eval_id,
    runs.run_group as eval_set_id,
    models.run_id,
    models.suite_id as task_id,
    runs.started_at as created,
    runs.labels as tags,
    models.suite_id as task_name,
    runs.suite_title as task_display_name,
    models.provider,
    models.model,
    models.thinking_level,
    models.model_id,
    planned.n_samples as dataset_samples,
    planned.epochs,
    case
        when coalesce(ended.n_ended, 0) < models.n_planned then 'started'
        else 'success'
    end as status,
    models.n_planned as total_samples,
    coalesce(ended.n_completed, 0) as completed_samples,
    case when headline.n_scored > 0 then 'passed' end as score_headline_name,
    case when headline.n_scored > 0 then 'accuracy' end as score_headline_metric,
    headline.accuracy as score_headline_value,
    case
        when headline.variance > 0 then sqrt(headline.variance)
        when headline.variance is not null then 0e0
    end as score_headline_stderr
from int_run_models as models
inner join stg_runs as runs on models.run_id = runs.run_id
inner join planned
    on models.run_id = planned.run_id
    and models.model_id = planned.model_id
left join ended
    on models.run_id = ended.run_id
    and models.model_id = ended.model_id
left join headline
    on models.run_id = headline.run_id
    and models.model_id = headline.model_id
order by models.run_id, models.model_id
