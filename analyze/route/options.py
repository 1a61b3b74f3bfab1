"""What history says about each way to run a model: (provider, model, thinking level).

A case is (suite_id, case_id, case_hash): another prompt under the same name is another case.
Verdicts are of all trials, cost and latency of those that were not reused (decision C6). Cases
are counted together by how they came out, so that a long history is a handful of rows.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from analyze.metrics.case_rate import NO_RATE, CaseRate, case_rate
from analyze.route.values import Option
from schemas.thresholds import Thresholds

if TYPE_CHECKING:
    from analyze.session import Session

OptionKey = tuple[str, str, str | None]
"""(provider, model, thinking_level)."""


@dataclass(frozen=True)
class Scope:
    """Which part of history counts; by default all of it."""

    run_ids: Sequence[str] = ()
    suite_id: str | None = None

    def condition(self) -> tuple[str, list[object]]:
        """Return a condition in SQL and its parameters."""
        terms, values = ["true"], list[object]()
        if self.run_ids:
            terms.append(f"run_id in ({', '.join('?' * len(self.run_ids))})")
            values += self.run_ids
        if self.suite_id is not None:
            terms.append("suite_id = ?")
            values.append(self.suite_id)
        return " and ".join(terms), values


@dataclass(frozen=True)
class ToolUseOfOption:
    """How often one way to run a model used the tools it was to use."""

    provider: str
    model: str
    thinking_level: str | None
    n_runs: int
    tool_use: CaseRate


def bounds_of(session: Session) -> Thresholds:
    """Return the bounds of the tiers that are in force."""
    ((tier_1_from, tier_2_from),) = session.rows(
        "select tier_1_from, tier_2_from from stg_thresholds"
    )
    return Thresholds(tier_1_from=tier_1_from, tier_2_from=tier_2_from)


def read_tool_use(session: Session, scope: Scope) -> list[ToolUseOfOption]:
    """Return the tool use of every way to run a model, those that never had a tool included."""
    tools = _case_rates(session, scope, "has_expected_tools and is_ok", "tool_use_success")
    return [
        ToolUseOfOption(*key, n_runs, tools.get(key, NO_RATE))
        for key, n_runs in _keys(session, scope)
    ]


def read_options(session: Session, scope: Scope) -> list[Option]:
    """Return all that routing asks about every way to run a model."""
    tools = _case_rates(session, scope, "has_expected_tools and is_ok", "tool_use_success")
    quality = _case_rates(session, scope, "passed is not null", "passed")
    measured = _measured(session, scope)
    return [
        Option(
            *key,
            tool_use=tools.get(key, NO_RATE),
            quality=quality.get(key, NO_RATE),
            **(measured.get(key) or _Measured()).__dict__,
        )
        for key, _ in _keys(session, scope)
    ]


@dataclass(frozen=True)
class _Measured:
    n_measured: int = 0
    n_cost_known: int = 0
    cost_usd: float | None = None
    n_latency: int = 0
    e2e_p95_ms: float | None = None


def _keys(session: Session, scope: Scope) -> list[tuple[OptionKey, int]]:
    condition, values = scope.condition()
    rows = session.rows(
        "select provider, model, thinking_level, count(distinct run_id) "  # noqa: S608
        f"from int_group_models where {condition} group by provider, model, thinking_level "
        "order by provider, model, thinking_level nulls first",
        values,
    )
    return [((provider, model, level), n_runs) for provider, model, level, n_runs in rows]


def _case_rates(
    session: Session, scope: Scope, counted: str, hit: str
) -> dict[OptionKey, CaseRate]:
    """Return the rate over cases of trials where `counted` holds, a hit where `hit` does."""
    condition, values = scope.condition()
    rows = session.rows(
        "with cases as (select provider, model, thinking_level, "  # noqa: S608 - our own terms
        f"count(*) as n_trials, count(case when {hit} then 1 end) as n_hits "
        f"from trials where {counted} and {condition} "
        "group by provider, model, thinking_level, suite_id, case_id, case_hash) "
        "select provider, model, thinking_level, n_trials, n_hits, count(*) from cases "
        "group by provider, model, thinking_level, n_trials, n_hits "
        "order by provider, model, thinking_level nulls first, n_trials, n_hits",
        values,
    )
    hits: defaultdict[OptionKey, list[int]] = defaultdict(list)
    trials: defaultdict[OptionKey, list[int]] = defaultdict(list)
    for provider, model, level, n_trials, n_hits, n_cases in rows:
        trials[provider, model, level] += [n_trials] * n_cases
        hits[provider, model, level] += [n_hits] * n_cases
    return {key: case_rate(hits[key], trials[key]) for key in trials}


def _measured(session: Session, scope: Scope) -> dict[OptionKey, _Measured]:
    condition, values = scope.condition()
    rows = session.rows(
        "select provider, model, thinking_level, count(*), "  # noqa: S608
        "count(cost_nano_usd), "
        "cast(sum(cost_nano_usd) as double) / 1e9 / nullif(count(cost_nano_usd), 0), "
        "count(case when is_success then e2e_ms end), "
        "quantile_cont(cast(case when is_success then e2e_ms end as double), 0.95) "
        f"from trials where is_measured and {condition} "
        "group by provider, model, thinking_level",
        values,
    )
    return {tuple(row[:3]): _Measured(*row[3:]) for row in rows}
