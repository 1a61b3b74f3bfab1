-- One row per step of a record of a trial, superseded ones included, as its trace has it.
-- Trials in which a tool was called, and those of agents, have steps; of others the result says all.
select
    raw_steps.*,
    case
        -- beyond the year 9999 no client has a word for it
        when started_at_ms < 253402300800000
            then timestamp '1970-01-01 00:00:00'
                + cast((started_at_ms - started_at_ms % 86400000) / 86400000 as int)
                * interval '1' day
                + cast(started_at_ms % 86400000 as int) * interval '1' millisecond
    end as started_at
from raw_steps
