-- One row per trial, check and content of the check: the newest that was found of it.
-- Of the record that counts: what its run found, and all evaluations since. is_current marks the
-- checks that decide the verdict now; an edited check has a row a check_hash.
with

ordered as (
    select
        *,
        row_number() over (
            partition by run_id, record_no, check_id, check_hash
            order by evaluated_at_ms desc nulls last, evaluation_no desc nulls last, outcome, kind
        ) as age
    from int_checks
)

select
    found.run_id,
    trials.provider,
    trials.model,
    trials.thinking_level,
    found.model_id,
    trials.suite_id,
    found.case_id,
    found.repetition,
    found.record_no,
    found.check_id,
    found.check_hash,
    found.kind,
    found.outcome,
    found.message,
    found.reason,
    found.dimensions,
    found.detail,
    found.evaluated_at_ms,
    found.evaluation_no,
    found.is_current
from ordered as found
inner join trials
    on found.run_id = trials.run_id
    and found.model_id = trials.model_id
    and found.case_id = trials.case_id
    and found.repetition = trials.repetition
    and found.record_no = trials.record_no
where found.age = 1
order by
    found.run_id,
    trials.provider,
    trials.model,
    trials.thinking_level nulls first,
    found.model_id,
    found.case_id,
    found.repetition,
    found.check_id,
    found.check_hash nulls first
