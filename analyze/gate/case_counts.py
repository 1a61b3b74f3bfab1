"""Every case of a candidate with what became of its trials, for reports that list them all."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from analyze.compare.sides import Chosen
from analyze.comparison.evidence.outcomes import CaseOutcome, read_causes, read_outcomes

if TYPE_CHECKING:
    from analyze.query.session import Session


def candidate_cases(session: Session, candidate: Chosen) -> list[CandidateCase]:
    """Return the cases of a candidate by suite, model and case; trials of several runs add up."""
    found: dict[Key, list[CaseOutcome]] = {}
    for row in read_outcomes(session, candidate.run_ids):
        if candidate.model in {None, row.key.model_id, row.key.model}:
            key = row.case.suite_id, row.key.model_id, row.case.case_id
            found.setdefault(key, []).append(row)
    causes: dict[Key, Counter[str]] = {}
    for (_, model_id, case), counts in read_causes(session, candidate.run_ids).items():
        causes.setdefault((case.suite_id, model_id, case.case_id), Counter()).update(counts)
    return [
        CandidateCase(
            *key,
            n_scorable=sum(row.counts.n_scorable for row in rows),
            n_scored=sum(row.counts.n_scored for row in rows),
            n_passed=sum(row.counts.n_passed for row in rows),
            causes=causes.get(key, Counter()),
        )
        for key, rows in sorted(found.items())
    ]


Key = tuple[str, str, str]
"""suite_id, model_id, case_id."""


@dataclass(frozen=True, slots=True)
class CandidateCase:
    """One case of the candidate with one model."""

    suite_id: str
    model_id: str
    case_id: str
    n_scorable: int
    n_scored: int
    n_passed: int
    causes: Mapping[str, int]
    """Why trials have no verdict."""

    @property
    def key(self) -> Key:
        """What names it."""
        return self.suite_id, self.model_id, self.case_id
