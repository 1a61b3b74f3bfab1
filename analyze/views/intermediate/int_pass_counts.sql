-- One row per run, model_id and outcome of a case over its trials.
-- n_cases is how many cases came out that way, so that intervals over thousands of cases need a
-- handful of rows; cases of one cluster, whose counts are added up, stay apart from all others.
select
    run_id,
    model_id,
    cluster,
    n_scorable > 0 as is_scorable,
    n_scored,
    n_passed,
    n_independent,
    n_independent_passed,
    count(*) as n_cases
from int_case_passes
group by
    run_id,
    model_id,
    cluster,
    n_scorable > 0,
    n_scored,
    n_passed,
    n_independent,
    n_independent_passed
