"""Scores of judges by run, model, case and evaluation profile, as a comparison takes them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from analyze.comparison.evidence.outcomes import CaseKey, of_runs
from analyze.lake.overlay import read_sql
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
    list(distinct said.judge_hash),
    max(said.evaluated_at_ms),
    bool_or(coalesce(said.evaluation_profile_id = deciding.evaluation_profile_id, false))
from judgements as said
left join stg_deciding_profiles as deciding using (run_id)
semi join (select run_id, record_no from trials where not is_reused) as own
    on said.run_id = own.run_id and said.record_no = own.record_no
where said.is_current and said.final_score is not null and {runs}
group by all
"""
"""Newest scores of trials made in the runs; answers that were taken over are no new draw."""


ANY_TWICE = """
select 1
from stg_judge_iterations
where failure is null and {runs}
group by run_id, result_no, evaluation_profile_id, judge_run_id, iteration, question_hash
having count(*) > 1
limit 1
"""
"""Whether any judge was asked the same twice: seldom so, and quick to say."""


class AskedAgain(NamedTuple):
    """First and newest scores of answers about which judges were asked the same at two times."""

    n: int
    first_total: float
    last_total: float
    first_ms: int
    last_ms: int

    @property
    def drift(self) -> float:
        """Mean of newest minus first scores."""
        return (self.last_total - self.first_total) / self.n

    @property
    def last(self) -> float:
        """Mean of the newest scores."""
        return self.last_total / self.n

    @classmethod
    def total_of(cls, some: Sequence[AskedAgain]) -> AskedAgain:
        """Return the scores of several runs together."""
        n, first_total, last_total, first_ms, last_ms = zip(*some, strict=True)
        return cls(sum(n), sum(first_total), sum(last_total), min(first_ms), max(last_ms))


class CaseScores(NamedTuple):
    """Scores of the judged trials of a case, on 0-10."""

    total: float
    n: int
    """Trials, at least one."""
    hashes: frozenset[str]
    """Ways to judge that are known."""
    last_ms: int = 0
    """When judges were last asked about one of them."""
    decides: bool = False
    """They are the verdicts of their run."""
    again: AskedAgain | None = None
    """Of those that were judged at two times; None: none was."""

    @property
    def mean(self) -> float:
        """Mean over the trials."""
        return self.total / self.n

    @classmethod
    def total_of(cls, some: Iterable[CaseScores]) -> CaseScores:
        """Return the scores of several runs together."""
        totals, numbers, hashes, last_ms, deciding, again = zip(*some, strict=True)
        twice = [one for one in again if one]
        return cls(
            sum(totals),
            sum(numbers),
            frozenset().union(*hashes),
            max(last_ms),
            any(deciding),
            AskedAgain.total_of(twice) if twice else None,
        )


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
    again = {
        (run_id, model_id, CaseKey(suite_id, case_id), profile): AskedAgain(*values)
        for run_id, model_id, suite_id, case_id, profile, *values in _asked_again(session, run_ids)
    }
    rows = session.rows(QUERY.format(runs=of_runs(run_ids)), run_ids)
    for run_id, model_id, suite_id, case_id, profile, total, n, hashes, last_ms, decides in rows:
        key = run_id, model_id, CaseKey(suite_id, case_id)
        known = frozenset(one for one in hashes or () if one is not None)
        twice = again.get((*key, profile))
        newest_ms = max(last_ms, twice.last_ms if twice else 0)
        found[key][profile] = CaseScores(total, n, known, newest_ms, decides, twice)
    return found


def _asked_again(session: Session, run_ids: Sequence[str]) -> list[tuple[Any, ...]]:
    if not session.rows(ANY_TWICE.format(runs=of_runs(run_ids)), run_ids):
        return []
    sql = read_sql("comparison/evidence/asked_again.sql").format(runs=of_runs(run_ids))
    return session.rows(sql, [*run_ids] * sql.count("run_id between"))
