-- One row per model and evaluation profile: what its newest judgements come to.
-- A unit is a case or a cluster of cases; its score is the mean over its cases of their means.
with said as (
    select
        found.*,
        coalesce(plans.cluster, found.case_id) as unit
    from judgements as found
    inner join stg_plans as plans
        on found.run_id = plans.run_id
        and found.model_id = plans.model_id
        and found.case_id = plans.case_id
        and found.repetition = plans.repetition
    where found.run_id = ? and found.is_current
),

cases as (
    select
        model_id,
        evaluation_profile_id,
        unit,
        case_id,
        avg(final_score) as score
    from said
    where final_score is not null
    group by model_id, evaluation_profile_id, unit, case_id
),

units as (
    select
        model_id,
        evaluation_profile_id,
        unit,
        avg(score) as score
    from cases
    group by model_id, evaluation_profile_id, unit
),

listed as (
    select
        model_id,
        evaluation_profile_id,
        list(score order by unit) as scores
    from units
    group by model_id, evaluation_profile_id
)

select
    said.model_id,
    said.evaluation_profile_id,
    bool_or(said.is_own) as is_own,
    bool_or(deciding.run_id is not null) as decides,
    count(*) as n_judged,
    count(*) filter (where said.final_score is null) as n_failed,
    any_value(listed.scores) as scores,
    count(said.passed) as n_decided,
    count(*) filter (where said.passed) as n_passed,
    avg(said.soft_score) as soft_score
from said
left join listed
    on said.model_id = listed.model_id
    and said.evaluation_profile_id = listed.evaluation_profile_id
left join stg_deciding_profiles as deciding
    on said.run_id = deciding.run_id
    and said.evaluation_profile_id = deciding.evaluation_profile_id
group by said.model_id, said.evaluation_profile_id
order by is_own desc, said.evaluation_profile_id, said.model_id
