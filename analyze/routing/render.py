"""A route as a document and as a record, and routing tiers as a document and as JSON.

A route says what was asked, which model it is, and why not the others; a tier stands with its rate,
its interval, and how sure it is.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from analyze.render.document import Document, Item, Lines, Section, Table, listed, paragraph
from analyze.render.numbers import best_first_key, case_mean, percent, percent_range, usd, whole
from analyze.render.text import UNLIMITED, Column, line_of
from analyze.routing.order import ScopeRate
from analyze.routing.values import PER_TRIALS, Compared, Judged, Needs, Option, Route
from analyze.stats.power.exact import more_cases_for_tier
from analyze.stats.rates import LABELS, tier_confident, tier_of
from schemas.base import same_fields
from schemas.config.project import Thresholds
from schemas.output.route import (
    ComparedQuality,
    NearestMiss,
    RoutedModel,
    RoutedName,
    RoutedRate,
    RoutedReason,
    RouteNeeds,
    RouteResult,
    State,
)

if TYPE_CHECKING:
    from analyze.routing.options import ToolUseOfOption

MARKS: MappingProxyType[State, str] = MappingProxyType(
    {"met": "+", "missed": "-", "unknown": "?", "not_asked": " "}
)

WORDS: MappingProxyType[State, str] = MappingProxyType(
    {"met": "for", "missed": "against", "unknown": "insufficient data", "not_asked": "not asked"}
)

NO_MODEL = "no model was asked anything yet: make a run with `collect run`"

COLUMNS = (
    Column("provider", least=5, is_name=True),
    Column("model", least=9, is_name=True),
    Column("thinking", least=3),
    Column("trials", "right"),
    Column("cases", "right"),
    Column("tools%", "right"),
    Column("95 %"),
    Column("tier", least=7),
    Column("confident"),
)


def route_document(route: Route, needs: Needs, suite: str | None) -> Document:
    """Return the answer first, then every model with its reasons."""
    by_suite = "" if suite is None else f", by suite {suite}"
    sections = [paragraph(f"asked: {_needs_text(needs)}{by_suite}"), _answer(route)]
    for judged in route.judged:
        title, comparison = f"{_standing(judged)}: {name_of(judged.option)}", judged.compared
        more = [] if comparison is None else [comparison.text]
        lines = [f"{MARKS[reason.state]} {reason.text}" for reason in judged.reasons]
        lines += [f"  {one}" for one in more]
        said = [f"{WORDS[reason.state]}: {reason.text}" for reason in judged.reasons]
        sections += [
            Section([Lines(lines)], title, "screen"),
            listed(title, [*said, *more], "page"),
        ]
    if route.judged:
        legend = "+ for  - against  ? insufficient data  (unmarked: not asked)"
        sections.append(Section([Lines([legend])], only="screen"))
    return Document("Route", sections, width=UNLIMITED)


def _answer(route: Route) -> Section:
    if not route.judged:
        return paragraph(NO_MODEL)
    if route.chosen is not None:
        return paragraph(f"use: {name_of(route.chosen)}")
    if route.apart:
        title = "no recommendation: these fit, and the first shares no case with the others:"
        fits = [name_of(one) for one in (route.judged[0].option, *route.apart)]
        how = "ask them the same cases, or name a suite that was put to both with --suite"
        return listed("", [Item(title, fits), how])
    nearest = [
        f"{'tool access' if one.aspect == 'tool_use' else one.aspect}: "
        f"{name_of(one.option)}: {one.reason.text}"
        for one in route.nearest
    ]
    return listed("", [Item("nothing fits; nearest to each need:", nearest)])


def route_result(route: Route, needs: Needs, suite: str | None) -> RouteResult:
    """Return the route as a record: rates between 0 and 1, costs in USD of 1,000 trials, ms."""
    return RouteResult(
        needs=RouteNeeds(
            tool_use=needs.tool_use,
            min_quality=needs.min_quality,
            max_cost_usd_per_1000_trials=needs.max_cost_usd,
            max_latency_ms=needs.max_latency_ms,
            suite=suite,
        ),
        chosen=None if route.chosen is None else RoutedName(**_key(route.chosen)),
        not_comparable=tuple(RoutedName(**_key(option)) for option in route.apart),
        models=tuple(map(_judged, route.judged)),
        nearest={
            nearest.aspect: NearestMiss(**_key(nearest.option), why=nearest.reason.text)
            for nearest in route.nearest
        },
    )


def name_of(option: Option) -> str:
    """Return a model as it is asked for."""
    level = "" if option.thinking_level is None else f", thinking {option.thinking_level}"
    return line_of(f"{option.model} ({option.provider}{level})")


def _standing(judged: Judged) -> str:
    if judged.fits:
        return "fits"
    return "insufficient data" if judged.is_open else "does not fit"


def _needs_text(needs: Needs) -> str:
    parts = [
        "tool access" * needs.tool_use,
        "" if needs.min_quality is None else f"quality at least {percent(needs.min_quality)} %",
        ""
        if needs.max_cost_usd is None
        else f"at most {usd(needs.max_cost_usd)} USD per {whole(PER_TRIALS)} trials",
        "" if needs.max_latency_ms is None else f"p95 at most {whole(needs.max_latency_ms)} ms",
    ]
    return ", ".join(filter(None, parts)) or "nothing; ordered by quality"


def _key(option: Option) -> dict[str, Any]:
    return {
        "provider": option.provider,
        "model": option.model,
        "thinking_level": option.thinking_level,
    }


def _judged(judged: Judged) -> RoutedModel:
    option = judged.option
    cost = option.cost_usd
    return RoutedModel(
        **_key(option),
        fits=judged.fits,
        tool_use=_rate(option.tool_use),
        quality=_rate(option.quality),
        cost_usd_per_1000_trials=None if cost is None else cost * PER_TRIALS,
        **same_fields(option, "n_cost_known n_measured e2e_p95_ms n_latency n_timeouts"),
        is_p95_beyond_limit=option.is_beyond_limit,
        compared=None if judged.compared is None else _compared(judged.compared),
        reasons=tuple(
            RoutedReason(
                need=reason.aspect,
                state=reason.state,
                why=reason.text,
                more_cases=reason.more_cases,
            )
            for reason in judged.reasons
        ),
    )


def _compared(compared: Compared) -> ComparedQuality:
    pair = compared.pair
    return ComparedQuality(
        standing=compared.standing,
        n_shared=pair.n_shared,
        n_own=pair.n_own,
        n_first=pair.n_other,
        rate=pair.own_rate,
        first_rate=pair.other_rate,
        p=pair.p,
        why=compared.text,
    )


def _rate(rate: ScopeRate) -> RoutedRate:
    asked, interval = rate.observed, rate.least.interval
    return RoutedRate(
        rate=asked.rate,
        n_trials=asked.n_trials,
        n_cases=rate.n_cases,
        n_identical=rate.n_identical,
        n_reused=rate.n_reused,
        n_lacking=rate.n_lacking,
        ci95=asked.interval,
        low_if_lacking_failed=interval.low if interval else None,
    )


def tiers_document(rows: Sequence[ToolUseOfOption], bounds: Thresholds) -> Document:
    """Return the table of tiers, and what its tiers mean."""
    if not rows:
        return Document("Tiers", [paragraph(NO_MODEL)], width=UNLIMITED)
    best_first = sorted(rows, key=lambda row: best_first_key(row.tool_use.rate))
    is_clustered = any(row.tool_use.n_clusters is not None for row in rows)
    or_clusters = "(clusters, where cases are in some) " * is_clustered
    meanings = [
        f"tier 1 (from {percent(bounds.tier_1_from)} %): give it tools",
        f"tier 2 (from {percent(bounds.tier_2_from)} %): only where a failure does no harm",
        "tier 3: no tools",
        f"no, +n: so many more cases {or_clusters}like these would make it confident",
        *(
            f"95 % of {row.model}: of its case mean, {percent(interval.estimate)} %"
            for row in best_first
            if (interval := row.tool_use.interval)
            and case_mean(row.tool_use.rate, interval.estimate)
        ),
    ]
    table = Table(COLUMNS, [_cells(row, bounds) for row in best_first])
    return Document("Tiers", [Section([table]), listed("", meanings)], width=UNLIMITED)


def tiers_json(rows: Sequence[ToolUseOfOption], bounds: Thresholds) -> str:
    """Return the tiers as a JSON list; rates between 0 and 1."""
    return json.dumps([_object(row, bounds) for row in rows], indent=2)


def _object(row: ToolUseOfOption, bounds: Thresholds) -> dict[str, object]:
    tools = row.tool_use
    tier = tier_of(tools.rate, bounds)
    return {
        "provider": row.provider,
        "model": row.model,
        "thinking_level": row.thinking_level,
        "n_runs": row.n_runs,
        "n_trials": tools.n_trials,
        "n_cases": tools.n_cases,
        "n_clusters": tools.n_clusters,
        "tool_use_rate": tools.rate,
        "ci95": tools.interval.model_dump() if tools.interval else None,
        "tier": tier,
        "tier_label": None if tier is None else LABELS[tier],
        "tier_confident": tier_confident(tier, tools.interval, bounds),
        "more_cases": more_cases_for_tier(tools.rate, tools.n_units, tools.interval, bounds),
    }


def _cells(row: ToolUseOfOption, bounds: Thresholds) -> list[str]:
    tools = row.tool_use
    tier, edges = tier_of(tools.rate, bounds), (bounds.tier_1_from, bounds.tier_2_from)
    return [
        row.provider,
        row.model,
        row.thinking_level or "",
        whole(tools.n_trials),
        whole(tools.n_cases),
        percent(tools.rate, *edges),
        percent_range(tools.interval.low, tools.interval.high, *edges) if tools.interval else "",
        "unrated" if tier is None else LABELS[tier].removeprefix("Tier "),
        _confidence(row, bounds),
    ]


def _confidence(row: ToolUseOfOption, bounds: Thresholds) -> str:
    tools = row.tool_use
    more = more_cases_for_tier(tools.rate, tools.n_units, tools.interval, bounds)
    if more is None:
        return "on bound"
    return "yes" if more == 0 else f"no, +{whole(more)}"
