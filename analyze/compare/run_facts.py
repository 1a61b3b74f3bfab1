"""What holds for a model in all trials of a run: who served it, and who judges."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from analyze.query.session import Session


class RunFacts(NamedTuple):
    """What holds for a model in all trials of one run; the shards of a plan are one run here."""

    run_group: str | None
    judge_hash: str | None
    served_models: tuple[str, ...]
    """Names that answers gave, sorted."""
    served_providers: tuple[str, ...]
    routing: tuple[str, ...]
    """`pinned`, `unpinned`; nothing where there is no router."""


def read_facts(
    session: Session, run_ids: Sequence[str], wanted: Collection[tuple[str, str]]
) -> dict[tuple[str, str], RunFacts]:
    """Return what holds for a model in all trials of a run, by (run_id, model_id)."""
    described = {
        run_id: (run_group, judge_hash)
        for run_id, run_group, judge_hash in session.rows(
            f"select run_id, run_group, judge_hash from stg_runs where {among(run_ids)}",  # noqa: S608
            run_ids,
        )
    }
    said: defaultdict[tuple[str, str], list[tuple[str | None, ...]]] = defaultdict(list)
    for run_id, model_id, *names in session.rows(
        "select distinct run_id, model_id, served_model, served_provider, routing "  # noqa: S608
        f"from trials where {among(run_ids)}",
        run_ids,
    ):
        said[_plan_of(run_id, described), model_id].append(tuple(names))
    found = {}
    for run_id, model_id in wanted:
        run_group, judge_hash = described.get(run_id, (None, None))
        names = said[_plan_of(run_id, described), model_id]
        models, providers, routing = (_known(one[place] for one in names) for place in range(3))
        found[run_id, model_id] = RunFacts(run_group, judge_hash, models, providers, routing)
    return found


def _plan_of(run_id: str, described: Mapping[str, tuple[str | None, str | None]]) -> str:
    """Return what the shards of one plan share: their group, or the run itself."""
    run_group, _ = described.get(run_id, (None, None))
    return f"run {run_id}" if run_group is None else f"group {run_group}"


def _known(names: Iterable[str | None]) -> tuple[str, ...]:
    return tuple(sorted({name for name in names if name is not None}))


def among(run_ids: Sequence[str]) -> str:
    """Return the condition of SQL that a row is of one of so many runs, each a parameter.

    The range is for the engine, which passes over stretches of a file by it and not by a list.
    """
    first, last = _constant(min(run_ids)), _constant(max(run_ids))
    return f"run_id between {first} and {last} and run_id in ({', '.join('?' * len(run_ids))})"


def _constant(text: str) -> str:
    """Return a text as SQL, without a word that names a view (`analyze.query.catalog.named_by`)."""
    return f"decode(unhex('{text.encode().hex()}'))"
