"""Agreement of judges with themselves and with each other: S22.

Krippendorff's alpha has iterations of one judge run as coders (within), or judge runs by what their
iterations come to (between). It says how much of what varies between trials is more than chance, so
it falls where trials are alike; beside it stand the bias, with its interval, and how far apart two
answers are.
"""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Literal

import krippendorff
import numpy as np

from analyze.judges.opinions import Opinion, RunKey
from analyze.judges.resampling import drawn_cases, interval_alphas, ordinal_alphas
from analyze.stats.paired_means import paired_t
from schemas.output.judges import Agreement, AgreementOf, AgreementScope, MeanWithLimits

MIN_BOOTSTRAP_CASES = 20
"""Below it an interval of alpha would be a guess (S22)."""

N_RESAMPLES = 500

SEED = 22

LEVELS: Mapping[AgreementOf, Literal["interval", "ordinal", "nominal"]] = {
    "score": "interval",
    "expectations": "ordinal",
    "pass": "nominal",
}
"""Level of measurement (Hayes & Krippendorff 2007)."""

RANKS: Mapping[str, int] = {"missed": 0, "partly": 1, "met": 2}

NONE_SAID = "cannot_say"


@dataclass(frozen=True)
class CodedUnit:
    """One thing that was judged more than once."""

    case: str
    """That counts as one draw."""
    values: Mapping[str, float]
    """By coder."""


def agreement_within(opinions: Sequence[Opinion]) -> Iterator[Agreement]:
    """Yield how far each judge run agrees with itself, where it was asked more than once."""
    for by, own in _by_run(opinions).items():
        runs = (by,)
        yield from _agreements(own, runs, "within", lambda one: str(one.iteration))


def agreement_between(opinions: Sequence[Opinion]) -> Iterator[Agreement]:
    """Yield how far judge runs of a profile agree: all of them, then each pair of more than two.

    Args:
        opinions: one of each judge run about a trial, what its iterations come to.
    """
    runs_of: defaultdict[str, list[RunKey]] = defaultdict(list)
    for by in _by_run(opinions):
        runs_of[by.evaluation_profile_id].append(by)
    for runs in runs_of.values():
        if len(runs) < 2:
            continue
        groups = [tuple(runs), *itertools.combinations(runs, 2)] if len(runs) > 2 else [tuple(runs)]
        for group in groups:
            own = [one for one in opinions if one.by in group]
            yield from _agreements(own, group, "between", lambda one: one.by.judge_run_id)


def _by_run(opinions: Iterable[Opinion]) -> dict[RunKey, list[Opinion]]:
    found: defaultdict[RunKey, list[Opinion]] = defaultdict(list)
    for one in opinions:
        found[one.by].append(one)
    return found


def _agreements(
    opinions: Sequence[Opinion],
    runs: tuple[RunKey, ...],
    scope: AgreementScope,
    coder: Callable[[Opinion], str],
) -> Iterator[Agreement]:
    n_unsaid = sum(NONE_SAID in one.verdicts.values() for one in opinions)
    for of, values in (("score", _scores), ("expectations", _verdicts), ("pass", _passes)):
        units = _units(opinions, values, coder)
        if units:
            yield _agreement(units, runs, scope, of, n_unsaid if of == "expectations" else 0)  # type: ignore[arg-type]


Values = Callable[[Opinion], Iterable[tuple[str, float]]]


def _scores(one: Opinion) -> Iterable[tuple[str, float]]:
    return (("", one.score),)


def _verdicts(one: Opinion) -> Iterable[tuple[str, float]]:
    return ((name, RANKS[said]) for name, said in one.verdicts.items() if said in RANKS)


def _passes(one: Opinion) -> Iterable[tuple[str, float]]:
    return () if one.threshold is None else (("", float(one.score >= one.threshold)),)


def _units(
    opinions: Iterable[Opinion], values: Values, coder: Callable[[Opinion], str]
) -> list[CodedUnit]:
    """Return what at least two coders have a value for."""
    said: defaultdict[tuple[object, str], dict[str, float]] = defaultdict(dict)
    cases: dict[tuple[object, str], str] = {}
    for one in opinions:
        for name, value in values(one):
            key = (one.by.evaluation_profile_id, one.trial), name
            said[key][coder(one)] = value
            cases[key] = one.unit
    return [CodedUnit(cases[key], by_coder) for key, by_coder in said.items() if len(by_coder) > 1]


def _agreement(
    units: Sequence[CodedUnit],
    runs: tuple[RunKey, ...],
    scope: AgreementScope,
    of: AgreementOf,
    n_unsaid: int,
) -> Agreement:
    low, high = _alpha_limits(units, of)
    is_score = of == "score"
    apart = [
        abs(a - b) for unit in units for a, b in itertools.combinations(unit.values.values(), 2)
    ]
    ends = _ends(units, runs, scope) if is_score else None
    return Agreement(
        evaluation_profile_id=runs[0].evaluation_profile_id,
        scope=scope,
        of=of,
        judge_run_ids=tuple(run.judge_run_id for run in runs),
        judge_ids=tuple(run.judge_id for run in runs),
        alpha=alpha_of(units, of),
        alpha_low=low,
        alpha_high=high,
        n_units=len(units),
        n_cases=len({unit.case for unit in units}),
        n_cannot_say=n_unsaid,
        bias=None if ends is None else mean_over_cases(units, [b - a for a, b in ends]),
        mean_absolute_difference=fmean(apart) if is_score else None,
        within_one_point=fmean(one <= 1 for one in apart) if is_score else None,
    )


def _ends(
    units: Sequence[CodedUnit], runs: Sequence[RunKey], scope: AgreementScope
) -> list[tuple[float, float]] | None:
    """Return of each unit the two values whose difference is a bias; None: there are none."""
    if scope == "within":
        return [
            (unit.values[min(unit.values, key=int)], unit.values[max(unit.values, key=int)])
            for unit in units
        ]
    if len(runs) != 2:
        return None
    first, second = (run.judge_run_id for run in runs)
    return [(unit.values[first], unit.values[second]) for unit in units]


def alpha_of(units: Sequence[CodedUnit], of: AgreementOf) -> float | None:
    """Return Krippendorff's alpha; None where nothing varies."""
    return _alpha(_matrix(units), of)


def _matrix(units: Sequence[CodedUnit]) -> np.ndarray:
    """Return values as coders x units, of a coder without one NaN."""
    coders = sorted({name for unit in units for name in unit.values})
    return np.array([[unit.values.get(name, math.nan) for unit in units] for name in coders])


def _alpha(matrix: np.ndarray, of: AgreementOf) -> float | None:
    known = matrix[~np.isnan(matrix)]
    if known.size == 0 or known.min() == known.max():
        return None
    return float(krippendorff.alpha(matrix, level_of_measurement=LEVELS[of]))


def _alpha_limits(units: Sequence[CodedUnit], of: AgreementOf) -> tuple[float | None, float | None]:
    """Return the limits of 95 % of alphas of cases drawn with replacement, always the same draws.

    Zapf et al. 2016: percentiles of a bootstrap over units; here over cases, whose units fall
    together.
    """
    cases: defaultdict[str, list[list[float]]] = defaultdict(list)
    for unit in units:
        cases[unit.case].append(list(unit.values.values()))
    if len(cases) < MIN_BOOTSTRAP_CASES:
        return None, None
    weights, values = drawn_cases(len(cases), N_RESAMPLES, SEED), list(cases.values())
    if of == "expectations":
        alphas = ordinal_alphas(values, weights, len(RANKS))
    else:
        alphas = interval_alphas(values, weights)
    found = alphas[~np.isnan(alphas)]
    if not found.size:
        return None, None
    low, high = np.quantile(found, [0.025, 0.975])
    return float(low), float(high)


def mean_over_cases(units: Sequence[CodedUnit], values: Sequence[float]) -> MeanWithLimits:
    """Return the mean over cases of the means of their values, with the limits of t."""
    by_case: defaultdict[str, list[float]] = defaultdict(list)
    for unit, value in zip(units, values, strict=True):
        by_case[unit.case].append(value)
    return mean_with_limits([fmean(some) for some in by_case.values()])


def mean_with_limits(values: Sequence[float]) -> MeanWithLimits:
    """Return the mean of one value a case; limits from five on."""
    tested = paired_t(values)
    return MeanWithLimits(
        mean=fmean(values),
        low=None if tested is None else tested.low,
        high=None if tested is None else tested.high,
        n_units=len(values),
    )


@dataclass(frozen=True)
class VerdictAgreement:
    """Of trials that two annotators or more labelled."""

    n_shared: int
    same: float
    kappa: float | None
    ac1: float
    pass_share: float


def verdict_agreement(trials: Sequence[Mapping[str, float]]) -> VerdictAgreement | None:
    """Return how far annotators agree on verdicts; None where no trial has two of them.

    Kappa falls where one verdict is rare, however alike the annotators are; AC1 does not.

    `same` is the mean over trials of the share of pairs that agree. AC1 = (same - e) / (1 - e) with
    e = 2 q (1 - q), q the mean share of passes (Gwet 2008, Br. J. Math. Stat. Psychol. 61, two
    categories). Kappa is Cohen's of 1960, by the shares of either annotator; None unless the same
    two labelled all of these trials, and where chance alone would agree on everything.

    Args:
        trials: annotator to verdict, 1 or 0.
    """
    shared = [list(said.items()) for said in trials if len(said) > 1]
    if not shared:
        return None
    same, shares = [], []
    for said in shared:
        n, passed = len(said), sum(verdict for _, verdict in said)
        failed = n - passed
        same.append((passed * (passed - 1) + failed * (failed - 1)) / (n * (n - 1)))
        shares.append(passed / n)
    observed, passing = fmean(same), fmean(shares)
    expected = 2 * passing * (1 - passing)
    return VerdictAgreement(
        len(shared),
        observed,
        _kappa([dict(said) for said in shared], observed),
        (observed - expected) / (1 - expected),
        passing,
    )


def _kappa(shared: Sequence[Mapping[str, float]], observed: float) -> float | None:
    names = sorted(shared[0])
    if len(names) != 2 or any(sorted(said) != names for said in shared):
        return None
    one, other = (fmean(said[name] for said in shared) for name in names)
    expected = one * other + (1 - one) * (1 - other)
    return None if expected == 1 else (observed - expected) / (1 - expected)
