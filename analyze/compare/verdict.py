"""The verdict on one model, and in words what limits it: the order of statistics S8.

Whether both sides can be compared comes first, then whether they are the same in practice, then
the test. The interval describes and decides nothing. Pure: figures in, words out.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import get_args

from analyze.report.numbers import percent, points, whole
from schemas.comparison import Axis, RateDifference, SideFacts, Verdict
from schemas.thresholds import Thresholds

MOST_APART = 0.05
"""Coverages further apart than this say that the two sides did not see the same work."""

ROUNDING = 1e-12
"""A share that a division blurred is not above its limit."""


def verdict_of(
    difference: RateDifference | None, obstacles: Sequence[str], thresholds: Thresholds
) -> Verdict:
    """Return the verdict on the passed rate of one model.

    Unchanged stands before the test: a drop that is sure and smaller than the margin changes
    nothing in practice (two one-sided tests, Schuirmann 1987).

    Args:
        difference: with its q already in it; None below two cases.
        obstacles: why the two sides cannot be compared.
        thresholds: the margin and the chance of a false alarm.
    """
    if obstacles:
        return "not_comparable"
    if difference is None:
        return "inconclusive"
    margin = thresholds.pass_rate_margin
    if -margin < difference.low90 and difference.high90 < margin:
        return "unchanged"
    if difference.q is not None and difference.q <= thresholds.alpha:
        return "improved" if difference.difference > 0 else "regressed"
    return "inconclusive"


def obstacles_between(
    base: SideFacts,
    candidate: SideFacts,
    n_common: int,
    min_coverage: float,
    differing: Collection[Axis] = (),
) -> Iterator[str]:
    """Yield why two sides cannot be compared, by statistics S5: never a guess at what is missing.

    Args:
        base: one side over the cases that are comparable.
        candidate: the other.
        n_common: cases with a verdict on both sides.
        min_coverage: share of trials with a verdict that each side must have.
        differing: axes that keep cases out.
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
        yield (
            f"{name}: only {percent(coverage)} % of the trials have a verdict, "
            f"{percent(min_coverage)} % are needed{_causes(side)}"
        )
    if not low and base.coverage is not None and candidate.coverage is not None:
        apart = abs(base.coverage - candidate.coverage)
        if apart > MOST_APART + ROUNDING:
            yield (
                f"coverage differs by {points(apart)} points "
                f"(base {percent(base.coverage)} %, candidate {percent(candidate.coverage)} %)"
            )
    if n_common == 0:
        yield "no case has a verdict on both sides"


def limits_of(
    difference: RateDifference | None, verdict: Verdict, thresholds: Thresholds
) -> Iterator[str]:
    """Yield what keeps a verdict from being clearer: size of the data, never the observed effect.

    Args:
        difference: with its q already in it; None below two cases.
        verdict: that was given.
        thresholds: the margin and the chance of a false alarm.
    """
    if difference is None:
        if verdict != "not_comparable":
            yield "a single case says nothing about other cases: there is no interval and no test"
        return
    least = _least_p(difference)
    if verdict == "inconclusive" and least > thresholds.alpha:
        yield _too_few(difference.n_nonzero, thresholds)
    if verdict == "unchanged":
        margin = points(thresholds.pass_rate_margin)
        yield f"the same in practice: the 90 % interval lies inside the margin of {margin} points"
    if verdict == "inconclusive" and difference.cases_needed is not None:
        yield (
            f"margin of {points(thresholds.pass_rate_margin)} points out of reach: needs about "
            f"{whole(difference.cases_needed)} cases, there are {whole(difference.n_cases)}"
        )


def warnings_of(base: SideFacts, candidate: SideFacts, thresholds: Thresholds) -> Iterator[str]:
    """Yield what makes a rate harder to read although it can be compared."""
    for name, side in (("base", base), ("candidate", candidate)):
        share = side.timeout_share
        if share is not None and share > thresholds.timeout_warning_share:
            yield (
                f"{name}: {percent(share)} % of the trials timed out ({whole(side.n_timeout)} of "
                f"{whole(side.n_scorable)}): a slow server reads like a worse model"
            )
        if side.n_reused and side.n_reused == side.n_total:
            yield f"{name}: every answer was taken from an older run"


def _least_p(difference: RateDifference) -> float:
    """Return the smallest p that so many non-zero pairs can reach."""
    if difference.test == "sign_flip_normal":
        return 0.0
    most = 2.0 ** -min(difference.n_nonzero, 1000)
    return most if difference.test == "sign_flip_mid_p" else 2 * most


def _causes(side: SideFacts) -> str:
    if not side.causes:
        return ""
    counts = sorted(side.causes.items(), key=lambda cause: (-cause[1], cause[0]))
    return "; without one: " + ", ".join(f"{whole(count)} {name}" for name, count in counts)


def _too_few(n_nonzero: int, thresholds: Thresholds) -> str:
    """Return why a test could not have come to anything: statistics S6."""
    if n_nonzero == 0:
        return "no case passed more or less often than before"
    changed = "1 case" if n_nonzero == 1 else f"{n_nonzero} cases"
    return f"only {changed} changed, too few to reach p {thresholds.alpha:g} whatever they say"
