"""What runs of a suite can show, planned with what its last runs showed of each model (S11).

The newest run that has verdicts on enough cases tells how many cases and repetitions there are,
the pass rate and rho; the one before it adds kappa. Without such a run all of it is assumed.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from analyze.comparison.planned import ModelRun, read_model_runs
from analyze.query.run_ref import require_model, require_suite, resolve_run
from analyze.stats.power.assumptions import MAX_RUNS, Assumptions, assumptions_of
from analyze.stats.power.planning import PowerPlan, power_plan
from schemas.config.project import Thresholds
from schemas.errors import ConfigError, Problem

if TYPE_CHECKING:
    from analyze.query.session import Session


@dataclass(frozen=True, slots=True)
class PowerQuestion:
    """What is asked; what is None comes from the history, else from the assumptions."""

    suite_id: str | None = None
    run: str | None = None
    """As `analyze.query.run_ref.resolve_run` takes it; not together with `suite_id`."""
    model: str | None = None
    """A model_id or a model string."""
    n_cases: int | None = None
    repetitions: int | None = None
    difference: float | None = None
    """As a share: 0.05 is 5 points; None for the margin of the thresholds."""


@dataclass(frozen=True, slots=True)
class PowerAnswer:
    """A plan for each model of a suite; one without a model where there is no run."""

    suite_id: str | None
    run_ids: tuple[str, ...]
    """The newest run; each plan names those that it learned from."""
    limits: Thresholds
    plans: tuple[PowerPlan, ...]


def plan_power(session: Session, question: PowerQuestion, limits: Thresholds) -> PowerAnswer:
    """Return what runs of a size can show and which size a difference needs, model by model.

    Raises:
        RunNotFound: there is no such run.
        ConfigError: there is no such suite or model; or the run never planned the model.
    """
    if question.suite_id is not None:
        require_suite(session, question.suite_id)
    if question.model is not None:
        require_model(session, question.model)
    suite_id, runs = _last_runs(session, question)
    models = () if question.model is None else (question.model,)
    planned = read_model_runs(session, runs, models)
    if question.run is not None and not planned[0]:
        suffix = "" if question.model is None else f" of model `{question.model}`"
        raise ConfigError([Problem(None, f"run `{runs[0][0]}` planned no trial{suffix}")])
    newest = next((run for run in planned if run), {})
    plans = []
    for model_id in sorted(newest):
        of_model = [run[model_id] for run in planned if model_id in run]
        clusters = of_model[0].clusters
        given = assumptions_of(
            (one.observed for one in of_model), clusters, margin=limits.pass_rate_margin
        )
        known_from = [one for one in of_model if one.observed.run_ids == given.run_ids]
        there_is = (known_from or of_model)[0]
        plans.append(_plan((model_id,), given, limits, question, there_is))
    if not plans:
        plans = [_plan((), Assumptions(), limits, question, None)]
    return PowerAnswer(suite_id, runs[0] if runs else (), limits, tuple(plans))


def _plan(
    model_ids: tuple[str, ...],
    given: Assumptions,
    limits: Thresholds,
    question: PowerQuestion,
    there_is: ModelRun | None,
) -> PowerPlan:
    n_cases, repetitions = question.n_cases, question.repetitions
    if there_is is not None:
        n_cases = there_is.n_cases if n_cases is None else n_cases
        repetitions = there_is.repetitions if repetitions is None else repetitions
    return power_plan(
        model_ids,
        given,
        limits,
        n_cases=n_cases,
        repetitions=max(repetitions or 1, 1),
        difference=question.difference,
    )


def _last_runs(
    session: Session, question: PowerQuestion
) -> tuple[str | None, list[tuple[str, ...]]]:
    """Return the suite and its last runs, newest first, the shards of one plan together."""
    conditions, values = ["true"], list[object]()
    if question.suite_id is not None:
        conditions.append("suite_id = ?")
        values.append(question.suite_id)
    if question.model is not None:
        conditions.append("run_id in (select run_id from stg_plans where ? in (model_id, model))")
        values.append(question.model)
    newest = None if question.run is None else resolve_run(session, question.run)
    if newest is not None:
        conditions = ["suite_id = (select suite_id from stg_runs where run_id = ?)"]
        values = [newest]
    rows = session.rows(
        "select suite_id, run_id, coalesce(run_group, run_id) from stg_runs "  # noqa: S608
        f"where {' and '.join(conditions)} "
        "order by started_at_ms desc nulls last, run_id desc",
        values,
    )
    if newest is not None:
        group = next(group for _, run_id, group in rows if run_id == newest)
        first = next(at for at, row in enumerate(rows) if row[2] == group)
        rows = rows[first:]
    if not rows:
        return question.suite_id, []
    suite_id = rows[0][0]
    runs: defaultdict[str, list[str]] = defaultdict(list)
    for suite, run_id, group in rows:
        if suite == suite_id:
            runs[group].append(run_id)
    return suite_id, [tuple(sorted(members)) for members in list(runs.values())[:MAX_RUNS]]
