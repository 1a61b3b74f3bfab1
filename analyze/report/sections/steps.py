"""What agents and their tools did: why trials ended, where time went, which calls failed or looped.

Of trials that have steps; names of tools are a model's own, so each part has a limit.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from pydantic import BaseModel

from analyze.render.numbers import duration, percent, percent_range, usd, whole
from analyze.report.sections import ReportContext, Section, query
from analyze.report.table import MODEL, Cell, Column, Table, number
from schemas.errors import counted
from schemas.output.report import RunReport
from schemas.output.report_steps import LoopCount, StepParts, StopCount, TimeSplit, ToolCount

R = TypeVar("R", StopCount, ToolCount, LoopCount)

MAX_ROWS = 100
"""Of each part, over all models."""


def steps_of(context: ReportContext) -> StepParts | None:
    """Return what was done in the trials of a run that have steps; None: none of them has.

    Raises:
        ViewError: the lake cannot be read.
    """
    any_step = "select 1 from stg_steps where run_id = ? limit 1"
    if not context.session.rows(any_step, [context.run_id]):
        return None
    stops, n_stops = _ranked(context, "step_stops", StopCount)
    tools, n_tools = _ranked(context, "step_tools", ToolCount)
    loops, n_loops = _ranked(context, "step_loops", LoopCount)
    times = context.session.rows(query("step_times"), [context.run_id])
    return StepParts(
        stops=stops,
        times=context.by_result(TimeSplit(**_named(TimeSplit, row)) for row in times),
        tools=tools,
        loops=loops,
        n_left_out=n_stops + n_tools + n_loops,
    )


def _ranked(context: ReportContext, name: str, record: type[R]) -> tuple[tuple[R, ...], int]:
    """Return the first rows of a query whose last column counts all, and how many are not here.

    Models come in the order of the answer, the rows of one as the query has them.
    """
    rows = context.session.rows(query(name), [context.run_id, MAX_ROWS])
    kept = context.by_result(record(**_named(record, row[:-1])) for row in rows)
    return kept, (rows[0][-1] - len(rows) if rows else 0)


def _named(record: type[BaseModel], row: Sequence[object]) -> dict[str, object]:
    return dict(zip(record.model_fields, row, strict=True))


def _column(record: type[BaseModel], title: str, field: str, *, is_number: bool = False) -> Column:
    """Return a column that means what its record says."""
    meaning = record.model_fields[field].description or ""
    return Column(title, field, is_number=is_number, meaning=meaning)


def _stops(found: StepParts) -> Table:
    columns = (
        MODEL,
        _column(StopCount, "ended by", "stop"),
        _column(StopCount, "detail", "stop_detail"),
        _column(StopCount, "trials", "n_trials", is_number=True),
        _column(StopCount, "passed", "n_passed", is_number=True),
    )
    rows = [
        [
            Cell(one.model_id),
            Cell(one.stop.replace("_", " ")),
            Cell(one.stop_detail or ""),
            number(whole(one.n_trials), one.n_trials),
            number(whole(one.n_passed), one.n_passed),
        ]
        for one in found.stops
    ]
    return Table("stops", "Why trials ended", columns, rows)


def _times(found: StepParts) -> Table:
    parts = ("total", "setup", "model", "tool", "retry", "idle")
    columns = [
        MODEL,
        _column(TimeSplit, "trials", "n_trials", is_number=True),
        *(_column(TimeSplit, part, f"{part}_ms", is_number=True) for part in parts),
    ]
    rows = []
    for one in found.times:
        row = [Cell(one.model_id), number(whole(one.n_trials), one.n_trials)]
        for part in parts:
            spent = getattr(one, f"{part}_ms")
            share = percent(spent / one.total_ms) if one.total_ms else ""
            note = f"{share} % of the time" if share and part != "total" else ""
            row.append(number(duration(spent), spent, note=note))
        rows.append(row)
    return Table("step-times", "Where the time of trials went", columns, rows)


def _tools(found: StepParts) -> Table:
    columns = (
        MODEL,
        _column(ToolCount, "tool", "tool"),
        _column(ToolCount, "cases", "n_cases", is_number=True),
        _column(ToolCount, "calls", "n_calls", is_number=True),
        _column(ToolCount, "failed", "n_errors", is_number=True),
        _column(ToolCount, "failed %", "error_rate", is_number=True),
        _column(ToolCount, "95 % of failed", "error_rate_low", is_number=True),
        _column(ToolCount, "refused for now", "n_refused", is_number=True),
        _column(ToolCount, "exit codes", "n_exit_codes", is_number=True),
        _column(ToolCount, "cut results", "n_truncated", is_number=True),
        _column(ToolCount, "time", "duration_ms", is_number=True),
    )
    rows = [
        [
            Cell(one.model_id),
            Cell("(no name)" if one.tool is None else one.tool),
            number(whole(one.n_cases), one.n_cases),
            number(whole(one.n_calls), one.n_calls),
            number(whole(one.n_errors), one.n_errors),
            number(percent(one.error_rate), one.error_rate),
            number(_limits(one), one.error_rate_low),
            number(whole(one.n_refused), one.n_refused),
            number(whole(one.n_exit_codes), one.n_exit_codes),
            number(whole(one.n_truncated), one.n_truncated),
            number(duration(one.duration_ms), one.duration_ms),
        ]
        for one in found.tools
    ]
    return Table("tools", "Calls of tools", columns, rows)


def _limits(one: ToolCount) -> str:
    low, high = one.error_rate_low, one.error_rate_high
    return "" if low is None or high is None else percent_range(low, high)


def _loops(found: StepParts) -> Table:
    columns = (
        MODEL,
        _column(LoopCount, "tool", "tool"),
        _column(LoopCount, "loops", "n_loops", is_number=True),
        _column(LoopCount, "trials", "n_trials", is_number=True),
        _column(LoopCount, "calls", "n_calls", is_number=True),
        _column(LoopCount, "time of tools", "tool_ms", is_number=True),
        _column(LoopCount, "time of the model", "model_ms", is_number=True),
        _column(LoopCount, "input tokens", "input_tokens", is_number=True),
        _column(LoopCount, "output tokens", "output_tokens", is_number=True),
        _column(LoopCount, "USD", "cost_usd", is_number=True),
    )
    rows = [
        [
            Cell(one.model_id),
            Cell(one.tool),
            number(whole(one.n_loops), one.n_loops),
            number(whole(one.n_trials), one.n_trials),
            number(whole(one.n_calls), one.n_calls),
            number(duration(one.tool_ms), one.tool_ms),
            number(duration(one.model_ms), one.model_ms),
            number(whole(one.input_tokens), one.input_tokens),
            number(whole(one.output_tokens), one.output_tokens),
            number(usd(one.cost_usd), one.cost_usd),
        ]
        for one in found.loops
    ]
    return Table("loops", "Calls that came again and again", columns, rows)


def _parts(report: RunReport) -> dict[str, object] | None:
    found = report.steps
    if found is None:
        return None
    tables = [_stops(found), _times(found), _tools(found), _loops(found)]
    more = counted(found.n_left_out, "rarer row")
    return {
        "tables": [table for table in tables if table.rows],
        "more": f"{more} left out here." if found.n_left_out else "",
    }


STEPS = Section("Steps", show=_parts, read=steps_of)
