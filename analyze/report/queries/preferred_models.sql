-- One row per model, evaluation profile and rival: what its newest preferences come to.
-- A unit is a case or a cluster of cases; won counts 1, tied 1/2, lost 0.
with said as (
    select
        found.*,
        coalesce(plans.cluster, found.case_id) as unit,
        case found.outcome when 'won' then 1.0 when 'tied' then 0.5 when 'lost' then 0.0 end
            as points
    from preferences as found
    inner join stg_plans as plans
        on found.run_id = plans.run_id
        and found.model_id = plans.model_id
        and found.case_id = plans.case_id
        and found.repetition = plans.repetition
    where found.run_id = ? and found.is_current
),

units as (
    select
        model_id,
        evaluation_profile_id,
        other_run_id,
        other_model_id,
        unit,
        cast(sum(points) as double) as points,
        count(points) as n_trials
    from said
    where points is not null
    group by model_id, evaluation_profile_id, other_run_id, other_model_id, unit
),

listed as (
    select
        model_id,
        evaluation_profile_id,
        other_run_id,
        other_model_id,
        list(points order by unit) as points,
        list(n_trials order by unit) as n_trials
    from units
    group by model_id, evaluation_profile_id, other_run_id, other_model_id
)

select
    said.model_id,
    said.evaluation_profile_id,
    said.other_run_id,
    said.other_model_id,
    any_value(listed.points) as points,
    any_value(listed.n_trials) as n_trials,
    count(*) as n_compared,
    count(*) filter (where said.outcome = 'won') as n_won,
    count(*) filter (where said.outcome = 'tied') as n_tied,
    count(*) filter (where said.outcome = 'lost') as n_lost,
    count(*) filter (where said.is_identical) as n_identical,
    count(*) filter (where said.status = 'success' and said.outcome is null) as n_cannot_say,
    count(*) filter (where said.status = 'failed') as n_failed,
    cast(sum(said.n_comparisons) as bigint) as n_comparisons,
    cast(sum(said.n_flips_to_first) as bigint) as n_flips_to_first,
    cast(sum(said.n_flips_to_second) as bigint) as n_flips_to_second,
    count(*) filter (
        where (said.outcome = 'won' and said.answer_chars > said.other_answer_chars)
        or (said.outcome = 'lost' and said.answer_chars < said.other_answer_chars)
    ) as n_longer_won,
    count(*) filter (
        where (said.outcome = 'won' and said.answer_chars < said.other_answer_chars)
        or (said.outcome = 'lost' and said.answer_chars > said.other_answer_chars)
    ) as n_shorter_won
from said
left join listed
    on said.model_id = listed.model_id
    and said.evaluation_profile_id = listed.evaluation_profile_id
    and said.other_run_id = listed.other_run_id
    and said.other_model_id = listed.other_model_id
group by said.model_id, said.evaluation_profile_id, said.other_run_id, said.other_model_id
order by said.evaluation_profile_id, said.other_run_id, said.other_model_id, said.model_id
