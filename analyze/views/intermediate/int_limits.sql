-- One row per trial that a limit ended: its name as Inspect has it.
-- A log says which in the error code; ours are told by the failure.
select
    run_id,
    record_no,
    case
        when error_code like 'limit!_%' escape '!' then substring(error_code, 7)
        when failure_type = 'timeout' then 'time'
        when failure_type = 'max_turns_exceeded' then 'turn'
        else 'custom'
    end as limit_name
from trials
where
    error_code like 'limit!_%' escape '!'
    or failure_type in ('timeout', 'max_turns_exceeded', 'limit_exceeded')
