-- One row per run and cell (suite_id, case_id, model_id), its trials counted and summed.
-- Plans and results are counted apart and joined per cell: every result has its plan, so nothing is
-- lost, and a history of millions of trials needs no join of trials.
-- Verdicts are of all trials; time, tokens and cost of those made in this run (not reused ones), and
-- time of successes only.
-- case_no stands for the case_hash (int_cell_hashes), null where that is not known. In a run a case
-- has one, whatever the model and the repetition, so min() takes it.
with

planned as (
    select
        plans.run_id,
        plans.model_id,
        plans.case_id,
        min(hashes.case_no) as case_no,
        count(*) as n_planned,
        count(case when plans.is_scorable then 1 end) as n_scorable
    from stg_plans as plans
    left join int_cell_hashes as hashes
        on plans.case_hash = hashes.case_hash
    group by plans.run_id, plans.model_id, plans.case_id
),

measured as (
    select
        run_id,
        model_id,
        case_id,
        is_ok,
        is_success,
        is_reused,
        passed,
        is_measured and is_success and attempt_count = 1 as is_first_attempt,
        case when is_measured and is_success then e2e_ms end as e2e_ms,
        case when is_measured and is_success then ttft_ms end as ttft_ms,
        case when is_measured then input_tokens end as input_tokens,
        case when is_measured then output_tokens end as output_tokens,
        case when is_measured then reasoning_tokens end as reasoning_tokens,
        case when is_measured then cached_input_tokens end as cached_input_tokens,
        case when is_measured then cost_nano_usd end as cost_nano_usd
    from trials
),

answered as (
    select
        run_id,
        model_id,
        case_id,
        count(*) as n_total,
        count(case when is_ok then 1 end) as n_ok,
        count(case when is_success then 1 end) as n_success,
        count(case when is_first_attempt then 1 end) as n_first_attempt,
        count(case when is_reused then 1 end) as n_reused,
        count(passed) as n_scored,
        count(case when passed then 1 end) as n_passed,
        count(e2e_ms) as n_latency,
        cast(sum(e2e_ms) as bigint) as e2e_ms_total,
        count(ttft_ms) as n_ttft,
        cast(sum(ttft_ms) as bigint) as ttft_ms_total,
        count(input_tokens + output_tokens) as n_tokens_known,
        cast(sum(input_tokens) as bigint) as input_tokens,
        cast(sum(output_tokens) as bigint) as output_tokens,
        cast(sum(reasoning_tokens) as bigint) as reasoning_tokens,
        cast(sum(cached_input_tokens) as bigint) as cached_input_tokens,
        count(cost_nano_usd) as n_cost_known,
        cast(sum(cost_nano_usd) as bigint) as cost_nano_usd
    from measured
    group by run_id, model_id, case_id
)

select
    planned.run_id,
    model_groups.suite_id,
    model_groups.provider,
    model_groups.model,
    model_groups.thinking_level,
    planned.model_id,
    planned.case_id,
    planned.case_no,
    model_groups.started_at_ms,
    model_groups.started_at,
    model_groups.run_rank,
    model_groups.series_no,
    planned.n_planned,
    planned.n_scorable,
    coalesce(answered.n_total, 0) as n_total,
    coalesce(answered.n_ok, 0) as n_ok,
    coalesce(answered.n_success, 0) as n_success,
    coalesce(answered.n_first_attempt, 0) as n_first_attempt,
    coalesce(answered.n_reused, 0) as n_reused,
    coalesce(answered.n_scored, 0) as n_scored,
    coalesce(answered.n_passed, 0) as n_passed,
    coalesce(answered.n_latency, 0) as n_latency,
    answered.e2e_ms_total,
    coalesce(answered.n_ttft, 0) as n_ttft,
    answered.ttft_ms_total,
    coalesce(answered.n_tokens_known, 0) as n_tokens_known,
    answered.input_tokens,
    answered.output_tokens,
    answered.reasoning_tokens,
    answered.cached_input_tokens,
    coalesce(answered.n_cost_known, 0) as n_cost_known,
    answered.cost_nano_usd
from planned
inner join int_group_models as model_groups
    on planned.run_id = model_groups.run_id
    and planned.model_id = model_groups.model_id
left join answered
    on planned.run_id = answered.run_id
    and planned.model_id = answered.model_id
    and planned.case_id = answered.case_id
