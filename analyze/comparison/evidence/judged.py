"""Scores of judges by run, model, case and evaluation profile, as a comparison takes them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from analyze.comparison.evidence.outcomes import CaseKey, of_runs
from schemas.lake import live_files

if TYPE_CHECKING:
    from analyze.query.session import Session

QUERY = """
select
    said.run_id,
    said.model_id,
    said.suite_id,
    said.case_id,
    said.evaluation_profile_id,
    cast(sum(said.final_score) as double),
    count(*),
    list(distinct said.judge_hash)
from judgements as said
semi join (select run_id, record_no from trials where not is_reused) as own
    on said.run_id = own.run_id and said.record_no = own.record_no
where said.is_current and said.final_score is not null and {runs}
group by all
"""
"""Newest scores of trials made in the runs; answers that were taken over are no new draw."""


class CaseScores(NamedTuple):
    """Scores of the judged trials of a case, on 0-10."""

    total: float
    n: int
    """Trials, at least one."""
    hashes: frozenset[str]
    """Ways to judge that are known."""

    @property
    def mean(self) -> float:
        """Mean over the trials."""
        return self.total / self.n

    @classmethod
    def total_of(cls, some: Iterable[CaseScores]) -> CaseScores:
        """Return the scores of several runs together."""
        totals, numbers, hashes = zip(*some, strict=True)
        return cls(sum(totals), sum(numbers), frozenset().union(*hashes))


Scores = Mapping[tuple[str, str, CaseKey], Mapping[str, CaseScores]]
"""(run_id, model_id, case) to the scores by evaluation profile."""


def read_scores(session: Session, run_ids: Sequence[str]) -> Scores:
    """Return what judges said of runs.

    Raises:
        ViewError: the lake cannot be read.
    """
    found: defaultdict[tuple[str, str, CaseKey], dict[str, CaseScores]] = defaultdict(dict)
    if not run_ids or not live_files(session.lake, "judgements"):
        return found
    for run_id, model_id, suite_id, case_id, profile, total, n, hashes in session.rows(
        QUERY.format(runs=of_runs(run_ids)), run_ids
    ):
        known = frozenset(one for one in hashes or () if one is not None)
        found[run_id, model_id, CaseKey(suite_id, case_id)][profile] = CaseScores(total, n, known)
    return found
