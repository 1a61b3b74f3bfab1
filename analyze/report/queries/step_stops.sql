-- One row per model and way in which its trials with steps ended; the most frequent ones.
with

counted as (
    select
        model_id,
        stop,
        stop_detail,
        count(*) as n_trials,
        count(case when passed then 1 end) as n_passed
    from stops
    where run_id = ?
    group by model_id, stop, stop_detail
),

ranked as (
    select
        *,
        row_number() over (order by n_trials desc, model_id, stop, stop_detail) as place,
        count(*) over () as n_rows
    from counted
)

select
    model_id,
    stop,
    stop_detail,
    n_trials,
    n_passed,
    n_rows
from ranked
where place <= ?
order by model_id, n_trials desc, stop, stop_detail
