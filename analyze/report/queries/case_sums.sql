-- One row per model: whole numbers of its cases, exact in any order.
-- Products are wider than a bigint; the logarithm of a case's mean is a whole number of units, so
-- that sums of them do not depend on an order.
with

priced as (
    select
        model_id,
        case_id,
        case when cost_nano_usd is not null then passed end as priced_passed,
        cost_nano_usd,
        case when is_success then e2e_ms end as e2e_ms
    from trials
    where run_id = ? and is_measured
),

of_case as (
    select
        model_id,
        count(cost_nano_usd) > 0 as is_priced,
        cast(sum(cost_nano_usd) as hugeint) as cost,
        cast(count(priced_passed) as hugeint) as n_priced,
        count(e2e_ms) > 0 as is_timed,
        cast(sum(e2e_ms) as hugeint) as e2e,
        cast(count(e2e_ms) as hugeint) as n_timed
    from priced
    group by model_id, case_id
),

in_logs as (
    select
        *,
        case
            when cost > 0 and n_priced > 0
                then cast(round(ln(cast(cost as double) / cast(n_priced as double)) * ?) as hugeint)
        end as cost_log,
        case
            when e2e > 0
                then cast(round(ln(cast(e2e as double) / cast(n_timed as double)) * ?) as hugeint)
        end as e2e_log
    from of_case
)

select
    model_id,
    count(*) filter (is_priced),
    coalesce(sum(cost) filter (is_priced), 0),
    coalesce(sum(n_priced) filter (is_priced), 0),
    coalesce(sum(cost * cost) filter (is_priced), 0),
    coalesce(sum(cost * n_priced) filter (is_priced), 0),
    coalesce(sum(n_priced * n_priced) filter (is_priced), 0),
    count(*) filter (is_priced and cost = 0),
    count(cost_log),
    coalesce(sum(cost_log), 0),
    coalesce(sum(cost_log * cost_log), 0),
    count(*) filter (is_timed),
    coalesce(sum(e2e) filter (is_timed), 0),
    coalesce(sum(n_timed) filter (is_timed), 0),
    coalesce(sum(e2e * e2e) filter (is_timed), 0),
    coalesce(sum(e2e * n_timed) filter (is_timed), 0),
    coalesce(sum(n_timed * n_timed) filter (is_timed), 0),
    count(*) filter (is_timed and e2e = 0),
    count(e2e_log),
    coalesce(sum(e2e_log), 0),
    coalesce(sum(e2e_log * e2e_log), 0)
from in_logs
group by model_id
