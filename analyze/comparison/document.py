"""The sentences and cells of a comparison, for the terminal and for Markdown alike.

Plain text with names from outside unescaped: each printer escapes them for its output.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence

from analyze.comparison.drift_words import drift_notes, limits_of_score
from analyze.query.thresholds import limits_source
from analyze.render.numbers import (
    chance,
    in_cases,
    pair,
    percent,
    points,
    score,
    signed_points,
    signed_score,
    some,
    times,
    whole,
)
from schemas.base import is_apart
from schemas.errors import counted
from schemas.output.comparison import (
    Axis,
    AxisReport,
    CaseChange,
    Comparison,
    ExcludedCase,
    Exclusion,
    GroupComparison,
    NightNoise,
    RateDifference,
    Ratio,
    RatioMetric,
    ScoreDifference,
    Side,
    ThresholdsUsed,
    Verdict,
)

ORDER: tuple[Verdict, ...] = (
    "regressed",
    "not_comparable",
    "improved",
    "inconclusive",
    "unchanged",
)
"""What needs a look comes first."""

WORDS: dict[Verdict, str] = {verdict: verdict.replace("_", " ") for verdict in ORDER}

RATIO_NAMES: dict[RatioMetric, str] = {
    "e2e_ms": "answer time",
    "ttft_ms": "first token",
    "input_tokens": "input tokens",
    "output_tokens": "output tokens",
    "cost_usd": "cost",
}

AXIS_WORDS: dict[Axis, str] = {
    "case": "what is asked or checked",
    "settings": "how the model is set",
    "tools": "what it could call",
    "endpoint": "where it is asked",
    "model_build": "its weights",
    "agent": "its workspace",
    "image": "its container",
    "harness": "version of this tool",
    "judge": "who judges, and by what",
    "served_model": "what answered, as the server says",
    "routing": "how a router chose",
}

HASH = re.compile(r"[0-9a-f]{16,64}")

EXCLUSIONS: dict[Exclusion, str] = {
    "only_in_base": "only in the base",
    "only_in_candidate": "only in the candidate",
    "axis_differs": "not the same on both sides",
    "no_verdict_in_base": "no verdict in the base",
    "no_verdict_in_candidate": "no verdict in the candidate",
    "quarantined": "in quarantine",
}

UNTESTED = {"censored": "censored", "too few": "measured in fewer"}
"""Words for a ratio that is not comparable, and what its reason begins with then."""

MAX_NAMED = 3
"""Names in a sentence; the rest is counted."""


def nights_words(night: NightNoise, *, is_rate: bool = False) -> str:
    """Return how much nights vary, of a rate in points, and who says so: `20 runs vary by 8 %`."""
    if night.seen_sd is None:
        return f"assumed: nights vary by {_by(night.sd, is_rate=is_rate)}"
    return f"{whole(night.n_runs)} runs vary by {_by(night.seen_sd, is_rate=is_rate)}"


def nights_cell(night: NightNoise) -> str:
    """Return the same for a column of ratios: `20 runs: 8 %`."""
    if night.seen_sd is None:
        return f"assumed: {percent(night.sd)} %"
    return f"{whole(night.n_runs)} runs: {percent(night.seen_sd)} %"


def _by(sd: float, *, is_rate: bool) -> str:
    return f"{points(sd)} points" if is_rate else f"{percent(sd)} %"


def by_need(groups: Sequence[GroupComparison]) -> list[GroupComparison]:
    """Return models in the order of who needs a look."""
    return sorted(groups, key=lambda group: ORDER.index(group.verdict))


def name_of(group: GroupComparison) -> str:
    """Return a model's name, or both names where two models are compared."""
    if group.model_id == group.candidate_model_id:
        return group.model_id
    return f"{group.model_id} vs {group.candidate_model_id}"


def headline(group: GroupComparison) -> str:
    """Return what happened to one model: `regressed: main 80.0 -> 62.0 (-18.0 points, ...)`.

    Rates that cannot be compared are not put side by side: an outage is no worse model.
    """
    head = f"{WORDS[group.verdict]}: {name_of(group)}"
    if group.verdict == "not_comparable":
        return head
    found = group.difference
    if found is None:
        rates = f"{percent(group.base.passed_rate)} -> {percent(group.candidate.passed_rate)}"
        return f"{head} {rates}"
    rates = f"{percent(found.base_rate)} -> {percent(found.candidate_rate)}"
    return f"{head} {rates} ({_difference_text(group.verdict, found)})"


def _difference_text(verdict: Verdict, difference: RateDifference) -> str:
    change = f"{signed_points(difference.difference)} points"
    if verdict == "unchanged":
        return f"{change}, 90 % {between(difference.low90, difference.high90)}"
    borderline = ", borderline" if difference.is_borderline else ""
    interval = between(difference.low, difference.high)
    return f"{change}, 95 % {interval}, q {chance(difference.q)}{borderline}"


def between(low: float, high: float) -> str:
    """Return the limits of a difference in points: `-27.0 to -9.0`."""
    return f"{signed_points(low)} to {signed_points(high)}"


def notes_of(group: GroupComparison) -> Iterator[str]:
    """Yield what belongs to a verdict: why, times and costs that changed, what to be wary of."""
    found = group.difference
    if found is not None and group.verdict != "not_comparable":
        if found.n_clusters is not None:
            yield f"{in_cases(found.n_cases, found.n_clusters)}: what is in one counts once"
        if found.night is not None:
            yield f"between nights: {nights_words(found.night, is_rate=True)}"
        if group.verdict == "inconclusive" and found.detectable is not None:
            yield unseen_words(found)
        if found.is_borderline:
            yield "borderline: the test and the interval disagree, and the test decides"
        yield from _of_all_trials(group, found)
    yield from group.reasons
    for ratio in group.ratios:
        if ratio.verdict in {"regressed", "improved"} and ratio.low is not None:
            yield (
                f"{ratio_word(ratio)}: {RATIO_NAMES[ratio.metric]} {times(ratio.ratio)} times "
                f"the base's (95 % {times(ratio.low)} to {times(ratio.high)}, q {chance(ratio.q)}"
                f"{_rests(ratio)})"
            )
    for one in group.scores:
        if one.verdict in {"regressed", "improved"}:
            yield (
                f"{score_word(one)}: score {score(one.base_score)} -> {score(one.candidate_score)} "
                f"by {one.evaluation_profile_id} ({signed_score(one.difference)}, 95 % "
                f"{score_limits(one)}, q {chance(one.q)})"
            )
        elif one.reason is not None:
            yield f"scores of {one.evaluation_profile_id} are not compared: {one.reason}"
        yield from drift_notes(one.evaluation_profile_id, one.drift, one.next_command)
    yield from group.warnings


def _of_all_trials(group: GroupComparison, found: RateDifference) -> Iterator[str]:
    """Yield the rates over trials where they are others than those over cases, with an interval."""
    before, after = group.base.passed_rate, group.candidate.passed_rate
    if is_apart(before, found.base_rate) or is_apart(after, found.candidate_rate):
        yield (
            f"of all trials {percent(before)} -> {percent(after)} passed; the rates above are "
            "means over cases, and the interval is of those"
        )


def _rests(ratio: Ratio) -> str:
    return "" if ratio.night is None else f"; {nights_words(ratio.night)}"


def ratios_in_short(group: GroupComparison) -> str:
    """Return times, counts and costs that changed: `slower: answer time x 1.47`; empty: none."""
    changes: defaultdict[str, list[str]] = defaultdict(list)
    for ratio in group.ratios:
        if ratio.verdict in {"regressed", "improved"}:
            changes[ratio_word(ratio)].append(f"{RATIO_NAMES[ratio.metric]} x {times(ratio.ratio)}")
    return "; ".join(f"{word}: {', '.join(what)}" for word, what in changes.items())


def side_of(side: Side) -> str:
    """Return which runs one side means, as it was asked for where that says something else."""
    model = f", model {side.model}" if side.model else ""
    return runs_named(side.run_ids) + model + asked_of(side)


def runs_named(run_ids: Sequence[str]) -> str:
    """Return which runs these are, and how many: `night_01 to night_07 (7 runs)`."""
    named = ", ".join(run_ids) or "no run yet"
    if len(run_ids) > MAX_NAMED:
        named = f"{run_ids[0]} to {run_ids[-1]}"
    return named + (f" ({whole(len(run_ids))} runs)" if len(run_ids) > 1 else "")


def asked_of(side: Side) -> str:
    """Return what a side was asked for as, where that says something else than its runs."""
    return "" if list(side.run_ids) == [side.asked] else f"  [{side.asked}]"


def axis_lines(comparison: Comparison) -> Iterator[str]:
    """Yield every axis on which the two sides differ, and what follows from it."""
    for axis in comparison.axes:
        n_all = axis.n_differ + axis.n_same + axis.n_unknown
        what = f"{axis.axis} ({AXIS_WORDS[axis.axis]})"
        if axis.n_differ:
            base, candidate = map(_names, (axis.base, axis.candidate))
            names = pair(some(base, most=MAX_NAMED), some(candidate, most=MAX_NAMED))
            suffix = f": {names}" if names else ""
            yield f"{what} differs in {_of(axis.n_differ, n_all)}, {_follows(axis)}{suffix}"
        elif axis.axis == "case" and axis.n_unknown:
            yield f"{what} is not known for {_of(axis.n_unknown, n_all)}, {_follows(axis)}"


def _follows(axis: AxisReport) -> str:
    return "allowed" if axis.is_allowed else f"left out (--allow {axis.axis} takes them in)"


def _of(number: int, n_all: int) -> str:
    return f"{whole(number)} of {counted(n_all, 'case')}"


def _names(values: Sequence[str]) -> list[str]:
    """Return values that say something to people; a hash does not."""
    return [value for value in values if not HASH.fullmatch(value)]


def excluded_lines(excluded: Sequence[ExcludedCase]) -> Iterator[str]:
    """Yield why cases are not in the test: the reason, how many, and the first of them."""
    by_reason: defaultdict[str, list[str]] = defaultdict(list)
    for case in excluded:
        axes = f" ({', '.join(case.axes)})" if case.axes else ""
        by_reason[EXCLUSIONS[case.reason] + axes].append(f"{case.case_id} ({case.model_id})")
    for reason, cases in by_reason.items():
        yield f"{reason}: {counted(len(cases), 'case')}: {some(cases, most=MAX_NAMED)}"


def limits_line(limits: ThresholdsUsed) -> str:
    """Return which thresholds were used, and where they are from."""
    used = limits.thresholds
    low, high = times(1 - used.ratio_margin), times(1 + used.ratio_margin)
    return (
        f"margin {points(used.pass_rate_margin)} points, ratios {low} to {high}, "
        f"coverage from {percent(used.min_coverage)} % ({limits_source(limits)})"
    )


def ratio_word(ratio: Ratio) -> str:
    """Return the verdict on a time, a count or a cost in a word."""
    if ratio.verdict == "not_comparable":
        reason = ratio.reason or ""
        known = (word for word, start in UNTESTED.items() if reason.startswith(start))
        return next(known, WORDS["not_comparable"])
    is_time = ratio.metric.endswith("_ms")
    word = {
        "regressed": "slower" if is_time else "more",
        "improved": "faster" if is_time else "less",
    }
    return word.get(ratio.verdict, WORDS[ratio.verdict])


def score_word(found: ScoreDifference) -> str:
    """Return the verdict on scores in a word or two."""
    word = {"regressed": "judged worse", "improved": "judged better"}
    return word.get(found.verdict, WORDS[found.verdict])


def score_limits(found: ScoreDifference) -> str:
    """Return the limits of a difference of scores: `-1.50 to -0.20`; empty: there are none."""
    return limits_of_score(found.low, found.high)


CHANGE_TITLES = ("change", "case", "model", "base", "candidate")


def change_cells(change: CaseChange) -> list[str]:
    """Return the row of a case under CHANGE_TITLES."""
    return [
        change.flip or ("worse" if change.difference < 0 else "better"),
        change.case_id,
        change.candidate_model_id,
        f"{whole(change.base_passed)} of {whole(change.base_scored)}",
        f"{whole(change.candidate_passed)} of {whole(change.candidate_scored)}",
    ]


def unseen_words(found: RateDifference) -> str:
    """Return which drops two sides would likely have missed: those that no such plan shows."""
    share, trials = found.detectable, found.planned_repetitions
    if found.base_rate == 0:
        return "a pass rate of 0 % cannot drop"
    if share is None or share >= 1:
        return "no drop can be promised to be seen"
    text = f"drops under {points(share)} points would be seen less than four times in five"
    if trials is None or trials[0] == trials[1]:
        return text
    return f"{text} by {counted(trials[0], 'trial')} of a case against {whole(trials[1])}"
