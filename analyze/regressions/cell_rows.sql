with

places as (select unnest(?::varchar[]) as run_id, unnest(?::integer[]) as point_no),

names as (select unnest(?::varchar[]) as name, unnest(?::integer[]) as name_no)

select
    places.point_no,
    of_model.name_no as model_no,
    of_case.name_no as case_no,
    coalesce(try_cast('0x' || substr(counted.case_hash, 1, 15) as bigint), ?) as case_hash,
    {numbers}
from int_case_outcomes as counted
inner join places on counted.run_id = places.run_id
inner join names as of_model on counted.model_id = of_model.name
inner join names as of_case on counted.case_id = of_case.name
where counted.run_id between ? and ?
