"""What a candidate is measured against: one run, or the last of its series pooled (statistics S14).

`last:N` are runs since the last level shift: a baseline across one would average two levels, and
neither a drop from the new nor a return to the old could be told. While a shift for the worse
stands they are runs before it, so that a drop is not forgotten once it is a few nights old.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from analyze.compare.history import History, Plan
from analyze.compare.outcomes import read_outcomes
from analyze.compare.pairing import pair
from analyze.compare.sides import Chosen, resolve_sides
from analyze.compare.texts import LAST, in_order, runs_of
from analyze.shifts.since import runs_since_shift
from schemas.comparison import Axis
from schemas.errors import ConfigError, Problem
from schemas.thresholds import Thresholds

if TYPE_CHECKING:
    from analyze.regressions.open_shifts import Open
    from analyze.session import Session

HISTORY = "history"
HISTORY_RUNS = 7

LAST_RUNS = re.compile(rf"{LAST}[0-9]+")


def resolve_baseline(
    session: Session,
    baseline: str,
    candidate: str,
    *,
    limits: Thresholds,
    model: str | None = None,
    allow: Collection[Axis] = (),
    opened: Sequence[Open] = (),
) -> tuple[Chosen, Chosen]:
    """Return the baseline of a gate and its candidate.

    Args:
        session: the open lake.
        baseline: a run, `previous`, `label:NAME`, `last:N`, or `history`, which is `last:7`.
        candidate: a run, or `latest`.
        limits: in force; a level shift is one beyond their margin.
        model: only this one, by its model_id or model string.
        allow: axes on which a difference keeps nothing out.
        opened: shifts that stand at the candidate: `last:N` are then runs before the oldest.

    Raises:
        RunNotFound: there is no such run; names what is near.
        ConfigError: a side means nothing, or no run before the candidate can be used.
    """
    text = f"{LAST}{HISTORY_RUNS}" if baseline == HISTORY else baseline
    base, chosen = resolve_sides(session, text, candidate, model=model)
    if not LAST_RUNS.fullmatch(text) or base.only is None:
        return replace(base, asked=baseline), chosen
    history = History(session)
    number = int(text.removeprefix(LAST))
    series = _Series(session, chosen, limits, frozenset(allow), _levels_before(opened))
    last = {model_id: series.last(history, model_id, number) for model_id in base.only}
    if not any(last.values()):
        what = (
            f"no run before `{chosen.run_ids[0]}` can be its baseline: since the last level shift "
            "none that asked the whole suite has a verdict for nine of ten trials"
        )
        raise ConfigError([Problem(None, what)])
    for model_id in [name for name, plans in last.items() if not plans]:
        last[model_id] = [_newest(history, base.only[model_id])]
    run_ids = runs_of(in_order(plan for plans in last.values() for plan in plans))
    only = {model_id: frozenset(runs_of(plans)) for model_id, plans in last.items()}
    return Chosen(baseline, run_ids, base.model, only), chosen


def _levels_before(opened: Sequence[Open]) -> dict[tuple[str, str], tuple[str, ...]]:
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
    candidate: Chosen
    limits: Thresholds
    allow: frozenset[Axis]
    levels_before: Mapping[tuple[str, str], tuple[str, ...]]

    def last(self, history: History, model_id: str, number: int) -> list[Plan]:
        """Return the last comparable plans of a model since its last shift, oldest first.

        While a shift stands they are of the level before it: held against the nights since, a drop
        that nobody mended would pass from the fourth night on.

        Those that differ on an axis are passed over while there are others; when all differ, the
        newest are taken, and the comparison says in what.
        """
        before = self.candidate.run_ids[0]
        suites = {plan.suite_id for one in self.candidate.run_ids if (plan := history.of(one))}
        since = in_order(
            plan
            for suite_id in suites
            for run_id in self._level(suite_id, model_id, before)
            if (plan := history.of(run_id))
        )
        newest = since[-number:]
        comparable = self._comparable(newest, model_id)
        if len(comparable) < len(newest) < len(since):
            comparable = self._comparable(since, model_id)[-number:]
        return comparable or newest

    def _level(self, suite_id: str, model_id: str, before: str) -> Sequence[str]:
        """Return the runs of the level that a candidate is held against."""
        level = self.levels_before.get((suite_id, model_id))
        return level or runs_since_shift(
            self.session, suite_id, model_id, before, limits=self.limits, allow=self.allow
        )

    def _comparable(self, plans: Sequence[Plan], model_id: str) -> list[Plan]:
        """Return the plans that have a case in common with the candidate."""
        base_runs = runs_of(plans)
        rows = read_outcomes(self.session, [*base_runs, *self.candidate.run_ids])
        pairing = pair(
            [row for row in rows if row.run_id in base_runs and row.key.model_id == model_id],
            [row for row in rows if row.run_id not in base_runs],
            Chosen("", base_runs, self.candidate.model),
            self.candidate,
            allow=self.allow,
        )
        among = {run_id for group in pairing.groups for run_id in group.base_runs}
        return [plan for plan in plans if among.intersection(plan.run_ids)]
