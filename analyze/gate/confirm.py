"""A gate's line beside the same line of a fresh run: failures that are noise go away.

Only another run may confirm a gate, one that is later, fresh and whole: a re-run of the cases that
flipped selects on noise, and taken-over answers are the old noise again.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from analyze.comparison.evidence.run_sets import ChosenSide
from analyze.query.run_ref import in_runs
from analyze.render.numbers import some
from schemas.errors import ConfigError, Problem
from schemas.output.regressions import GateLine, GateRules, Outcome

if TYPE_CHECKING:
    from analyze.query.session import Session

MAX_NAMED_CASES = 3
"""Cases in a message; the rest is counted."""

OF_MODEL = "(? is null or model_id = ? or model = ?)"

Planned = tuple[str, str, str]
"""suite_id, model_id, case_id."""


def confirmed_by(
    line: GateLine, fresh: GateLine | None, run_ids: Sequence[str], rules: GateRules
) -> GateLine:
    """Return a line as it stands beside the same line of a fresh run.

    A failure stands when both runs fail. A pass stands by itself, but for a gate that is to prove:
    there both have to prove it. What either could not judge is never a failure. Where the fresh run
    says nothing of this model and metric, there is no such line.
    """
    name = ", ".join(run_ids)
    said = "cannot_judge" if fresh is None else fresh.outcome
    theirs = "it has nothing of this model" if fresh is None else fresh.why
    if line.outcome == "cannot_judge":
        return line.model_copy(update={"confirmed": said == "cannot_judge"})
    outcome: Outcome = line.outcome
    if said == line.outcome:
        link = "says the same"
    elif line.outcome == "failed":
        is_refuted = said == "passed" and not rules.prove
        outcome = "passed" if is_refuted else "cannot_judge"
        link = "does not confirm this" if said == "passed" else "can neither confirm nor clear this"
    else:
        outcome = "cannot_judge" if rules.prove else "passed"
        link = "says otherwise" if said == "failed" else "cannot say"
    why = f"{line.why}; {name} {link}: {theirs}"
    return line.model_copy(
        update={"outcome": outcome, "confirmed": said == line.outcome, "why": why}
    )


def check_confirming(
    session: Session, confirming: ChosenSide, candidate: ChosenSide, base_runs: Collection[str]
) -> None:
    """Check that a run can confirm what a gate says: another one, later, fresh and whole.

    Whether enough of its trials have a verdict is left to the comparison. The base runs are all
    that either run is held against.

    Raises:
        ConfigError: it cannot; says everything that is in the way.
    """
    problems = [
        Problem(None, f"--confirm {confirming.asked}: {what}")
        for what in _obstacles(session, confirming, candidate, base_runs)
    ]
    if problems:
        raise ConfigError(problems)


def _obstacles(
    session: Session, confirming: ChosenSide, candidate: ChosenSide, base_runs: Collection[str]
) -> Iterator[str]:
    if same := set(confirming.run_ids) & set(candidate.run_ids):
        yield f"{_named(same)} is the candidate itself; only another run can confirm it"
        return
    if same := set(confirming.run_ids) & set(base_runs):
        yield f"{_named(same)} is in the baseline already"
        return
    if not _start(session, confirming.run_ids) > _start(session, candidate.run_ids):
        yield "it did not start after the candidate: make a run now, and name that one"
    if _is_narrowed(session, confirming.run_ids) and not _is_narrowed(session, candidate.run_ids):
        yield "flags made it smaller than its suite, which selects cases"
    if reused := _n_reused(session, confirming):
        yield f"{reused:,} of its answers are from older runs: make one without --reuse"
    missing = _planned(session, candidate) - _planned(session, confirming)
    if missing:
        yield f"it does not ask {_cases(missing)} of the candidate"


def _start(session: Session, run_ids: Sequence[str]) -> int:
    """Return when the first of some runs started; what has no start is before everything."""
    return int(_over_runs(session, "min(coalesce(started_at_ms, -1))", run_ids))


def _is_narrowed(session: Session, run_ids: Sequence[str]) -> bool:
    """Return whether a run was narrowed; a shard is, and all shards of a plan need not be."""
    is_narrowed = "coalesce(bool_or(is_narrowed and run_group is null), false)"
    return bool(_over_runs(session, is_narrowed, run_ids))


def _over_runs(session: Session, aggregate: str, run_ids: Sequence[str]) -> Any:
    sql = f"select {aggregate} from stg_runs where {in_runs(run_ids)}"  # noqa: S608
    ((value,),) = session.rows(sql, run_ids)
    return value


def _n_reused(session: Session, chosen: ChosenSide) -> int:
    rows = session.rows(
        "select count(*) from trials where reused_from_run_id is not null "  # noqa: S608
        f"and {in_runs(chosen.run_ids)} and {OF_MODEL}",
        [*chosen.run_ids, *[chosen.model] * 3],
    )
    return int(rows[0][0])


def _planned(session: Session, chosen: ChosenSide) -> set[Planned]:
    rows = session.rows(
        "select distinct suite_id, model_id, case_id from stg_plans "  # noqa: S608
        f"where {in_runs(chosen.run_ids)} and {OF_MODEL}",
        [*chosen.run_ids, *[chosen.model] * 3],
    )
    return {(suite_id, model_id, case_id) for suite_id, model_id, case_id in rows}


def _cases(missing: Collection[Planned]) -> str:
    models: defaultdict[tuple[str, str], list[str]] = defaultdict(list)
    for suite_id, model_id, case_id in missing:
        models[suite_id, case_id].append(model_id)
    names = sorted(
        f"{asked[0]}/{case_id}" if len(asked) == 1 else f"{case_id} (of {len(asked):,} models)"
        for (_, case_id), asked in models.items()
    )
    return some(names, most=MAX_NAMED_CASES)


def _named(run_ids: Collection[str]) -> str:
    return ", ".join(sorted(run_ids))
