"""The answer of a report: how good each model is, how sure that is, and what changed.

Beside it the run at the head of the report: what was asked, and how much of it is there.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Hashable, Iterable, Mapping
from itertools import compress
from pathlib import Path
from typing import NamedTuple

from analyze.comparison.pairing import own_trials
from analyze.query.run_list import ListedRun
from analyze.query.run_ref import run_folder
from analyze.query.session import Session
from analyze.report.first_screen import answer_markdown, answer_parts
from analyze.report.sections import ReportContext, Section
from analyze.stats.rates import RankedModel, is_ranked, may_be_best
from schemas.base import same_fields
from schemas.output.comparison import CaseChange, GroupComparison
from schemas.output.report import ModelAnswer, ReportedRun
from schemas.output.summary import GroupSummary, RunSummary
from schemas.run.config import RunConfig, read_config
from schemas.run.layout import is_planned


class Verdicts(NamedTuple):
    """Of one model."""

    n_cases: int
    """With a verdict."""
    n_trials: int
    """With a verdict."""
    n_clusters: int | None = None
    """Units that these cases make up; None when each stands alone."""

    @property
    def n_units(self) -> int:
        """Draws that the rate rests on."""
        return self.n_cases if self.n_clusters is None else self.n_clusters


def verdicts_of(group: GroupSummary) -> Verdicts:
    """Return what stands behind a model's passed rate; the summary has it with its interval.

    In a summary of before, no interval meant that there is one case at most.
    """
    interval = group.passed_ci95
    if interval is not None:
        return Verdicts(interval.n_cases, interval.n_trials, interval.n_clusters)
    n_trials = round((group.coverage or 0.0) * group.n_scorable)
    if group.n_cases is not None:
        return Verdicts(group.n_cases, n_trials, group.n_clusters)
    return Verdicts(1 if n_trials else 0, n_trials)


def answers_of(context: ReportContext) -> tuple[ModelAnswer, ...]:
    """Return each model of a run, the best passed rate first.

    Those that cannot be ranked come after those that can, and those without a rate last.

    Rates that cannot be compared are not put side by side: an outage is no worse model. So the
    difference is null where the verdict is `not_comparable`.
    """
    groups = context.summary.models
    comparison = context.comparison
    compared = {one.candidate_model_id: one for one in comparison.groups} if comparison else {}
    flips = _flips(comparison.cases if comparison else ())
    least = context.limits.thresholds.min_coverage
    named = [may_be_named(group, least) for group in groups]
    leading = _leading(context, [*compress(groups, named)])
    answers = [
        _answer(
            group,
            compared.get(group.model_id),
            flips,
            is_named=is_named,
            is_leading=is_named and group.model_id in leading,
        )
        for group, is_named in zip(groups, named, strict=True)
    ]
    return tuple(sorted(answers, key=lambda one: _place(one, is_named=one.is_ranked)))


def by_result(summary: RunSummary, min_coverage: float) -> RunSummary:
    """Return a summary with its models in the order of the answer, which all sections have."""
    models = sorted(
        summary.models,
        key=lambda group: _place(group, is_named=may_be_named(group, min_coverage)),
    )
    return summary.model_copy(update={"models": tuple(models)})


def _place(one: GroupSummary | ModelAnswer, *, is_named: bool) -> tuple[bool, float, str]:
    return not is_named, -_sortable_rate(one.passed_rate), one.model_id


def may_be_named(group: GroupSummary, min_coverage: float) -> bool:
    """Return whether a model may be named best: its cases and its coverage suffice."""
    return is_ranked(verdicts_of(group).n_units, group.coverage, min_coverage)


def _leading(context: ReportContext, groups: Collection[GroupSummary]) -> set[str]:
    """Return the model_ids that may be best of the models that can be ranked."""
    if len(groups) < 2:
        return {group.model_id for group in groups}
    units: defaultdict[str, dict[Hashable, tuple[int, int]]] = defaultdict(dict)
    for row in context.outcomes:
        own, of_model, unit = own_trials(row), units[row.key.model_id], row.cluster or row.case
        n_passed, n_scored = of_model.get(unit, (0, 0))
        of_model[unit] = n_passed + own.n_passed, n_scored + own.n_scored
    models = [
        RankedModel(_sortable_rate(group.passed_rate), units[group.model_id]) for group in groups
    ]
    alpha = context.limits.thresholds.alpha
    return {group.model_id for group in compress(groups, may_be_best(models, alpha))}


def _sortable_rate(rate: float | None) -> float:
    return -1.0 if rate is None else rate


def _answer(
    group: GroupSummary,
    compared: GroupComparison | None,
    flips: Mapping[tuple[str, str], int],
    *,
    is_named: bool,
    is_leading: bool,
) -> ModelAnswer:
    interval, verdicts = group.passed_ci95, verdicts_of(group)
    is_judged = compared is not None and compared.verdict != "not_comparable"
    found = compared.difference if compared is not None and is_judged else None
    return ModelAnswer(
        **same_fields(
            group, "provider model thinking_level model_id passed_rate score_strict coverage"
        ),
        low=interval.low if interval else None,
        high=interval.high if interval else None,
        estimate=interval.estimate if interval else None,
        n_cases=verdicts.n_cases,
        n_clusters=verdicts.n_clusters,
        n_scored=verdicts.n_trials,
        is_ranked=is_named,
        is_leading=is_leading,
        change=compared.verdict if compared else None,
        change_why=_why_untested(compared),
        difference=found.difference if found else None,
        difference_low=found.low if found else None,
        difference_high=found.high if found else None,
        n_broke=flips.get((group.model_id, "broke"), 0),
        n_fixed=flips.get((group.model_id, "fixed"), 0),
    )


def _why_untested(compared: GroupComparison | None) -> str | None:
    if compared is None or compared.difference is not None or compared.verdict == "not_comparable":
        return None
    return next(iter(compared.reasons), None)


def _flips(cases: Iterable[CaseChange]) -> Counter[tuple[str, str]]:
    return Counter((case.candidate_model_id, case.flip) for case in cases if case.flip is not None)


def reported_run(session: Session, run: ListedRun) -> ReportedRun:
    """Return what a report says of a run, or of its baseline.

    Args:
        session: the open lake.
        run: as lists have it.

    Raises:
        SchemaError: the run's config is there and cannot be read.
        ViewError: the lake cannot be read.
    """
    run_id = run.run_id
    config = config_of_run(run_folder(session, run_id))
    asked, came = run.row, run.summary
    return ReportedRun(
        run_id=run_id,
        **same_fields(
            asked,
            "suite_id suite_title run_profile_id started_at_ms labels is_imported "
            "benchlake_version",
        ),
        **same_fields(came, "wall_clock_ms n_planned n_total n_scorable n_scored coverage"),
        took_ms=run.took_ms,
        shard=None if config is None else config.narrowed.shard,
        n_cases=n_cases_of(session, run_id),
    )


def config_of_run(folder: Path | None) -> RunConfig | None:
    """Return what a run was asked to do; None where its folder is elsewhere, or has no plan.

    Raises:
        SchemaError: it is there and cannot be read.
    """
    return None if folder is None or not is_planned(folder) else read_config(folder)


def n_cases_of(session: Session, run_id: str) -> int:
    """Return how many cases a run planned.

    Raises:
        ViewError: the lake cannot be read.
    """
    query = "select count(distinct case_id) from stg_plans where run_id = ?"
    ((n_cases,),) = session.rows(query, [run_id])
    return int(n_cases)


ANSWER = Section(
    "The answer",
    show=answer_parts,
    read=answers_of,
    markdown=answer_markdown,
)
