"""Every trial of a run, in order, before any is made; how many those are, and plan.jsonl as read.

What makes a plan is pure. A new run and a resumed one both take their trials from the file, one
line at a time, so that what was planned is what is made, and a plan of a million trials takes no
memory. How large a plan is: what a run counts against, and what it can show.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path

import orjson

from collect.config import LoadedCase, ResolvedModel, RunInputs
from collect.plan.fingerprint import (
    SettingsParts,
    agent_part,
    case_hash,
    fingerprint,
    image_part,
    kept_parts,
    model_parts,
    tools_part,
)
from collect.plan.narrow import Turn, chosen
from schemas.run.config import FINGERPRINT_VERSION, PlannedTrial


@dataclass(frozen=True, slots=True)
class PlanSize:
    """Counts of one model's part of a plan."""

    n_planned: int
    n_scorable_cases: int
    repetitions: int
    """Of the scorable trials, at most."""
    clusters: Mapping[str, str | None] = field(default_factory=dict)
    """Of each scorable case, by case_id; empty where no case is in one."""


def sizes_of(plan: Iterable[PlannedTrial]) -> dict[str, PlanSize]:
    """Return the size of each model's part of a plan; holds its case ids and clusters only."""
    return _sizes(
        (trial.model_id, trial.case_id, trial.repetition, trial.is_scorable, trial.cluster)
        for trial in plan
    )


def _sizes(trials: Iterable[tuple[str, str, int, bool, str | None]]) -> dict[str, PlanSize]:
    """Return the same of (model_id, case_id, repetition, is_scorable, cluster)."""
    planned: dict[str, int] = {}
    repetitions: dict[str, int] = {}
    cases: dict[str, dict[str, str | None]] = {}
    for model_id, case_id, repetition, is_scorable, cluster in trials:
        planned[model_id] = planned.get(model_id, 0) + 1
        scorable = cases.setdefault(model_id, {})
        if is_scorable:
            scorable[case_id] = cluster
            repetitions[model_id] = max(repetitions.get(model_id, 0), repetition)
    return {
        model_id: PlanSize(
            count, len(cases[model_id]), repetitions.get(model_id, 0), clusters_of(cases[model_id])
        )
        for model_id, count in planned.items()
    }


def clusters_of(cases: Mapping[str, str | None]) -> Mapping[str, str | None]:
    """Return the cluster of each case; nothing where no case is in one."""
    return cases if any(cases.values()) else {}


def make_plan(inputs: RunInputs, run_id: str) -> tuple[PlannedTrial, ...]:
    """Return all trials of a plan at once; `plan_trials` yields them."""
    return tuple(plan_trials(inputs, run_id))


@dataclass(frozen=True, slots=True)
class Hashes:
    """Of a plan, filled as they are worked out: for the plans of its parts."""

    cases: dict[str, str] = field(default_factory=dict)
    """case_hash by case_id."""
    trials: dict[int, str] = field(default_factory=dict)
    """run_fingerprint by trial_no."""


def plan_trials(
    inputs: RunInputs, run_id: str, hashes: Hashes | None = None
) -> Iterator[PlannedTrial]:
    """Yield models x repetitions x cases, less what the flags leave out.

    A whole repetition comes before the next one: a run that is cut short has asked every case
    about equally often, and a case never follows itself into a warm prompt cache.
    """
    known = Hashes() if hashes is None else hashes
    for (number, model, repetition, case), found in _fingerprinted(inputs, known):
        yield PlannedTrial(
            run_id=run_id,
            suite_id=inputs.suite.suite_id,
            model_id=model.model_id,
            case_id=case.case_id,
            repetition=repetition,
            trial_no=number,
            runner_type=case.runner_type,
            provider=model.provider,
            model=model.model,
            thinking_level=model.thinking_level,
            prompt_id=case.prompt_id,
            prompt_name=case.prompt_name,
            case_hash=found["case"] or "",
            run_fingerprint=known.trials.get(number) or fingerprint(found),
            fingerprint_version=FINGERPRINT_VERSION,
            fingerprint_parts=kept_parts(found),
            validator_type=None if case.validator is None else case.validator.type,
            is_scorable=inputs.is_scorable(case),
            expected_tools=case.expected_tools,
            tags=case.tags,
            cluster=case.cluster,
        )


def plan_fingerprints(inputs: RunInputs, hashes: Hashes | None = None) -> list[str]:
    """Return the run_fingerprint of each trial of a plan, in order."""
    known = Hashes() if hashes is None else hashes
    for turn, found in _fingerprinted(inputs, known):
        known.trials[turn.trial_no] = fingerprint(found)
    return [*known.trials.values()]


def _fingerprinted(
    inputs: RunInputs, known: Hashes
) -> Iterator[tuple[Turn, dict[str, str | None]]]:
    """Yield the trials of a plan with the parts of their fingerprints."""
    hashes = known.cases
    endpoints = {model.model_id: model_parts(model) for model in inputs.models}
    settings = SettingsParts()

    def parts(model: ResolvedModel, case: LoadedCase, repetition: int) -> dict[str, str | None]:
        endpoint, harness = endpoints[model.model_id]
        if (case_id := case.case_id) not in hashes:
            hashes[case_id] = case_hash(case)
        return {
            "case": hashes[case_id],
            "settings": settings.of(model, case, repetition),
            "endpoint": endpoint,
            "harness": harness,
            "model_build": model.model_build,
            "tools": tools_part(case, inputs.sandbox, inputs.project.web_search),
            "agent": agent_part(inputs, case),
            "image": image_part(inputs, case),
        }

    for turn in turns(inputs):
        yield turn, parts(turn.model, turn.case, turn.repetition)


def turns(inputs: RunInputs) -> Iterable[Turn]:
    """Return who is asked what, in order, less what the flags leave out."""
    repetitions = range(1, inputs.profile.execution_policy.run_repetitions + 1)
    order = product(inputs.models, repetitions, inputs.cases)
    return chosen(enumerate(order), inputs.narrowed)


def planned_cases(inputs: RunInputs) -> Sequence[LoadedCase]:
    """Return the cases that the run asks; a shard of many cases has few of them."""
    if inputs.narrowed.max_trials is None and inputs.narrowed.shard is None:
        return inputs.cases
    asked = {turn.case.case_id for turn in turns(inputs)}
    return [case for case in inputs.cases if case.case_id in asked]


def planned_sizes(inputs: RunInputs) -> dict[str, PlanSize]:
    """Return how large each model's part of the plan will be.

    Counted, not made, unless flags pick single trials.
    """
    narrowed = inputs.narrowed
    if narrowed.max_trials is not None or narrowed.shard is not None:
        return _sizes(
            (
                turn.model.model_id,
                turn.case.case_id,
                turn.repetition,
                inputs.is_scorable(turn.case),
                turn.case.cluster,
            )
            for turn in turns(inputs)
        )
    repetitions = inputs.profile.execution_policy.run_repetitions
    scorable = {case.case_id: case.cluster for case in inputs.cases if inputs.is_scorable(case)}
    size = PlanSize(
        len(inputs.cases) * repetitions,
        len(scorable),
        repetitions if scorable else 0,
        clusters_of(scorable),
    )
    return {model.model_id: size for model in inputs.models if size.n_planned}


def trial_of(line: bytes) -> PlannedTrial:
    """Return a line of the plan as the trial it is."""
    return PlannedTrial.model_validate_json(line)


def trials_of(
    path: Path, model_id: str, is_finished: Callable[[str, str, int], bool] | None
) -> Iterator[PlannedTrial]:
    """Yield one model's trials that are not finished; its lines stand together in the file."""
    mark = b'"model_id":"%s"' % model_id.encode()
    found = False
    with path.open("rb") as file:
        for line in file:
            if mark not in line:
                if found:
                    return
                continue
            found = True
            if is_finished is None:
                yield trial_of(line)
                continue
            row = orjson.loads(line)  # a finished trial is passed over without being checked
            if not is_finished(row["model_id"], row["case_id"], row["repetition"]):
                yield trial_of(line)
