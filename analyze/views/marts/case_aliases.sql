-- One row per suite and case id that stands for a newer one: what `analyze alias` joined.
-- Every view has such a case under its newest id, case_id here, in the runs that did not ask both.
select
    suite_id,
    old_case_id,
    case_id,
    joined_to,
    origin,
    recorded_at_ms
from stg_case_aliases
order by suite_id, old_case_id
