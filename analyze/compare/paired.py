"""What belongs together on two sides, once it is found: cases of a model, and their trials.

The trials of several runs count as further repetitions of their case (S14).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from analyze.comparison.evidence.outcomes import (
    Answers,
    CaseCounts,
    CaseKey,
    CaseOutcome,
    Measured,
    ModelKey,
)


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


@dataclass(frozen=True, slots=True)
class PairedGroup:
    """One model on both sides, and its cases in order of (suite_id, case_id)."""

    base_key: ModelKey
    candidate_key: ModelKey
    cases: tuple[PairedCase, ...]
    base_runs: tuple[str, ...]
    """Runs that are in it, oldest first."""
    candidate_runs: tuple[str, ...]
    base_served: tuple[str, ...]
    """Names of models that answers of these runs gave."""
    candidate_served: tuple[str, ...]

    @property
    def is_one_model(self) -> bool:
        """Provider, model and thinking level are the same on both sides."""
        return self.base_key[:3] == self.candidate_key[:3]


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
        counts=CaseCounts(*map(sum, zip(*(row.counts for row in rows), strict=True))),
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
