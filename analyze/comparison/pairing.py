"""What of two sides belongs together: models, cases of them, and the runs that are comparable."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from analyze.compare.case_pairs import CasePairs
from analyze.compare.paired import PairedCase, PairedGroup, Pooled
from analyze.compare.sides import Chosen
from analyze.comparison.axes import AXES, OF_A_MODEL, Tally
from analyze.comparison.evidence.outcomes import CaseOutcome, ModelKey
from analyze.comparison.evidence.plans import is_called
from schemas.output.comparison import Axis, AxisReport, ExcludedCase

__all__ = ["PairedCase", "PairedGroup", "Pairing", "Pooled", "named", "pair"]


@dataclass(frozen=True, slots=True)
class Pairing:
    """All that belongs together, and all that does not, with why."""

    groups: tuple[PairedGroup, ...]
    """By the candidate's key; one without a comparable case stays."""
    axes: tuple[AxisReport, ...]
    """Every axis, in their order."""
    allowed: tuple[Axis, ...]
    """Axes that keep nothing out, those that a comparison of two models allows included."""
    excluded: tuple[ExcludedCase, ...]
    unmatched: tuple[str, ...]
    """Models that only one side has, in words."""


def pair(
    base_rows: Sequence[CaseOutcome],
    candidate_rows: Sequence[CaseOutcome],
    base: Chosen,
    candidate: Chosen,
    *,
    allow: Collection[Axis] = frozenset(),
) -> Pairing:
    """Return what belongs together.

    A case belongs together with itself, in the runs that are alike in all that can change an
    answer or its verdict. What the candidate's newest run had decides: runs of either side that
    differ from it on an axis which is not allowed are left out for that case.

    Args:
        base_rows: of the base's runs.
        candidate_rows: of the candidate's runs.
        base: which runs and models of `base_rows` count.
        candidate: which runs and models of `candidate_rows` count.
        allow: axes on which a difference keeps nothing out.
    """
    of_base, of_candidate = _by_model(base_rows, base), _by_model(candidate_rows, candidate)
    is_of_two = None not in (base.model, candidate.model) and base.model != candidate.model
    allowed = tuple(axis for axis in AXES if axis in allow or (is_of_two and axis in OF_A_MODEL))
    matched = _of_two(of_base, of_candidate) if is_of_two else _matched(of_base, of_candidate)
    tallies = {axis: Tally(axis) for axis in AXES}
    runs = base.run_ids, candidate.run_ids
    excluded: list[ExcludedCase] = []
    groups = []
    for first, second in matched:
        cases = CasePairs((of_base[first], of_candidate[second]), runs, allowed, tallies)
        groups.append(cases.group())
        excluded += cases.excluded
    paired = {model_id for model_id, _ in matched}, {model_id for _, model_id in matched}
    return Pairing(
        groups=tuple(sorted(groups, key=lambda group: _order(group.candidate_key))),
        axes=tuple(tally.report(is_allowed=axis in allowed) for axis, tally in tallies.items()),
        allowed=allowed,
        excluded=tuple(
            sorted(excluded, key=lambda one: (one.model_id, one.suite_id, one.case_id, one.reason))
        ),
        unmatched=(
            *_left(of_base, paired[0], "base"),
            *_left(of_candidate, paired[1], "candidate"),
        ),
    )


def _by_model(rows: Sequence[CaseOutcome], side: Chosen) -> dict[str, list[CaseOutcome]]:
    """Return the rows that count, by model_id, those of the newest run last."""
    place = {run_id: number for number, run_id in enumerate(side.run_ids)}
    found: defaultdict[str, list[CaseOutcome]] = defaultdict(list)
    for row in rows:
        model_id = row.key.model_id
        only = None if side.only is None else side.only.get(model_id)
        if (
            row.run_id in place
            and (side.model is None or is_called(row.key, side.model))
            and (only is None or row.run_id in only)
        ):
            found[model_id].append(row)
    for some in found.values():
        some.sort(key=lambda row: place[row.run_id])
    return found


def _of_two(base: Collection[str], candidate: Collection[str]) -> list[tuple[str, str]]:
    """Return the two models that are compared, when each side has its one."""
    return list(zip(base, candidate, strict=True)) if len(base) == len(candidate) == 1 else []


def _matched(
    base: Mapping[str, Sequence[CaseOutcome]], candidate: Mapping[str, Sequence[CaseOutcome]]
) -> list[tuple[str, str]]:
    """Return which model_id of the base is which of the candidate.

    One that the other side lacks is the one of the same provider, model and thinking level, where
    each side has just one of these.
    """
    found = [(model_id, model_id) for model_id in base if model_id in candidate]
    first, second = _by_name(base), _by_name(candidate)
    for name in first.keys() & second.keys():
        if len(first[name]) == len(second[name]) == 1:
            (one,), (other,) = first[name], second[name]
            if one not in candidate and other not in base:
                found.append((one, other))
    return found


def _by_name(side: Mapping[str, Sequence[CaseOutcome]]) -> dict[tuple[str | None, ...], list[str]]:
    found: defaultdict[tuple[str | None, ...], list[str]] = defaultdict(list)
    for model_id, rows in side.items():
        found[rows[-1].key[:3]].append(model_id)
    return found


def _left(side: Mapping[str, Sequence[CaseOutcome]], paired: set[str], what: str) -> list[str]:
    """Return the models of a side that nothing was compared with, in words."""
    names = sorted((rows[-1].key for name, rows in side.items() if name not in paired), key=_order)
    return [f"only in the {what}: {named(key)}" for key in names]


def _order(key: ModelKey) -> tuple[str, str, str, str]:
    """Return where a model stands among others: a thinking level after none."""
    return key.provider, key.model, key.thinking_level or "", key.model_id


def named(key: ModelKey) -> str:
    """Return a model in words."""
    level = "" if key.thinking_level is None else f", thinking {key.thinking_level}"
    return f"{key.model_id} ({key.provider}, {key.model}{level})"
