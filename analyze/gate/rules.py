"""The rules of a gate: what a comparison means for a pipeline (S13).

A pure function of comparisons. A drop has to be shown before it fails anything; what the data could
not have shown is said and passes, unless the gate is to prove that nothing fell.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from analyze.comparison.document import nights_words, unseen_words
from analyze.comparison.drift_words import drift_notes
from analyze.comparison.verdict import explanations_of, is_shown, widest
from analyze.gate.confirm import confirmed_by
from analyze.render.numbers import chance, in_cases, percent, points, signed_points, times, whole
from analyze.stats.intervals import Z95
from analyze.stats.paired_means import t_quantile
from analyze.stats.paired_rates import ROUNDING, Z_POWER
from schemas.config.project import Thresholds
from schemas.errors import EXIT_BAD_NEWS, EXIT_CANNOT_JUDGE, EXIT_OK
from schemas.output.comparison import Comparison, GroupComparison, Metric, RateDifference, Ratio
from schemas.output.regressions import BaselineComparison, GateLine, GateResult, GateRules, Outcome

MIN_CASES = 5
"""Fewer cases on both sides can prove nothing, whatever they say."""

EXIT_CODES: Mapping[Outcome, int] = {
    "passed": EXIT_OK,
    "failed": EXIT_BAD_NEWS,
    "cannot_judge": EXIT_CANNOT_JUDGE,
}


@dataclass(frozen=True)
class Ruling:
    """What one metric of one model comes to."""

    outcome: Outcome
    reason: str
    unseen: float | None = None


def judge(
    comparison: Comparison,
    rules: GateRules,
    confirmation: Comparison | None = None,
    others: Sequence[BaselineComparison] = (),
) -> GateResult:
    """Return what a gate says of the candidate of a comparison.

    Args:
        comparison: the candidate against the baseline.
        rules: what was asked of it.
        confirmation: a fresh run against the same baseline; a failure stands only with it.
        others: metrics that are held against other runs, with the same of them.
    """
    elsewhere = {metric for other in others for metric in other.metrics}
    own = tuple(metric for metric in rules.metrics if metric not in elsewhere)
    lines = _lines(
        BaselineComparison(metrics=own, comparison=comparison, confirmation=confirmation), rules
    )
    for other in others:
        lines += _lines(other, rules)
    models = list(dict.fromkeys(line.model_id for line in lines))
    lines.sort(key=lambda line: (models.index(line.model_id), rules.metrics.index(line.metric)))
    outcome = worst_of([line.outcome for line in lines])
    return GateResult(
        outcome=outcome,
        exit_code=EXIT_CODES[outcome],
        rules=rules,
        lines=tuple(lines),
        quarantined=(),
        comparison=comparison,
        confirmation=confirmation,
        other_baselines=tuple(others),
    )


def worst_of(outcomes: list[Outcome]) -> Outcome:
    """Return the outcome of the whole: nothing at all cannot be judged."""
    if "failed" in outcomes:
        return "failed"
    return "cannot_judge" if "cannot_judge" in outcomes or not outcomes else "passed"


def _lines(held: BaselineComparison, rules: GateRules) -> list[GateLine]:
    """Return the lines of some metrics, as they stand beside a fresh run where one was asked."""
    lines = _lines_of(held.comparison, held.metrics, rules)
    if held.confirmation is None:
        return lines
    fresh = {
        (line.model_id, line.metric): line
        for line in _lines_of(held.confirmation, held.metrics, rules)
    }
    run_ids = held.confirmation.candidate.run_ids
    return [
        confirmed_by(line, fresh.get((line.model_id, line.metric)), run_ids, rules)
        for line in lines
    ]


def _lines_of(
    comparison: Comparison, metrics: Sequence[Metric], rules: GateRules
) -> list[GateLine]:
    thresholds = comparison.limits.thresholds
    found = []
    for group in comparison.groups:
        for metric in metrics:
            ruling = _ruling(group, metric, rules, thresholds)
            notes = _judge_notes(group, ruling) if metric == "passed_rate" else []
            found.append(
                GateLine(
                    model_id=group.candidate_model_id,
                    metric=metric,
                    outcome=ruling.outcome,
                    why="; ".join([ruling.reason, *notes]),
                    unseen=ruling.unseen,
                    base_run_ids=group.base.run_ids,
                )
            )
    return found


def _judge_notes(group: GroupComparison, ruling: Ruling) -> list[str]:
    """Return whether the judges that have a say in what passed have changed, or the model."""
    return [
        note
        for one in group.scores
        if one.decides
        and (one.drift is not None or ruling.outcome == "failed" or one.verdict == "regressed")
        for note in drift_notes(one.evaluation_profile_id, one.drift, one.next_command)
    ]


def _ruling(
    group: GroupComparison, metric: Metric, rules: GateRules, thresholds: Thresholds
) -> Ruling:
    if metric == "passed_rate":
        if group.verdict == "not_comparable":
            return Ruling("cannot_judge", "; ".join(group.reasons))
        if group.difference is None:
            return Ruling("cannot_judge", "; ".join(group.reasons) or _too_few(None, "a verdict"))
        if group.difference.n_units < MIN_CASES:
            return Ruling("cannot_judge", _too_few(group.difference, "a verdict"))
        return _of_rate(group.difference, rules, thresholds)
    if group.verdict == "not_comparable" and _has_verdicts(group):
        return Ruling("cannot_judge", "; ".join(group.reasons))
    ratio = next(ratio for ratio in group.ratios if ratio.metric == metric)
    if ratio.n_units < MIN_CASES:
        return Ruling("cannot_judge", _too_few(ratio, "a value"))
    if ratio.verdict == "not_comparable":
        return Ruling("cannot_judge", ratio.reason or "the two sides cannot be compared")
    if ratio.ratio is None and ratio.verdict == "unchanged":
        return Ruling("passed", ratio.reason or "nothing grew")
    return _of_ratio(ratio, rules, thresholds.alpha)


def _has_verdicts(group: GroupComparison) -> bool:
    """Return whether trials can get a verdict: where none can, times and costs are all there is.

    Where they can, too low a coverage says that the two sides did not see the same work, and what
    was measured on the trials that are left is no answer either.
    """
    return group.base.n_scorable > 0 or group.candidate.n_scorable > 0


def _too_few(found: RateDifference | Ratio | None, what: str) -> str:
    n_cases, n_clusters = (0, None) if found is None else (found.n_cases, found.n_clusters)
    have = "has" if n_cases == 1 else "have"
    units = "" if n_clusters is None else " clusters"
    size = in_cases(n_cases, n_clusters)
    return f"{size} {have} {what} on both sides; a gate needs {MIN_CASES}{units}"


def _of_rate(found: RateDifference, rules: GateRules, thresholds: Thresholds) -> Ruling:
    drop, tolerated = -found.difference, rules.max_drop
    is_change = is_shown(found, thresholds)
    unseen = found.detectable
    limit = f"{points(tolerated)} points"
    if is_change and drop > tolerated + ROUNDING:
        asked = f"more than the {limit} tolerated" if tolerated else "no drop is tolerated"
        why = (
            f"{percent(found.base_rate)} -> {percent(found.candidate_rate)} % passed, "
            f"{signed_points(found.difference, tolerated)} points "
            f"({signed_points(found.low)} to {signed_points(found.high)}) over "
            f"{in_cases(found.n_cases, found.n_clusters)}, q {chance(found.q)}: "
            f"{asked}{_rests(found)}"
        )
        return Ruling("failed", why, unseen)
    if rules.prove:
        low90 = widest(found).low90
        worst = f"the lower 90 % limit is {signed_points(low90, tolerated)} points{_rests(found)}"
        needed = cases_to_prove(tolerated)
        is_enough = needed is not None and found.n_cases >= needed
        if low90 > -tolerated and is_enough:
            why = f"a drop of {limit} or more is ruled out: {worst}"
            return Ruling("passed", why, unseen)
        lacking = "" if is_enough else _lacking(found.n_cases, needed)
        why = f"a drop of {limit} or more is not ruled out: {worst}{lacking}"
        return Ruling("cannot_judge", why, unseen)
    shown = "no regression shown"
    explanations = "; ".join(explanations_of(found, thresholds))
    if explanations and drop > 0:
        shown = f"a drop of {points(drop)} points is seen and not shown: {explanations}"
    if is_change and drop > 0:
        shown = (
            f"a drop of {points(drop, tolerated)} points is shown, and up to {limit} are tolerated"
        )
    missed = unseen_words(found)
    return Ruling("passed", f"{shown}; {missed}{_rests(found)}", unseen)


def _of_ratio(found: Ratio, rules: GateRules, alpha: float) -> Ruling:
    """Return the ruling on a time, a count of tokens or a cost: `max_drop` is its growth."""
    ratio, low, high, high90 = found.ratio, found.low, found.high, found.high90
    if ratio is None or low is None or high is None or high90 is None:
        return Ruling("cannot_judge", "there is no interval of it")
    half = (math.log(high) - math.log(low)) / 2
    unseen = math.expm1(_power_factor(found) * half)
    limit = f"{percent(rules.max_drop)} %"
    if _is_shown(found.q, alpha) and ratio > 1 + rules.max_drop + ROUNDING:
        asked = f"more than {limit} growth" if rules.max_drop else "no growth is tolerated"
        why = (
            f"{found.metric} is {times(ratio)} times the baseline's "
            f"({times(low)} to {times(high)}) over {in_cases(found.n_cases, found.n_clusters)}, "
            f"q {chance(found.q)}: {asked}{_rests(found)}"
        )
        return Ruling("failed", why, unseen)
    if rules.prove:
        worst = f"the upper 90 % limit is {times(high90)} times"
        if high90 < 1 + rules.max_drop:
            why = f"growth of {limit} or more is ruled out: {worst}{_rests(found)}"
            return Ruling("passed", why, unseen)
        why = f"growth of {limit} or more is not ruled out: {worst}{_rests(found)}"
        return Ruling("cannot_judge", why + _advice(rules), unseen)
    if _is_shown(found.q, alpha) and ratio > 1:
        grown = f"growth of {percent(ratio - 1, rules.max_drop)} %"
        why = f"{grown} is shown, and up to {limit} are tolerated"
    else:
        why = "no regression shown"
    if unseen > 0:  # nothing varied: any growth at all would have been seen
        why += f"; growth under {percent(unseen)} % would not have been seen"
    return Ruling("passed", why + _rests(found), unseen)


def _rests(found: RateDifference | Ratio) -> str:
    """Return whose nights a ruling rests on; nothing where both sides are the same nights."""
    if found.night is None:
        return ""
    return f" ({nights_words(found.night, is_rate=isinstance(found, RateDifference))})"


def _power_factor(found: Ratio) -> float:
    """Return how many half widths a growth has to be to show with power 0.8."""
    if found.night is None:
        return (Z95 + Z_POWER) / Z95
    df = min(found.night.df, found.n_cases - 1)
    return (t_quantile(0.975, df) + t_quantile(0.8, df)) / t_quantile(0.975, df)


def cases_to_prove(drop: float) -> int | None:
    """Return the fewest cases that rule out that a share of the kinds of cases broke.

    None of n cases is of such a share in (1 - share)^n of the draws: below 5 % from
    ln 0.05 / ln(1 - share) on, 59 cases for 5 points and 29 for 10.

    Returns:
        None where no number of cases is enough, as nothing is tolerated.
    """
    if drop <= 0:
        return None
    return math.ceil(math.log(0.05) / math.log1p(-drop)) if drop < 1 else 0


def _lacking(n_cases: int, needed: int | None) -> str:
    """Return that a proof takes more cases, and how many."""
    if needed is None:
        return (
            "; with nothing tolerated no number of cases is a proof, since a kind of case that is "
            "in none of them may break: --max-drop names what you can live with"
        )
    return (
        f"; {whole(n_cases)} cases are too few for a proof, since whole kinds of cases may break: "
        f"{whole(needed)} are needed"
    )


def _is_shown(q: float | None, alpha: float) -> bool:
    return q is not None and q <= alpha


def _advice(rules: GateRules) -> str:
    if rules.max_drop:
        return ""
    return (
        "; with nothing tolerated only a fall is a proof: --max-drop names what you can live with"
    )
