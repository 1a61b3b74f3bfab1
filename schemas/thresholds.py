"""Thresholds: where a number becomes a verdict. The defaults stand here and nowhere else."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, model_validator
from pydantic_core import PydanticCustomError

from schemas.base import Rate, Record

Chance = Annotated[float, Field(gt=0, lt=1)]


class Thresholds(Record):
    """`thresholds:` of benchlake.yaml; what is left out keeps its default."""

    pass_rate_margin: Chance = Field(
        default=0.05,
        description="Pass rates this close (0.05: 5 points) are the same in practice.",
    )
    ratio_margin: Chance = Field(
        default=0.10,
        description="Times and costs this close (0.10: 0.90 to 1.10) are the same in practice.",
    )
    min_coverage: Rate = Field(
        default=0.95,
        description="Share of scorable trials with a verdict below which numbers carry a warning.",
    )
    timeout_warning_share: Rate = Field(
        default=0.05,
        description="Share of time-outs above which numbers carry a warning.",
    )
    truncation_warning_share: Rate = Field(
        default=0.01,
        description="Share of answers cut off at a limit above which numbers carry a warning.",
    )
    alpha: Chance = Field(default=0.05, description="Two-sided chance of a false alarm.")
    power: Chance = Field(
        default=0.80, description="Chance of showing a difference, when a run is planned."
    )
    tier_1_from: Rate = Field(default=0.80, description="Tool-use rate from which tier 1 begins.")
    tier_2_from: Rate = Field(default=0.50, description="Tool-use rate from which tier 2 begins.")

    @model_validator(mode="after")
    def _tiers_fall(self) -> Thresholds:
        if self.tier_2_from > self.tier_1_from:
            kind, message = "tiers", "`tier_2_from` must not be above `tier_1_from`"
            raise PydanticCustomError(kind, message)
        return self
