"""Noise of judges: where scores vary, on which trials most, and whether models change places by it.

Scores vary between cases, between trials of a case, which is the agent's doing, and between answers
about one trial, which is the judge's. The three are nested: an answer is about one trial of one
case.
"""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from statistics import fmean, stdev

from analyze.judges.effects import Scored, TrialScore
from analyze.judges.opinions import Opinion, RunKey, TrialKey
from schemas.output.judges import CaseSpread, OrderReversal, RankAgreement, VarianceSplit

MIN_RANKED = 5
"""Models from which on a rank correlation says something (S23)."""

Nested = Mapping[str, Mapping[TrialKey, Sequence[float]]]
"""Answers by unit and trial."""


def variance_splits(opinions: Sequence[Opinion]) -> Iterator[VarianceSplit]:
    """Yield the variance of the scores of each judge run and model, in its three parts."""
    groups: defaultdict[tuple[RunKey, str], defaultdict[str, defaultdict[TrialKey, list[float]]]]
    groups = defaultdict(lambda: defaultdict(lambda: defaultdict(list)))
    for one in opinions:
        groups[one.by, one.trial.model_id][one.unit][one.trial].append(one.score)
    for (by, model_id), units in groups.items():
        case, agent, judge = components(units)
        yield VarianceSplit(
            **by._asdict(),
            model_id=model_id,
            n_cases=len(units),
            n_trials=sum(map(len, units.values())),
            n_scores=sum(len(some) for trials in units.values() for some in trials.values()),
            case_sd=_sd(case),
            agent_sd=_sd(agent),
            judge_sd=_sd(judge),
        )


def _sd(variance: float | None) -> float | None:
    return None if variance is None else math.sqrt(max(variance, 0.0))


def components(units: Nested) -> tuple[float | None, float | None, float | None]:
    """Return the variance between units, trials of a unit, and answers about a trial.

    Analysis of variance of a nested random model with unequal numbers (Searle, Casella & McCulloch
    1992, section 5.6). A part that nothing was repeated for is None; where no unit has two trials,
    that between units has the trials' in it. One may come out below 0, which is chance.
    """
    trials = {unit: list(some.values()) for unit, some in units.items()}
    sizes = {unit: [len(one) for one in some] for unit, some in trials.items()}
    every = [value for some in trials.values() for one in some for value in one]
    a, b, n = len(trials), sum(map(len, trials.values())), len(every)
    grand = fmean(every)
    means = {unit: fmean(value for one in some for value in one) for unit, some in trials.items()}
    ss_unit = math.fsum(sum(sizes[unit]) * (means[unit] - grand) ** 2 for unit in trials)
    ss_trial = math.fsum(
        len(one) * (fmean(one) - means[unit]) ** 2 for unit, some in trials.items() for one in some
    )
    ss_answer = math.fsum(
        (value - fmean(one)) ** 2 for some in trials.values() for one in some for value in one
    )
    square = math.fsum(size**2 for some in sizes.values() for size in some)
    nested = math.fsum(sum(size**2 for size in some) / sum(some) for some in sizes.values())
    outer = math.fsum(sum(some) ** 2 for some in sizes.values())
    judge = ss_answer / (n - b) if n > b else None
    agent = None
    if judge is not None and b > a:
        agent = (ss_trial / (b - a) - judge) / ((n - nested) / (b - a))
    if a < 2:
        return None, agent, judge
    inner = (judge or 0.0) + (nested - square / n) / (a - 1) * (agent or 0.0)
    return (ss_unit / (a - 1) - inner) / ((n - outer / n) / (a - 1)), agent, judge


def spreads(opinions: Sequence[Opinion]) -> list[CaseSpread]:
    """Return the trials about which a judge run has given different scores, the widest first."""
    said: defaultdict[tuple[RunKey, TrialKey], list[float]] = defaultdict(list)
    for one in opinions:
        said[one.by, one.trial].append(one.score)
    found = [
        CaseSpread(
            evaluation_profile_id=by.evaluation_profile_id,
            judge_run_id=by.judge_run_id,
            **trial._asdict(),
            n_answers=len(scores),
            low=min(scores),
            high=max(scores),
            sd=stdev(scores),
        )
        for (by, trial), scores in said.items()
        if len(scores) > 1 and min(scores) < max(scores)
    ]
    return sorted(found, key=lambda one: -one.sd)


def ranks(scored: Scored) -> Iterator[tuple[RankAgreement, list[OrderReversal]]]:
    """Yield for each two judge runs of a profile how alike they order the models.

    By means over the cases that all of these models share, of trials that both judged.
    """
    for one, other in itertools.combinations(scored, 2):
        if one.evaluation_profile_id != other.evaluation_profile_id:
            continue
        means = _means(scored[one], scored[other])
        if len(means) < 2:
            continue
        names = (one.judge_run_id, other.judge_run_id)
        reversals = [
            OrderReversal(
                evaluation_profile_id=one.evaluation_profile_id,
                judge_run_ids=names,
                model_ids=(first, second),
                differences=(ours, theirs),
            )
            for first, second in itertools.combinations(means, 2)
            for ours, theirs in [
                (means[second][0] - means[first][0], means[second][1] - means[first][1])
            ]
            if ours * theirs < 0
        ]
        yield (
            RankAgreement(
                evaluation_profile_id=one.evaluation_profile_id,
                judge_run_ids=names,
                n_models=len(means),
                tau=kendall_tau(list(means.values())) if len(means) >= MIN_RANKED else None,
            ),
            reversals,
        )


def _means(
    first: Mapping[TrialKey, TrialScore], second: Mapping[TrialKey, TrialScore]
) -> dict[str, tuple[float, float]]:
    """Return the mean scores by both judge runs of each model, over cases that all share."""
    said: defaultdict[str, defaultdict[str, list[tuple[float, float]]]] = defaultdict(
        lambda: defaultdict(list)
    )
    for trial, one in first.items():
        if trial in second:
            said[trial.model_id][one.unit].append((one.score, second[trial].score))
    shared = set.intersection(*(set(units) for units in said.values())) if said else set()
    if not shared:
        return {}
    return {
        model_id: tuple(  # type: ignore[misc]
            fmean(fmean(pair[place] for pair in units[unit]) for unit in sorted(shared))
            for place in (0, 1)
        )
        for model_id, units in sorted(said.items())
    }


def kendall_tau(pairs: Sequence[tuple[float, float]]) -> float | None:
    """Return Kendall's tau-b; None where one side is all ties. Kendall 1945."""
    alike = tied_first = tied_second = n_both = 0
    for (a, b), (c, d) in itertools.combinations(pairs, 2):
        x, y = (a > c) - (a < c), (b > d) - (b < d)
        alike += x * y
        tied_first += x == 0
        tied_second += y == 0
        n_both += 1
    scale = math.sqrt((n_both - tied_first) * (n_both - tied_second))
    return alike / scale if scale else None
