"""Pairs the cases of one model: which runs of either side are comparable, case by case."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence

from analyze.compare.paired import PairedCase, PairedGroup, pooled
from analyze.comparison.axes import AXES, Tally, blocking, standings, states
from analyze.comparison.evidence.outcomes import CaseKey, CaseOutcome
from schemas.output.comparison import Axis, ExcludedCase, Exclusion


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

        Args:
            rows: of the base and of the candidate, those of the newest run last.
            run_ids: of the base and of the candidate, oldest first.
            allowed: axes that keep nothing out.
            tallies: where every pair of model and case is counted.
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
        runs, served = zip(*map(self._side, (0, 1)), strict=True)
        return PairedGroup(
            base_key=self._rows[0][-1].key,
            candidate_key=self._rows[1][-1].key,
            cases=tuple(cases),
            base_runs=runs[0],
            candidate_runs=runs[1],
            base_served=served[0],
            candidate_served=served[1],
        )

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

    def _side(self, place: int) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Return the runs of a side and what they were served by, those compared if any are."""
        rows = self._kept[place] or self._rows[place]
        there = {row.run_id for row in rows}
        runs = tuple(run_id for run_id in self._run_ids[place] if run_id in there)
        return runs, tuple(sorted({name for row in rows for name in row.facts.served_models}))


def _by_case(rows: Iterable[CaseOutcome]) -> dict[CaseKey, list[CaseOutcome]]:
    found: defaultdict[CaseKey, list[CaseOutcome]] = defaultdict(list)
    for row in rows:
        found[row.case].append(row)
    return found
