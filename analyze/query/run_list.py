"""Runs as people list them: what was asked, how much of it is there, how it went."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from analyze.contracts.models import RunSummaryRow
from analyze.contracts.trials import RunsRow
from analyze.lake.overlay import read_sql
from analyze.query.run_ref import in_runs, run_folder
from analyze.stats.rates import CaseRate, case_rate

if TYPE_CHECKING:
    from analyze.query.session import Session


MAX_WAIT_MS = 600_000
"""In which no trial is in progress while a run goes on: for a rate limit, a warm-up, a model that
loads. What is longer is a pause, as between an interruption and its resume."""

TOOK = read_sql("query/run_times.sql")
"""Of every record, those too that a later one replaced: they took time as well. By the run's own
clock, where each has it, else by the wall clock."""


@dataclass(frozen=True)
class ListedModel:
    """One model of a run in a list, as the summary groups them."""

    provider: str
    model: str
    thinking_level: str | None
    model_id: str
    passed: CaseRate
    score_strict: float | None
    """With what has no verdict counted as failed."""
    coverage: float | None


@dataclass(frozen=True)
class ListedRun:
    """One run in a list."""

    MODEL_FIELDS: ClassVar[tuple[str, ...]] = ("models",)

    row: RunsRow
    summary: RunSummaryRow
    models: Sequence[str]
    """model_ids, sorted."""
    passed: CaseRate
    """A case is one draw, however many models were asked it."""
    has_folder: bool
    """Its folder is here, and not the lake's rows alone."""
    took_ms: int | None = None
    """First start to last end of what was asked in it, without pauses; None: no known times."""
    by_model: Sequence[ListedModel] = ()
    """Each model apart, by model_id."""

    @property
    def run_id(self) -> str:
        """Its name."""
        return self.row.run_id

    @property
    def n_missing(self) -> int:
        """Planned trials without a result."""
        return self.summary.n_planned - self.summary.n_total

    @property
    def n_failed(self) -> int:
        """Results that are no answers."""
        return self.summary.n_total - self.summary.n_success


@dataclass(frozen=True)
class Listed:
    """The runs of a list, and how many there are in all."""

    runs: Sequence[ListedRun]
    n_all: int
    newest: Mapping[str, str]
    """run_id of the newest run of each suite, listed or not."""


def read_runs(
    session: Session,
    *,
    suite: str | None = None,
    model: str | None = None,
    label: str | None = None,
    limit: int = 0,
) -> Listed:
    """Return runs, newest first; those without a start come last.

    Args:
        session: the open lake.
        suite: of this suite only.
        model: that asked a model of this model_id or model string.
        label: that have this label.
        limit: at most so many; 0: all.
    """
    wanted = {
        "suite_id = ?": suite,
        "run_id in (select run_id from int_run_models where ? in (model_id, model))": model,
        "list_contains(labels, ?)": label,
    }
    given = {term: value for term, value in wanted.items() if value is not None}
    rows = session.read(RunsRow, " and ".join(given), list(given.values()))
    rows.sort(key=lambda row: (row.started_at_ms or -1, row.run_id), reverse=True)
    newest = {row.suite_id: row.run_id for row in reversed(rows)}
    return Listed(_listed(session, rows[:limit] if limit else rows), len(rows), newest)


def read_run(session: Session, run_id: str) -> ListedRun:
    """Return one run that is known to be there."""
    (run,) = read_runs_by_id(session, [run_id])
    return run


def read_runs_by_id(session: Session, run_ids: Sequence[str]) -> list[ListedRun]:
    """Return some runs that are known to be there, in the order of their names here."""
    if not run_ids:
        return []
    rows = session.read(RunsRow, in_runs(run_ids), run_ids)
    return _listed(session, sorted(rows, key=lambda row: run_ids.index(row.run_id)))


def _listed(session: Session, rows: Sequence[RunsRow]) -> list[ListedRun]:
    run_ids = [row.run_id for row in rows]
    if not run_ids:
        return []
    among = in_runs(run_ids)
    came = {row.run_id: row for row in session.read(RunSummaryRow, among, run_ids)}
    models = _grouped(
        session.rows(
            "select run_id, model_id from int_run_models "  # noqa: S608 - our own terms
            f"where {among} order by run_id, model_id",
            run_ids,
        )
    )
    cases = _grouped(
        session.rows(
            "select run_id, cast(sum(n_passed) as bigint), cast(sum(n_scored) as bigint), "  # noqa: S608
            "min(cluster) "
            f"from int_case_passes where {among} group by run_id, case_id order by run_id, case_id",
            run_ids,
        )
    )
    apart = _grouped(
        session.rows(
            "select run_id, provider, model, thinking_level, model_id, "  # noqa: S608
            "cast(n_passed as bigint), cast(n_scored as bigint), cluster, "
            "cast(passes.n_scorable as bigint) from int_case_passes as passes "
            f"inner join int_run_models using (run_id, model_id) where {among} "
            "order by run_id, model_id, provider, model, thinking_level nulls first, case_id",
            run_ids,
        )
    )
    took = dict(session.rows(TOOK.format(among=among), [MAX_WAIT_MS, *run_ids]))
    return [
        ListedRun(
            row=row,
            summary=came.get(row.run_id) or _nothing(row),
            models=[model_id for (model_id,) in models[row.run_id]],
            passed=case_rate(*_columns(cases[row.run_id])),
            has_folder=run_folder(session, row.run_id) is not None,
            by_model=_models(apart[row.run_id]),
            took_ms=took.get(row.run_id),
        )
        for row in rows
    ]


def _models(rows: Iterable[tuple[Any, ...]]) -> list[ListedModel]:
    """Return each model, from its key and (passed, scored, cluster, scorable) of each case."""
    cases: defaultdict[tuple[Any, ...], list[tuple[Any, ...]]] = defaultdict(list)
    for row in rows:
        cases[row[:4]].append(row[4:])
    return [_model(key, of_model) for key, of_model in cases.items()]


def _model(key: tuple[Any, ...], cases: Sequence[tuple[Any, ...]]) -> ListedModel:
    passed = case_rate(*_columns(cases))
    n_scorable = sum(case[3] for case in cases)
    provider, model, thinking_level, model_id = key
    return ListedModel(
        provider=provider,
        model=model,
        thinking_level=thinking_level,
        model_id=model_id,
        passed=passed,
        score_strict=passed.n_hits / n_scorable if n_scorable else None,
        coverage=passed.n_trials / n_scorable if n_scorable else None,
    )


def _nothing(row: RunsRow) -> RunSummaryRow:
    """Return the sums of a run without a single planned trial, as an empty old folder is."""
    values: dict[str, Any] = dict.fromkeys(RunSummaryRow.model_fields)
    values |= {name: 0 for name in values if name.startswith("n_")}
    values |= {"run_id": row.run_id, "n_planned": row.n_planned}
    return RunSummaryRow.model_construct(None, **values)


def _columns(cases: Sequence[tuple[Any, ...]]) -> tuple[list[int], list[int], list[str | None]]:
    return [case[0] for case in cases], [case[1] for case in cases], [case[2] for case in cases]


def _grouped(rows: Iterable[tuple[Any, ...]]) -> defaultdict[str, list[tuple[Any, ...]]]:
    groups: defaultdict[str, list[tuple[Any, ...]]] = defaultdict(list)
    for run_id, *rest in rows:
        groups[run_id].append(tuple(rest))
    return groups
