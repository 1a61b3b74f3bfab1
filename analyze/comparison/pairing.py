"""What of two sides belongs together: models, their cases, and the runs that are comparable.

Which runs of either side are comparable is decided case by case. The trials of several runs count
as further repetitions of their case (S14).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from analyze.comparison.axes import AXES, OF_A_MODEL, Tally, blocking, standings, states
from analyze.comparison.evidence.outcomes import (
    Answers,
    CaseCounts,
    CaseKey,
    CaseOutcome,
    Measured,
    ModelKey,
)
from analyze.comparison.evidence.plans import is_called
from analyze.comparison.evidence.run_sets import ChosenSide
from schemas.output.comparison import Axis, AxisReport, ExcludedCase, Exclusion

__all__ = ["PairedCase", "PairedGroup", "Pairing", "Pooled", "named", "pair"]


class OwnTrials(NamedTuple):
    """What a test counts: trials made in the runs that have a verdict.

    Answers that were taken over are none of them, and a case whose repetitions in a run are all
    the same bytes, with the same verdict, was asked once there.
    """

    n_scored: int
    n_passed: int


@dataclass(frozen=True, slots=True)
class Pooled:
    """One case on one side: the trials of its comparable runs together."""

    run_ids: tuple[str, ...]
    """Oldest first."""
    counts: CaseCounts
    measured: tuple[Measured, ...]
    """By the order of METRICS."""
    answers: Answers
    own: OwnTrials
    cluster: str | None = None
    """As the candidate's newest run has it, on both sides."""


@dataclass(frozen=True, slots=True)
class PairedCase:
    """One case on both sides."""

    case: CaseKey
    tags: tuple[str, ...]
    """As the candidate has them."""
    base: Pooled
    candidate: Pooled

    @property
    def sides(self) -> tuple[Pooled, Pooled]:
        """The base, then the candidate."""
        return self.base, self.candidate

    @property
    def cluster(self) -> str | None:
        """What the case shares with others; None: it stands alone."""
        return self.candidate.cluster


def common_cases(cases: Sequence[PairedCase]) -> list[PairedCase]:
    """Return the cases with own trials on both sides."""
    return [case for case in cases if case.base.own.n_scored and case.candidate.own.n_scored]


@dataclass(frozen=True, slots=True)
class GroupSide:
    """One model on one side."""

    key: ModelKey
    runs: tuple[str, ...]
    """Runs that are in it, oldest first."""
    served: tuple[str, ...]
    """Names of models that answers of these runs gave."""


@dataclass(frozen=True, slots=True)
class PairedGroup:
    """One model on both sides, and its cases in order of (suite_id, case_id)."""

    base: GroupSide
    candidate: GroupSide
    cases: tuple[PairedCase, ...]

    @property
    def sides(self) -> tuple[GroupSide, GroupSide]:
        """The base, then the candidate."""
        return self.base, self.candidate


def pooled(rows: Sequence[CaseOutcome], cluster: str | None) -> Pooled:
    """Return the trials of runs together, those of each run as further repetitions."""
    if len(rows) == 1:
        (row,) = rows
        return Pooled(
            (row.run_id,), row.counts, row.measured, row.answers, own_trials(row), cluster
        )
    hashes = [one for row in rows for one in (row.answers.first_hash, row.answers.last_hash) if one]
    return Pooled(
        run_ids=tuple(row.run_id for row in rows),
        counts=CaseCounts.total(row.counts for row in rows),
        measured=tuple(
            Measured(*map(sum, zip(*each, strict=True)))
            for each in zip(*(row.measured for row in rows), strict=True)
        ),
        answers=Answers(
            n=sum(row.answers.n for row in rows),
            n_failed=sum(row.answers.n_failed for row in rows),
            first_hash=min(hashes, default=None),
            last_hash=max(hashes, default=None),
        ),
        own=OwnTrials(*map(sum, zip(*map(own_trials, rows), strict=True))),
        cluster=cluster,
    )


def own_trials(row: CaseOutcome) -> OwnTrials:
    """Return what one run adds to a test.

    Repetitions of which only some are the same bytes all count: leaving the doubles out would
    favour the answers that are short enough to come twice.
    """
    scored, passed = row.counts.n_independent, row.counts.n_independent_passed
    if row.answers.is_identical and scored and passed in {0, scored}:
        return OwnTrials(1, passed // scored)
    return OwnTrials(scored, passed)


class CasePairs:
    """One model on both sides while its cases are paired.

    Attributes:
        excluded: what is not in the test, and why; filled by `group`.
    """

    def __init__(
        self,
        rows: tuple[Sequence[CaseOutcome], Sequence[CaseOutcome]],
        run_ids: tuple[Sequence[str], Sequence[str]],
        allowed: Collection[Axis],
        tallies: Mapping[Axis, Tally],
    ) -> None:
        """Take both sides.

        Both tuples are of the base and the candidate: rows with those of the newest run last, and
        runs, the oldest first. Allowed axes keep nothing out; every pair of model and case is
        counted in the tallies.
        """
        self.excluded: list[ExcludedCase] = []
        self._rows = rows
        self._run_ids = run_ids
        self._allowed = allowed
        self._tallies = tallies
        self._model_id = rows[1][-1].key.model_id
        self._kept: tuple[list[CaseOutcome], list[CaseOutcome]] = [], []

    def group(self) -> PairedGroup:
        """Return the group, with every case that can be compared."""
        before, after = (_by_case(rows) for rows in self._rows)
        cases = [
            paired
            for case in sorted({*before, *after})
            if (paired := self._paired(case, before.get(case, []), after.get(case, [])))
        ]
        return PairedGroup(self._side(0), self._side(1), tuple(cases))

    def _paired(
        self, case: CaseKey, before: Sequence[CaseOutcome], after: Sequence[CaseOutcome]
    ) -> PairedCase | None:
        if not before or not after:
            self._exclude(case, "only_in_candidate" if after else "only_in_base")
            return None
        *others, reference = standings(after)
        firsts = standings(before)
        of_base = [states(one, reference) for one in firsts]
        of_others = [states(one, reference) for one in others]
        for number, tally in enumerate(self._tallies.values()):
            tally.add(
                self._model_id,
                reference,
                [(one, found[number]) for one, found in zip(firsts, of_base, strict=True)],
                [(one, found[number]) for one, found in zip(others, of_others, strict=True)],
            )
        apart = [blocking(found, self._allowed) for found in of_base]
        kept = [row for row, axes in zip(before, apart, strict=True) if not axes]
        if not kept:
            differing = {axis for axes in apart for axis in axes}
            axes = tuple(axis for axis in AXES if axis in differing)
            self._exclude(case, "axis_differs", axes)
            return None
        second = [
            row
            for row, found in zip(after[:-1], of_others, strict=True)
            if not blocking(found, self._allowed)
        ]
        second.append(after[-1])
        self._kept[0].extend(kept)
        self._kept[1].extend(second)
        last = after[-1]
        sides = pooled(kept, last.cluster), pooled(second, last.cluster)
        paired = PairedCase(case, last.tags, *sides)
        if not paired.base.counts.n_scored:
            self._exclude(case, "no_verdict_in_base")
        if not paired.candidate.counts.n_scored:
            self._exclude(case, "no_verdict_in_candidate")
        return paired

    def _exclude(self, case: CaseKey, reason: Exclusion, axes: tuple[Axis, ...] = ()) -> None:
        self.excluded.append(
            ExcludedCase(
                model_id=self._model_id,
                suite_id=case.suite_id,
                case_id=case.case_id,
                reason=reason,
                axes=axes,
            )
        )

    def _side(self, place: int) -> GroupSide:
        """Return a side with its runs and what they were served by, those compared if any are."""
        rows = self._kept[place] or self._rows[place]
        there = {row.run_id for row in rows}
        runs = tuple(run_id for run_id in self._run_ids[place] if run_id in there)
        served = {name for row in rows for name in row.facts.served_models}
        return GroupSide(self._rows[place][-1].key, runs, tuple(sorted(served)))


def _by_case(rows: Iterable[CaseOutcome]) -> dict[CaseKey, list[CaseOutcome]]:
    found: defaultdict[CaseKey, list[CaseOutcome]] = defaultdict(list)
    for row in rows:
        found[row.case].append(row)
    return found


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
    base: ChosenSide,
    candidate: ChosenSide,
    *,
    allow: Collection[Axis] = frozenset(),
) -> Pairing:
    """Return what belongs together.

    A case belongs together with itself, in the runs that are alike in all that can change an answer
    or its verdict. What the candidate's newest run had decides: runs of either side that differ
    from it on an axis which is not allowed are left out for that case. Of the rows of a side those
    count that are of its runs and models; axes in `allow` keep nothing out.
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
        groups=tuple(sorted(groups, key=lambda group: _order(group.candidate.key))),
        axes=tuple(tally.report(is_allowed=axis in allowed) for axis, tally in tallies.items()),
        allowed=allowed,
        excluded=tuple(
            sorted(excluded, key=lambda one: (one.model_id, one.suite_id, one.case_id, one.reason))
        ),
        unmatched=(
            *_unmatched_models(of_base, paired[0], "base"),
            *_unmatched_models(of_candidate, paired[1], "candidate"),
        ),
    )


def _by_model(rows: Sequence[CaseOutcome], side: ChosenSide) -> dict[str, list[CaseOutcome]]:
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


def _unmatched_models(
    side: Mapping[str, Sequence[CaseOutcome]], paired: set[str], what: str
) -> list[str]:
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
