"""The whole trace of one trial: a frame of artifacts/<model_id>.jsonl.zst."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, JsonValue

from schemas.base import SCHEMA_VERSION, Count, EpochMillis, Millis, Positive, Record, Slug
from schemas.config.case import Role


class Stamped(Record):
    """What every trace event has."""

    sequence: Count
    at_ms: EpochMillis


class MessageEvent(Stamped):
    """A message sent to or received from the model."""

    event_type: Literal["message"] = "message"
    role: Role
    content: str
    name: str | None = None


class ToolCallEvent(Stamped):
    """The model asked for a tool."""

    event_type: Literal["tool_call"] = "tool_call"
    call_id: str
    tool_name: str
    raw_arguments: str
    parsed_arguments: JsonValue = None


class ToolResultEvent(Stamped):
    """What a tool returned."""

    event_type: Literal["tool_result"] = "tool_result"
    call_id: str
    status: Literal["success", "error"]
    output: JsonValue


class RunnerEvent(Stamped):
    """What the runner did: an attempt, a failure, a wait before the next attempt."""

    event_type: Literal["runner"] = "runner"
    name: str
    detail: dict[str, JsonValue] = Field(default_factory=dict)


class FinalOutputEvent(Stamped):
    """The text the trial is judged by."""

    event_type: Literal["final_output"] = "final_output"
    content: str


TraceEvent = Annotated[
    MessageEvent | ToolCallEvent | ToolResultEvent | RunnerEvent | FinalOutputEvent,
    Field(discriminator="event_type"),
]


class Artifact(Record):
    """Everything one trial saw and did."""

    schema_version: Positive = SCHEMA_VERSION
    run_id: str
    model_id: Slug
    case_id: Slug
    repetition: Positive
    wall_ms: Millis = Field(description="Around the trial: queueing, waits and retries included.")
    request: dict[str, Any] = Field(description="Body of the request, without its messages.")
    usage: JsonValue = Field(default=None, description="As the server reported it.")
    trace: tuple[TraceEvent, ...]
