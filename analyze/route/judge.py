"""Which model for which need, and why: a pure function of what is known about each one.

Tool access is for a confident Tier 1 alone (decision B9), quality is judged by the lower end of
its interval, latency only where enough trials support the percentile. Too little data is never a
yes and never a no: it is said, with the number of cases that would settle it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from analyze.metrics.case_rate import CaseRate
from analyze.metrics.more_cases import more_cases_above, more_cases_for_tier
from analyze.metrics.percentiles import TAIL_TRIALS, is_supported
from analyze.metrics.tiers import DEFAULT, LABELS, tier_confident, tier_of
from analyze.report.numbers import limits_after, percent, usd, whole
from analyze.route.values import PER_TRIALS, Judged, Nearest, Needs, Option, Reason, Route, State
from schemas.thresholds import Thresholds

FAR = math.inf


def route(options: Iterable[Option], needs: Needs, bounds: Thresholds = DEFAULT) -> Route:
    """Return every option judged, those that fit first, the best of them at the top.

    Quality decides by the lower end of its interval; equals are told apart by cost, then latency.
    """
    judged = tuple(sorted((_judge(option, needs, bounds) for option in options), key=_place))
    is_met = any(one.fits for one in judged)
    return Route(judged, () if is_met else _nearest(judged, needs))


def _place(judged: Judged) -> tuple[object, ...]:
    option = judged.option
    interval = option.quality.interval
    return (
        0 if judged.fits else 1 if judged.is_open else 2,
        1.0 if interval is None else -interval.low,
        FAR if option.cost_usd is None else option.cost_usd,
        FAR if (p95 := _p95(option)) is None else p95,
        (option.provider, option.model, option.thinking_level or ""),
    )


def _nearest(judged: Sequence[Judged], needs: Needs) -> tuple[Nearest, ...]:
    found = []
    for aspect in needs.asked():
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


def _judge(option: Option, needs: Needs, bounds: Thresholds) -> Judged:
    return Judged(
        option,
        (
            _tool_use(option.tool_use, bounds, is_asked=needs.tool_use),
            _quality(option.quality, needs.min_quality),
            _cost(option, needs.max_cost_usd),
            _latency(option, needs.max_latency_ms),
        ),
    )


def _tool_use(tools: CaseRate, bounds: Thresholds, *, is_asked: bool) -> Reason:
    tier = tier_of(tools.rate, bounds)
    more = more_cases_for_tier(tools.rate, tools.n_cases, tools.interval, bounds)
    if tier is None:
        state: State = "unknown"
        text = f"no trial with expected tools: {_lacking(more)}"
        distance = 3.0
    else:
        confident = tier_confident(tier, tools.interval, bounds) is True
        text = f"tool use {_rate(tools)}: {LABELS[tier]}"
        text += ", confident" if confident else f", {_lacking(more)}"
        state = "met" if tier == 1 and confident else "unknown" if tier == 1 else "missed"
        waits = 0.0 if more is None else more / (more + 1)
        distance = {"met": 0.0, "unknown": waits}.get(state, 2.0 - (tools.rate or 0.0))
    return Reason("tool_use", state if is_asked else "not_asked", text, distance, more or None)


def _quality(quality: CaseRate, floor: float | None) -> Reason:
    if quality.rate is None:
        state: State = "not_asked" if floor is None else "unknown"
        return Reason("quality", state, "quality: no trial has a verdict", FAR)
    text = f"quality {_rate(quality)}"
    if floor is None:
        return Reason("quality", "not_asked", text, 0.0)
    low = quality.interval.low if quality.interval else None
    distance = 2.0 - quality.rate if low is None else 1.0 - low
    if low is not None and low >= floor:
        return Reason("quality", "met", f"{text}, at least {percent(floor)} %", distance)
    if quality.rate < floor:
        return Reason("quality", "missed", f"{text}, below {percent(floor)} %", distance)
    more = more_cases_above(floor, quality.rate, quality.n_cases, quality.interval)
    asked = f"{text}, for at least {percent(floor)} % {_lacking(more)}"
    return Reason("quality", "unknown", asked, distance, more or None)


def _cost(option: Option, limit: float | None) -> Reason:
    if option.cost_usd is None:
        state: State = "not_asked" if limit is None else "unknown"
        return Reason("cost", state, "cost unknown: no price is known for it", FAR)
    cost = option.cost_usd * PER_TRIALS
    text = f"cost {usd(cost)} USD per {whole(PER_TRIALS)} trials"
    if option.n_cost_known < option.n_measured:
        text += f" (known for {whole(option.n_cost_known)} of {whole(option.n_measured)})"
    if limit is None:
        return Reason("cost", "not_asked", text, 0.0)
    if cost <= limit:
        return Reason("cost", "met", text, cost)
    return Reason("cost", "missed", f"{text}, above {usd(limit)}", cost)


def _latency(option: Option, limit: float | None) -> Reason:
    p95, n = _p95(option), option.n_latency
    if p95 is None:
        state: State = "not_asked" if limit is None else "unknown"
        enough = whole(TAIL_TRIALS * 20)
        text = f"p95 latency: insufficient data: {whole(n)} of {enough} successes"
        return Reason("latency", state, text, FAR)
    text = f"p95 latency {whole(p95)} ms of {whole(n)} successes"
    if limit is None:
        return Reason("latency", "not_asked", text, 0.0)
    if p95 <= limit:
        return Reason("latency", "met", text, p95)
    return Reason("latency", "missed", f"{text}, above {whole(limit)} ms", p95)


def _p95(option: Option) -> float | None:
    """Return the percentile where enough trials support it."""
    return option.e2e_p95_ms if is_supported(option.n_latency, 95) else None


def _rate(rate: CaseRate) -> str:
    limits = limits_after(rate.rate, rate.interval)
    cases = "case" if rate.n_cases == 1 else "cases"
    return (
        f"{percent(rate.rate)} %{limits} of {whole(rate.n_trials)} trials "
        f"in {whole(rate.n_cases)} {cases}"
    )


def _lacking(more: int | None) -> str:
    if more is None:
        return "insufficient data: the rate lies on the bound, no number of cases is enough"
    return f"insufficient data: {whole(more)} more case{'' if more == 1 else 's'}"
