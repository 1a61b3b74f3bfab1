"""What sways judges: the place of an answer, its length, and who wrote it.

None of these needs anything but what judges said already, so each can have another reason: longer
answers may be better. They say where to look.
"""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from statistics import fmean
from typing import NamedTuple

from analyze.judges.agreement import mean_with_limits
from analyze.judges.opinions import Opinion, PairAnswer, RunKey, TrialKey
from analyze.stats.intervals import mean_rate, wilson_shrunk
from analyze.stats.paired_means import MIN_PAIRS, t_quantile
from schemas.output.judges import LengthEffect, PlaceEffect, SelfPreference

FAMILY = re.compile(r"[a-z]+")
"""What a model's name begins with, behind its vendor: `gpt`, `claude`, `qwen`."""

ALPHA = 0.05


class TrialScore(NamedTuple):
    """What one judge run comes to on one trial."""

    unit: str
    score: float
    n_chars: int
    subject_model: str
    judge_model: str


Scored = Mapping[RunKey, Mapping[TrialKey, TrialScore]]


def scores_of(opinions: Iterable[Opinion]) -> Scored:
    """Return what each judge run comes to, by trial, in the order of the opinions."""
    said: defaultdict[RunKey, dict[TrialKey, TrialScore]] = defaultdict(dict)
    for one in opinions:
        said[one.by][one.trial] = TrialScore(
            one.unit, one.score, one.n_chars, one.subject_model, one.judge_model
        )
    return said


def place_effects(pairs: Sequence[PairAnswer]) -> Iterator[PlaceEffect]:
    """Yield how often each judge run prefers a place instead of an answer."""
    by_run: defaultdict[RunKey, list[PairAnswer]] = defaultdict(list)
    for one in pairs:
        if "cannot_say" not in {one.this_first, one.other_first}:
            by_run[one.by].append(one)
    for by, own in by_run.items():
        cases: defaultdict[str, list[int]] = defaultdict(list)
        for one in own:
            cases[one.unit].append(_flip(one))
        flips = [sum(map(abs, some)) for some in cases.values()]
        trials = [len(some) for some in cases.values()]
        yield PlaceEffect(
            **by._asdict(),
            n_comparisons=len(own),
            n_flips_to_first=sum(one == 1 for some in cases.values() for one in some),
            n_flips_to_second=sum(one == -1 for some in cases.values() for one in some),
            flip_rate=mean_rate([k / m for k, m in zip(flips, trials, strict=True)]),
            flip_ci95=wilson_shrunk(flips, trials),
            leans_to=_leaning([sum(some) for some in cases.values()]),
        )


def _flip(one: PairAnswer) -> int:
    """Return 1 where both answers are for the first place, -1 for the second, else 0."""
    if (one.this_first, one.other_first) == ("this", "other"):
        return 1
    return -1 if (one.this_first, one.other_first) == ("other", "this") else 0


def _leaning(sums: Sequence[int]) -> str | None:
    """Return the place that more cases lean to, by an exact two-sided sign test."""
    first, second = sum(one > 0 for one in sums), sum(one < 0 for one in sums)
    n, least = first + second, min(first, second)
    p = min(2 * sum(math.comb(n, k) for k in range(least + 1)) / 2**n, 1.0)
    return None if p > ALPHA else "first" if first > second else "second"


def length_effects(scored: Scored) -> Iterator[LengthEffect]:
    """Yield how scores go with length, within a case and model whose answers differ in it.

    Least squares on log2 of the characters with an intercept for each case and model; the standard
    error is clustered by case (CR1 of Cameron & Miller 2015), with Student's t at one degree of
    freedom less than there are cases.
    """
    for by, trials in scored.items():
        rows = _within_groups(trials)
        across = math.fsum(x * x for _, x, _ in rows)
        if not across:
            continue
        slope = math.fsum(x * y for _, x, y in rows) / across
        by_unit: defaultdict[str, float] = defaultdict(float)
        for unit, x, y in rows:
            by_unit[unit] += x * (y - slope * x)
        n, half = len(by_unit), None
        if n >= MIN_PAIRS:
            squares = math.fsum(one * one for one in by_unit.values())
            half = t_quantile(0.975, n - 1) * math.sqrt(n / (n - 1) * squares) / across
        yield LengthEffect(
            **by._asdict(),
            points_per_doubling=slope,
            low=None if half is None else slope - half,
            high=None if half is None else slope + half,
            n_trials=len(rows),
            n_cases=n,
        )


def _within_groups(trials: Mapping[TrialKey, TrialScore]) -> list[tuple[str, float, float]]:
    """Return unit, log2 of the length and score of each trial, less the mean of its group."""
    groups: defaultdict[tuple[str, str, str], list[TrialScore]] = defaultdict(list)
    for key, one in trials.items():
        if one.n_chars > 0:
            groups[key.model_id, key.case_id, one.unit].append(one)
    rows = []
    for (_, _, unit), some in groups.items():
        lengths = [math.log2(one.n_chars) for one in some]
        if min(lengths) == max(lengths):
            continue
        x, y = fmean(lengths), fmean(one.score for one in some)
        rows += [(unit, a - x, one.score - y) for a, one in zip(lengths, some, strict=True)]
    return rows


def family_of(model: str) -> str | None:
    """Return the family that a model's name says; None: it says none."""
    match = FAMILY.match(model.rpartition("/")[2].lower())
    return None if match is None else match.group()


def self_preferences(scored: Scored) -> Iterator[SelfPreference]:
    """Yield what judges give their own family beyond what judges of other families give it.

    Of each case the lead of the own family's answers over all others, by this judge run less that
    by the others' mean, on trials that both judged.
    """
    families = {by: _judge_family(trials) for by, trials in scored.items()}
    for by, trials in scored.items():
        family = families[by]
        others = [
            scored[one]
            for one, its in families.items()
            if one.evaluation_profile_id == by.evaluation_profile_id and its not in {None, family}
        ]
        if family is None or not others:
            continue
        leads: defaultdict[str, tuple[list[float], list[float]]] = defaultdict(lambda: ([], []))
        for trial, one in trials.items():
            theirs = [other[trial].score for other in others if trial in other]
            if theirs:
                is_other = family_of(one.subject_model) != family
                leads[one.unit][is_other].append(one.score - fmean(theirs))
        found = [fmean(own) - fmean(rest) for own, rest in leads.values() if own and rest]
        if found:
            yield SelfPreference(**by._asdict(), family=family, difference=mean_with_limits(found))


def _judge_family(trials: Mapping[TrialKey, TrialScore]) -> str | None:
    return family_of(next(iter(trials.values())).judge_model)
