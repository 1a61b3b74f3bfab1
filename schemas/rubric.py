"""What a judge is told about a case: expectations and the rubric."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, model_validator
from pydantic_core import PydanticCustomError

from schemas.base import Metadata, NonEmpty, Record, SchemaVersion


class Expectation(Record):
    """One statement that the answer should satisfy."""

    text: NonEmpty
    weight: Annotated[float, Field(gt=0)] = Field(
        default=1.0, description="Relative, within its group."
    )
    metadata: Metadata = Field(default_factory=dict, description="Yours; never read.")


class Expectations(Record):
    """Hard ones are critical, soft ones get partial credit."""

    hard_expectations: tuple[Expectation, ...] = ()
    soft_expectations: tuple[Expectation, ...] = ()


class RubricScale(Record):
    """The scale of the overall score, with sentences for some of its points."""

    min: float = 0
    max: float = 10
    anchors: dict[str, NonEmpty] = Field(
        default_factory=dict, description="Point of the scale to what an answer there is like."
    )

    @model_validator(mode="after")
    def _ascending(self) -> RubricScale:
        if self.max <= self.min:
            kind, message = "scale", "`max` must be above `min`"
            raise PydanticCustomError(kind, message)
        for point in self.anchors:
            if (number := _number(point)) is not None and not self.min <= number <= self.max:
                kind, message = "anchor", "anchor `{point}` is outside the scale"
                raise PydanticCustomError(kind, message, {"point": point[:40]})
        return self


def _number(text: str) -> float | None:
    """Return the point of the scale that an anchor names; `7-8` and words name none."""
    try:
        return float(text)
    except ValueError:
        return None


class Criterion(Record):
    """One thing to look at."""

    name: NonEmpty
    what_good_looks_like: NonEmpty
    what_bad_looks_like: NonEmpty


class Rubric(Record):
    """How a judge should score."""

    version: SchemaVersion = 1
    scale: RubricScale = Field(default_factory=RubricScale)
    criteria: tuple[Criterion, ...] = ()
    scoring_instructions: str | None = None
