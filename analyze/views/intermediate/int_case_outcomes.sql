-- One row per run, model_id and case that was planned, with all that a comparison needs of it.
-- Plans and results are stacked and grouped once, so that a condition on run_id reaches both: two
-- runs out of thousands cost what two runs cost.
-- `settings` of a plan holds the repetition, so parts are those of the first repetition planned, and
-- only equal repetitions can be compared. Early plans hold whole hashes, later ones 16 digits.
-- Time is of successes on the first attempt made in this run, since a retry says little of the
-- model; tokens and cost are of every trial made in this run that has them. Logarithms are summed as
-- whole numbers of 1e-12, so that no order of rows changes a sum. A cost of 0 is known and has no
-- logarithm: such trials are counted by themselves.
with

stacked as (
    select
        run_id,
        suite_id,
        provider,
        model,
        thinking_level,
        model_id,
        case_id,
        repetition,
        case_hash,
        fingerprint_parts,
        tags,
        cluster,
        1 as planned,
        case when is_scorable then 1 end as scorable,
        null as total,
        null as reused,
        null as passed,
        null as own_passed,
        null as timeout,
        null as truncated,
        null as answer_hash,
        null as failed_answer,
        null as e2e_ms,
        null as ttft_ms,
        null as input_tokens,
        null as output_tokens,
        null as cost_nano_usd,
        null as free
    from stg_plans
    union all
    select
        run_id,
        null as suite_id,
        null as provider,
        null as model,
        null as thinking_level,
        model_id,
        case_id,
        null as repetition,
        null as case_hash,
        null as fingerprint_parts,
        null as tags,
        null as cluster,
        null as planned,
        null as scorable,
        1 as total,
        case when is_reused then 1 end as reused,
        passed,
        case when is_measured then passed end as own_passed,
        case when failure_type = 'timeout' then 1 end as timeout,
        case when failure_type = 'output_truncated' then 1 end as truncated,
        case when is_measured and is_success then output_hash end as answer_hash,
        case when is_measured and not is_success and passed is not null then 1 end as failed_answer,
        case
            when is_measured and is_success and attempt_count = 1 and e2e_ms > 0 then e2e_ms
        end as e2e_ms,
        case
            when is_measured and is_success and attempt_count = 1 and ttft_ms > 0 then ttft_ms
        end as ttft_ms,
        case when is_measured and input_tokens > 0 then input_tokens end as input_tokens,
        case when is_measured and output_tokens > 0 then output_tokens end as output_tokens,
        case when is_measured and cost_nano_usd > 0 then cost_nano_usd end as cost_nano_usd,
        case when is_measured and cost_nano_usd = 0 then 1 end as free
    from trials
),

counted as (
    select
        run_id,
        min(suite_id) as suite_id,
        min(provider) as provider,
        min(model) as model,
        min(thinking_level) as thinking_level,
        model_id,
        case_id,
        min(case_hash) as case_hash,
        min(repetition) as first_repetition,
        min_by(fingerprint_parts, repetition) as parts,
        min_by(tags, repetition) as tags,
        min(cluster) as cluster,
        count(planned) as n_planned,
        count(scorable) as n_scorable,
        count(total) as n_total,
        count(reused) as n_reused,
        count(passed) as n_scored,
        count(case when passed then 1 end) as n_passed,
        count(own_passed) as n_independent,
        count(case when own_passed then 1 end) as n_independent_passed,
        count(timeout) as n_timeout,
        count(truncated) as n_truncated,
        count(free) as n_free,
        count(answer_hash) as n_answers,
        count(failed_answer) as n_failed_answers,
        min(answer_hash) as first_hash,
        max(answer_hash) as last_hash,
        count(e2e_ms) as n_e2e_ms,
        cast(sum(cast(round(ln(e2e_ms) * 1e12) as bigint)) as bigint) as ln_e2e_ms,
        cast(sum(e2e_ms) as bigint) as e2e_ms,
        count(ttft_ms) as n_ttft_ms,
        cast(sum(cast(round(ln(ttft_ms) * 1e12) as bigint)) as bigint) as ln_ttft_ms,
        cast(sum(ttft_ms) as bigint) as ttft_ms,
        count(input_tokens) as n_input_tokens,
        cast(sum(cast(round(ln(input_tokens) * 1e12) as bigint)) as bigint) as ln_input_tokens,
        cast(sum(input_tokens) as bigint) as input_tokens,
        count(output_tokens) as n_output_tokens,
        cast(sum(cast(round(ln(output_tokens) * 1e12) as bigint)) as bigint) as ln_output_tokens,
        cast(sum(output_tokens) as bigint) as output_tokens,
        count(cost_nano_usd) as n_cost,
        cast(sum(cast(round(ln(cost_nano_usd) * 1e12) as bigint)) as bigint) as ln_cost_nano_usd,
        cast(sum(cost_nano_usd) as bigint) as cost_nano_usd
    from stacked
    group by run_id, model_id, case_id
    having count(planned) > 0
)

select
    run_id,
    provider,
    model,
    thinking_level,
    model_id,
    suite_id,
    case_id,
    case_hash,
    first_repetition,
    substring(parts.settings, 1, 16) as settings,
    substring(parts.endpoint, 1, 16) as endpoint,
    substring(parts.harness, 1, 16) as harness,
    substring(parts.tools, 1, 16) as tools,
    substring(parts.model_build, 1, 16) as model_build,
    substring(parts.agent, 1, 16) as agent,
    substring(parts.image, 1, 16) as image,
    tags,
    cluster,
    n_planned,
    n_scorable,
    n_total,
    n_reused,
    n_scored,
    n_passed,
    n_independent,
    n_independent_passed,
    n_timeout,
    n_truncated,
    n_free,
    n_answers,
    n_failed_answers,
    first_hash,
    last_hash,
    n_e2e_ms,
    ln_e2e_ms,
    e2e_ms,
    n_ttft_ms,
    ln_ttft_ms,
    ttft_ms,
    n_input_tokens,
    ln_input_tokens,
    input_tokens,
    n_output_tokens,
    ln_output_tokens,
    output_tokens,
    n_cost,
    ln_cost_nano_usd,
    cost_nano_usd
from counted
