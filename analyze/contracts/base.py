"""What every row of a view is made of: its view's name, a total order, the group it belongs to."""

from __future__ import annotations

from typing import Any, ClassVar

from pydantic import Field

from schemas.base import Record
from schemas.lake import lake_columns

GROUP_ORDER = "run_id, provider, model, thinking_level nulls first, model_id"
"""Unique for a row a model of a run; more columns follow where a view has more rows."""

RUN_MODEL_ORDER = "run_id, model_id"
"""The same for rows that name their model by its id alone."""

TRIAL_ORDER = f"{GROUP_ORDER}, case_id, repetition"

STARTED_AT = "started_at_ms as a timestamp in UTC; null also beyond the year 9999."


def same_column(name: str, table: str = "results") -> Any:
    """Return a field that means what the column of that name means in a raw table."""
    column = next(column for column in lake_columns()[table] if column.name == name)
    text = column.description or ""
    return Field(
        description=f"{text.removesuffix('.')}, in {column.unit}." if column.unit else text
    )


class ViewRow(Record):
    """A row of the view named here; `order` is total."""

    view: ClassVar[str]
    order: ClassVar[str]


RUN_ID: Any = Field(description="Run the row belongs to.")
MODEL_ID: Any = Field(description="Local name of the model.")


class RunModelRow(ViewRow):
    """A row that belongs to one model of one run, named by its id alone."""

    run_id: str = RUN_ID
    model_id: str = MODEL_ID


class GroupRow(ViewRow):
    """A row that belongs to one model as it was run."""

    run_id: str = RUN_ID
    provider: str = Field(description="Transport the requests went through.")
    model: str = Field(description="Model string, as requested.")
    thinking_level: str | None = Field(
        description="Reasoning effort asked for; null where none was."
    )
    model_id: str = MODEL_ID
