-- One row per run, model, case and evaluation profile: answers of the model about which the profile's
-- judges were asked the very same at two times or more, with the first and the newest score of them.
with newest as (
    select
        run_id,
        record_no,
        evaluation_profile_id,
        evaluation_fingerprint,
        final_score
    from judgements
    where is_current and final_score is not null and {runs}
),

asked as (
    select
        run_id,
        result_no,
        evaluation_profile_id,
        judge_run_id,
        iteration,
        question_hash,
        count(*) as n_times,
        max(evaluation_no) as last_no,
        min(evaluated_at_ms) as first_ms,
        max(evaluated_at_ms) as last_ms
    from stg_judge_iterations
    where failure is null and {runs}
    group by all
),

asked_again as (
    select
        run_id,
        result_no,
        evaluation_profile_id,
        min(first_ms) as first_ms,
        max(last_ms) as last_ms
    from (
        select
            *,
            row_number() over (
                partition by run_id, result_no, evaluation_profile_id, judge_run_id, iteration
                order by last_no desc
            ) as age
        from asked
    )
    where age = 1
    group by run_id, result_no, evaluation_profile_id
    having min(n_times) > 1
),

first_scores as (
    select
        run_id,
        result_no,
        evaluation_profile_id,
        evaluation_fingerprint,
        arg_min(final_score, evaluation_no) as final_score
    from stg_judgements
    where final_score is not null and {runs}
    group by run_id, result_no, evaluation_profile_id, evaluation_fingerprint
)

select
    trials.run_id,
    trials.model_id,
    trials.suite_id,
    trials.case_id,
    newest.evaluation_profile_id,
    count(*) as n,
    cast(sum(first_scores.final_score) as double) as first_total,
    cast(sum(newest.final_score) as double) as last_total,
    min(asked_again.first_ms) as first_ms,
    max(asked_again.last_ms) as last_ms
from newest
inner join asked_again
    on newest.run_id = asked_again.run_id
    and newest.record_no = asked_again.result_no
    and newest.evaluation_profile_id = asked_again.evaluation_profile_id
inner join first_scores
    on newest.run_id = first_scores.run_id
    and newest.record_no = first_scores.result_no
    and newest.evaluation_profile_id = first_scores.evaluation_profile_id
    and newest.evaluation_fingerprint = first_scores.evaluation_fingerprint
inner join trials on newest.run_id = trials.run_id and newest.record_no = trials.record_no
where not trials.is_reused
group by all
