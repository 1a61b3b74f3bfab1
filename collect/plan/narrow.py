"""Fewer trials than the suite has: chosen cases, tags and models, a limit, a shard. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import islice
from typing import NamedTuple

from collect.config import LoadedCase, ResolvedModel, RunInputs
from schemas.errors import ConfigError, Problem, nearest
from schemas.run.config import Narrowed
from schemas.run.model_names import ModelNames

SHARD = re.compile(r"([1-9]\d{0,4})/([1-9]\d{0,4})")


def parse_shard(text: str) -> tuple[int, int]:
    """Return the i and the n of `i/n`: the i-th of n parts of one plan, from 1.

    Raises:
        ConfigError: it is not two numbers with 1 <= i <= n.
    """
    match = SHARD.fullmatch(text)
    if match is None or int(match[1]) > int(match[2]):
        problem = Problem(None, "--shard takes i/n with 1 <= i <= n", found=f"`{text}`")
        raise ConfigError([problem])
    return int(match[1]), int(match[2])


def narrowed(
    cases: Sequence[str] | None,
    tags: Sequence[str] | None,
    models: Sequence[str] | None,
    max_trials: int | None,
    shard: str | None,
) -> Narrowed:
    """Return what the flags of the command line ask for, as they were given."""
    return Narrowed(
        cases=tuple(cases or ()),
        tags=tuple(tags or ()),
        models=tuple(models or ()),
        max_trials=max_trials,
        shard=shard,
    )


def narrow(inputs: RunInputs, wanted: Narrowed) -> RunInputs:
    """Return the inputs with only the cases and models that the flags name.

    A model is named by its model_id, or else by its label.

    Raises:
        ConfigError: a flag names something the suite does not have, or nothing is left.
    """
    shard = None if wanted.shard is None else "{}/{}".format(*parse_shard(wanted.shard))
    named = _model_ids(inputs.models, wanted.models)
    wanted = wanted.model_copy(update={"models": named, "shard": shard})
    models = {model.model_id for model in inputs.models}
    cases = {case.case_id for case in inputs.cases}
    tags = {tag for case in inputs.cases for tag in case.tags}
    problems = [
        *_unknown("--model", wanted.models, models, ModelNames.of_models(inputs.models).listed),
        *_unknown("--case", wanted.cases, cases),
        *_unknown("--tag", wanted.tags, tags),
    ]
    if problems:
        raise ConfigError(problems)
    kept = tuple(
        case
        for case in inputs.cases
        if (not wanted.cases or case.case_id in wanted.cases)
        and (not wanted.tags or not set(wanted.tags).isdisjoint(case.tags))
    )
    if not kept:
        what = "--case and --tag together leave no case"
        raise ConfigError([Problem(None, what)])
    return replace(
        inputs,
        cases=inputs.cases if len(kept) == len(inputs.cases) else kept,
        models=tuple(
            model for model in inputs.models if not wanted.models or model.model_id in wanted.models
        ),
        narrowed=wanted,
    )


def _model_ids(models: Sequence[ResolvedModel], named: Sequence[str]) -> tuple[str, ...]:
    """Return the model_id of each model that a flag names; what none is called stays.

    Raises:
        ConfigError: a label is that of several models.
    """
    known, names = {model.model_id for model in models}, ModelNames.of_models(models)
    meant = {name: [name] if name in known else names.ids_of(name) or [name] for name in named}
    unclear = [
        Problem(
            None,
            "--model: the label of several models; name one by its model_id",
            found=f"`{name}`",
            allowed=", ".join(ids),
        )
        for name, ids in meant.items()
        if len(ids) > 1
    ]
    if unclear:
        raise ConfigError(unclear)
    return tuple(dict.fromkeys(meant[name][0] for name in named))


def _unknown(
    flag: str, named: Sequence[str], known: set[str], listed: Callable[[str], str] = str
) -> list[Problem]:
    all_there = ", ".join(map(listed, sorted(known))) or "none"
    return [
        Problem(
            None,
            f"{flag}: the suite has no such thing",
            found=f"`{name}`",
            nearest=nearest(name, known),
            allowed=None if nearest(name, known) else all_there,
        )
        for name in named
        if name not in known
    ]


class Turn(NamedTuple):
    """Where a trial stands in the whole plan."""

    trial_no: int
    model: ResolvedModel
    repetition: int
    case: LoadedCase


Order = Iterable[tuple[int, tuple[ResolvedModel, int, LoadedCase]]]
"""Turns as they are counted, before they are made."""


def chosen(plan: Order, wanted: Narrowed) -> Iterator[Turn]:
    """Yield the trials of a plan that this run makes, in the plan's order.

    A limit takes the models in turn, so that each gets its share; a shard takes every n-th trial,
    so that each gets a bit of every model and case. A trial keeps its number in the whole plan.
    """
    kept = plan
    if wanted.max_trials is not None:
        seen: dict[str, int] = {}
        turns = []
        for trial_no, turn in kept:
            model_id = turn[0].model_id
            seen[model_id] = seen.get(model_id, 0) + 1
            turns.append((seen[model_id], trial_no, turn))
        first = sorted(turns, key=lambda one: one[:2])[: wanted.max_trials]
        kept = sorted(((trial_no, turn) for _, trial_no, turn in first), key=lambda one: one[0])
    if wanted.shard is not None:
        number, n_shards = parse_shard(wanted.shard)
        kept = islice(kept, number - 1, None, n_shards)
    for trial_no, turn in kept:
        yield Turn(trial_no, *turn)
