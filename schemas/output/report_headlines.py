"""Headlines of another tool in a report, with what its rows say."""

from __future__ import annotations

from pydantic import Field

from schemas.base import Count, Record


class ReportedHeadline(Record):
    """A number that another tool shows for a run, and what it does not say."""

    model_id: str
    name: str = Field(description="Of the score.")
    metric: str = Field(description="What the tool computes of it.")
    tag: str | None = Field(description="Of the cases that have this tag; null: of all.")
    value: float | None = Field(description="As the tool's file has it.")
    stderr: float | None = Field(description="As the tool's file has it.")
    own_value: float | None = Field(
        description="Mean over cases of the mean over repetitions, of the rows; null: the metric "
        "is no mean, or there is no score."
    )
    ci95: tuple[float, float] | None = Field(
        description="95 % interval of own_value over clusters of cases; null below two."
    )
    n_cases: Count = Field(description="Cases with a score.")
    n_scored: Count = Field(description="Trials with a score.")
    n_trials: Count = Field(
        description="Trials of these cases, scored or not, also those without a result."
    )
    smallest_difference: float | None = Field(
        description="Between two such runs, that is shown in four of five; null: not known."
    )
