-- One row per model: what has no result and what timed out, where a verdict is possible.
select
    model_id,
    count(*) filter (not has_result),
    count(*) filter (failure_type = 'timeout')
from planned_trials
where run_id = ? and is_scorable
group by model_id
