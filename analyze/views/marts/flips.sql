-- One row per cell and two consecutive runs of it whose majority verdicts differ, of the same case.
-- The majority of the trials with a verdict decides; a tie, or no verdict at all, is no majority and
-- never flips. An edited case, or one whose case_hash is not known, is no flip of the model.
with

verdicts as (
    select
        suite_id,
        case_id,
        provider,
        model,
        thinking_level,
        model_id,
        case_no,
        run_no,
        run_id,
        previous_run_id,
        started_at_ms,
        started_at,
        previous_started_at_ms,
        n_scored,
        n_passed,
        previous_n_scored,
        previous_n_passed,
        case
            when 2 * n_passed > n_scored then true
            when 2 * n_passed < n_scored then false
        end as majority_passed,
        case
            when 2 * previous_n_passed > previous_n_scored then true
            when 2 * previous_n_passed < previous_n_scored then false
        end as previous_majority_passed
    from int_cell_pairs
    where run_no > 1 and case_no = previous_case_no
)

select
    suite_id,
    case_id,
    provider,
    model,
    thinking_level,
    model_id,
    hashes.case_hash,
    run_no,
    run_id,
    previous_run_id,
    started_at_ms,
    started_at,
    previous_started_at_ms,
    case when majority_passed then 'fixed' else 'broke' end as direction,
    n_scored,
    n_passed,
    n_passed = 0 or n_passed = n_scored as is_unanimous,
    previous_n_scored,
    previous_n_passed,
    previous_n_passed = 0 or previous_n_passed = previous_n_scored as was_unanimous
from verdicts
inner join int_cell_hashes as hashes
    on verdicts.case_no = hashes.case_no
where majority_passed <> previous_majority_passed
order by suite_id, case_id, provider, model, thinking_level nulls first, model_id, run_no
