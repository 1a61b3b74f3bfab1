-- One row per loop: calls of one trajectory that come again with the same arguments and result.
-- A cycle of one call from three rounds on, of two calls from two rounds on, of three calls from
-- three rounds on. Results are compared without digits, times, paths and hexadecimal. Calls that were
-- refused for now (429, 503) and those that wait for something are passed over; a call without a
-- result, or whose tool or result is not known, ends a loop. Time, tokens and cost are of the answers
-- that made its calls.
with

called as (
    select
        run_id,
        provider,
        model,
        thinking_level,
        model_id,
        suite_id,
        case_id,
        repetition,
        record_no,
        trajectory,
        step_no,
        turn_no,
        tool,
        duration_ms,
        coalesce(result_step_no, step_no) as end_step_no,
        tool || ' ' || args_hash || ' ' || result_norm_hash as act
    from int_tool_calls
    where coalesce(error_class, '') not in ('rate_limited', 'unavailable')
        and coalesce(effect, '') <> 'wait'
),

acts as (
    select
        *,
        row_number() over (partition by run_id, record_no, trajectory order by step_no) as place,
        lag(act) over (partition by run_id, record_no, trajectory order by step_no) as act_1,
        -- not `lag(act, 2)`: a view of it in a database file is none to engines before 2.0
        first_value(act) over (
            partition by run_id, record_no, trajectory
            order by step_no rows between 2 preceding and 2 preceding
        ) as act_2,
        first_value(act) over (
            partition by run_id, record_no, trajectory
            order by step_no rows between 3 preceding and 3 preceding
        ) as act_3
    from called
),

matched as (
    select
        run_id,
        record_no,
        trajectory,
        place,
        1 as period
    from acts
    where act = act_1
    union all
    select
        run_id,
        record_no,
        trajectory,
        place,
        2 as period
    from acts
    where act = act_2 and act <> act_1
    union all
    select
        run_id,
        record_no,
        trajectory,
        place,
        3 as period
    from acts
    where act = act_3 and (act <> act_1 or act <> act_2)
),

islands as (
    select
        *,
        place - row_number() over (
            partition by run_id, record_no, trajectory, period order by place
        ) as island
    from matched
),

cycles as (
    select
        run_id,
        record_no,
        trajectory,
        period,
        min(place) - period as first_place,
        max(place) as last_place,
        cast((count(*) + period - count(*) % period) / period as bigint) as n_rounds
    from islands
    group by run_id, record_no, trajectory, period, island
),

found as (
    select
        acts.run_id,
        acts.provider,
        acts.model,
        acts.thinking_level,
        acts.model_id,
        acts.suite_id,
        acts.case_id,
        acts.repetition,
        acts.record_no,
        acts.trajectory,
        min(acts.step_no) as first_step_no,
        max(acts.end_step_no) as last_step_no,
        cycles.first_place,
        cycles.last_place,
        min(case when acts.place = cycles.first_place then acts.tool end) as tool,
        cycles.period,
        cycles.n_rounds,
        count(*) as n_calls,
        cast(sum(acts.duration_ms) as bigint) as tool_ms
    from cycles
    inner join acts
        on cycles.run_id = acts.run_id
        and cycles.record_no = acts.record_no
        and cycles.trajectory = acts.trajectory
        and cycles.first_place <= acts.place
        and cycles.last_place >= acts.place
    where cycles.n_rounds >= case when cycles.period = 2 then 2 else 3 end
    group by
        acts.run_id,
        acts.provider,
        acts.model,
        acts.thinking_level,
        acts.model_id,
        acts.suite_id,
        acts.case_id,
        acts.repetition,
        acts.record_no,
        acts.trajectory,
        cycles.period,
        cycles.n_rounds,
        cycles.first_place,
        cycles.last_place
),

turns as (
    select distinct
        found.run_id,
        found.record_no,
        found.trajectory,
        found.period,
        found.first_step_no,
        acts.turn_no
    from found
    inner join acts
        on found.run_id = acts.run_id
        and found.record_no = acts.record_no
        and found.trajectory = acts.trajectory
        and found.first_place <= acts.place
        and found.last_place >= acts.place
),

spent as (
    select
        turns.run_id,
        turns.record_no,
        turns.trajectory,
        turns.period,
        turns.first_step_no,
        cast(sum(answers.input_tokens) as bigint) as input_tokens,
        cast(sum(answers.output_tokens) as bigint) as output_tokens,
        cast(sum(answers.cost_nano_usd) as bigint) as cost_nano_usd,
        cast(sum(answers.duration_ms) as bigint) as model_ms
    from turns
    inner join int_answers as answers
        on turns.run_id = answers.run_id
        and turns.record_no = answers.record_no
        and turns.trajectory = answers.trajectory
        and turns.turn_no = answers.turn_no
    where answers.kind = 'message'
    group by turns.run_id, turns.record_no, turns.trajectory, turns.period, turns.first_step_no
)

select
    found.run_id,
    found.provider,
    found.model,
    found.thinking_level,
    found.model_id,
    found.suite_id,
    found.case_id,
    found.repetition,
    found.record_no,
    found.trajectory,
    found.first_step_no,
    found.last_step_no,
    found.tool,
    cast(found.period as bigint) as period,
    found.n_rounds,
    found.n_calls,
    found.tool_ms,
    spent.model_ms,
    spent.input_tokens,
    spent.output_tokens,
    cast(spent.cost_nano_usd as double) / 1e9 as cost_usd
from found
left join spent
    on found.run_id = spent.run_id
    and found.record_no = spent.record_no
    and found.trajectory = spent.trajectory
    and found.period = spent.period
    and found.first_step_no = spent.first_step_no
order by
    found.run_id,
    found.provider,
    found.model,
    found.thinking_level nulls first,
    found.model_id,
    found.case_id,
    found.repetition,
    found.first_step_no,
    found.trajectory,
    found.period
