"""Scores of judges on both sides, by evaluation profile, as paired differences: S9.

The value of a case is the mean over its judged trials, and the test a t over cases. Scores are of
one way to judge: where judges, what they are told or how their answers combine differ between the
sides, the difference would be theirs. They are of one family with times, tokens and costs.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean

from analyze.comparison.evidence.judged import CaseScores, Scores
from analyze.comparison.judge_drift import (
    MARGIN,
    SAME_TIME_MS,
    Rejudged,
    ask_again,
    hidden_variance,
    never_surer,
    score_drift,
)
from analyze.comparison.pairing import PairedGroup
from analyze.comparison.ratios import MAX_COVERAGE_GAP, MIN_CASES
from analyze.render.numbers import percent
from analyze.stats.intervals import Clusters, n_clusters, unit_means, unit_places
from analyze.stats.paired_means import MeanDifference, paired_t
from analyze.stats.paired_rates import ROUNDING
from schemas.output.comparison import Axis, ScoreDifference, Verdict


@dataclass(frozen=True)
class ScoredPair:
    """One case with scores on both sides."""

    cluster: str | None
    base: CaseScores
    candidate: CaseScores


@dataclass(frozen=True)
class ScoreMeasure:
    """Scores of one model by one evaluation profile before all p of the call are known."""

    evaluation_profile_id: str
    pairs: tuple[ScoredPair, ...]
    found: MeanDifference | None
    obstacle: str | None
    """Why they cannot be compared; None when they can."""
    again: tuple[Rejudged, ...] = ()
    """Cases of the base that were judged again; none where both sides are the same runs."""
    next_command: str | None = None
    """Has judges asked again about a side; None: they were, or both sides are the same runs."""

    @property
    def p(self) -> float | None:
        """Of the paired t test; None where it is not compared."""
        return None if self.found is None or self.obstacle is not None else self.found.p

    @property
    def clusters(self) -> Clusters:
        """Of each case."""
        return [pair.cluster for pair in self.pairs]


def score_measures(
    group: PairedGroup, scores: Scores, runs_dir: Path, *, allowed: Collection[Axis] = ()
) -> Iterator[ScoreMeasure]:
    """Yield what judges of each profile say of one model, by profile; of those on both sides.

    Args:
        group: the model on both sides.
        scores: of every run.
        runs_dir: where the runs are, for the command that has judges asked again.
        allowed: axes on which a difference keeps nothing out; `judge` is that of the way to judge.
    """
    is_one = set(group.base.runs) == set(group.candidate.runs)
    names = sorted({profile for side in (0, 1) for profile in _profiles(group, side, scores)})
    for profile in names:
        sides = [_by_case(group, place, scores, profile) for place in (0, 1)]
        if not all(map(any, sides)):
            continue
        pairs = tuple(
            ScoredPair(case.cluster, base, candidate)
            for case, base, candidate in zip(group.cases, *sides, strict=True)
            if base and candidate
        )
        obstacle = _obstacle(group, sides, pairs, is_any="judge" in allowed)
        found = ScoreMeasure(profile, pairs, score_t(pairs), obstacle)
        yield found if is_one else _over_time(found, group, runs_dir)


def score_difference(measure: ScoreMeasure, q: float | None, alpha: float) -> ScoreDifference:
    """Return the scores of one model by one profile with their verdict."""
    found, clusters = measure.found, measure.clusters
    before, after = (
        unit_means(clusters, [one.mean for one in side])
        for side in (
            [pair.base for pair in measure.pairs],
            [pair.candidate for pair in measure.pairs],
        )
    )
    verdict = _verdict(measure, q, alpha)
    drift = score_drift(measure.again, alpha)
    is_open = verdict in {"regressed", "improved"} or (drift and drift.cause == "not_known")
    return ScoreDifference(
        evaluation_profile_id=measure.evaluation_profile_id,
        n_cases=len(measure.pairs),
        n_clusters=n_clusters(clusters),
        n_base=sum(pair.base.n for pair in measure.pairs),
        n_candidate=sum(pair.candidate.n for pair in measure.pairs),
        base_score=fmean(before) if before else None,
        candidate_score=fmean(after) if after else None,
        difference=None if found is None else found.mean,
        low=None if found is None else found.low,
        high=None if found is None else found.high,
        low90=None if found is None else found.low90,
        high90=None if found is None else found.high90,
        p=measure.p,
        q=q,
        verdict=verdict,
        reason=measure.obstacle,
        decides=any(side.decides for pair in measure.pairs for side in (pair.base, pair.candidate)),
        drift=drift,
        next_command=measure.next_command if is_open else None,
    )


def _over_time(found: ScoreMeasure, group: PairedGroup, runs_dir: Path) -> ScoreMeasure:
    """Return it with what judges were asked again, and what has both sides judged at one time."""
    again = tuple(
        Rejudged(pair.cluster, pair.base.again, pair.candidate)
        for pair in found.pairs
        if pair.base.again
    )
    base_ms = max((one.again.last_ms for one in again), default=None)
    candidate_ms = max((pair.candidate.last_ms for pair in found.pairs), default=0)
    command = None
    if base_ms is None or abs(base_ms - candidate_ms) > SAME_TIME_MS:
        is_base = base_ms is None or base_ms < candidate_ms
        side = group.base if is_base else group.candidate
        command = ask_again(side.runs[-1], found.evaluation_profile_id, side.key.model_id, runs_dir)
    return replace(found, again=again, next_command=command)


def _profiles(group: PairedGroup, place: int, scores: Scores) -> set[str]:
    model_id = group.sides[place].key.model_id
    return {
        profile
        for case in group.cases
        for run_id in case.sides[place].run_ids
        for profile in scores.get((run_id, model_id, case.case), ())
    }


def _by_case(
    group: PairedGroup, place: int, scores: Scores, profile: str
) -> list[CaseScores | None]:
    """Return the scores of each case on one side, those of its runs together."""
    model_id = group.sides[place].key.model_id
    found = []
    for case in group.cases:
        of_runs = [
            one
            for run_id in case.sides[place].run_ids
            if (one := scores.get((run_id, model_id, case.case), {}).get(profile))
        ]
        found.append(CaseScores.total_of(of_runs) if of_runs else None)
    return found


def score_t(pairs: Sequence[ScoredPair]) -> MeanDifference | None:
    """Return the mean difference; never surer than scores that are rounded to points allow."""
    clusters = [pair.cluster for pair in pairs]
    found = paired_t(unit_means(clusters, [pair.candidate.mean - pair.base.mean for pair in pairs]))
    return never_surer(
        found, hidden_variance(clusters, [(pair.base.n, pair.candidate.n) for pair in pairs])
    )


def _obstacle(
    group: PairedGroup,
    sides: Sequence[Sequence[CaseScores | None]],
    pairs: Sequence[ScoredPair],
    *,
    is_any: bool,
) -> str | None:
    """Return why the scores cannot be compared; None when they can."""
    if not pairs:
        return "no case has a score on both sides"
    hashes = {one for pair in pairs for side in (pair.base, pair.candidate) for one in side.hashes}
    if len(hashes) > 1 and not is_any:
        return "judged otherwise: judges, what they are told, or how their answers combine differ"
    base, candidate = (_left_out(group, place, side) for place, side in enumerate(sides))
    if abs(base - candidate) > MAX_COVERAGE_GAP + ROUNDING:
        return (
            f"censored: {percent(base)} % of the trials of the base and "
            f"{percent(candidate)} % of the candidate have no score"
        )
    if len(set(unit_places([pair.cluster for pair in pairs]))) < MIN_CASES:
        return f"scores of fewer than {MIN_CASES} cases, or clusters of them, on both sides"
    return None


def _left_out(group: PairedGroup, place: int, side: Sequence[CaseScores | None]) -> float:
    """Return the share of the trials to be made in these runs that have no score."""
    counts = [case.sides[place].counts for case in group.cases]
    made = sum(one.n_planned - one.n_reused for one in counts)
    held = sum(one.n for one in side if one)
    return max(made - held, 0) / max(made, 1)


def _verdict(measure: ScoreMeasure, q: float | None, alpha: float) -> Verdict:
    found = measure.found
    if measure.obstacle is not None or found is None:
        return "not_comparable"
    if found.low90 > -MARGIN and found.high90 < MARGIN:
        return "unchanged"
    if q is not None and q <= alpha:
        return "improved" if found.mean > 0 else "regressed"
    return "inconclusive"
