"""What `collect doctor --json` prints: one finding a line of the text."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, JsonValue

from schemas.base import SCHEMA_VERSION, NonEmpty, Positive, Record

Area = Literal[
    "suites",
    "judges",
    "keys",
    "endpoints",
    "models",
    "commands",
    "sandbox",
    "containers",
    "disk",
    "clock",
    "packages",
]
"""What was looked at, in the order of the output."""

State = Literal["ok", "warn", "fail", "skip"]
"""`fail`: a run of the suites looked at cannot succeed; `warn`: it can, with a reservation;
`skip`: not there, and nothing that was looked at needs it."""


class DoctorCheck(Record):
    """One thing that was looked at."""

    area: Area
    subject: NonEmpty = Field(description="A model, an address, a variable, a command, a folder.")
    state: State
    found: NonEmpty = Field(description="One sentence; keys and what looks like one taken out.")
    advice: str | None = Field(default=None, description="What to do; there for warn and fail.")
    details: dict[str, JsonValue] = Field(
        default_factory=dict, description="Numbers and names behind the sentence."
    )


class DoctorReport(Record):
    """Everything that was looked at."""

    schema_version: Positive = SCHEMA_VERSION
    checks: tuple[DoctorCheck, ...]
    ok: bool = Field(description="Nothing failed; the exit code is 0, else 1.")
