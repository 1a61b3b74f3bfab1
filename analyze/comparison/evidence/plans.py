"""Plans in order of time: which runs belong together, which came before, what each asked.

A plan is a run, or all shards of one (D-F4). Models are looked up as far back as is needed,
since what a comparison asks for is almost always among the last few plans.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from analyze.comparison.evidence.outcomes import ModelKey, of_runs

if TYPE_CHECKING:
    from analyze.query.session import Session

FIRST_LOOK = 8
"""Plans whose models are read at first; each further look takes eight times as many."""


class Plan(NamedTuple):
    """A run, or all shards of one plan."""

    place: int
    """In order of start, from 0; shards stand where the newest of them started."""
    suite_id: str
    run_ids: tuple[str, ...]
    """Oldest first."""


class Planned(NamedTuple):
    """A plan and the models that it asks."""

    plan: Plan
    models: frozenset[ModelKey]

    def has(self, name: str) -> bool:
        """Return whether a model of this model_id or model string is among them."""
        return any(is_called(key, name) for key in self.models)


def is_called(key: ModelKey, name: str) -> bool:
    """Return whether a model has this model_id or model string."""
    return name in (key.model_id, key.model)


class History:
    """Every plan of a lake, or those that are asked for."""

    def __init__(self, session: Session, named: Collection[str] = ()) -> None:
        """Read the plans.

        Args:
            session: the open lake.
            named: what the runs are called that are looked for: where each is the id of a run
                which has no shards, only these are read.
        """
        self._session = session
        rows = self._alone(sorted(set(named))) or self._runs()
        shards: defaultdict[str, list[str]] = defaultdict(list)
        for run_id, _, run_group in rows:
            if run_group is not None:
                shards[run_group].append(run_id)
        plans: list[Plan] = []
        for run_id, suite_id, run_group in rows:
            if run_group is None:
                plans.append(Plan(len(plans), suite_id, (run_id,)))
            elif run_id == shards[run_group][-1]:
                plans.append(Plan(len(plans), suite_id, tuple(shards[run_group])))
        self.plans = tuple(plans)
        self._of = {run_id: plan for plan in self.plans for run_id in plan.run_ids}

    def _alone(self, names: Sequence[str]) -> list[tuple[Any, ...]]:
        """Return the runs of these ids; nothing where one is no id, or of a run with shards."""
        rows = self._runs(f"where {of_runs(names)}", names) if names else []
        is_each = len(rows) == len(names) and all(run_group is None for *_, run_group in rows)
        return rows if is_each else []

    def _runs(self, where: str = "", run_ids: Sequence[str] = ()) -> list[tuple[Any, ...]]:
        return self._session.rows(
            f"select run_id, suite_id, run_group from stg_runs {where} "  # noqa: S608 - our own names
            "order by started_at_ms nulls first, run_id",
            run_ids,
        )

    def of(self, run_id: str) -> Plan | None:
        """Return the plan of a run; None where there is no such run."""
        return self._of.get(run_id)

    @property
    def run_ids(self) -> list[str]:
        """Every run, oldest first."""
        return [run_id for plan in self.plans for run_id in plan.run_ids]

    def newest_first(self, suite_id: str | None = None, before: int | None = None) -> list[Plan]:
        """Return plans, the newest first, of one suite or before a place where these are given."""
        return [plan for plan in reversed(self.plans[:before]) if suite_id in (None, plan.suite_id)]

    def with_models(self, plans: Sequence[Plan]) -> Iterator[Planned]:
        """Yield plans with the models that they ask, in the order given."""
        start, size = 0, FIRST_LOOK
        while start < len(plans):
            look = plans[start : start + size]
            asked = self._models([run_id for plan in look for run_id in plan.run_ids])
            for plan in look:
                yield Planned(plan, frozenset().union(*(asked[one] for one in plan.run_ids)))
            start, size = start + size, size * 8

    def _models(self, run_ids: Sequence[str]) -> defaultdict[str, set[ModelKey]]:
        found: defaultdict[str, set[ModelKey]] = defaultdict(set)
        for run_id, *key in self._session.rows(
            "select distinct run_id, provider, model, thinking_level, model_id "  # noqa: S608
            f"from stg_plans where {of_runs(run_ids)}",
            run_ids,
        ):
            found[run_id].add(ModelKey(*key))
        return found

    def previous_plans(
        self, suite_id: str, place: int, n: int, models: Iterable[ModelKey | str]
    ) -> dict[str, tuple[Plan, ...]]:
        """Return the last plans of a suite that asked each model, oldest first, by model_id.

        Args:
            suite_id: of this suite.
            place: before this place.
            n: at most so many for each model.
            models: each a model, or the name of one. A model that no such plan knows by its
                model_id is looked for by provider, model and thinking level, in plans where these
                name one model only.
        """
        older = self.newest_first(suite_id, place)
        seen: list[Planned] = []
        found: dict[ModelKey | str, list[tuple[str, Plan]]] = {model: [] for model in models}
        for planned in self.with_models(older):
            seen.append(planned)
            for model, plans in found.items():
                if len(plans) < n and (name := _name_of(model, planned.models)) is not None:
                    plans.append((name, planned.plan))
            if all(len(plans) == n for plans in found.values()):
                break
        for model, plans in found.items():
            if not plans and isinstance(model, ModelKey):
                found[model] = _alike(model, seen)[:n]
        by_id: defaultdict[str, list[Plan]] = defaultdict(list)
        for plans in found.values():
            for name, older_plan in plans:
                by_id[name].append(older_plan)
        return {name: tuple(reversed(plans)) for name, plans in by_id.items()}


def _name_of(model: ModelKey | str, keys: frozenset[ModelKey]) -> str | None:
    """Return the model_id that a model has among those of a plan; None: it is none of them."""
    if isinstance(model, ModelKey):
        return model.model_id if any(key.model_id == model.model_id for key in keys) else None
    return min((key.model_id for key in keys if is_called(key, model)), default=None)


def _alike(model: ModelKey, seen: Iterable[Planned]) -> list[tuple[str, Plan]]:
    """Return plans that asked the same model by another model_id, the newest first."""
    found = []
    for planned in seen:
        alike = [key.model_id for key in planned.models if key[:3] == model[:3]]
        if len(alike) == 1:
            found.append((alike[0], planned.plan))
    return found
