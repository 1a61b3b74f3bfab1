"""Which model for which need, and why: a pure function of what is known about each one.

Tool access is for a confident Tier 1 alone (D-B9), quality is judged by the lower end of its
interval, latency only where enough trials support the percentile. Too little data is never a yes
and never a no: it is said, with the number of cases that would settle it. Cases that a model was
not asked count against it where a need is to be met, and for it where one is to be missed.

Models that fit stand in the order of `routing.order`, each with what decides between it and the
first one.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace

from analyze.render.numbers import chance, in_cases, limits_after, percent, points, usd, whole
from analyze.render.text import line_of
from analyze.routing.order import (
    Candidate,
    PairedQuality,
    PairedRule,
    ScopeRate,
    order_of,
    paired_quality,
    standing,
)
from analyze.routing.values import (
    PER_TRIALS,
    Compared,
    Judged,
    Nearest,
    Needs,
    Option,
    Reason,
    Route,
)
from analyze.stats import rates
from analyze.stats.intervals import MIN_TAIL_TRIALS, is_supported
from analyze.stats.power.exact import more_cases_above, more_cases_for_tier
from schemas.config.project import Thresholds
from schemas.errors import counted
from schemas.output.route import State

FAR = math.inf


def compared(option: Option, first: Option, rule: PairedRule) -> Compared:
    """Return how an option stands to the first one, and the sentence that says so."""
    pair = paired_quality(option.cases, first.cases)
    stands = standing(pair, rule)
    name = line_of(first.model)
    if stands == "apart":
        text = f"shares no case with {name}: no recommendation between them"
        return Compared(stands, pair, text)
    if not pair.n_shared:
        said = {"fuller": "only it has verdicts", "thinner": f"only {name} has verdicts"}
        return Compared(stands, pair, f"beside {name}: {said.get(stands, 'neither has verdicts')}")
    share = f"{whole(pair.n_shared)} of the {counted(pair.n_other, 'case')}"
    ends = {
        "better": "better",
        "worse": "worse",
        "likely_better": f"ahead by {points(pair.difference)} points, not shown",
        "likely_worse": f"behind by {points(pair.difference)} points, not shown",
        "fuller": f"no difference shown, and {name} was not asked the others",
        "thinner": f"no difference shown, and it was asked {share} of {name}",
        "level": f"no difference shown{_decided(option, first, rule)}",
    }
    text = f"beside {name}: {_rates(pair, name)}, p {chance(pair.p)}: {ends[stands]}"
    return Compared(stands, pair, text)


def _rates(pair: PairedQuality, name: str) -> str:
    own, other = pair.own_rate, pair.other_rate
    cases = (
        f"the {counted(pair.n_shared, 'case')}"
        if pair.n_shared == pair.n_own
        else f"{whole(pair.n_shared)} of its {counted(pair.n_own, 'case')}"
    )
    return (
        f"quality over {cases} that both were asked {percent(own, other)} %, "
        f"{name} {percent(other, own)} %"
    )


def _decided(option: Option, first: Option, rule: PairedRule) -> str:
    """Return what puts the first one before an option of the same quality."""
    for own, best, word in (
        (option.cost_usd, first.cost_usd, "cheaper"),
        (option.e2e_p95_ms, first.e2e_p95_ms, "faster"),
    ):
        if best is not None and (own is None or own > best * (1 + rule.ratio_margin)):
            return f"; {line_of(first.model)} is {word}"
    return ""


def route(options: Iterable[Option], needs: Needs, bounds: Thresholds = rates.DEFAULT) -> Route:
    """Return every option judged, those that fit first, the best of them at the top."""
    options = list(options)
    is_rated = any(option.quality.observed.rate is not None for option in options)
    judged = [_judge(option, needs, bounds, is_rated=is_rated) for option in options]
    fitting = [one for one in judged if one.fits]
    others = tuple(sorted((one for one in judged if not one.fits), key=_place))
    if not fitting:
        return Route(others, _nearest(others, needs))
    rule = PairedRule(
        alpha=bounds.alpha,
        margin=bounds.pass_rate_margin if needs.min_quality is None else None,
        min_coverage=bounds.min_coverage,
        ratio_margin=bounds.ratio_margin,
    )
    order = order_of([_candidate(one.option) for one in fitting], rule)
    first, *rest = [fitting[place] for place in order.places]
    return Route(
        judged=(
            first,
            *(
                replace(one, compared=compared(one.option, first.option, rule))
                for one in (*rest, *others)
            ),
        ),
        nearest=(),
        apart=tuple(fitting[place].option for place in order.apart),
    )


def _candidate(option: Option) -> Candidate:
    return Candidate(
        name=(option.provider, option.model, option.thinking_level or ""),
        cases=option.cases,
        cost_usd=option.cost_usd,
        p95_ms=p95_of(option),
        rate=option.quality.observed.rate,
    )


def _place(judged: Judged) -> tuple[object, ...]:
    """Return what options that do not fit are ordered by; nothing is recommended among them."""
    option = judged.option
    rate = option.quality.observed.rate
    return (
        0 if judged.is_open else 1,
        1.0 if rate is None else -rate,
        FAR if option.cost_usd is None else option.cost_usd,
        FAR if (p95 := p95_of(option)) is None else p95,
        (option.provider, option.model, option.thinking_level or ""),
    )


def _nearest(judged: Sequence[Judged], needs: Needs) -> tuple[Nearest, ...]:
    found = []
    for aspect in needs.stated_needs():
        pairs = [
            (reason, one.option)
            for one in judged
            for reason in one.reasons
            if reason.aspect == aspect
        ]
        if pairs:
            reason, option = min(pairs, key=lambda pair: pair[0].distance)
            found.append(Nearest(aspect, option, reason))
    return tuple(found)


def _judge(option: Option, needs: Needs, bounds: Thresholds, *, is_rated: bool) -> Judged:
    return Judged(
        option,
        (
            _tool_use(option.tool_use, bounds, is_asked=needs.tool_use),
            _known_quality(option, needs.min_quality, bounds, is_rated=is_rated),
            _cost(option, needs.max_cost_usd),
            _latency(option, needs.max_latency_ms),
        ),
    )


def _tool_use(tools: ScopeRate, bounds: Thresholds, *, is_asked: bool) -> Reason:
    asked = tools.observed
    tier = rates.tier_of(asked.rate, bounds)
    more = _more(more_cases_for_tier(asked.rate, asked.n_units, asked.interval, bounds), tools)
    if tier is None:
        state: State = "unknown"
        text = f"no trial with expected tools: {_lacking(more, tools)}"
        distance = 3.0
    else:
        confident = rates.tier_confident(tier, asked.interval, bounds) is True
        text = (
            f"tool use {_rate(tools, bounds.tier_1_from, bounds.tier_2_from)}: {rates.LABELS[tier]}"
        )
        sure = confident and rates.tier_confident(tier, tools.least.interval, bounds) is True
        text += ", confident" if confident else ""
        if tools.n_lacking and not (tier == 1 and sure):
            text += f", {_unasked(tools)}"
        text += "" if confident and (sure or tier != 1) else f", {_lacking(more, tools)}"
        is_possible = rates.tier_of(tools.most, bounds) == 1
        state = "met" if tier == 1 and sure else "unknown" if is_possible else "missed"
        waits = 0.0 if more is None else more / (more + 1)
        distance = {"met": 0.0, "unknown": waits}.get(state, 2.0 - (asked.rate or 0.0))
    return Reason("tool_use", state if is_asked else "not_asked", text, distance, more or None)


def _known_quality(
    option: Option, floor: float | None, bounds: Thresholds, *, is_rated: bool
) -> Reason:
    """Return the reason of quality; too little known of a model keeps it from being named.

    Args:
        option: the model.
        floor: the quality that is asked for.
        bounds: limits in force.
        is_rated: whether any option has a verdict; else nobody knows a quality, and cost and time
            are all there is to choose by.
    """
    reason, quality = _quality(option.quality, floor), option.quality.observed
    if not is_rated or reason.state not in {"met", "not_asked"}:
        return reason
    n_units = quality.n_units
    if rates.is_ranked(n_units, option.coverage, bounds.min_coverage):
        return reason
    if more := max(rates.MIN_RANKED_UNITS - n_units, 0):
        text = f"{reason.text}, {_lacking(more, option.quality)}"
    else:
        covered = f"{percent(option.coverage, bounds.min_coverage)} % of its trials have a verdict"
        text = f"{reason.text}, {covered}, below {percent(bounds.min_coverage)} %"
    return Reason("quality", "unknown", text, reason.distance, more or None)


def _quality(quality: ScopeRate, floor: float | None) -> Reason:
    asked, least = quality.observed, quality.least
    if asked.rate is None:
        state: State = "not_asked" if floor is None else "unknown"
        text = "quality: no trial has a verdict"
        text += f", {_unasked(quality)}" if quality.n_lacking else ""
        return Reason("quality", state, text, FAR, None if floor is None else quality.n_lacking)
    text = f"quality {_rate(quality, floor)}{_not_counted(quality)}"
    text += f", {_unasked(quality)}" if quality.n_lacking else ""
    if floor is None:
        return Reason("quality", "not_asked", text, 0.0)
    low = least.interval.low if least.interval else None
    distance = 2.0 - asked.rate if low is None else 1.0 - low
    if low is not None and low >= floor:
        text += f", at least {percent(floor)} %"
        text += " even with those as failed" if quality.n_lacking else ""
        return Reason("quality", "met", text, distance)
    if quality.most is not None and quality.most < floor:
        text += f", below {percent(floor)} %"
        text += " even with those as passed" if quality.n_lacking else ""
        return Reason("quality", "missed", text, distance)
    more = _more(more_cases_above(floor, asked.rate, asked.n_units, asked.interval), quality)
    wanted = f"{text}, for at least {percent(floor)} % {_lacking(more, quality)}"
    return Reason("quality", "unknown", wanted, distance, more or None)


def _cost(option: Option, limit: float | None) -> Reason:
    if option.cost_usd is None:
        state: State = "not_asked" if limit is None else "unknown"
        return Reason("cost", state, "cost unknown: no price is known for it", FAR)
    cost = option.cost_usd * PER_TRIALS
    text = f"cost {usd(cost, limit)} USD per {whole(PER_TRIALS)} trials"
    if option.n_cost_known < option.n_measured:
        text += f" (known for {whole(option.n_cost_known)} of {whole(option.n_measured)})"
    if limit is None:
        return Reason("cost", "not_asked", text, 0.0)
    if cost <= limit:
        return Reason("cost", "met", text, cost)
    return Reason("cost", "missed", f"{text}, above {usd(limit)}", cost)


def _latency(option: Option, limit: float | None) -> Reason:
    p95, n = p95_of(option), option.n_timed
    late = ""
    if option.n_timeouts:
        late = f", {percent(option.n_timeouts / n)} % of them timed out"
    if not is_supported(n, 95):
        state: State = "not_asked" if limit is None else "unknown"
        enough = whole(MIN_TAIL_TRIALS * 20)
        text = f"p95 latency: insufficient data: {whole(n)} of {enough} trials{late}"
        return Reason("latency", state, text, FAR)
    if p95 is None:
        text = f"p95 latency beyond the time limit, of {whole(n)} trials{late}"
        return Reason("latency", "not_asked" if limit is None else "missed", text, FAR)
    text = f"p95 latency {whole(p95, limit)} ms of {whole(n)} trials{late}"
    if limit is None:
        return Reason("latency", "not_asked", text, 0.0)
    if p95 <= limit:
        return Reason("latency", "met", text, p95)
    return Reason("latency", "missed", f"{text}, above {whole(limit)} ms", p95)


def p95_of(option: Option) -> float | None:
    """Return the percentile where enough trials support it and it is within the time limit."""
    return option.e2e_p95_ms if is_supported(option.n_timed, 95) else None


def _rate(rate: ScopeRate, *bounds: float | None) -> str:
    asked: rates.CaseRate = rate.observed
    limits = limits_after(asked.rate, asked.interval, *bounds)
    cases = in_cases(rate.n_cases, asked.n_clusters)
    return (
        f"{percent(asked.rate, *bounds)} %{limits} of {counted(asked.n_trials, 'trial')} in {cases}"
    )


def _not_counted(rate: ScopeRate) -> str:
    """Return which trials with a verdict are not among those of the rate, and why."""
    same = counted(rate.n_identical, "further repetition", "further repetitions")
    old = counted(rate.n_reused, "reused answer is", "reused answers are")
    notes = [
        f"{same} gave the same bytes: they count once" * bool(rate.n_identical),
        f"{old} not counted" * bool(rate.n_reused),
    ]
    return f" ({'; '.join(filter(None, notes))})" if any(notes) else ""


def _unasked(rate: ScopeRate) -> str:
    return (
        f"not asked {whole(rate.n_lacking)} of the {counted(rate.n_scope, 'case')} that others were"
    )


def _more(more: int | None, rate: ScopeRate) -> int | None:
    """Return how many more cases would settle it: those that are lacking, if not more.

    Where cases are in clusters it is these: a further case of a cluster that is there adds little.
    """
    return more if not rate.n_lacking else max(more or 0, rate.n_lacking_units)


def _lacking(more: int | None, rate: ScopeRate) -> str:
    if more is None:
        return "insufficient data: the rate lies on the bound, no number of cases is enough"
    what = (
        ("more cluster of cases", "more clusters of cases") if rate.is_clustered else ("more case",)
    )
    return f"insufficient data: {counted(more, *what)}"
