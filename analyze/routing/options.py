"""What history says about each way to run a model: (provider, model, thinking level).

A case is (suite_id, case_id, case_hash): another prompt under the same name is another case. Of
the versions that a case had, the newest that has a verdict is the one that counts: nobody can be
asked an older one. Tool use is of all trials; cost and latency of those that were not reused;
quality of trials that are a draw of their own: no reused ones where the case has others, and one
trial of a case whose answers are all the same bytes.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from analyze.lake.overlay import read_sql
from analyze.query.run_ref import in_runs
from analyze.routing.order import Case, Cases, Draws, ScopeRate, scope_rate
from analyze.routing.values import Option
from analyze.stats.rates import NO_RATE, CaseRate, case_rate
from schemas.config.project import Thresholds

if TYPE_CHECKING:
    from analyze.query.session import Session

OptionKey = tuple[str, str, str | None]
"""(provider, model, thinking_level)."""

LATE = "failure_type = 'timeout' and not passed"
"""Condition of a time-out that counts against the model."""

LAST_MS = 1e300
"""Time of such a trial in a percentile: later than every success, as in `model_summary`."""

MAX_KNOWN_MS = 1e18
"""No success takes as long; a percentile above it lies among the time-outs."""


@dataclass(frozen=True)
class Scope:
    """Which part of history counts; by default all of it."""

    run_ids: Sequence[str] = ()
    suite_id: str | None = None

    def condition(self) -> tuple[str, list[object]]:
        """Return a condition in SQL and its parameters."""
        terms, values = ["true"], list[object]()
        if self.run_ids:
            terms.append(in_runs(self.run_ids))
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
    tools = _cases(session, scope, "has_expected_tools and is_ok", "tool_use_success")
    passes = _cases(session, scope, "passed is not null", "passed", distinct=True)
    measured, coverage = _measured(session, scope), _coverage(session, scope)
    return [
        Option(
            *key,
            tool_use=_scoped(tools, key),
            quality=_scoped(passes, key),
            cases=passes.get(key, {}),
            coverage=coverage.get(key),
            **measured.get(key, {}),
        )
        for key, _ in _keys(session, scope)
    ]


def _scoped(found: Mapping[OptionKey, Cases], key: OptionKey) -> ScopeRate:
    """Return the rate of one option beside the cases that only others were asked."""
    own = found.get(key, {})
    units = {case: draws.unit for cases in found.values() for case, draws in cases.items()}
    return scope_rate(own.values(), [unit for case, unit in units.items() if case not in own])


def _keys(session: Session, scope: Scope) -> list[tuple[OptionKey, int]]:
    condition, values = scope.condition()
    rows = session.rows(
        "select provider, model, thinking_level, count(distinct run_id) "  # noqa: S608
        f"from stg_plans where {condition} group by provider, model, thinking_level "
        "order by provider, model, thinking_level nulls first",
        values,
    )
    return [((provider, model, level), n_runs) for provider, model, level, n_runs in rows]


def _case_rates(
    session: Session, scope: Scope, counted: str, hit: str
) -> dict[OptionKey, CaseRate]:
    """Return the rate over cases of trials where `counted` holds, a hit where `hit` does."""
    condition, values = scope.condition()
    sql = read_sql("routing/case_rates.sql").format(hit=hit, counted=counted, condition=condition)
    rows = session.rows(sql, values)
    cases: defaultdict[OptionKey, list[tuple[int, int, str | None]]] = defaultdict(list)
    for provider, model, level, n_trials, n_hits, n_cases, cluster in rows:
        cases[provider, model, level] += [(n_hits, n_trials, cluster)] * n_cases
    return {key: case_rate(*zip(*found, strict=True)) for key, found in cases.items()}


def _cases(
    session: Session, scope: Scope, counted: str, hit: str, *, distinct: bool = False
) -> dict[OptionKey, dict[Case, Draws]]:
    """Return hits and trials of each case, as it is now, where `counted` holds.

    Args:
        session: asks the lake.
        scope: which runs and which suite.
        counted: condition of a trial.
        hit: condition of a hit among those.
        distinct: count trials that are draws of their own; else all of them.
    """
    condition, values = scope.condition()
    sql = read_sql("routing/case_draws.sql").format(hit=hit, counted=counted, condition=condition)
    rows = session.rows(sql, values)
    clustered = session.rows("select suite_id, case_id, cluster from int_case_clusters")
    clusters = {(suite_id, case_id): cluster for suite_id, case_id, cluster in clustered}
    found: defaultdict[OptionKey, dict[Case, Draws]] = defaultdict(dict)
    for provider, model, level, suite_id, case_id, case_hash, *counts in rows:
        key, case = (provider, model, level), (suite_id, case_id, case_hash)
        unit = clusters.get((suite_id, case_id), case)
        found[key][case] = _draws(unit, counts) if distinct else Draws(counts[1], counts[0], unit)
    return dict(found)


def _draws(unit: Hashable, counts: Sequence[int]) -> Draws:
    """Return hits and trials of a case that are draws of their own, and how many are none."""
    n, k, n_new, k_new, is_identical = counts
    if not n_new:
        return Draws(k, n, unit)  # taken from a run that is not here
    if is_identical and k_new in {0, n_new}:
        return Draws(int(k_new > 0), 1, unit, n_identical=n_new - 1, n_reused=n - n_new)
    return Draws(k_new, n_new, unit, n_reused=n - n_new)


def _measured(session: Session, scope: Scope) -> dict[OptionKey, dict[str, Any]]:
    """Return the fields of `Option` that are about cost and time."""
    condition, values = scope.condition()
    rows = session.rows(
        "select provider, model, thinking_level, count(*), "  # noqa: S608
        "count(cost_nano_usd), "
        "cast(sum(cost_nano_usd) as double) / 1e9 / nullif(count(cost_nano_usd), 0), "
        "count(case when is_success then e2e_ms end), "
        f"count(case when {LATE} then 1 end), "
        f"quantile_cont(case when {LATE} then {LAST_MS!r} "
        "when is_success then cast(e2e_ms as double) end, 0.95) "
        f"from trials where is_measured and {condition} "
        "group by provider, model, thinking_level",
        values,
    )
    return {
        (provider, model, level): {
            "n_measured": n,
            "n_cost_known": n_cost_known,
            "cost_usd": cost_usd,
            "n_latency": n_latency,
            "n_timeouts": n_timeouts,
            # one that lies among the time-outs is not known
            "e2e_p95_ms": p95 if p95 is not None and p95 < MAX_KNOWN_MS else None,
        }
        for provider, model, level, n, n_cost_known, cost_usd, n_latency, n_timeouts, p95 in rows
    }


def _coverage(session: Session, scope: Scope) -> dict[OptionKey, float | None]:
    """Return the share of trials with a verdict of those that can get one."""
    condition, values = scope.condition()
    by_option = f"where {condition} group by provider, model, thinking_level"
    columns = "provider, model, thinking_level"
    planned = session.rows(
        f"select {columns}, count(case when is_scorable then 1 end) from stg_plans {by_option}",  # noqa: S608
        values,
    )
    scored = session.rows(f"select {columns}, count(passed) from trials {by_option}", values)  # noqa: S608
    counts = {(provider, model, level): n for provider, model, level, n in scored}
    return {
        (provider, model, level): counts.get((provider, model, level), 0) / n if n else None
        for provider, model, level, n in planned
    }
