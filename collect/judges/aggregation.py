"""How answers of judges become one score (D-G3 to D-G5, D-G8).

A judge run's answers combine by the profile's method, several judge runs by their median; every
number combines for itself, so that a dimension is never taken from one answer and the overall score
from another by accident of order. Verdicts on expectations combine by their lower median: where
two answers pull in two directions, the worse one holds, as a tie of votes loses.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, median
from types import MappingProxyType
from typing import TypeVar

from schemas.config.case import Expectation
from schemas.config.evaluation_profile import JudgeAggregationConfig
from schemas.run.judgement import MAX_SCORE, DimensionScores, ExpectationVerdict, Opinion
from schemas.run.result import CheckResult

CREDIT: Mapping[ExpectationVerdict, float] = MappingProxyType(
    {"missed": 0.0, "partly": 0.5, "met": 1.0}
)
"""What a verdict is worth in the soft score, worst first; `cannot_say` has no weight."""


Said = TypeVar("Said")


def threshold_of(aggregation: JudgeAggregationConfig) -> float | None:
    """Return the pass threshold on 0-10; None: there is none.

    Below 1 it is a fraction of the scale, from 1 on it is on 0-10.
    """
    stated = aggregation.pass_threshold
    return stated * MAX_SCORE if stated is not None and stated < 1 else stated


def run_opinion(
    opinions: Sequence[Opinion], aggregation: JudgeAggregationConfig, sample_size: int | None = None
) -> Opinion | None:
    """Return what the answers of one judge run come to; None: there is none.

    Args:
        opinions: of the repetitions that succeeded, in their order.
        aggregation: the method, and the threshold that votes are against.
        sample_size: the first so many count; None: all.
    """
    threshold = threshold_of(aggregation)
    return _combined(opinions[:sample_size], lambda scores: _METHODS[aggregation.method](
        scores, threshold or 0.0
    ))  # fmt: skip


def combined_opinion(of_runs: Sequence[Opinion]) -> Opinion | None:
    """Return the median of what several judge runs came to; None: there is none."""
    return _combined(of_runs, median)


def _combined(
    opinions: Sequence[Opinion], combine: Callable[[Sequence[float]], float]
) -> Opinion | None:
    if not opinions:
        return None
    scores = _by_name(one.dimensions.known for one in opinions)
    verdicts = _by_name(one.by_expectation for one in opinions)
    return Opinion.of(
        combine([one.overall for one in opinions]),
        {name: combine(found) for name, found in scores.items()},
        {name: _verdict(found) for name, found in verdicts.items()},
    )


def _by_name(every: Iterable[Mapping[str, Said]]) -> dict[str, list[Said]]:
    """Return what several say, by its name, in the order in which names come first."""
    found: dict[str, list[Said]] = {}
    for one in every:
        for name, said in one.items():
            found.setdefault(name, []).append(said)
    return found


def _vote(scores: Sequence[float], threshold: float) -> float:
    """Return the median of the side that most are on; at a tie those below the threshold win."""
    above = [score for score in scores if score >= threshold]
    below = [score for score in scores if score < threshold]
    return median(above if len(above) > len(below) else below)


_METHODS: Mapping[str, Callable[[Sequence[float], float], float]] = MappingProxyType(
    {
        "median": lambda scores, _: median(scores),
        "mean": lambda scores, _: fmean(scores),
        "majority_vote": _vote,
        "all_pass": lambda scores, _: min(scores),
    }
)


def _verdict(verdicts: Sequence[ExpectationVerdict]) -> ExpectationVerdict:
    """Return the lower median of those that say one; `cannot_say` where more than half do not."""
    said = sorted((one for one in verdicts if one != "cannot_say"), key=CREDIT.__getitem__)
    if 2 * len(said) < len(verdicts):
        return "cannot_say"
    return said[(len(said) - 1) // 2]


def soft_score(
    expectations: Sequence[Expectation], verdicts: Mapping[str, ExpectationVerdict]
) -> float | None:
    """Return the weighted credit of the soft expectations, 0 to 1; None: nothing is said of any.

    Σw·credit / Σw over those with a verdict: met 1, partly a half, missed 0.
    """
    weighed = [
        (one.weight, CREDIT[verdict])
        for number, one in enumerate(expectations, 1)
        if (verdict := verdicts.get(f"soft-{number}", "cannot_say")) != "cannot_say"
    ]
    total = sum(weight for weight, _ in weighed)
    return sum(weight * credit for weight, credit in weighed) / total if total else None


def check_scores(checks: Iterable[CheckResult]) -> DimensionScores:
    """Return what the deterministic checks say of each dimension: 10 a passed one, 0 a failed one.

    Checks that could not look are left out; these means stand beside a judge's, never in them.
    """
    found: dict[str, list[float]] = {}
    for check in checks:
        if check.outcome != "error":
            for name in check.dimensions:
                found.setdefault(name, []).append(MAX_SCORE * (check.outcome == "passed"))
    return DimensionScores(**{name: fmean(scores) for name, scores in found.items()})


@dataclass(frozen=True, slots=True)
class Judged:
    """What is decided by a threshold."""

    passed: bool | None
    """Of the overall score; None: no threshold, or no score."""
    failed_dimensions: tuple[str, ...]
    """Below the threshold: shown as failed, and without a say in `passed`."""


def judged(opinion: Opinion | None, threshold: float | None) -> Judged:
    """Return what a threshold on 0-10 makes of an opinion."""
    if opinion is None or threshold is None:
        return Judged(None, ())
    failed = (name for name, score in opinion.dimensions.known.items() if score < threshold)
    return Judged(opinion.overall >= threshold, tuple(failed))
