-- One row per record of a trial that checks were made on again: the newest such evaluation.
select
    run_id,
    model_id,
    case_id,
    repetition,
    result_no,
    case_hash,
    is_scorable,
    passed,
    checks_passed,
    checks_failed,
    checks_errored,
    checks
from (
    select
        *,
        row_number() over (
            partition by run_id, model_id, case_id, repetition, result_no
            order by evaluated_at_ms desc, record_no desc
        ) as age
    from ({evaluations})
    where kind = 'check'
)
where age = 1
