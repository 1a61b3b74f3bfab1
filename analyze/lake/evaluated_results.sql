-- One row per record, with what the newest evaluation of it says, where there is one.
with newest as (
{newest}
)
select
    records.* replace (
        coalesce(newest.case_hash, records.case_hash) as case_hash,
        case when newest.result_no is null then records.passed else newest.passed end as passed,
        coalesce(newest.checks_passed, records.checks_passed) as checks_passed,
        coalesce(newest.checks_failed, records.checks_failed) as checks_failed,
        coalesce(newest.checks_errored, records.checks_errored) as checks_errored,
        coalesce(newest.checks, records.checks) as checks
    )
from ({results}) as records
left join newest
    on records.run_id = newest.run_id
    and records.model_id = newest.model_id
    and records.case_id = newest.case_id
    and records.repetition = newest.repetition
    and records.record_no = newest.result_no
