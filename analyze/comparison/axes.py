"""Axes of a comparison: what can change an answer or its verdict, beside what is compared.

Two rows are the same on an axis, or differ, or one of them has no value. A missing value excludes
nothing, except for the case: unknown content is equal to no other (D-A2).

People name axes and metrics in an option that is repeated, or in one with commas between.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from functools import lru_cache
from typing import Literal, NamedTuple, TypeVar, cast, get_args

from analyze.comparison.evidence.outcomes import CaseOutcome, Parts, plan_name
from schemas.errors import ConfigError, Problem, nearest
from schemas.output.comparison import Axis, AxisReport, Metric

AXES: tuple[Axis, ...] = get_args(Axis)

OF_A_MODEL: frozenset[Axis] = frozenset({"endpoint", "model_build", "served_model", "routing"})
"""Axes that two models differ in because they are two models."""

State = Literal["same", "differs", "unknown"]

SHOWN_DIGITS = 16
"""Of a hash: as many as a plan keeps of each part."""

Name = TypeVar("Name", bound=str)

METRICS: tuple[Metric, ...] = get_args(Metric)


class Setting(NamedTuple):
    """What holds for one case in one run, apart from the case itself."""

    parts: Parts | None
    first_repetition: int
    judge_hash: str | None
    served_models: tuple[str, ...]
    routing: tuple[str, ...]


class Standing(NamedTuple):
    """One case in one run, on every axis."""

    case_hash: str | None
    setting: Setting


def standings(rows: Sequence[CaseOutcome]) -> list[Standing]:
    """Return where each row of one case stands on every axis.

    The settings of a plan are those of its first repetition. Shards part the repetitions of a case
    among them, so every shard takes the settings of the one that has the first.
    """
    plans = [plan_name(row.run_id, row.facts.run_group) for row in rows]
    first: dict[str, CaseOutcome] = {}
    for plan, row in zip(plans, rows, strict=True):
        if plan not in first or row.first_repetition < first[plan].first_repetition:
            first[plan] = row
    return [_standing(row, first[plan]) for plan, row in zip(plans, rows, strict=True)]


def _standing(row: CaseOutcome, first: CaseOutcome) -> Standing:
    parts, facts = row.parts, row.facts
    if parts is not None and first.parts is not None:
        parts = parts._replace(settings=first.parts.settings)
    return Standing(
        row.case_hash,
        Setting(
            parts, first.first_repetition, facts.judge_hash, facts.served_models, facts.routing
        ),
    )


def states(one: Standing, other: Standing) -> tuple[State, ...]:
    """Return how two rows stand to each other, by the order of AXES."""
    return (_known_alike(one.case_hash, other.case_hash), *_states(one.setting, other.setting))


@lru_cache(maxsize=4096)
def _states(one: Setting, other: Setting) -> tuple[State, ...]:
    return (
        *_parts_alike(one, other),
        _alike(one.judge_hash, other.judge_hash),
        _known_alike(one.served_models, other.served_models),
        _known_alike(one.routing, other.routing),
    )


def _parts_alike(one: Setting, other: Setting) -> Iterable[State]:
    for axis in AXES[1:8]:
        is_other = axis == "settings" and one.first_repetition != other.first_repetition
        if one.parts is None or other.parts is None or is_other:
            yield "unknown"
        else:
            yield _alike(getattr(one.parts, axis), getattr(other.parts, axis))


def _alike(one: str | None, other: str | None) -> State:
    return "same" if one == other else "differs"


def _known_alike(one: str | tuple[str, ...] | None, other: str | tuple[str, ...] | None) -> State:
    if not one or not other:
        return "unknown"
    return "same" if one == other else "differs"


def blocking(found: Sequence[State], allowed: Collection[Axis]) -> tuple[Axis, ...]:
    """Return the axes that keep two rows apart."""
    return tuple(
        axis
        for axis, state in zip(AXES, found, strict=True)
        if axis not in allowed and (state == "differs" or (axis == "case" and state == "unknown"))
    )


class Tally:
    """How pairs of model and case stand on one axis."""

    def __init__(self, axis: Axis) -> None:
        self._axis: Axis = axis
        self._counts: Counter[State] = Counter()
        self._values: tuple[set[str], set[str]] = set(), set()
        self._models: set[str] = set()

    def add(
        self,
        model_id: str,
        reference: Standing,
        base: Sequence[tuple[Standing, State]],
        others: Sequence[tuple[Standing, State]],
    ) -> None:
        """Count one case of a model.

        The runs of the base and the further ones of the candidate each come with how they stand to
        the reference, its newest.
        """
        found = {state for _, state in (*base, *others)}
        state: State = (
            "differs" if "differs" in found else "unknown" if "unknown" in found else "same"
        )
        self._counts[state] += 1
        if state != "differs":
            return
        self._models.add(model_id)
        before, after = self._values
        for standing, stands in base:
            if stands == "differs":
                before |= self._axis_values(standing)
        after |= self._axis_values(reference)
        for standing, stands in others:
            if stands == "differs":
                after |= self._axis_values(standing)

    def _axis_values(self, standing: Standing) -> set[str]:
        setting = standing.setting
        if self._axis == "case":
            return {_short(standing.case_hash)}
        if self._axis == "judge":
            return {_short(setting.judge_hash)}
        if self._axis == "served_model":
            return set(setting.served_models)
        if self._axis == "routing":
            return set(setting.routing)
        return {_short(getattr(setting.parts, self._axis, None))}

    def report(self, *, is_allowed: bool) -> AxisReport:
        """Return what was counted."""
        before, after = self._values
        return AxisReport(
            axis=self._axis,
            is_allowed=is_allowed,
            n_differ=self._counts["differs"],
            n_same=self._counts["same"],
            n_unknown=self._counts["unknown"],
            base=tuple(sorted(before)),
            candidate=tuple(sorted(after)),
            model_ids=tuple(sorted(self._models)),
        )


def _short(digest: str | None) -> str:
    return "none" if digest is None else digest[:SHOWN_DIGITS]


def axes_named(texts: Iterable[str]) -> frozenset[Axis]:
    """Return the axes that texts name.

    Raises:
        ConfigError: each that is no axis; names the nearest.
    """
    return frozenset(_named(texts, AXES, "--allow", "is no axis of a comparison"))


def metrics_named(texts: Iterable[str]) -> tuple[Metric, ...]:
    """Return the metrics that texts name, each once; the primary one when they name none.

    Raises:
        ConfigError: each that is no metric; names the nearest.
    """
    named = _named(texts, METRICS, "--metric", "is no metric of a gate")
    return tuple(dict.fromkeys(named)) or METRICS[:1]


def _named(texts: Iterable[str], known: Sequence[Name], option: str, wrong: str) -> list[Name]:
    names = [name.strip() for text in texts for name in text.split(",") if name.strip()]
    problems = [
        Problem(
            None,
            wrong,
            key=option,
            found=f"`{name}`",
            allowed=", ".join(known),
            nearest=nearest(name, known),
        )
        for name in names
        if name not in known
    ]
    if problems:
        raise ConfigError(problems)
    return cast("list[Name]", names)
