-- One row per record; where a judge decides in its run, the verdict is that of both (D-A9).
-- The newest judgement of the record by the evaluation profile that decides in its run counts. What failed, or
-- could not be looked at, without the judge stays as it is.
with deciding as ({deciding}),
newest as (
    select *
    from (
        select
            said.*,
            row_number() over (
                partition by said.run_id, said.model_id, said.case_id, said.repetition, said.result_no
                order by said.evaluated_at_ms desc, said.record_no desc
            ) as age
        from ({judgements}) as said
        semi join deciding
            on said.run_id = deciding.run_id
            and said.evaluation_profile_id = deciding.evaluation_profile_id
    )
    where age = 1
)
select
    records.* replace (
        case
            when deciding.run_id is null or not records.success or not records.passed
                then records.passed
            when
                records.passed is null
                and (
                    records.objective_pass is not null
                    or records.checks_passed + records.checks_failed + records.checks_errored > 0
                )
                then null
            else newest.passed
        end as passed
    )
from ({results}) as records
left join deciding on records.run_id = deciding.run_id
left join newest
    on records.run_id = newest.run_id
    and records.model_id = newest.model_id
    and records.case_id = newest.case_id
    and records.repetition = newest.repetition
    and records.record_no = newest.result_no
