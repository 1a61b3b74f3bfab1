select
    plans.run_id,
    plans.model_id,
    plans.suite_id,
    plans.case_id,
    came.run_id is not null as has_result,
    came.failure_type,
    count(*)
from (select * from stg_plans where is_scorable and {runs}) as plans
left join (select * from trials where {runs}) as came
    on plans.run_id = came.run_id
    and plans.model_id = came.model_id
    and plans.case_id = came.case_id
    and plans.repetition = came.repetition
where came.passed is null
group by all
order by all
