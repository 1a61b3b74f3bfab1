-- One row per suite and case id that stands for a newer one.
-- Of the rows of an id the last counts; an alias that was taken back is none.
select
    suite_id,
    old_case_id,
    joined_to,
    case_id,
    origin,
    recorded_at_ms
from (
    select
        *,
        row_number() over (
            partition by suite_id, old_case_id
            order by recorded_at_ms desc, case_id desc nulls last
        ) as age
    from raw_aliases
) as acts
where age = 1 and case_id is not null
