-- One row per model: results of this run itself, and how late our own loop was meanwhile.
select
    model_id,
    count(*) filter (is_measured),
    count(e2e_ms) filter (is_measured and is_success),
    count(*) filter (is_measured and is_success and clock_late_ms > ? * e2e_ms),
    max(clock_late_ms) filter (is_measured and is_success and clock_late_ms > ? * e2e_ms)
from trials
where run_id = ?
group by model_id
