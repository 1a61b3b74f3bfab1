"""Cases that a gate does not test because people wrote down that their verdict is no news.

Scores never change by it: the cases stay in every report, and a gate names what it left out.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date

from schemas.config.known_issues import KnownFile, Quarantined
from schemas.output.comparison import Comparison
from schemas.output.gate import GateResult

Key = tuple[str, str, str | None]
"""suite_id, case_id, and model_id; None: with every model."""


@dataclass(frozen=True)
class Quarantine:
    """The entries of a file on one day."""

    holding: tuple[Quarantined, ...] = ()
    expired: tuple[Quarantined, ...] = ()


def quarantine_on(day: date, known: KnownFile) -> Quarantine:
    """Return which entries hold on a day; `until` is the last one on which an entry does."""
    over = {n for n, entry in enumerate(known.quarantined) if entry.until and entry.until < day}
    return Quarantine(
        holding=tuple(entry for n, entry in enumerate(known.quarantined) if n not in over),
        expired=tuple(entry for n, entry in enumerate(known.quarantined) if n in over),
    )


def with_quarantine(result: GateResult, quarantine: Quarantine) -> GateResult:
    """Return a result that names the entries which took cases out, and those which did not."""
    comparisons = [
        result.comparison,
        result.confirmation,
        *(one for held in result.other_baselines for one in (held.comparison, held.confirmation)),
    ]
    left_out = {key for one in comparisons if one is not None for key in _left_out(one)}
    used = {n for n, e in enumerate(quarantine.holding) if _key(e) in left_out}
    return result.model_copy(
        update={
            "quarantined": tuple(e for n, e in enumerate(quarantine.holding) if n in used),
            "unused": tuple(e for n, e in enumerate(quarantine.holding) if n not in used),
            "expired": quarantine.expired,
        }
    )


def _left_out(comparison: Comparison) -> Iterator[Key]:
    """Yield the cases that were left out, by each name that the model has on the two sides."""
    names = {group.candidate_model_id: group.model_id for group in comparison.groups}
    for case in comparison.excluded:
        if case.reason == "quarantined":
            for model_id in (None, case.model_id, names.get(case.model_id)):
                yield case.suite_id, case.case_id, model_id


def _key(entry: Quarantined) -> Key:
    return entry.suite_id, entry.case_id, entry.model_id
