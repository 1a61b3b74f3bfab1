"""A report of one run in typed parts, as `analyze report --format json` prints it.

What the HTML and the Markdown form show is here, and nothing else is: rates lie between 0 and 1,
times are in ms, costs in USD, nothing is rounded. An empty tuple or null is a section that the
other forms leave out. The first screen says how good each model is, what changed, and what to
distrust; answers of flipped cases stand side by side, transcripts in a budget.
"""

from __future__ import annotations

from typing import Literal

from pydantic import Field, JsonValue

from schemas.base import Count, EpochMillis, Interval, Millis, Positive, Rate, Record, UsdSum
from schemas.config.project import Thresholds
from schemas.failures import Cause
from schemas.output.comparison import Comparison, Difference, ThresholdsUsed, Verdict
from schemas.output.regressions import OpenShift, Regressions
from schemas.output.report_headlines import ReportedHeadline
from schemas.output.report_judged import JudgedParts
from schemas.output.report_steps import StepParts
from schemas.output.report_trials import Flip, Transcripts
from schemas.output.summary import RunSummary, WallClock
from schemas.run.inventory import Host

REPORT_VERSION = 3
"""Of the document: 2 has the shifts that stand, 3 every trial that can be read in the page."""

TrialMark = Literal["passed", "failed", "no_verdict", "missing"]


class ReportedRun(Record):
    """A run that a report is about, or its baseline: what was asked and how much is there."""

    run_id: str
    suite_id: str
    suite_title: str
    run_profile_id: str | None
    started_at_ms: EpochMillis | None
    wall_clock_ms: WallClock | None = Field(description="First start to last end of a trial.")
    took_ms: WallClock | None = Field(
        default=None,
        description="The same without pauses of more than ten minutes in which no trial was in "
        "progress, as between an interruption and its resume.",
    )
    labels: tuple[str, ...]
    is_imported: bool = Field(description="Another tool made it.")
    shard: str | None = Field(description="`i/n`: it is a part of one plan; null: it is no shard.")
    benchlake_version: str | None = Field(description="That made it.")
    n_cases: Count
    n_planned: Count = Field(description="Trials in the plan.")
    n_total: Count = Field(description="Trials with a result.")
    n_scorable: Count = Field(description="Planned trials that can get a verdict.")
    n_scored: Count = Field(description="Trials with a verdict.")
    coverage: Rate | None = Field(description="n_scored / n_scorable.")


class ModelAnswer(Record):
    """One model on the first screen, best passed rate first, what cannot be ranked behind it."""

    provider: str
    model: str
    thinking_level: str | None
    model_id: str
    passed_rate: Rate | None = Field(description="Null: no trial has a verdict.")
    low: Rate | None = Field(description="95 % interval of the passed rate, by cases.")
    high: Rate | None
    estimate: Rate | None = Field(
        default=None, description="Mean over cases, which the interval is of."
    )
    score_strict: Rate | None = Field(
        default=None, description="With what has no verdict counted as failed."
    )
    coverage: Rate | None = Field(
        default=None, description="Share of the trials that can get a verdict with one."
    )
    n_cases: Count = Field(description="With a verdict.")
    n_clusters: Count | None = Field(
        default=None, description="Units that they make up, where some are in clusters."
    )
    n_scored: Count = Field(description="Trials with a verdict.")
    is_ranked: bool = Field(
        default=True, description="It may be named best: cases and coverage suffice."
    )
    is_leading: bool = Field(
        description="The best of those, or not shown to be worse than it on the same cases."
    )
    change: Verdict | None = Field(
        description="Against the baseline; null: there is none, or it lacks this model."
    )
    change_why: str | None = Field(
        default=None, description="Why there is no difference where the sides can be compared."
    )
    difference: Difference | None = Field(description="Candidate minus base, paired by case.")
    difference_low: Difference | None = Field(description="95 % interval.")
    difference_high: Difference | None = Field(description="95 % interval.")
    n_broke: Count = Field(description="Cases whose majority of verdicts turned to not passed.")
    n_fixed: Count = Field(description="Cases whose majority turned to passed.")


DoubtCode = Literal[
    "no_verdict",
    "missing_trials",
    "coverage",
    "infrastructure",
    "few_cases",
    "one_repetition",
    "identical_repetitions",
    "unpinned_routing",
    "served_model",
    "late_client",
    "timeouts",
    "truncated",
    "reused",
    "other_profile",
    "shard",
    "narrowed",
    "imported",
    "unknown_cost",
    "not_comparable",
    "changed_with_it",
    "skipped_history",
]


class Doubt(Record):
    """One reason to distrust a number of the report."""

    code: DoubtCode
    is_serious: bool = Field(description="It can turn a verdict; the others are to be known.")
    model_ids: tuple[str, ...] = Field(description="Of these models; empty: of the whole run.")
    sentence: str = Field(description="What is so, with its numbers, and what follows from it.")
    command: str | None = Field(description="That shows more of it, or mends it.")


class MatrixCell(Record):
    """One case with one model: every repetition, in their order."""

    case_id: str
    model_id: str
    marks: tuple[TrialMark, ...]
    n_planned: Count
    n_scored: Count
    n_passed: Count
    passed_rate: Rate | None


class Matrix(Record):
    """Cases and models; the hardest cases first, by all models together."""

    n_cases: Count = Field(description="Of the run.")
    n_shown: Count = Field(description="Cases that are here.")
    cells: tuple[MatrixCell, ...]


class HistoryPoint(Record):
    """One model in one run of the suite, oldest run first."""

    run_id: str = Field(description="Of shards of one plan: the first one's, or this run's.")
    started_at_ms: EpochMillis
    model_id: str
    passed_rate: Rate
    low: Rate | None = Field(description="95 % interval, by cases.")
    high: Rate | None
    estimate: Rate | None = Field(
        default=None, description="Mean over cases, which the interval is of."
    )
    coverage: Rate | None
    n_scored: Count
    e2e_ms_p50: float | None = Field(description="Median of answered trials; null of shards.")
    is_this_run: bool
    is_part: bool = Field(
        default=False,
        description="The run asked a part of the suite: no level beside whole runs.",
    )


class LatencyBin(Record):
    """Answered trials of one model in one bin of a time."""

    model_id: str
    metric: Literal["e2e_ms", "ttft_ms"]
    bin_from_ms: Millis = Field(description="Lower end, in the bin.")
    bin_to_ms: int = Field(gt=0, description="Upper end, not in it.")
    n_trials: Positive


class FrontierPoint(Record):
    """What the quality of one model costs, in money and in time, with 95 % intervals by cases."""

    model_id: str
    n_scored: Count
    passed_rate: Rate | None
    low: Rate | None
    high: Rate | None
    estimate: Rate | None = Field(
        default=None, description="Mean over cases, which the interval of the rate is of."
    )
    cost_usd_per_scored: UsdSum | None
    cost_low: UsdSum | None
    cost_high: UsdSum | None
    e2e_ms_mean: float | None = Field(description="Of answered trials.")
    e2e_ms_low: float | None
    e2e_ms_high: float | None
    is_on_frontier: bool | None = Field(
        description="No model is cheaper and at least as good, or better and no dearer; null where "
        "cost or rate is unknown, and of a model that cannot be ranked."
    )
    is_on_time_frontier: bool | None = Field(description="The same of time instead of cost.")


class TagRate(Record):
    """The cases of one tag with one model; a case counts for each of its tags."""

    tag: str
    model_id: str
    n_cases: Count = Field(description="With a verdict.")
    n_scored: Count = Field(description="Trials with a verdict.")
    passed_rate: Rate | None = Field(description="Null: no trial has a verdict.")
    passed_ci95: Interval | None = Field(description="95 % interval of it, by cases.")


class FailureCount(Record):
    """Trials of one model that were not answered, and ended in one way."""

    model_id: str
    failure_type: str
    cause: Cause | None = Field(description="Null: unknown, of a line by another tool.")
    counts_against_model: bool
    n_trials: Positive


class CheckCount(Record):
    """How one deterministic check went with one model; those that decide verdicts."""

    model_id: str
    check_id: str
    kind: str
    n_cases: Positive = Field(description="Cases that ask for it.")
    n_trials: Positive = Field(description="Trials in which it looked.")
    n_passed: Count
    n_failed: Count
    n_errors: Count = Field(description="Trials in which it could not look.")


class ModelProvenance(Record):
    """Exactly which model answered, as far as it is known."""

    model_id: str
    provider: str
    model: str
    thinking_level: str | None
    base_url: str | None
    served_models: tuple[str, ...] = Field(description="As the server named itself.")
    served_providers: tuple[str, ...] = Field(description="Upstreams behind a router.")
    model_build: str | None = Field(description="sha256 of the weights, where known.")
    harness_version: str | None = Field(description="Of a CLI that asked.")
    routing: str | None = Field(description="Whether one upstream alone may serve; null: direct.")
    settings: dict[str, str] = Field(description="Settings that are not defaults, as JSON.")


class Provenance(Record):
    """Where the numbers come from, and how to get them again."""

    host: Host | None = Field(description="That the collector ran on; null: not known.")
    versions: dict[str, str] = Field(description="Of packages and commands, by name.")
    models: tuple[ModelProvenance, ...]
    suite_path: str | None
    config_files: dict[str, str] = Field(description="sha256 of each file that was read.")
    config_commit: str | None = Field(description="Of the repository of the configs.")
    is_config_dirty: bool | None = Field(description="Files that were read differ from it.")
    warnings: tuple[str, ...] = Field(description="That the collector gave when it started.")
    limits: ThresholdsUsed = Field(description="Where numbers became verdicts.")
    commands: tuple[str, ...] = Field(description="That make this report again, and go deeper.")


class Term(Record):
    """One number of the report: its name, its field, what it means."""

    name: str = Field(description="As tables and charts have it.")
    field: str | None = Field(description="Its name in JSON and SQL.")
    meaning: str
    formula: str | None
    source: str | None = Field(description="Where the formula is from.")


class RunReport(Record):
    """One run beside its baseline and its history."""

    schema_version: Positive = Field(
        default=REPORT_VERSION,
        description="2 since `open_shifts` names what stands, 3 since all trials are there.",
    )
    generated_at: str | None = Field(description="The run's last ended_at_ms, as UTC ISO 8601.")
    benchlake_version: str = Field(description="That made this report.")
    run: ReportedRun
    baseline: tuple[ReportedRun, ...] = Field(description="Empty: no run to compare with.")
    answer: tuple[ModelAnswer, ...]
    doubts: tuple[Doubt, ...] = Field(description="Serious ones first.")
    open_shifts: tuple[OpenShift, ...] = Field(
        default=(),
        description="Shifts for the worse up to this run, in its models, that nobody has "
        "acknowledged and that have not recovered.",
    )
    headlines: tuple[ReportedHeadline, ...] = Field(
        default=(), description="Of the tool that an imported run was made by; else empty."
    )
    summary: RunSummary
    thresholds: Thresholds = Field(
        description="In force when the run was made: its tiers go by them."
    )
    tags: tuple[TagRate, ...] = Field(
        default=(), description="Tags that some cases have and others have not, by name."
    )
    judged: JudgedParts | None = Field(default=None, description="Null: no judge was asked.")
    matrix: Matrix
    comparison: Comparison | None = Field(description="With the baseline.")
    flips: tuple[Flip, ...] = Field(description="Worst first; at most as many as fit.")
    history: tuple[HistoryPoint, ...] = Field(description="Empty below two runs of the suite.")
    shifts: Regressions | None = Field(description="Of this suite; null below two runs.")
    latency: tuple[LatencyBin, ...]
    frontier: tuple[FrontierPoint, ...]
    failures: tuple[FailureCount, ...]
    checks: tuple[CheckCount, ...] = Field(
        default=(), description="Those that failed most first; empty: no case has one."
    )
    steps: StepParts | None = Field(
        default=None, description="Null: no trial of the run has steps."
    )
    transcripts: Transcripts
    provenance: Provenance
    glossary: tuple[Term, ...] = Field(description="Of the numbers that this report shows.")
    added: dict[str, JsonValue] = Field(
        default={},
        exclude_if=lambda added: not added,
        description="Of sections that installed packages add, by id; left out without one.",
    )
