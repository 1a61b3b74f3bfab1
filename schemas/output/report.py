"""A report of one run in typed parts, as `analyze report --format json` prints it.

What the HTML and the Markdown form show is here, and nothing else is: rates lie between 0 and 1,
times are in ms, costs in USD, nothing is rounded. An empty tuple or null is a section that the
other forms leave out.
"""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from schemas.base import (
    Count,
    EpochMillis,
    Millis,
    Positive,
    Rate,
    Record,
    UsdSum,
)
from schemas.failures import Cause
from schemas.output.comparison import Comparison, ThresholdsUsed
from schemas.output.regressions import OpenShift, Regressions
from schemas.output.summary import RunSummary
from schemas.report_answer import Doubt, ModelAnswer, ReportedRun
from schemas.report_trials import Flip, Transcripts
from schemas.run.inventory import Host
from schemas.thresholds import Thresholds

REPORT_VERSION = 2
"""Of the document: 2 has the shifts that stand."""

TrialMark = Literal["passed", "failed", "no_verdict", "missing"]


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


class FailureCount(Record):
    """Trials of one model that were not answered, and ended in one way."""

    model_id: str
    failure_type: str
    cause: Cause | None = Field(description="Null: unknown, of a line by another tool.")
    counts_against_model: bool
    n_trials: Positive


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
        default=REPORT_VERSION, description="2 since `open_shifts` names what stands."
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
    summary: RunSummary
    thresholds: Thresholds = Field(
        description="In force when the run was made: its tiers go by them."
    )
    judged: None = Field(default=None, description="The place of scores by judges.")
    matrix: Matrix
    comparison: Comparison | None = Field(description="With the baseline.")
    flips: tuple[Flip, ...] = Field(description="Worst first; at most as many as fit.")
    history: tuple[HistoryPoint, ...] = Field(description="Empty below two runs of the suite.")
    shifts: Regressions | None = Field(description="Of this suite; null below two runs.")
    latency: tuple[LatencyBin, ...]
    frontier: tuple[FrontierPoint, ...]
    failures: tuple[FailureCount, ...]
    transcripts: Transcripts
    provenance: Provenance
    glossary: tuple[Term, ...] = Field(description="Of the numbers that this report shows.")
