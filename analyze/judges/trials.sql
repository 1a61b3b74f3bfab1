-- How each select of opinions begins: one row per record of some runs that counts, of one model where
-- one is asked for, with whom it is of and how long its answer is. A record that was taken over from another one of them is left out.
with chosen as (
    select
        unnest(?::varchar[]) as run_id,
        ?::varchar as model
),

trials_of as (
    select
        trials.run_id,
        trials.record_no,
        trials.model,
        trials.suite_id || ' ' || coalesce(plans.cluster, trials.case_id) as unit,
        coalesce(length(outputs.raw_output), 0) as n_chars
    from trials
    semi join chosen
        on trials.run_id = chosen.run_id
        and (chosen.model is null or chosen.model in (trials.model_id, trials.model))
    anti join chosen as origins on trials.reused_from_run_id = origins.run_id
    inner join stg_plans as plans
        on trials.run_id = plans.run_id
        and trials.model_id = plans.model_id
        and trials.case_id = plans.case_id
        and trials.repetition = plans.repetition
    left join stg_outputs as outputs
        on trials.run_id = outputs.run_id and trials.record_no = outputs.record_no
)
