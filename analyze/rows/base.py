"""What every row of a view is made of: its view's name, a total order, the group it belongs to."""

from __future__ import annotations

from typing import ClassVar

from pydantic import Field

from schemas.base import Record

Group = tuple[str, str, str | None, str]
"""(provider, model, thinking_level, model_id) of one run."""

GROUP_ORDER = "run_id, provider, model, thinking_level nulls first, model_id"


class ViewRow(Record):
    """A row of the view named here; `order` is total."""

    view: ClassVar[str]
    order: ClassVar[str]


class GroupRow(ViewRow):
    """A row that belongs to one model as it was run."""

    run_id: str
    provider: str
    model: str
    thinking_level: str | None = Field(description="Null where none was asked for.")
    model_id: str

    @property
    def group(self) -> Group:
        """The group inside its run."""
        return self.provider, self.model, self.thinking_level, self.model_id
