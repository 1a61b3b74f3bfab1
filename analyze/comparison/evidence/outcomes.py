"""Outcome of a case with one model in one run: verdicts, what made them, what they cost.

Also what holds for a model in all trials of a run: who served it, and who judges. Read run by run,
so that comparing two runs takes as long in a history of millions of trials. Sums are whole numbers:
adding runs up gives the same in any order.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from analyze.lake.overlay import read_sql
from schemas.failures import classify

if TYPE_CHECKING:
    from analyze.query.session import Session
    from schemas.output.comparison import RatioMetric

METRICS: tuple[RatioMetric, ...] = (
    "e2e_ms",
    "ttft_ms",
    "input_tokens",
    "output_tokens",
    "cost_usd",
)
"""What is measured of a case, in the order of `CaseOutcome.measured`; a test holds it equal to
RatioMetric, whose import costs more than reading two runs."""

LN_SCALE = 1e12
"""Logarithms are summed as whole numbers of 1 / LN_SCALE."""


class RunFacts(NamedTuple):
    """What holds for a model in all trials of one run; the shards of a plan are one run here."""

    run_group: str | None
    judge_hash: str | None
    served_models: tuple[str, ...]
    """Names that answers gave, sorted."""
    served_providers: tuple[str, ...]
    routing: tuple[str, ...]
    """`pinned`, `unpinned`; nothing where there is no router."""


def read_facts(
    session: Session, run_ids: Sequence[str], wanted: Collection[tuple[str, str]]
) -> dict[tuple[str, str], RunFacts]:
    """Return what holds for a model in all trials of a run, by (run_id, model_id)."""
    described = {
        run_id: (run_group, judge_hash)
        for run_id, run_group, judge_hash in session.rows(
            "select run_id, run_group, deciding.judge_hash from stg_runs "  # noqa: S608
            "left join stg_deciding_profiles as deciding using (run_id) "
            f"where {of_runs(run_ids)}",
            run_ids,
        )
    }
    said: defaultdict[tuple[str, str], list[tuple[str | None, ...]]] = defaultdict(list)
    for run_id, model_id, *names in session.rows(
        "select distinct run_id, model_id, served_model, served_provider, routing "  # noqa: S608
        f"from trials where {of_runs(run_ids)}",
        run_ids,
    ):
        run_group, _ = described.get(run_id, (None, None))
        said[plan_name(run_id, run_group), model_id].append(tuple(names))
    found = {}
    for run_id, model_id in wanted:
        run_group, judge_hash = described.get(run_id, (None, None))
        names = said[plan_name(run_id, run_group), model_id]
        models, providers, routing = (
            distinct_texts(one[place] for one in names) for place in range(3)
        )
        found[run_id, model_id] = RunFacts(run_group, judge_hash, models, providers, routing)
    return found


def plan_name(run_id: str, run_group: str | None) -> str:
    """Return what the shards of one plan share: their group, or the run itself."""
    return f"run {run_id}" if run_group is None else f"group {run_group}"


def distinct_texts(texts: Iterable[str | None]) -> tuple[str, ...]:
    """Return each text that is known once, in order."""
    return tuple(sorted({text for text in texts if text is not None}))


def of_runs(run_ids: Sequence[str]) -> str:
    """Return the condition of SQL that a row is of one of so many runs, each a parameter.

    The range is for the engine, which passes over stretches of a file by it and not by a list.
    """
    first, last = _constant(min(run_ids)), _constant(max(run_ids))
    return f"run_id between {first} and {last} and run_id in ({', '.join('?' * len(run_ids))})"


def _constant(text: str) -> str:
    """Return a text as SQL, without a word that names a view (`analyze.query.catalog.named_by`)."""
    return f"decode(unhex('{text.encode().hex()}'))"


class ModelKey(NamedTuple):
    """A model as a run knows it."""

    provider: str
    model: str
    thinking_level: str | None
    model_id: str


class CaseKey(NamedTuple):
    """A case, whatever the run."""

    suite_id: str
    case_id: str


class Measured(NamedTuple):
    """One metric over the trials of a case that are in it: times in ms, cost in USD / 10^9."""

    n: int
    ln_sum: int
    """Sum of their logarithms, in 1 / LN_SCALE."""
    total: int

    @property
    def ln_mean(self) -> float | None:
        """Mean logarithm; None without a trial."""
        return self.ln_sum / LN_SCALE / self.n if self.n else None


class Parts(NamedTuple):
    """Beginnings of hashes of what can change an answer, of the first repetition planned."""

    settings: str
    endpoint: str
    harness: str
    tools: str | None
    model_build: str | None
    agent: str | None
    image: str | None


class CaseCounts(NamedTuple):
    """Trials of a case by what became of them; those of several runs add up."""

    n_planned: int
    n_scorable: int
    n_total: int
    n_reused: int
    n_scored: int
    n_passed: int
    n_independent: int
    n_independent_passed: int
    n_timeout: int
    n_truncated: int
    n_free: int = 0
    """Made in the run at a known cost of 0, which has no logarithm."""

    @classmethod
    def total(cls, counts: Iterable[CaseCounts]) -> CaseCounts:
        """Return the sums, of none all 0."""
        none = [0] * len(cls._fields)
        return cls(*map(sum, zip(none, *counts, strict=True)))


class Answers(NamedTuple):
    """Whether the answers of a case are the same bytes: successes made in the run."""

    n: int
    n_failed: int
    """Independent trials that have a verdict and no answer."""
    first_hash: str | None
    last_hash: str | None

    @property
    def is_repeated(self) -> bool:
        """There are two to compare."""
        return self.n >= 2

    @property
    def is_identical(self) -> bool:
        """Every trial answered, and with the same bytes."""
        return self.is_repeated and not self.n_failed and self.first_hash == self.last_hash


CAUSES = read_sql("comparison/evidence/causes.sql")

Causes = Mapping[tuple[str, str, CaseKey], Counter[str]]
"""(run_id, model_id, case) to how many of its trials have no verdict, by why."""


class CaseOutcome(NamedTuple):
    """One case with one model in one run."""

    run_id: str
    key: ModelKey
    case: CaseKey
    case_hash: str | None
    first_repetition: int
    parts: Parts | None
    """None for a folder of the older shape."""
    tags: tuple[str, ...]
    counts: CaseCounts
    answers: Answers
    measured: tuple[Measured, ...]
    """By the order of METRICS."""
    facts: RunFacts
    cluster: str | None = None
    """Names the cases that are not independent of this one."""


COLUMNS = (
    "run_id", "provider", "model", "thinking_level", "model_id", "suite_id", "case_id",
    "case_hash", "first_repetition",
    "settings", "endpoint", "harness", "tools", "model_build", "agent", "image", "tags",
    "n_planned", "n_scorable", "n_total", "n_reused", "n_scored", "n_passed", "n_independent",
    "n_independent_passed", "n_timeout", "n_truncated", "n_free", "n_answers", "n_failed_answers",
    "first_hash", "last_hash",
    "n_e2e_ms", "ln_e2e_ms", "e2e_ms", "n_ttft_ms", "ln_ttft_ms", "ttft_ms",
    "n_input_tokens", "ln_input_tokens", "input_tokens",
    "n_output_tokens", "ln_output_tokens", "output_tokens",
    "n_cost", "ln_cost_nano_usd", "cost_nano_usd", "cluster",
)  # fmt: skip
"""Of int_case_outcomes, in the order of `_outcome`; what is measured by the order of METRICS."""


def read_outcomes(session: Session, run_ids: Sequence[str]) -> list[CaseOutcome]:
    """Return every case that runs planned, with each model, ordered by run, model and case.

    A run that the lake does not know has no cases; every shard of a plan is to be among them.

    Raises:
        ViewError: the lake cannot be read.
    """
    if not run_ids:
        return []
    rows = session.rows(
        f"select {', '.join(COLUMNS)} from {session.once('int_case_outcomes')} "  # noqa: S608
        f"where {of_runs(run_ids)} order by run_id, provider, model, "
        "thinking_level nulls first, model_id, suite_id, case_id",
        run_ids,
    )
    facts = read_facts(session, run_ids, {(row[0], row[4]) for row in rows})
    return [_outcome(row, facts[row[0], row[4]]) for row in rows]


def _outcome(row: tuple[Any, ...], facts: RunFacts) -> CaseOutcome:
    return CaseOutcome(
        run_id=row[0],
        key=ModelKey(*row[1:5]),
        case=CaseKey(*row[5:7]),
        case_hash=row[7],
        first_repetition=row[8],
        parts=None if row[9] is None else Parts(*row[9:16]),
        tags=tuple(row[16] or ()),
        counts=CaseCounts(*row[17:28]),
        answers=Answers(*row[28:32]),
        measured=tuple(
            Measured(row[place], row[place + 1] or 0, row[place + 2] or 0)
            for place in range(32, len(COLUMNS) - 1, 3)
        ),
        facts=facts,
        cluster=row[-1],
    )


def read_causes(session: Session, run_ids: Sequence[str]) -> Causes:
    """Return why trials that can get a verdict have none.

    A cause of the table of failures, `missing` where there is no result, else `unknown`.

    Raises:
        ViewError: the lake cannot be read.
    """
    found: defaultdict[tuple[str, str, CaseKey], Counter[str]] = defaultdict(Counter)
    if not run_ids:
        return found
    for run_id, model_id, suite_id, case_id, has_result, failure_type, n in session.rows(
        CAUSES.format(runs=of_runs(run_ids)),
        [*run_ids, *run_ids],
    ):
        why = cause_of(failure_type) if has_result else "missing"
        found[run_id, model_id, CaseKey(suite_id, case_id)][why] += n
    return found


Cuts = Mapping[tuple[str, str], tuple[int, int]]
"""(run_id, model_id) to the fewest and the most output tokens of an answer that was cut off."""


def read_cuts(session: Session, run_ids: Sequence[str]) -> Cuts:
    """Return after how many tokens answers were cut off, of the runs that say it.

    Raises:
        ViewError: the lake cannot be read.
    """
    if not run_ids:
        return {}
    rows = session.rows(
        "select run_id, model_id, min(output_tokens), max(output_tokens) from trials "  # noqa: S608
        f"where failure_type = 'output_truncated' and output_tokens > 0 and {of_runs(run_ids)} "
        "group by all",
        run_ids,
    )
    return {(run_id, model_id): (least, most) for run_id, model_id, least, most in rows}


def cause_of(failure_type: str | None) -> str:
    """Return why a trial that can get a verdict and has a result has none.

    Of a time-out without a verdict the endpoint had not accepted the request.
    """
    try:
        return "unknown" if failure_type is None else classify(failure_type, accepted=False).cause
    except KeyError:  # only a later version knows it
        return "unknown"
