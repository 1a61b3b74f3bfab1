"""What `regressions` and `gate` say of nights in which it is known what happened.

An alert is true when it names the model, the direction and nearly the run of something that really
changed the rate or the times; one that has no such cause is false.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import Any

from analyze.gate.decide import Question, decide
from schemas.config.project import Thresholds
from schemas.output.comparison import ThresholdsUsed
from schemas.output.regressions import CellShift, GateResult, GateRules, Regressions, Shift

LIMITS = ThresholdsUsed(thresholds=Thresholds(), path=None, sha256=None)
RULES = GateRules(metrics=("passed_rate",), max_drop=0.0, min_coverage=0.95, prove=False)

MEANT = {
    "worse": "passed_rate",
    "served": "passed_rate",
    "judge": "passed_rate",
    "slower": "e2e_ms",
}
"""Metric that each kind of event shifts for good; what is not here must not raise an alert."""

NAMED = {"served": "served_model", "judge": "judge", "slower": "machine"}
"""What an alert has to name as changed."""

NEAR = 14
"""Nights by which the first run of an alert may miss the night of the event."""


@dataclass
class Detection:
    """An event, and the alert that tells it, if one does."""

    suite_id: str
    model_id: str
    kind: str
    night: int
    size: float
    alert: Shift | CellShift | None = None

    @property
    def is_named(self) -> bool:
        """Return whether the alert says what else changed, where something did."""
        wanted = NAMED.get(self.kind)
        said = () if self.alert is None else self.alert.changed
        return wanted is None or any(words.startswith(wanted) for words in said)


@dataclass
class Score:
    """Every event that should be told, and every alert that tells none."""

    detections: list[Detection] = field(default_factory=list)
    false: list[Shift | CellShift] = field(default_factory=list)

    def of(self, *kinds: str) -> list[Detection]:
        """Return the events of some kinds."""
        return [one for one in self.detections if one.kind in kinds]


def score(suites: Sequence[Any], found: Regressions) -> Score:
    """Return which events were told, and which alerts are false.

    Args:
        suites: of `made_nights`.
        found: what `find_regressions` says of all of them.
    """
    shifts = {id(shift): shift for shift in found.shifts}
    cells = {id(cell): cell for cell in found.cell_shifts}
    detections = []
    for suite in suites:
        for event in suite.events:
            for model in range(suite.n_models):
                if not event.is_about(model) or event.kind not in {*MEANT, "cell"}:
                    continue
                one = Detection(
                    suite.suite_id, suite.model_id(model), event.kind, event.night, event.size
                )
                if event.kind == "cell":
                    one.alert = _cell(cells, suite.case_id(event.cases[0]), one)
                else:
                    one.alert = _shift(shifts, one)
                detections.append(one)
    alone = [cell for cell in cells.values() if not any(_is_part(cell, one) for one in detections)]
    return Score(detections, [*shifts.values(), *alone])


def _is_part(cell: CellShift, one: Detection) -> bool:
    """Return whether a cell shifted with its model, whose own shift is too small to be told."""
    is_it = (cell.suite_id, cell.model_id) == (one.suite_id, one.model_id)
    return (
        is_it and one.kind != "cell" and cell.is_worse and _is_near(cell.first_bad_run, one.night)
    )


def _shift(shifts: dict[int, Shift], one: Detection) -> Shift | None:
    for place, shift in shifts.items():
        of = shift.series
        is_it = (of.suite_id, of.model_id, of.metric) == (
            one.suite_id, one.model_id, MEANT[one.kind],
        )  # fmt: skip
        if is_it and shift.is_worse and _is_near(shift.first_run, one.night):
            return shifts.pop(place)
    return None


def _cell(cells: dict[int, CellShift], case_id: str, one: Detection) -> CellShift | None:
    for place, cell in cells.items():
        of = cell.suite_id, cell.model_id, cell.case_id
        if of == (one.suite_id, one.model_id, case_id) and cell.is_worse:
            return cells.pop(place)
    return None


def night_of(run_id: str) -> int:
    """Return the number of the night of a run."""
    return int(run_id.rpartition("_")[2])


def _is_near(run_id: str, night: int) -> bool:
    return abs(night_of(run_id) - night) <= NEAR


def gate(
    session: Any, suite: Any, night: int, baseline: str, model: int | None = None
) -> GateResult:
    """Return what the gate says of one night."""
    question = Question(
        rules=RULES,
        limits=LIMITS,
        candidate=suite.run_id(night),
        baseline=baseline,
        model=None if model is None else suite.model_id(model),
    )
    return decide(session, question, date(2026, 1, 1)).result


def outcomes(result: GateResult) -> Counter[str]:
    """Return how many models passed, failed, or could not be judged."""
    return Counter(line.outcome for line in result.lines)


def warned(result: GateResult) -> bool:
    """Return whether some model's verdict carries a warning."""
    return any(group.warnings for group in result.comparison.groups)
