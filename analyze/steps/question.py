"""Which steps somebody asks for, as a query of the lake that is guarded like any other."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from analyze.aliases import read_ids
from analyze.query.run_ref import model_for, resolve_run, unknown_name
from analyze.sql.guard import bind
from schemas.errors import ConfigError, Problem

if TYPE_CHECKING:
    from analyze.query.session import Session

EXCERPT_CHARS = 200
"""Of a step's text in a list; JSON and CSV have all that the lake has."""

COLUMNS = """
    case_id, model_id, repetition as rep, trajectory, step_no as step, turn_no as turn, kind,
    coalesce(tool, role) as who, error_class, duration_ms as ms, input_tokens as tokens_in,
    output_tokens as tokens_out, cost_usd
"""
"""Of a list of steps."""


@dataclass(frozen=True)
class StepQuestion:
    """Which steps are asked for."""

    run: str
    """What `resolve_run` takes."""
    case: str | None = None
    model: str | None = None
    """A model_id, model string or label."""
    tool: str | None = None
    errors: bool = False
    where: str | None = None
    """A condition in SQL over the columns of `steps`, and `text`."""


def steps_query(session: Session, asked: StepQuestion, *, whole: bool) -> str:
    """Return the query for the steps that are asked for, in the order they happened.

    Args:
        session: the open lake.
        asked: which steps.
        whole: every column and the whole text, for programs; else what a terminal shows.

    Raises:
        RunNotFound: there is no such run.
        ConfigError: the run has no such case, model or tool, of which it names the nearest; or the
            condition is empty.
        QueryFailed: a value has no form in SQL.
    """
    if asked.where is not None and not asked.where.strip():
        raise ConfigError([Problem(None, "`--where` is empty; name a condition, or leave it out")])
    run_id = resolve_run(session, asked.run)
    conditions, values = ["steps.run_id = ?"], [run_id]
    for condition, value in (
        ("steps.case_id = ?", case_of(session, run_id, asked.case)),
        ("steps.model_id = ?", model_of(session, run_id, asked.model)),
        ("steps.tool = ?", _tool_of(session, run_id, asked.tool)),
    ):
        if value is not None:
            conditions.append(condition)
            values.append(value)
    if asked.errors:
        conditions.append("steps.is_error")
    source = bind(
        "select steps.*, texts.text, texts.text_truncated from steps "  # noqa: S608 - values are bound
        "left join stg_step_texts as texts on steps.run_id = texts.run_id "
        "and steps.record_no = texts.record_no and steps.step_no = texts.step_no "
        f"where {' and '.join(conditions)}",
        values,
    )
    excerpt = f"regexp_replace(left(text, {EXCERPT_CHARS}), '\\s+', ' ', 'g') as text"
    columns = "*" if whole else f"{COLUMNS}, {excerpt}"
    condition = "" if asked.where is None else f"where (\n{asked.where}\n)"
    order = "case_id, model_id, repetition, step_no"
    return f"select {columns} from ({source}) as steps {condition} order by {order}"  # noqa: S608


def case_of(session: Session, run_id: str | None, case: str | None) -> str | None:
    """Return the newest id of a case of a run, or of any, whichever of its ids is named.

    Raises:
        ConfigError: there is none; names the nearest.
    """
    if case is None:
        return None
    rows = _planned(session, run_id, "suite_id, case_id")
    ids = read_ids(session)
    for suite_id, case_id in rows:
        if case == case_id or case_id in ids.all_of(suite_id, case):
            return case_id
    where = "no run" if run_id is None else f"run `{run_id}`"
    what = f"{where} {'has a case' if run_id is None else 'has no case'} `{case}`"
    raise unknown_name(what, case, [case_id for _, case_id in rows])


def model_of(session: Session, run_id: str | None, model: str | None) -> str | None:
    """Return the model_id of a model of a run, or of any.

    Raises:
        ConfigError: there is none; names the nearest.
    """
    if model is None:
        return None
    wanted = model_for(session, model)
    rows = _planned(session, run_id, "model_id, model")
    for model_id, name in rows:
        if wanted in {model_id, name}:
            return model_id
    where = "no run asked" if run_id is None else f"run `{run_id}` did not ask"
    what = f"{where} model `{model}`"
    raise unknown_name(what, model, [model_id for model_id, _ in rows])


def _planned(session: Session, run_id: str | None, columns: str) -> list[tuple[str, str]]:
    """Return two columns of the plans of a run, or of all."""
    condition, values = ("", []) if run_id is None else ("where run_id = ?", [run_id])
    query = f"select distinct {columns} from stg_plans {condition} order by all"  # noqa: S608
    return [(str(one), str(other)) for one, other in session.rows(query, values)]


def _tool_of(session: Session, run_id: str, tool: str | None) -> str | None:
    """Return the name of a tool that was called in a run."""
    if tool is None:
        return None
    rows = session.rows(
        "select distinct tool from stg_steps where run_id = ? and tool is not null", [run_id]
    )
    known = sorted(name for (name,) in rows)
    if tool not in known:
        what = f"no step of run `{run_id}` is of a tool `{tool}`"
        raise unknown_name(what, tool, known)
    return tool
