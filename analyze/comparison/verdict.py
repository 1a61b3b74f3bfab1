"""The verdict on one model, and in words what limits it.

Whether both sides can be compared comes first, then whether they are the same in practice, then
the test. Pure: figures in, words out.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import NamedTuple, get_args

from analyze.render.numbers import chance, in_cases, percent, points, times, whole
from analyze.stats.paired_rates import ROUNDING, RateInterval, margin_at
from schemas.config.project import Thresholds
from schemas.errors import counted, plural
from schemas.output.comparison import Axis, NightNoise, RateDifference, SideFacts, Verdict

MAX_COVERAGE_GAP = 0.05
"""Coverages further apart than this say that the two sides did not see the same work."""


def effective_margin(base_rate: float, thresholds: Thresholds) -> float:
    """Return the margin at a rate of the base, which is smaller near 0 and 1."""
    return margin_at(base_rate, thresholds.pass_rate_margin)


class WidestLimits(NamedTuple):
    """The farther limits of two intervals."""

    low: float
    high: float
    low90: float
    high90: float


def widest(difference: RateDifference) -> WidestLimits:
    """Return the limits that a proof goes by: of the cases, and with the noise of nights."""
    of_cases = difference.low, difference.high, difference.low90, difference.high90
    night = difference.night
    if night is None:
        return WidestLimits(*of_cases)
    apart = night.low, night.high, night.low90, night.high90
    pairs = [(a, a if b is None else b) for a, b in zip(of_cases, apart, strict=True)]
    return WidestLimits(min(pairs[0]), max(pairs[1]), min(pairs[2]), max(pairs[3]))


def limits_for_margin(
    found: RateInterval | WidestLimits, margin: float, thresholds: Thresholds
) -> tuple[float, float]:
    """Return the limits that must lie inside a margin: the wider ones inside a smaller margin."""
    if margin < thresholds.pass_rate_margin:
        return found.low, found.high
    return found.low90, found.high90


def further_ps(difference: RateDifference) -> tuple[float, ...]:
    """Return every p beside q that must be at most alpha before a change is shown."""
    return tuple(p for p in (difference.missing_p, difference.night_p) if p is not None)


def is_shown(difference: RateDifference, thresholds: Thresholds) -> bool:
    """Return whether the test, and all that it is held against, shows a change."""
    if difference.q is None:
        return False
    return max((difference.q, *further_ps(difference))) <= thresholds.alpha


def verdict_of(
    difference: RateDifference | None, obstacles: Sequence[str], thresholds: Thresholds
) -> Verdict:
    """Return the verdict on the passed rate of one model.

    Unchanged is what lies inside the margin (two one-sided tests, Schuirmann 1987) and is not shown
    to have changed, by the p of this model alone. The q of the difference is in it already; below
    two cases there is none.
    """
    if obstacles:
        return "not_comparable"
    if difference is None:
        return "inconclusive"
    margin = effective_margin(difference.base_rate, thresholds)
    low, high = limits_for_margin(widest(difference), margin, thresholds)
    if difference.p > thresholds.alpha and -margin < low and high < margin:
        return "unchanged"
    if is_shown(difference, thresholds):
        return "improved" if difference.difference > 0 else "regressed"
    return "inconclusive"


def obstacles_between(
    base: SideFacts,
    candidate: SideFacts,
    n_common: int,
    min_coverage: float,
    differing: Collection[Axis] = (),
) -> Iterator[str]:
    """Yield why two sides cannot be compared, by S5: never a guess at what is missing.

    The sides are of the comparable cases, of which `n_common` have a verdict on both; `differing`
    are the axes that keep cases out.
    """
    if base.n_cases == 0:
        axes = [axis for axis in get_args(Axis) if axis in differing]
        options = " ".join(f"--allow {axis}" for axis in axes)
        what = f": {', '.join(axes)} unlike or not known ({options} takes them in)" if axes else ""
        yield f"no case is the same on both sides{what}"
        return
    if base.n_scorable == 0 and candidate.n_scorable == 0:
        yield "no case of it has a check that could give a verdict"
        return
    low = [
        (name, side, side.coverage)
        for name, side in (("base", base), ("candidate", candidate))
        if side.coverage is not None and side.coverage < min_coverage - ROUNDING
    ]
    for name, side, coverage in low:
        causes = f"; without one: {cause_counts(side.causes)}" if side.causes else ""
        yield (
            f"{name}: only {percent(coverage, min_coverage)} % of the trials have a verdict, "
            f"{percent(min_coverage)} % are needed{causes}"
        )
    if not low and base.coverage is not None and candidate.coverage is not None:
        apart = abs(base.coverage - candidate.coverage)
        if apart > MAX_COVERAGE_GAP + ROUNDING:
            yield (
                f"coverage differs by {points(apart)} points "
                f"(base {percent(base.coverage)} %, candidate {percent(candidate.coverage)} %)"
            )
    if n_common == 0:
        yield "no case has a verdict on both sides"


def limits_of(
    difference: RateDifference | None,
    verdict: Verdict,
    thresholds: Thresholds,
    rests_on: tuple[int, int | None] = (1, None),
) -> Iterator[str]:
    """Yield what keeps a verdict from being clearer: size of the data, never the observed effect.

    `rests_on` are the cases that a test would rest on, and the clusters that they make up.
    """
    if difference is None:
        if verdict != "not_comparable":
            yield _alone(*rests_on)
        return
    margin = effective_margin(difference.base_rate, thresholds)
    is_smaller = margin < thresholds.pass_rate_margin
    if verdict == "unchanged":
        level, why = ("95", ", which is smaller near 0 and 100 %") if is_smaller else ("90", "")
        yield (
            f"the same in practice: the {level} % interval lies inside the margin of "
            f"{points(margin)} points{why}"
        )
    if verdict != "inconclusive":
        return
    yield from _unshown(difference, thresholds)
    if difference.cases_needed is not None or difference.is_beyond_reach:
        near = f" near {100 if difference.base_rate > 0.5 else 0} %" if is_smaller else ""
        yield f"margin of {points(margin)} points{near} out of reach: {_needed(difference)}"


def _needed(difference: RateDifference) -> str:
    """Return how many cases it takes, and how many there are."""
    night, n_there = difference.night, difference.n_planned_units
    nights = ""
    if night is not None:
        is_pair = night.n_base_runs == night.n_candidate_runs == 1
        nights = " between two nights" if is_pair else f" with {_nights(night)}"
    there = whole(difference.n_units if n_there is None else n_there)
    if difference.n_clusters is not None:
        there += f" ({in_cases(difference.n_cases, None)})"
    if difference.cases_needed is None:
        found = f"no number of {_units(difference)} is enough{nights}"
        one = difference.cases_needed_same_night
        within = (
            "" if one is None else f"; within one night it takes about {_size(difference, one)}"
        )
        return f"{found}{within}; there are {there}"
    return f"needs about {_size(difference, difference.cases_needed)}{nights}, there are {there}"


def _nights(night: NightNoise) -> str:
    """Return how many nights each side is."""
    return f"{counted(night.n_base_runs, 'night')} against {whole(night.n_candidate_runs)}"


def _size(difference: RateDifference, n_units: int) -> str:
    """Return so many cases or clusters, and how often each is asked."""
    each = difference.repetitions
    units = counted(n_units, "case" if difference.n_clusters is None else "cluster")
    if each is None:
        return units
    often = whole(each) if each == int(each) else times(each)
    trials = "" if difference.n_clusters is None else " trials"
    return f"{units} x {often}{trials}"


def _units(difference: RateDifference) -> str:
    return "cases" if difference.n_clusters is None else "clusters"


def warnings_of(base: SideFacts, candidate: SideFacts, thresholds: Thresholds) -> Iterator[str]:
    """Yield what makes a rate harder to read although it can be compared."""
    for name, side in (("base", base), ("candidate", candidate)):
        share = side.timeout_share
        if share is not None and share > thresholds.timeout_warning_share:
            yield (
                f"{name}: {percent(share)} % of the trials timed out ({whole(side.n_timeout)} of "
                f"{whole(side.n_scorable)}): a slow server reads like a worse model"
            )
        if side.n_truncated > thresholds.truncation_warning_share * side.n_total:
            were = "was" if side.n_truncated == 1 else "were"
            yield (
                f"{name}: {whole(side.n_truncated)} of {counted(side.n_total, 'answer')} "
                f"({percent(side.n_truncated / side.n_total)} %) {were} cut off"
                f"{cut_words(side.truncated_after)}: a limit reads like a worse model"
            )


def cut_words(after: tuple[int, int] | None) -> str:
    """Return after how many output tokens answers were cut off; nothing where it is not known."""
    if after is None:
        return ""
    least, most = after
    tokens = whole(most) if least == most else f"{whole(least)} to {whole(most)}"
    return f" after {tokens} {plural(most, 'token')}"


def reused_in_words(name: str, side: SideFacts, n_reused: int, n_common: int) -> Iterator[str]:
    """Yield that cases of a side are in no test, since their answers are no trials of its own.

    Of `n_common` cases with a verdict on both sides it has none of its own for `n_reused`.
    """
    if side.n_reused and side.n_reused == side.n_total:
        yield f"{name}: every answer was taken over from an older run, so nothing of it is tested"
    elif n_reused:
        are = "it is" if n_reused == 1 else "they are"
        yield (
            f"{name}: every answer to {whole(n_reused)} of {counted(n_common, 'case')} was taken "
            f"over from an older run; {are} not tested"
        )


def explanations_of(difference: RateDifference, thresholds: Thresholds) -> Iterator[str]:
    """Yield what could explain a change that the test sees, so that it is not shown."""
    if difference.q is None or difference.q > thresholds.alpha:
        return
    if difference.missing_p is not None and difference.missing_p > thresholds.alpha:
        yield (
            "missing verdicts could explain it: with all of them failed on both sides p is "
            f"{chance(difference.missing_p)}"
        )
    if difference.night_p is not None and difference.night_p > thresholds.alpha:
        p = chance(difference.night_p)
        yield f"nights alone could explain it: with what they vary by p is {p}"


def _unshown(difference: RateDifference, thresholds: Thresholds) -> Iterator[str]:
    """Yield why no change is shown, where it is more than a large p."""
    if _least_p(difference) > thresholds.alpha:
        yield _too_few(difference, thresholds)
    if difference.q is None or difference.p > thresholds.alpha:
        return
    if difference.q > thresholds.alpha:
        yield (
            f"p {chance(difference.p)} is too small for unchanged, and with all models of the call "
            f"counted q {chance(difference.q)} is too large for a change"
        )
    yield from explanations_of(difference, thresholds)


def _alone(n_cases: int, n_clusters: int | None) -> str:
    """Return that a single unit has neither an interval nor a test."""
    reason = "a single case says nothing about other cases"
    if n_clusters is not None and n_cases > 1:
        reason = f"{in_cases(n_cases, n_clusters)} say nothing about other clusters"
    return f"{reason}: there is no interval and no test"


def _least_p(difference: RateDifference) -> float:
    """Return the smallest p that so many non-zero pairs can reach."""
    if difference.test == "sign_flip_normal":
        return 0.0
    return 2.0 ** -min(difference.n_nonzero, 1000)


def cause_counts(causes: Mapping[str, int]) -> str:
    """Return causes with how often each was there, the most frequent first."""
    counts = sorted(causes.items(), key=lambda cause: (-cause[1], cause[0]))
    return ", ".join(f"{whole(count)} {name}" for name, count in counts)


def _too_few(difference: RateDifference, thresholds: Thresholds) -> str:
    """Return why a test could not have come to anything."""
    n_nonzero = difference.n_nonzero
    unit = "case" if difference.n_clusters is None else "cluster"
    if n_nonzero == 0:
        return f"no {unit} passed more or less often than before"
    changed, alpha = counted(n_nonzero, unit), f"{thresholds.alpha:g}"
    return f"only {changed} changed, too few for p to reach {alpha}"
