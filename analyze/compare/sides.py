"""The two sides of a comparison: which runs a text means, beside the other side's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from analyze.comparison.evidence.plans import History, is_called
from analyze.comparison.evidence.run_sets import SIDE_WORDS, Texts, refused, runs_of
from analyze.query.model_names import read_names
from analyze.query.run_ref import MOST_NAMED, require_model
from schemas.errors import ConfigError, Problem, nearest

if TYPE_CHECKING:
    from analyze.query.session import Session


@dataclass(frozen=True)
class Chosen:
    """The runs of one side."""

    asked: str
    run_ids: tuple[str, ...]
    """Oldest first; all shards of a plan."""
    model: str | None = None
    """Only this model_id or model string; None: every model."""
    only: Mapping[str, frozenset[str]] | None = None
    """model_id to the runs that count for it; a model that is not named: every run."""


def resolve_sides(
    session: Session,
    base: str,
    candidate: str | None = None,
    *,
    model: str | None = None,
    against: str | None = None,
    words: Sequence[str] = SIDE_WORDS,
) -> tuple[Chosen, Chosen]:
    """Return the base and the candidate.

    A side is a run id, a path, `latest`, `previous`, `label:NAME`, `last:N`, or several of these
    with commas between. Of the base, `latest`, `previous` and `last:N` mean runs of the candidate's
    suite, the last two before it and for each of its models apart.

    Args:
        session: the open lake.
        base: what was said of the base.
        candidate: what was said of the candidate; None: `latest`, or with `against` the base's
            runs.
        model: only this one, by its model_id or model string; with `against` the base's.
        against: the candidate's model, where two models are compared.
        words: what the caller takes for a side beside ids and paths, for messages.

    Raises:
        RunNotFound: there is no such run; names what is near.
        ConfigError: a side means nothing, or both mean the same.
    """
    if against is not None and model is None:
        what = (
            "--against names the second of two models, and --model the first: "
            "`--model A --against B`"
        )
        raise refused(what)
    is_of_same_runs = candidate is None and against is not None
    texts = Texts(session, {base, base if is_of_same_runs else candidate or "latest"}, words)
    if candidate is None and model is not None and against is not None:
        runs = runs_of(texts.alone(base, [model, against]))
        first, second = Chosen(base, runs, model), Chosen(base, runs, against)
    else:
        text, name = candidate or "latest", against or model
        plans = texts.alone(text, [] if name is None else [name])
        second = Chosen(text, runs_of(plans), name)
        before, only = texts.beside(base, plans, model, against)
        first = Chosen(base, runs_of(before), model, only)
    _require_two(first, second)
    for side in (first, second):
        _require_model(session, texts.history, side, is_one=against is not None)
    return first, second


def _require_two(base: Chosen, candidate: Chosen) -> None:
    """Check that no run is compared with itself."""
    both = [run_id for run_id in candidate.run_ids if run_id in base.run_ids]
    if both and base.model == candidate.model:
        what = (
            f"run `{both[0]}` is on both sides (`{base.asked}` and `{candidate.asked}`); "
            "two models of a run are compared by `analyze compare RUN --model ID --against ID`"
        )
        raise refused(what)


def _require_model(session: Session, history: History, side: Chosen, *, is_one: bool) -> None:
    """Check that the runs of a side asked its model, and where two are compared no other one.

    Raises:
        ConfigError: they did not; names the models that there are.
    """
    if side.model is None:
        return
    plans = {plan for run_id in side.run_ids if (plan := history.of(run_id)) is not None}
    keys = {key for planned in history.with_models(sorted(plans)) for key in planned.models}
    found = sorted({key.model_id for key in keys if is_called(key, side.model)})
    if not found:
        require_model(session, side.model)
        there, names = sorted({key.model_id for key in keys}), read_names(session)
        problem = Problem(
            None,
            f"`{side.asked}` has no model `{side.model}`",
            allowed=", ".join(map(names.listed, there[:MOST_NAMED])) or "nothing was planned there",
            nearest=nearest(side.model, there),
        )
        raise ConfigError([problem])
    if is_one and len(found) > 1:
        listed = ", ".join(f"`{name}`" for name in found)
        what = f"`{side.model}` is several models here: {listed}; name one by its model_id"
        raise refused(what)
