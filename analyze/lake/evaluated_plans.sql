-- One row per planned trial, with what the newest evaluation of its record that counts says of it.
-- An evaluation of a record that a later one supersedes is void.
with newest as (
{newest}
),
valid as (
    select newest.*
    from newest
    semi join ({results}) as records
        on newest.run_id = records.run_id
        and newest.model_id = records.model_id
        and newest.case_id = records.case_id
        and newest.repetition = records.repetition
        and newest.result_no = records.record_no
    anti join (select run_id, supersedes from ({results}) where supersedes is not null) as later
        on newest.run_id = later.run_id
        and newest.result_no = later.supersedes
)
select
    plans.* replace (
        coalesce(valid.case_hash, plans.case_hash) as case_hash,
        coalesce(valid.is_scorable, plans.is_scorable) as is_scorable
    )
from ({plans}) as plans
left join valid
    on plans.run_id = valid.run_id
    and plans.model_id = valid.model_id
    and plans.case_id = valid.case_id
    and plans.repetition = valid.repetition
