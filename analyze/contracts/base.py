"""What every row of a view is made of: its view's name, a total order, its columns.

Rows that code reads by attribute are classes with a field a column. All others name their columns
in the view's order: the record of the raw table gives type and meaning, unless a view says it.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Mapping
from typing import Any, ClassVar

from pydantic import BaseModel, Field, create_model

from schemas.base import Record
from schemas.lake import lake_columns
from schemas.run.config import PlannedTrial
from schemas.run.result import LakeColumns, Result

Columns = Mapping[str, tuple[Any, str]]
"""Type and meaning of each column, by its name."""

GROUP_ORDER = "run_id, provider, model, thinking_level nulls first, model_id"
"""Unique for a row a model of a run; more columns follow where a view has more rows."""

RUN_MODEL_ORDER = "run_id, model_id"
"""The same for rows that name their model by its id alone."""

TRIAL_ORDER = f"{GROUP_ORDER}, case_id, repetition"

STARTED_AT = "started_at_ms as a timestamp in UTC; null also beyond the year 9999."


class ViewRow(Record):
    """A row of the view named here; `order` is total."""

    view: ClassVar[str]
    order: ClassVar[str]
    is_sorted: ClassVar[bool] = True
    """The view sorts its rows; one of very many leaves that to the reader."""


def view_row(
    view: str,
    order: str,
    names: str,
    *shared: Columns,
    is_sorted: bool = True,
    **own: tuple[Any, str],
) -> type[ViewRow]:
    """Return the contract of a view whose rows nobody reads by attribute.

    Args:
        view: its name.
        order: what its rows are sorted by, unique.
        names: of its columns, in order; columns of its own that are not among them come last.
        shared: columns of several views; the first that has a name counts, those of `TRIALS` last.
        is_sorted: the view sorts its rows by itself.
        own: type and meaning of columns that are this view's alone.
    """
    known = ChainMap(own, *map(dict, shared), dict(TRIALS))
    ordered = dict.fromkeys([*names.split(), *own])
    fields: dict[str, Any] = {
        name: (known[name][0], Field(description=known[name][1])) for name in ordered
    }
    row: type[ViewRow] = create_model(view, __base__=ViewRow, __module__=__name__, **fields)
    row.view, row.order, row.is_sorted = view, order, is_sorted
    return row


def same_column(name: str, table: str) -> Any:
    """Return a field that means what the column of that name means in a raw table."""
    return Field(description=_meanings(table)[name])


def columns_of(*records: type[BaseModel]) -> Columns:
    """Return the columns that records declare, as they describe them."""
    return {
        name: (field.rebuild_annotation(), field.description or "")
        for record in records
        for name, field in record.model_fields.items()
    }


def raw_columns(table: str, *records: type[BaseModel]) -> Columns:
    """Return the columns of a raw table that is made of records, with their units in words."""
    declared = columns_of(*records)
    return {name: (declared[name][0], text) for name, text in _meanings(table).items()}


def _meanings(table: str) -> dict[str, str]:
    return {
        column.name: f"{text.removesuffix('.')}, in {column.unit}." if column.unit else text
        for column in lake_columns()[table]
        for text in [column.description or ""]
    }


PLANS = raw_columns("plans", PlannedTrial)

TRIALS: Columns = {
    **PLANS,
    **raw_columns("outputs", Result, LakeColumns),
    **raw_columns("results", Result, LakeColumns),
}
"""Columns of a trial; what a plan says too means what it means of a result."""

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


GROUP = columns_of(GroupRow)
