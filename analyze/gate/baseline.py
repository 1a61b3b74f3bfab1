"""What a candidate is measured against: one run, or the last of its series pooled (S14).

`last:N` are runs since the last level shift of what is judged: a baseline across one would average
two levels, and neither a change from the new nor a return to the old could be told. Each metric has
levels of its own, so each has a baseline of its own. While a pass rate has an open shift for the
worse they are runs before it, so that a drop is not forgotten once it is a few nights old.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import TYPE_CHECKING

from analyze.comparison.evidence.outcomes import read_outcomes
from analyze.comparison.evidence.plans import History, Plan
from analyze.comparison.evidence.run_sets import (
    BASE_WORDS,
    LAST,
    ChosenSide,
    asks_levels,
    in_order,
    plain_text,
    resolve_sides,
    runs_of,
)
from analyze.comparison.pairing import pair
from analyze.regressions.detect import runs_since_shift
from schemas.config.project import Thresholds
from schemas.errors import ConfigError, Problem
from schemas.output.comparison import Axis, Metric

if TYPE_CHECKING:
    from analyze.comparison.evidence.outcomes import CaseOutcome
    from analyze.query.session import Session
    from analyze.regressions.open_shifts import StandingShift
    from analyze.regressions.series import Histories


class NoUsableRun(ConfigError):
    """No run before a candidate can be its baseline."""


@dataclass(frozen=True)
class Baseline:
    """The runs that some metrics are held against."""

    metrics: tuple[Metric, ...]
    runs: ChosenSide


def resolve_baseline(
    session: Session,
    baseline: str,
    candidate: str,
    *,
    limits: Thresholds,
    metrics: Sequence[Metric] = ("passed_rate",),
    model: str | None = None,
    allow: Collection[Axis] = (),
    opened: Sequence[StandingShift] = (),
    histories: Histories | None = None,
) -> tuple[list[Baseline], ChosenSide]:
    """Return the baselines of a gate, one for each set of runs, and its candidate.

    Args:
        session: the open lake.
        baseline: a run, `previous`, `label:NAME`, `last:N`, or `history`, which is `last:7`.
        candidate: a run, or `latest`.
        limits: in force; a level shift is one beyond their margin.
        metrics: that are judged; the baseline of the first one comes first.
        model: only this one, by its model_id or model string.
        allow: axes on which a difference keeps nothing out.
        opened: shifts that stand at the candidate: of a pass rate `last:N` are then runs before
            the oldest.
        histories: of these metrics, where others look at them too; with the same `allow`.

    Raises:
        RunNotFound: there is no such run; names what is near.
        NothingBefore: the candidate is the first run of its suite.
        ConfigError: a side means nothing, or no run before the candidate can be used.
    """
    base, chosen = resolve_sides(session, baseline, candidate, model=model, words=BASE_WORDS)
    if not asks_levels(baseline) or base.only is None:
        return [Baseline(tuple(metrics), base)], chosen
    history = History(session)
    number = int(plain_text(baseline).removeprefix(LAST))
    series = _Series(
        session,
        chosen,
        limits,
        frozenset(allow),
        tuple(metrics),
        _levels_before(opened),
        histories,
        lru_cache(maxsize=1)(partial(read_outcomes, session)),  # most models have the same runs
    )
    last = {model_id: series.last(history, model_id, number) for model_id in base.only}
    found: list[Baseline] = []
    for metric in metrics:
        plans = {model_id: of[metric] for model_id, of in last.items()}
        if not any(plans.values()):
            raise _no_usable_run(chosen.run_ids[0])
        for model_id in [name for name, some in plans.items() if not some]:
            plans[model_id] = [_newest(history, base.only[model_id])]
        run_ids = runs_of(in_order(plan for some in plans.values() for plan in some))
        only = {model_id: frozenset(runs_of(some)) for model_id, some in plans.items()}
        _add(found, metric, ChosenSide(baseline, run_ids, base.model, only))
    return found, chosen


def _add(found: list[Baseline], metric: Metric, runs: ChosenSide) -> None:
    """Add a metric to the baseline of the same runs, or as one of its own."""
    for place, one in enumerate(found):
        if one.runs == runs:
            found[place] = Baseline((*one.metrics, metric), runs)
            return
    found.append(Baseline((metric,), runs))


def _no_usable_run(candidate: str) -> NoUsableRun:
    what = (
        f"no run before `{candidate}` can be its baseline: since the last level shift none that "
        "asked the whole suite has a verdict for nine of ten trials"
    )
    return NoUsableRun([Problem(None, what)])


def _levels_before(opened: Sequence[StandingShift]) -> dict[tuple[str, str], tuple[str, ...]]:
    """Return the runs of the level before the oldest shift that stands, by suite and model."""
    return {
        (one.shift.series.suite_id, one.shift.series.model_id): one.before
        for one in reversed(opened)
        if one.shift.series.metric == "passed_rate"
    }


def _newest(history: History, run_ids: Collection[str]) -> Plan:
    """Return the newest plan of a model that has no usable run, while other models have.

    Without it the model would seem to be new; with it the comparison says what its runs lack.
    """
    return max(plan for run_id in run_ids if (plan := history.of(run_id)))


@dataclass(frozen=True)
class _Series:
    """What came before a candidate."""

    session: Session
    candidate: ChosenSide
    limits: Thresholds
    allow: frozenset[Axis]
    metrics: tuple[Metric, ...]
    levels_before: Mapping[tuple[str, str], tuple[str, ...]]
    histories: Histories | None
    outcomes: Callable[[tuple[str, ...]], list[CaseOutcome]]

    def last(self, history: History, model_id: str, number: int) -> dict[Metric, list[Plan]]:
        """Return the last comparable plans of a model at the level of each metric, oldest first.

        While a shift of its pass rate stands they are of the level before it: held against the
        nights since, a drop that nobody mended would pass from the fourth night on.

        Those that differ on an axis are passed over while there are others; when all differ, the
        newest are taken, and the comparison says in what.
        """
        before = self.candidate.run_ids[0]
        suites = {plan.suite_id for one in self.candidate.run_ids if (plan := history.of(one))}
        levels = [self._levels(suite_id, model_id, before) for suite_id in sorted(suites)]
        runs = {
            metric: tuple(run for one in levels for run in one[metric]) for metric in self.metrics
        }
        last = {
            run_ids: self._last(
                in_order(plan for run_id in run_ids if (plan := history.of(run_id))),
                model_id,
                number,
            )
            for run_ids in set(runs.values())
        }
        return {metric: last[run_ids] for metric, run_ids in runs.items()}

    def _levels(self, suite_id: str, model_id: str, before: str) -> dict[Metric, tuple[str, ...]]:
        """Return the runs of the level that each metric of a candidate is held against."""
        level = self.levels_before.get((suite_id, model_id))
        given: dict[Metric, tuple[str, ...]] = {"passed_rate": level} if level else {}
        wanted = [metric for metric in self.metrics if metric not in given]
        if not wanted:
            return given
        return given | runs_since_shift(
            self.session,
            suite_id,
            model_id,
            before,
            wanted,
            limits=self.limits,
            allow=self.allow,
            histories=self.histories,
        )

    def _last(self, since: Sequence[Plan], model_id: str, number: int) -> list[Plan]:
        """Return the last comparable ones of the plans of a level."""
        newest = list(since[-number:])
        comparable = self._comparable(newest, model_id)
        if len(comparable) < len(newest) < len(since):
            comparable = self._comparable(since, model_id)[-number:]
        return comparable or newest

    def _comparable(self, plans: Sequence[Plan], model_id: str) -> list[Plan]:
        """Return the plans that have a case in common with the candidate."""
        base_runs = runs_of(plans)
        rows = self.outcomes((*base_runs, *self.candidate.run_ids))
        pairing = pair(
            [row for row in rows if row.run_id in base_runs and row.key.model_id == model_id],
            [row for row in rows if row.run_id not in base_runs],
            ChosenSide("", base_runs, self.candidate.model),
            self.candidate,
            allow=self.allow,
        )
        among = {run_id for group in pairing.groups for run_id in group.base.runs}
        return [plan for plan in plans if among.intersection(plan.run_ids)]
