"""Doubts about how the models were asked: who answered, how late we were, what was not asked."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator

from analyze.render.numbers import percent, some, whole
from analyze.report.caveats.facts import (
    ModelFacts,
    RunDoubtFacts,
    ids_of,
    names_of,
    query_of,
    share,
)
from analyze.stats.paired_rates import ROUNDING
from schemas.output.comparison import SideFacts
from schemas.output.report import Doubt
from schemas.run.config import output_limits

MIN_LATE_SHARE = 0.05
"""Of timed trials: from here on a late one stands at the 95th percentile."""

MIN_MEDIAN_SHARE = 0.5
"""Of timed trials: from here on the median is a late one."""

ANOTHER_MODEL = "answered by"
"""What the collector's note says when a server names a model that nobody asked for."""

IGNORED = ": the server may ignore `model`"
"""Said once for all models here."""

WHO = (
    "select model_id, served_provider, served_model, count(*) as n_trials, "
    "avg(cast(passed as integer)) as passed_rate from results"
)


def unpinned_routing(facts: RunDoubtFacts) -> Iterator[Doubt]:
    """Yield models that a router sent where it liked; serious unless one upstream served all."""
    free = [one for one in facts.models if "unpinned" in one.who.routing]
    if free:
        upstreams = {one.model_id: _upstreams(facts, one) for one in free}
        parts = [
            f"{one.name} by {some(upstreams[one.model_id]) or 'an upstream without a name'}"
            for one in free
        ]
        yield Doubt(
            code="unpinned_routing",
            is_serious=any(len(names) != 1 for names in upstreams.values()),
            model_ids=ids_of(free),
            sentence=f"A router chose who answers (routing unpinned): {some(parts, '; ')}. "
            "Upstreams differ in weights and limits, so another choice looks like another model.",
            command=query_of(facts.context, WHO, rest="group by all order by all"),
        )


def _upstreams(facts: RunDoubtFacts, one: ModelFacts) -> list[str]:
    """Return who served a model, in the run and in its baseline."""
    served = {name for who in facts.base_who[one.model_id] for name in who.served_providers}
    return sorted(served.union(one.who.served_providers))


def served_model(facts: RunDoubtFacts) -> Iterator[Doubt]:
    """Yield models under whose name several answered, or another one than was asked for."""
    models: defaultdict[str, list[ModelFacts]] = defaultdict(list)
    for one in facts.models:
        for note in one.notes:
            if ANOTHER_MODEL in note:
                models[note.removesuffix(IGNORED).replace("`", "")].append(one)
        if len(one.who.served_models) > 1:
            models[f"answered as {some(one.who.served_models)}"].append(one)
    if models:
        parts = [f"{names_of(these)} {said}" for said, these in models.items()]
        yield Doubt(
            code="served_model",
            is_serious=True,
            model_ids=tuple(
                one.model_id for one in facts.models if any(one in of for of in models.values())
            ),
            sentence=f"The server names another model, or several: {some(parts, '; ')}. It may "
            "ignore which one is asked for, and what was measured is another one then.",
            command=query_of(facts.context, WHO, rest="group by all order by all"),
        )


def late_client(facts: RunDoubtFacts) -> Iterator[Doubt]:
    """Yield models whose times may be our own; serious where the median is among them."""
    late = [
        one for one in facts.models if one.n_late and one.n_late >= MIN_LATE_SHARE * one.n_timed
    ]
    if late:
        margin = facts.context.limits.thresholds.ratio_margin
        listing = some(
            [
                f"{one.name} {share(one.n_late, one.n_timed)}, "
                f"at worst {whole(one.worst_late_ms)} ms"
                for one in late
            ],
            "; ",
        )
        yield Doubt(
            code="late_client",
            is_serious=any(one.n_late >= MIN_MEDIAN_SHARE * one.n_timed for one in late),
            model_ids=ids_of(late),
            sentence="The collector itself was late by more than "
            f"{percent(margin)} % of an answer's time: {listing}. These times may be its own and "
            "not the server's; passed rates are not touched.",
            command=query_of(
                facts.context,
                "select model_id, case_id, repetition, e2e_ms, ttft_ms, clock_late_ms from results",
                "clock_late_ms is not null",
                "order by clock_late_ms desc limit 20",
            ),
        )


def timeouts(facts: RunDoubtFacts) -> Iterator[Doubt]:
    """Yield models with so many time-outs that every verdict carries a warning (D-A6)."""
    limit = facts.context.limits.thresholds.timeout_warning_share
    late = _above(
        facts,
        limit,
        lambda one: (one.n_timeout, one.group.n_scorable),
        lambda side: (side.n_timeout, side.n_scorable),
    )
    if late:
        listing = some([f"{one.name} {shares}" for one, shares in late], "; ")
        yield Doubt(
            code="timeouts",
            is_serious=True,
            model_ids=ids_of([one for one, _ in late]),
            sentence=f"More than {percent(limit)} % of the trials that can get a verdict timed "
            f"out: {listing}. A slow server reads like a worse model.",
            command=query_of(
                facts.context,
                "select model_id, case_id, repetition, e2e_ms, error_message from failures",
                "failure_type = 'timeout'",
            ),
        )


def truncated(facts: RunDoubtFacts) -> Iterator[Doubt]:
    """Yield models of which more answers were cut off than a few, and by which limit."""
    limit = facts.context.limits.thresholds.truncation_warning_share
    cut = _above(
        facts,
        limit,
        lambda one: (one.group.failures.get("output_truncated", 0), one.group.n_total),
        lambda side: (side.n_truncated, side.n_total),
    )
    if cut:
        listing = some([f"{one.name} {shares}{_limit_of(facts, one)}" for one, shares in cut], "; ")
        yield Doubt(
            code="truncated",
            is_serious=True,
            model_ids=ids_of([one for one, _ in cut]),
            sentence=f"More than {percent(limit)} % of the answers were cut off: {listing}. They "
            "count as failed, so a limit reads like a worse model.",
            command=query_of(
                facts.context,
                "select model_id, case_id, repetition, output_tokens, finish_reason from results",
                "failure_type = 'output_truncated'",
            ),
        )


def _above(
    facts: RunDoubtFacts,
    limit: float,
    of_model: Callable[[ModelFacts], tuple[int, int]],
    of_base: Callable[[SideFacts], tuple[int, int]],
) -> list[tuple[ModelFacts, str]]:
    """Return the models of which a share is above its limit, in the run or in its baseline.

    Args:
        facts: of the run.
        limit: of the share.
        of_model: returns the part and the whole, in the run.
        of_base: returns the same of the side of the baseline.
    """
    comparison = facts.context.comparison
    base = (
        {group.candidate_model_id: group.base for group in comparison.groups} if comparison else {}
    )
    found = []
    for one in facts.models:
        own = of_model(one)
        shares = [share(*own)] if _is_above(own, limit) else []
        if (side := base.get(one.model_id)) is not None and _is_above(of_base(side), limit):
            shares.append(f"in the baseline {share(*of_base(side))}")
        if shares:
            found.append((one, ", ".join(shares)))
    return found


def _is_above(counts: tuple[int, int], limit: float) -> bool:
    part, of = counts
    return of > 0 and part / of > limit + ROUNDING


def _limit_of(facts: RunDoubtFacts, one: ModelFacts) -> str:
    """Return the limit that a model's answers have, as the run was asked; nothing: not known."""
    if facts.config is None:
        return ""
    limits = output_limits(facts.config, one.model_id)
    if not limits:
        return " (no max_tokens is set: the server's own limit, or the end of the context)"
    return f" (max_tokens {' or '.join(whole(limit) for limit in limits[:3])})"
