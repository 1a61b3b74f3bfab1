"""Scores that moved: whether the judge did, or the model (S23).

A judge was asked about stored answers of the base when the base was judged, and again later. What
it says otherwise then is its own drift; what the candidate scores from there is the model's.
"""

from __future__ import annotations

import math
import shlex
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean
from typing import NamedTuple

from analyze.comparison.evidence.judged import AskedAgain, CaseScores
from analyze.stats.intervals import Clusters, n_clusters, unit_means, unit_places
from analyze.stats.likelier_cause import likelier_cause
from analyze.stats.paired_means import MeanDifference, mean_difference, paired_t
from schemas.errors import runs_flag
from schemas.output.score_drift import DriftVerdict, ScoreDrift

MARGIN = 0.25
"""Points, on 0-10, that scores may differ by and be called unchanged."""

MIN_ANSWERS = 20
"""Stored answers that were judged twice, below which nothing is said of a drift."""

SAME_TIME_MS = 86_400_000
"""A day: judges that were asked so close to each other are taken as the same."""

ROUNDED_VARIANCE = 1 / 12
"""Variance that a score hides which is rounded to whole points (Sheppard 1898)."""


class Rejudged(NamedTuple):
    """One case of the base whose answers were judged at two times, and of the candidate."""

    cluster: str | None
    again: AskedAgain
    candidate: CaseScores


def drift_verdict(found: MeanDifference | None, n_answers: int, alpha: float) -> DriftVerdict:
    """Return the verdict; a drift that is shown and lies within the margin is none that matters."""
    if found is None or n_answers < MIN_ANSWERS:
        return "too_few"
    if found.low90 > -MARGIN and found.high90 < MARGIN:
        return "unchanged"
    return "drifted" if found.p <= alpha else "inconclusive"


def score_drift(cases: Sequence[Rejudged], alpha: float) -> ScoreDrift | None:
    """Return what judges and the model changed by; None where nothing was judged again."""
    if not cases:
        return None
    clusters: Clusters = [case.cluster for case in cases]
    drift = unit_means(clusters, [case.again.drift for case in cases])
    change = unit_means(clusters, [case.candidate.mean - case.again.last for case in cases])
    hidden = (
        hidden_variance(clusters, [(case.again.n, case.again.n) for case in cases]),
        hidden_variance(clusters, [(case.again.n, case.candidate.n) for case in cases]),
    )
    moved, model = (
        never_surer(paired_t(values), least)
        for values, least in zip((drift, change), hidden, strict=True)
    )
    n_trials = sum(case.again.n for case in cases)
    last_ms = max(case.again.last_ms for case in cases)
    candidate_ms = max(case.candidate.last_ms for case in cases)
    verdict = drift_verdict(moved, n_trials, alpha)
    cause = None
    if verdict != "too_few":
        cause = likelier_cause(drift, change, rounding=hidden, alpha=alpha)
    if cause is not None and abs(last_ms - candidate_ms) > SAME_TIME_MS:
        cause = "not_known"
    return ScoreDrift(
        n_trials=n_trials,
        n_cases=len(cases),
        n_clusters=n_clusters(clusters),
        first_at_ms=min(case.again.first_ms for case in cases),
        last_at_ms=last_ms,
        candidate_at_ms=candidate_ms,
        difference=None if moved is None else moved.mean,
        low=None if moved is None else moved.low,
        high=None if moved is None else moved.high,
        verdict=verdict,
        candidate_difference=None if model is None else model.mean,
        candidate_low=None if model is None else model.low,
        candidate_high=None if model is None else model.high,
        cause=cause,
    )


def hidden_variance(clusters: Clusters, numbers: Sequence[Sequence[int]]) -> float:
    """Return the variance of a unit's difference that whole points may hide.

    Args:
        clusters: of each case.
        numbers: of each case, trials behind each of the means that are compared.
    """
    units: defaultdict[int, list[float]] = defaultdict(list)
    for place, some in zip(unit_places(clusters), numbers, strict=True):
        units[place].append(ROUNDED_VARIANCE * math.fsum(1 / n for n in some))
    return fmean(math.fsum(own) / len(own) ** 2 for own in units.values()) if units else 0.0


def never_surer(found: MeanDifference | None, variance: float) -> MeanDifference | None:
    """Return a mean difference whose units vary at least by so much."""
    if found is None:
        return None
    floored = mean_difference(found.mean, math.sqrt(variance / found.n), found.n - 1, found.n)
    return floored if floored.high - floored.low > found.high - found.low else found


def ask_again(run_id: str, profile: str, model_id: str, runs_dir: Path) -> str:
    """Return the command that has the judges of a profile asked again about a model of a run."""
    words = ["collect", "evaluate", run_id, "--evaluation-profile", profile, "--model", model_id]
    return shlex.join([*words, "--force", *runs_flag(runs_dir)])
