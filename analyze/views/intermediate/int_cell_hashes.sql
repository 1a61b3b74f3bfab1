-- One row per case_hash that was ever planned.
-- case_no stands for it: joined back where the hash is shown, and a number everywhere else, since
-- the same 64 digits a million times over are most of the memory that a history of cells would need.
select
    case_hash,
    row_number() over (order by case_hash) as case_no
from (
    select distinct case_hash
    from stg_plans
    where case_hash is not null
) as hashes
