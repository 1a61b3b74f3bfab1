"""Doubts about what stands beside the run: its baseline, and the history of its suite."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

from analyze.comparison.document import axis_lines
from analyze.gate.rules import MIN_CASES
from analyze.query.run_ref import run_folder
from analyze.regressions.detect import MIN_SERIES_RUNS
from analyze.render.numbers import in_cases, pair, some
from analyze.report.caveats.facts import compare_of
from analyze.report.sections import ReportContext
from analyze.report.sections.answer import config_of_run
from schemas.output.comparison import AxisReport, Comparison, GroupComparison
from schemas.output.regressions import Regressions
from schemas.output.report import Doubt
from schemas.run.model_names import with_names

UNLIKE_TIMES = "Times of the two are not like for like"


def not_comparable(context: ReportContext) -> Iterator[Doubt]:
    """Yield models without a verdict beside the baseline, and why; models that it lacks."""
    if context.comparison is None:
        return
    by_reason: defaultdict[tuple[str, ...], list[str]] = defaultdict(list)
    for group in context.comparison.groups:
        is_judged = bool(group.base.n_scorable or group.candidate.n_scorable)
        if group.verdict == "not_comparable" and (is_judged or not group.base.n_cases):
            by_reason[group.reasons].append(group.candidate_model_id)
    for reasons, model_ids in by_reason.items():
        yield Doubt(
            code="not_comparable",
            is_serious=True,
            model_ids=tuple(model_ids),
            sentence=f"{some(context.names_of(model_ids))} cannot be compared with the baseline: "
            f"{'; '.join(reasons)}. Whether anything changed is not known.",
            command=compare_of(context),
        )
    if context.comparison.unmatched:
        yield Doubt(
            code="not_comparable",
            is_serious=False,
            model_ids=(),
            sentence=f"Not on both sides, so compared with nothing: "
            f"{some(with_names(context.comparison, context.names).unmatched, '; ')}.",
            command=compare_of(context),
        )


def changed_with_it(context: ReportContext) -> Iterator[Doubt]:
    """Yield what else changed since the baseline; serious where it can stand behind a verdict."""
    if context.comparison is None:
        return
    for axis in context.comparison.axes:
        yield from _axis(context, context.comparison, axis)
    is_time_judged = any(map(_is_time_judged, context.comparison.groups))
    for what in _around(context):
        yield Doubt(
            code="changed_with_it",
            is_serious=is_time_judged,
            model_ids=(),
            sentence=f"Not the same as in the baseline: {what}. {UNLIKE_TIMES}.",
            command=compare_of(context),
        )


def _axis(context: ReportContext, comparison: Comparison, axis: AxisReport) -> Iterator[Doubt]:
    """Yield what differs on one axis: allowed, or left out and what is left then."""
    left = [
        group
        for group in comparison.groups
        if group.verdict != "not_comparable" and group.candidate_model_id in axis.model_ids
    ]
    remainder = some(
        [
            f"{in_cases(group.n_cases or 0, group.n_clusters)} of "
            f"{context.names.of(group.candidate_model_id)}"
            for group in left
        ]
    )
    n_fewest = min((group.n_units for group in left), default=MIN_CASES)
    n_lost = sum(axis.axis in case.axes for case in comparison.excluded)
    follows = "No verdict takes these cases in" + (
        f"; it rests on {remainder}" if remainder else ""
    )
    if n_lost < axis.n_differ:
        follows = "There only those runs of the baseline count that are the same"
        follows += f": verdicts rest on {remainder}" if remainder else ""
    if axis.is_allowed:
        follows = "A change may be its doing and not the model's"
    for line in axis_lines(comparison.model_copy(update={"axes": (axis,)})):
        yield Doubt(
            code="changed_with_it",
            is_serious=axis.is_allowed or n_fewest < MIN_CASES,
            model_ids=axis.model_ids,
            sentence=f"Changed since the baseline: {line}. {follows}.",
            command=compare_of(context, "--allow", axis.axis),
        )


def _is_time_judged(group: GroupComparison) -> bool:
    return any(
        ratio.metric.endswith("_ms") and ratio.verdict in {"regressed", "improved"}
        for ratio in group.ratios
    )


def _around(context: ReportContext) -> Iterator[str]:
    """Yield what changes no answer and can change its time: the machine, how many at once."""
    among = ", ".join("?" * len(context.baseline))
    rows = context.session.rows(
        f"select distinct machine from stg_runs where run_id in ({among})",  # noqa: S608
        context.baseline,
    )
    machines = {machine for (machine,) in rows}
    now = context.run.row.machine
    if now is not None and None not in machines and machines != {now}:
        yield f"the machine ({pair(some(sorted(machines)), now)})"
    before = {_at_once(context, run_id) for run_id in context.baseline}
    at_once = _at_once(context, context.run_id)
    if at_once is not None and None not in before and before != {at_once}:
        numbers = some(sorted({str(number) for number in before}))
        yield f"trials in flight at once ({pair(numbers, str(at_once))})"


def _at_once(context: ReportContext, run_id: str) -> int | None:
    """Return how many trials a run had in flight at most; None when it is not known."""
    config = config_of_run(run_folder(context.session, run_id))
    return None if config is None else config.execution_policy.max_concurrency


def skipped_history(context: ReportContext, shifts: Regressions | None) -> Iterator[Doubt]:
    """Yield what keeps the history of a model's passed rate from being judged.

    A suite with fewer runs than it takes is none of its models' doing, and says nothing yet.
    """
    if shifts is None or shifts.n_runs < MIN_SERIES_RUNS:
        return
    ours = {one.model_id for one in context.summary.models if one.passed_rate is not None}
    models: defaultdict[str, list[str]] = defaultdict(list)
    for one in shifts.skipped:
        if one.model_id in ours and one.metric in {None, "passed_rate"}:
            models[one.why].append(one.model_id)
    reasons: defaultdict[tuple[str, ...], list[str]] = defaultdict(list)
    for why, names in models.items():
        reasons[tuple(names)].append(why)
    if reasons:
        parts = [
            f"{some(context.names_of(names))} ({some(whys, '; ')})"
            for names, whys in reasons.items()
        ]
        yield Doubt(
            code="skipped_history",
            is_serious=False,
            model_ids=_unique(reasons),
            sentence=f"Not all of the history was judged: {some(parts)}. A level that shifted "
            "there is not found.",
            command=context.command("regressions", "--suite", context.run.row.suite_id),
        )


def _unique(names: Iterable[Sequence[str]]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for some_names in names for name in some_names))
