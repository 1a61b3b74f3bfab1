"""What history and a gate say: level shifts of series, shifts of cells, and how flaky cells are.

A series is one metric of one model in one suite over its runs; a cell is one case of it. These
procedures take the cases as they are, the same ones night after night (`cases: fixed`).
`GateResult` is what `analyze gate --format json` prints.
"""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import Field

from schemas.base import SCHEMA_VERSION, Count, EpochMillis, Positive, Rate, Record
from schemas.config.known_issues import Acknowledged, Direction, Quarantined, ShiftMetric
from schemas.output.comparison import Comparison, Metric, ThresholdsUsed
from schemas.output.score_drift import JudgedLevel
from schemas.run.alias import Rename

REGRESSIONS_VERSION = 2
"""Of `Regressions`."""

GATE_VERSION = 2
"""Of the document: 2 has the shifts that stand, and fails while one does."""

Outcome = Literal["passed", "failed", "cannot_judge"]


class Series(Record):
    """Which series; names of the model as its newest run has them."""

    suite_id: str
    model_id: str
    metric: ShiftMetric
    provider: str
    model: str
    thinking_level: str | None


class Shift(Record):
    """One level shift of a series: one alert, whatever it is seen again in later runs."""

    MODEL_FIELDS: ClassVar[tuple[str, ...]] = ("together",)

    series: Series
    method: Literal["scan", "t_scan", "rank_scan"] = Field(
        description="`scan` of a pass rate, `t_scan` of a time or cost, which until version 1 of "
        "this document was `rank_scan`."
    )
    cases: Literal["fixed"] = "fixed"
    direction: Direction
    is_worse: bool = Field(description="A lower rate, or more time or money.")
    first_run: str = Field(description="run_id of the first run of the new level.")
    first_started_at_ms: EpochMillis | None
    last_run_before: str
    seen_in: str = Field(description="run_id of the run in which it could first be told.")
    n_before: Positive = Field(description="Runs of the level before.")
    n_after: Positive = Field(description="Runs of the new level, to its end or to now.")
    n_cases: Positive
    n_clusters: Positive | None = Field(
        default=None, description="Units that they make up, where some are in clusters."
    )
    before: float = Field(description="Level before: a rate, ms, or USD per trial.")
    after: float = Field(description="Level since.")
    size: float = Field(description="Of a rate: after - before; of a time or cost: after / before.")
    low: float = Field(description="95 % interval of the size, for these very cases.")
    high: float = Field(description="95 % interval of the size, for these very cases.")
    p: Rate
    changed: tuple[str, ...] = Field(
        description="What else changed with that run, such as `model_build` or `machine: a -> b`."
    )
    together: tuple[str, ...] = Field(
        description="Other models whose same metric shifted with that run."
    )
    cells: tuple[str, ...] = Field(description="Cases that shifted by themselves with it.")
    warnings: tuple[str, ...]
    judged: tuple[JudgedLevel, ...] = Field(
        default=(), description="Judges that have a say in a pass rate, by evaluation profile."
    )
    acknowledged: Acknowledged | None = Field(description="The entry that silences it.")


class OpenShift(Record):
    """A level shift for the worse that still stands: not recovered from, and not acknowledged."""

    series: Series
    first_run: str = Field(description="run_id of the first run of the new level.")
    first_started_at_ms: EpochMillis | None
    last_run_before: str
    seen_in: str = Field(description="run_id of the run in which it could first be told.")
    n_runs: Positive = Field(description="Runs since, the newest one included.")
    before: float = Field(description="Level before: a rate, ms, or USD per trial.")
    after: float = Field(description="Level it fell to, over the cases that both have.")
    now: float = Field(description="Newest level: `after`, unless it shifted again since.")
    size: float = Field(description="Of a rate: after - before; of a time or cost: after / before.")
    command: str = Field(
        default="", description="That shows it, and prints the lines which acknowledge it."
    )
    is_tolerated: bool | None = Field(
        default=None,
        description="The newest level is no further below than the gate tolerates; null: nothing "
        "was asked, or it is of a time or cost, or of a model that was not asked: these are named "
        "and fail nothing.",
    )
    last_asked_in: str | None = Field(
        default=None,
        description="run_id of the newest run that asked this model, where the run that is judged "
        "did not; null: it did.",
    )


class CellShift(Record):
    """One case whose pass rate shifted, while its series did not."""

    suite_id: str
    model_id: str
    case_id: str
    cases: Literal["fixed"] = "fixed"
    direction: Direction
    is_worse: bool
    first_bad_run: str = Field(description="run_id of the first run after the split.")
    last_run_before: str
    n_runs: Positive
    before_passed: Count
    before_scored: Positive
    after_passed: Count
    after_scored: Positive
    p: Rate = Field(description="Of the best split, times the number of splits.")
    q: Rate = Field(description="After Benjamini and Hochberg, over all cells of the call.")
    changed: tuple[str, ...]
    warnings: tuple[str, ...]
    acknowledged: Acknowledged | None


class SeriesSkipped(Record):
    """A series, or a part of one, that could not be judged, and why."""

    suite_id: str
    model_id: str
    metric: ShiftMetric | None = Field(description="Null: none of them.")
    why: str


class Regressions(Record):
    """Every shift of a history, the newest first."""

    schema_version: Positive = Field(
        default=REGRESSIONS_VERSION,
        description="2: times and costs are scanned by `t_scan`, pass rates over independent "
        "trials, with the level of each case taken out where cases enter or leave.",
    )
    limits: ThresholdsUsed
    since: str | None = Field(description="Only shifts that began at or after this, as asked.")
    n_runs: Count
    n_series: Count
    n_cells: Count
    shifts: tuple[Shift, ...]
    cell_shifts: tuple[CellShift, ...]
    skipped: tuple[SeriesSkipped, ...]
    unused: tuple[Acknowledged, ...] = Field(description="Acknowledged, and no such alert.")
    renames: tuple[Rename, ...] = Field(
        default=(),
        description="Cases with the content of one that is gone, by another id: two histories.",
    )


Steadiness = Literal["flaky", "steady", "unknown"]


class FlakyCell(Record):
    """How often two trials of one cell disagree, under one fingerprint and since its last shift."""

    suite_id: str
    model_id: str
    case_id: str
    steadiness: Steadiness
    n_trials: Count
    n_passed: Count
    flip_rate: Rate | None = Field(description="Null below two trials.")
    low: Rate | None = Field(description="95 % limit; null below five trials.")
    high: Rate | None = Field(description="95 % limit; null below five trials.")
    n_runs: Count
    first_run: str = Field(description="run_id of the first run that counts.")
    last_run: str
    first_bad_run: str | None = Field(description="Where the cell shifted for the worse, if ever.")
    quarantined: bool = Field(description="The list given names it.")


class Flaky(Record):
    """Every cell, flaky ones first."""

    schema_version: Positive = SCHEMA_VERSION
    limits: ThresholdsUsed
    n_cells: Count
    n_flaky: Count
    n_steady: Count
    n_unknown: Count
    cells: tuple[FlakyCell, ...]


class GateRules(Record):
    """What was asked of the candidate."""

    metrics: tuple[Metric, ...]
    max_drop: float = Field(
        ge=0, description="Tolerated drop of the passed rate (0.02: 2 points); of a ratio: growth."
    )
    min_coverage: float = Field(ge=0, le=1)
    prove: bool = Field(description="Passed only when a larger drop is ruled out.")


class GateLine(Record):
    """One model and one metric."""

    model_id: str
    metric: Metric
    outcome: Outcome
    why: str = Field(description="One sentence, with the number that decides.")
    unseen: float | None = Field(
        description="Drops (or growth) smaller than this would not have been seen; null: unknown."
    )
    confirmed: bool | None = Field(
        default=None, description="A fresh run says the same; null: none was asked."
    )
    by_open_shift: bool = Field(
        default=False, description="Failed by an open shift alone: the comparison fails nothing."
    )
    base_run_ids: tuple[str, ...] = Field(
        default=(), description="Runs that it is held against, oldest first; empty: not known."
    )


class BaselineComparison(Record):
    """Metrics that are held against the same runs, and what came of it."""

    metrics: tuple[Metric, ...]
    comparison: Comparison
    confirmation: Comparison | None = Field(
        default=None, description="The fresh run against the same baseline."
    )


class JudgeCalibration(Record):
    """Judges that have a say in the verdicts of a candidate, against labels of people."""

    evaluation_profile_id: str
    judge_hashes: tuple[str, ...] = Field(description="Ways to judge that the candidate has.")
    served_models: tuple[str, ...] = Field(description="Models that answered as judges.")
    min_calibration: Rate | None = Field(description="That is asked for; null: none is.")
    n_labelled: Count = Field(default=0, description="Trials with a label, of any judge.")
    n_labels: Count = Field(
        default=0,
        description="Those scored as the candidate is: same judges, models and cases. A label of "
        "anything else is void.",
    )
    sensitivity: Rate | None = None
    specificity: Rate | None = None
    youden: float | None = Field(default=None, description="Sensitivity + specificity - 1.")
    youden_low: float | None = Field(default=None, description="Lower 95 % limit of it.")
    problem: str | None = Field(
        default=None, description="Why their verdicts are refused; null: they are not."
    )


class GateResult(Record):
    """The whole gate: `failed` goes before `cannot_judge`, that before `passed`."""

    schema_version: Positive = Field(
        default=GATE_VERSION,
        description="2 since `open_shifts`: an open shift of the passed rate fails the gate.",
    )
    outcome: Outcome
    exit_code: Literal[0, 1, 3]
    rules: GateRules
    lines: tuple[GateLine, ...]
    quarantined: tuple[Quarantined, ...] = Field(description="Entries that took a case out.")
    expired: tuple[Quarantined, ...] = Field(
        default=(), description="Entries whose last day is over: they take nothing out."
    )
    unused: tuple[Quarantined, ...] = Field(
        default=(), description="Entries that hold, and name no case of this test."
    )
    open_shifts: tuple[OpenShift, ...] = Field(
        default=(),
        description="Shifts for the worse of what was asked that nobody has acknowledged and that "
        "have not recovered.",
    )
    calibrations: tuple[JudgeCalibration, ...] = Field(
        default=(),
        description="Of judges that have a say; none where neither labels nor "
        "`min_calibration` are there.",
    )
    unused_shifts: tuple[Acknowledged, ...] = Field(
        default=(), description="Acknowledged, and no such shift in what was asked."
    )
    comparison: Comparison = Field(
        description="Of the passed rate where it was asked, else of the first metric; and of every "
        "metric that `other_baselines` does not name."
    )
    confirmation: Comparison | None = Field(description="The fresh run against the same baseline.")
    other_baselines: tuple[BaselineComparison, ...] = Field(
        default=(),
        description="Each metric is held against runs since its own last level shift: those of "
        "which these are other runs.",
    )
