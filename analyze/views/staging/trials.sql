-- One row per trial that has a result: the record that no later one of its run supersedes.
-- A resumed run keeps both records of a repeated trial and the later one counts; everything that
-- follows reads trials here and never records. Hardly any record supersedes another, so this is a
-- join with an almost empty set.
select records.*
from stg_results as records
left join (
    select
        run_id,
        supersedes
    from stg_results
    where supersedes is not null
) as superseding
    on records.run_id = superseding.run_id
    and records.record_no = superseding.supersedes
where superseding.supersedes is null
