-- One row per answer of a model in the record that counts of a trial of which tokens or time are known.
-- With tokens and cost of its own, as int_steps has them. Also a failed request that was counted, such
-- as an answer that was cut: its kind is `error`, and its turn the one before it. Trials
-- whose answer was taken from an older run are left out.
select
    steps.run_id,
    steps.model_id,
    steps.case_id,
    steps.repetition,
    steps.record_no,
    steps.trajectory,
    steps.step_no,
    steps.turn_no,
    steps.kind,
    steps.input_tokens,
    steps.cached_input_tokens,
    steps.output_tokens,
    steps.cost_nano_usd,
    steps.duration_ms
from int_steps as steps
inner join trials
    on steps.run_id = trials.run_id
    and steps.record_no = trials.record_no
where not steps.is_copied_context
    and trials.is_measured
    and (
        (
            steps.kind = 'message'
            and coalesce(
                steps.input_tokens, steps.output_tokens, steps.cost_nano_usd, steps.duration_ms
            ) is not null
        )
        or (
            steps.kind = 'error'
            and coalesce(steps.input_tokens, steps.output_tokens, steps.cost_nano_usd) is not null
        )
    )
