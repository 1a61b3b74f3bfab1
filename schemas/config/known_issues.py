"""Files in which people write what they know already: shifts that need no alert, flaky cases.

`acknowledged` silences an alert of `analyze regressions`, and the shift no longer fails a gate;
`quarantined` keeps a case out of the test of a gate. Neither ever changes a score. TOML or YAML,
one file may hold both.
"""

from __future__ import annotations

from datetime import date
from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from schemas.base import Record, SchemaVersion, Slug

Words = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]

ShiftMetric = Literal["passed_rate", "e2e_ms", "cost_usd"]
Direction = Literal["up", "down"]


class Acknowledged(Record):
    """One shift that somebody knows of: an alert is named by series, first run and direction."""

    suite_id: Slug
    model_id: Slug
    metric: ShiftMetric
    first_run: str = Field(description="run_id of the first run of the new level.")
    direction: Direction = Field(description="Of the value: `down` is a lower rate, or quicker.")
    case_id: Slug | None = Field(default=None, description="Of a single cell; null: the series.")
    reason: Words = Field(description="Why nobody needs to look again.")
    author: Words = Field(description="Who says so.")


class Quarantined(Record):
    """One case that a gate does not test, because its verdict is no news."""

    suite_id: Slug
    case_id: Slug
    model_id: Slug | None = Field(default=None, description="Null: with every model.")
    reason: Words = Field(description="Such as `flaky: 3 of 10`.")
    author: Words = Field(description="Who says so.")
    until: date | None = Field(default=None, description="Last day on which it holds.")


class KnownFile(Record):
    """One such file."""

    schema_version: SchemaVersion
    acknowledged: tuple[Acknowledged, ...] = ()
    quarantined: tuple[Quarantined, ...] = ()
