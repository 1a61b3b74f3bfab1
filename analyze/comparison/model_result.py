"""One model on both sides: facts of each side, the paired difference, and at last the verdict.

In two steps, since a q needs the p of every model of the call: `figures_of` is what comes before
it, `judged` what follows.

The facts of a side are of the comparable cases. A trial without a verdict is counted and named with
its cause; the bounds say what it may be worth.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace

from analyze.comparison.evidence.outcomes import CaseCounts, Causes, Cuts
from analyze.comparison.nights import Nights, night_noise
from analyze.comparison.pairing import (
    GroupSide,
    OwnTrials,
    PairedCase,
    PairedGroup,
    Pooled,
    common_cases,
)
from analyze.comparison.planned import ModelRun, planned_answers
from analyze.comparison.ratios import Measure, measures_of, ratio_of
from analyze.comparison.scores import ScoreMeasure, score_difference
from analyze.comparison.verdict import (
    effective_margin,
    limits_of,
    obstacles_between,
    reused_in_words,
    verdict_of,
    warnings_of,
)
from analyze.stats import rates
from analyze.stats.intervals import n_clusters, unit_sums
from analyze.stats.night_noise import rate_between_nights
from analyze.stats.paired_rates import RateInterval, RateTest, rate_difference, rate_test
from schemas.base import same_fields
from schemas.config.project import Thresholds
from schemas.output.comparison import Axis, GroupComparison, RateDifference, SideFacts


def side_facts(group: PairedGroup, place: int, causes: Causes, cuts: Cuts) -> SideFacts:
    """Return the facts of one side.

    Args:
        group: a model on both sides.
        place: 0 for the base, 1 for the candidate.
        causes: why trials have no verdict, of every run.
        cuts: where answers were cut off, of every run that has such.
    """
    side = group.sides[place]
    cases = [case.sides[place] for case in group.cases]
    total = CaseCounts.total(case.counts for case in cases)
    able = [case.counts for case in cases if case.counts.n_scorable]
    n_timeout = sum(counts.n_timeout for counts in able)
    m = [counts.n_independent for counts in able]
    c = [counts.n_independent_passed for counts in able]
    identical = rates.repetitions_identical(
        sum(case.answers.is_repeated for case in cases),
        sum(case.answers.is_identical for case in cases),
    )
    return SideFacts(
        model_id=side.key.model_id,
        run_ids=side.runs,
        n_cases=len(cases),
        **same_fields(total, "n_planned n_scorable n_total n_reused n_scored n_passed n_truncated"),
        n_timeout=n_timeout,
        truncated_after=_cut_after(side, cuts),
        passed_rate=_share(total.n_passed, total.n_scored),
        ci95=rates.interval_of_units(
            [case.cluster for case in cases],
            [case.counts.n_passed for case in cases],
            [case.counts.n_scored for case in cases],
        ),
        score_strict=_share(total.n_passed, total.n_scorable),
        score_upper=_share(total.n_passed + total.n_scorable - total.n_scored, total.n_scorable),
        score_available=_share(total.n_passed, total.n_scored),
        coverage=_share(total.n_scored, total.n_scorable),
        timeout_share=_share(n_timeout, total.n_scorable),
        causes=_causes(group, place, causes),
        served_models=side.served,
        pass_at_k=rates.pass_curve(rates.pass_at_k, m, c, identical=identical is True),
        pass_hat_k=rates.pass_curve(rates.pass_hat_k, m, c, identical=identical is True),
    )


def _share(part: int, whole: int) -> float | None:
    return part / whole if whole else None


@dataclass(frozen=True)
class Figures:
    """One model before all p of the call are known."""

    group: PairedGroup
    base: SideFacts
    candidate: SideFacts
    interval: RateInterval | None
    test: RateTest | None
    measures: tuple[Measure, ...]
    obstacles: tuple[str, ...]
    """Why the sides cannot be compared."""
    nights: Nights | None = None
    """How the model varies between nights; None where both sides are the same ones."""
    scores: tuple[ScoreMeasure, ...] = ()
    """By evaluation profile."""
    history: tuple[ModelRun, ...] = ()
    """Of the candidate's model, the newest first; none where both sides are the same runs."""

    @property
    def p(self) -> float | None:
        """What the model adds to the family; None when it is not compared."""
        return None if self.obstacles or self.interval is None or self.test is None else self.test.p

    @property
    def secondary_p(self) -> list[float | None]:
        """What the model adds to the family of secondary metrics, in the order of its results."""
        return [*(one.p for one in self.measures), *(one.p for one in self.scores)]


def figures_of(
    group: PairedGroup,
    causes: Causes,
    cuts: Cuts,
    *,
    min_coverage: float,
    differing: Collection[Axis] = (),
    nights: Nights | None = None,
    history: Sequence[ModelRun] = (),
    scores: tuple[ScoreMeasure, ...] = (),
) -> Figures:
    """Return the figures of one model that do not depend on other models.

    Causes and cuts are of every run, `differing` the axes that keep cases of it out. The newest run
    of the history is the candidate; without nights both sides are the same ones.
    """
    base, candidate = (side_facts(group, place, causes, cuts) for place in (0, 1))
    counts = paired_counts(group.cases)
    n_common = sum(
        bool(case.base.counts.n_scored and case.candidate.counts.n_scored) for case in group.cases
    )
    obstacles = tuple(obstacles_between(base, candidate, n_common, min_coverage, differing))
    # a suite without checks has no verdicts, and its times and costs can be compared all the same
    barred = "; ".join(obstacles) if base.n_scorable or candidate.n_scorable else ""
    return Figures(
        group=group,
        base=base,
        candidate=candidate,
        interval=rate_difference(*counts),
        test=rate_test(*counts) if counts[0] else None,
        measures=tuple(
            replace(one, barred=barred or None) for one in measures_of(group.cases, nights)
        ),
        obstacles=obstacles,
        nights=nights,
        history=tuple(history),
        scores=scores,
    )


def paired_counts(cases: Sequence[PairedCase]) -> tuple[list[int], ...]:
    """Return passes and trials of the base, then of the candidate, by unit with own of both.

    A unit is a cluster of cases, or a case without one.
    """
    return _columns([(case.cluster, case.base.own, case.candidate.own) for case in cases])


def missing_p(cases: Sequence[PairedCase]) -> float | None:
    """Return the p when every missing verdict counts as failed on both sides.

    Returns:
        None where none is missing; 1 where the difference then has no sign, or the other one.
    """
    sides = [(case.base, case.candidate) for case in cases]
    if not any(_n_missing(side) for both in sides for side in both):
        return None
    seen = paired_counts(cases)
    counts = _columns(
        [(case.cluster, _with_missing(case.base), _with_missing(case.candidate)) for case in cases]
    )
    before, after = (
        mean_rate(k_b, m_b) - mean_rate(k_a, m_a) for k_a, m_a, k_b, m_b in (seen, counts)
    )
    return rate_test(*counts).p if before * after > 0 else 1.0


def _columns(cases: Sequence[tuple[str | None, OwnTrials, OwnTrials]]) -> tuple[list[int], ...]:
    common = [case for case in cases if case[1].n_scored and case[2].n_scored]
    return unit_sums(
        [cluster for cluster, _, _ in common],
        [base.n_passed for _, base, _ in common],
        [base.n_scored for _, base, _ in common],
        [candidate.n_passed for *_, candidate in common],
        [candidate.n_scored for *_, candidate in common],
    )


def _n_missing(side: Pooled) -> int:
    return max(side.counts.n_scorable - side.counts.n_scored, 0)


def _with_missing(side: Pooled) -> OwnTrials:
    return OwnTrials(side.own.n_scored + _n_missing(side), side.own.n_passed)


def mean_rate(k: Sequence[int], m: Sequence[int]) -> float:
    """Return the mean over cases of the share that passed; there is a case."""
    return min(math.fsum(c / n for c, n in zip(k, m, strict=True)) / len(k), 1.0)


def judged(
    figures: Figures, q: float | None, secondary: Iterator[float | None], thresholds: Thresholds
) -> GroupComparison:
    """Return one model with its verdict.

    The q is over the models of the call; of `secondary`, those of its times, counts, costs and
    scores are taken.
    """
    difference = _difference(figures, q, thresholds)
    verdict = verdict_of(difference, figures.obstacles, thresholds)
    untested = tuple(_untested(figures))
    common = common_cases(figures.group.cases)
    rests_on = len(common), n_clusters([case.cluster for case in common])
    is_untested = difference is None and verdict != "not_comparable"
    base, candidate = (side.key for side in figures.group.sides)
    return GroupComparison(
        provider=base.provider,
        model=base.model,
        thinking_level=base.thinking_level,
        model_id=base.model_id,
        candidate_provider=candidate.provider,
        candidate_model=candidate.model,
        candidate_thinking_level=candidate.thinking_level,
        candidate_model_id=candidate.model_id,
        verdict=verdict,
        reasons=(
            *figures.obstacles,
            *(untested if is_untested else ()),
            *(limits_of(difference, verdict, thresholds, rests_on) if figures.test else ()),
        ),
        warnings=(
            *warnings_of(figures.base, figures.candidate, thresholds),
            *(() if is_untested else untested),
        ),
        base=figures.base,
        candidate=figures.candidate,
        difference=difference,
        n_cases=rests_on[0],
        n_clusters=rests_on[1],
        ratios=tuple(ratio_of(one, next(secondary), thresholds) for one in figures.measures),
        scores=tuple(
            score_difference(one, next(secondary), thresholds.alpha) for one in figures.scores
        ),
    )


def _difference(figures: Figures, q: float | None, thresholds: Thresholds) -> RateDifference | None:
    found, test = figures.interval, figures.test
    if found is None or test is None:
        return None
    k_a, m_a, k_b, m_b = paired_counts(figures.group.cases)
    clusters = [case.cluster for case in common_cases(figures.group.cases)]
    is_sure = q is not None and q <= thresholds.alpha
    base_rate = mean_rate(k_a, m_a)
    nights = figures.nights
    apart = nights and rate_between_nights(found, nights.rate, nights.n_base, nights.n_candidate)
    shown, plan, repetitions = planned_answers(
        figures.group.cases, figures.history, nights, thresholds
    )
    is_apart = apart is not None
    smallest = shown.smallest if is_apart else shown.smallest_same_night
    needed = plan.cases_unchanged if is_apart else plan.cases_unchanged_same_night
    n_planned = shown.n_cases or 0
    return RateDifference(
        test=test.test,
        n_cases=len(clusters),
        n_clusters=n_clusters(clusters),
        n_nonzero=test.n_nonzero,
        base_rate=base_rate,
        candidate_rate=mean_rate(k_b, m_b),
        **same_fields(found, "difference low high low90 high90"),
        p=test.p,
        q=q,
        detectable=1.0 if smallest is None or base_rate == 0 else smallest,
        is_borderline=q is not None and is_sure != (found.low > 0 or found.high < 0),
        cases_needed=None if needed is None or needed <= n_planned else needed,
        cases_needed_same_night=plan.cases_unchanged_same_night,
        is_beyond_reach=needed is None,
        n_planned_units=n_planned,
        repetitions=plan.repetitions,
        planned_repetitions=repetitions,
        margin=effective_margin(base_rate, thresholds),
        missing_p=missing_p(figures.group.cases),
        night_p=None if apart is None else apart.p,
        night=nights and apart and night_noise(nights, nights.rate, apart[1:5]),
    )


def _untested(figures: Figures) -> Iterator[str]:
    """Yield which cases have a verdict on both sides and are in no test, since one was reused."""
    cases = figures.group.cases
    common = [c for c in cases if c.base.counts.n_scored and c.candidate.counts.n_scored]
    for place, (name, facts) in enumerate(
        (("base", figures.base), ("candidate", figures.candidate))
    ):
        n_reused = sum(not case.sides[place].own.n_scored for case in common)
        yield from reused_in_words(name, facts, n_reused, len(common))


def _cut_after(side: GroupSide, cuts: Cuts) -> tuple[int, int] | None:
    """Return the fewest and the most tokens of a cut answer of one side; None where unknown."""
    model_id = side.key.model_id
    found = [cuts[run_id, model_id] for run_id in side.runs if (run_id, model_id) in cuts]
    return (min(one[0] for one in found), max(one[1] for one in found)) if found else None


def _causes(group: PairedGroup, place: int, causes: Causes) -> dict[str, int]:
    """Return why trials of one side have no verdict, over the cases of a model."""
    model_id = group.sides[place].key.model_id
    found: Counter[str] = Counter()
    for case in group.cases:
        for run_id in case.sides[place].run_ids:
            found.update(causes.get((run_id, model_id, case.case), {}))
    return dict(sorted(found.items()))
