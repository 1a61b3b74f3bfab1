"""Traces of trials: each is a frame of artifacts/<model_id>.jsonl.zst, found by where it begins."""

from __future__ import annotations

import os
import re
import threading
import time
from collections.abc import Iterator
from itertools import islice
from typing import Annotated, Any, BinaryIO, Literal

import orjson
import zstandard
from pydantic import Field, JsonValue

from schemas.base import SCHEMA_VERSION, Count, EpochMillis, Millis, Positive, Record, Slug
from schemas.config.case import Role
from schemas.redact import may_hold_secret, redact_json

MAGIC = b"\x28\xb5\x2f\xfd"
PADDING_MAGIC = b"\x50\x2a\x4d\x18"
"""Begins a frame that every zstd reader skips."""

REFERENCE = re.compile(r"(artifacts/[^/\0]+\.jsonl\.zst)#([0-9]{1,18})")
"""`artifact_path` of a result."""

CHUNK_BYTES = 1 << 12
"""Most traces are shorter."""

READ_BYTES = 1 << 10
"""Compressed ones that are read at once: they become 32 MB at the very most."""

MAX_TRACE_BYTES = 1 << 28
"""Of one trace; a frame that grows past it is no trace of ours."""


MAX_TRACE_VALUES = 4_000_000
"""Of one trace: lists, objects, and what stands behind a comma."""

VALUES = re.compile(rb'"(?:[^"\\]++|\\.)*+"?|[\[{,]', re.DOTALL)
"""Strings as a whole, so that what is in them counts for nothing; possessive."""


def whole_frame(file: BinaryIO, offset: int) -> bytes | None:
    """Return the frame that begins at `offset`; None when it is torn or there is none."""
    try:
        file.seek(offset)
    except OSError:  # beyond the end that any file can have
        return None
    decompressor = zstandard.ZstdDecompressor().decompressobj()
    read: list[bytes] = []
    while not decompressor.eof:
        chunk = file.read(CHUNK_BYTES)
        if not chunk or (not read and not chunk.startswith(MAGIC)):
            return None
        read.append(chunk)
        try:
            decompressor.decompress(chunk)
        except zstandard.ZstdError:
            return None
    frame = b"".join(read)
    return frame[: len(frame) - len(decompressor.unused_data)]


def frame_content(file: BinaryIO, offset: int, most_bytes: int = MAX_TRACE_BYTES) -> bytes | None:
    """Return what the frame at `offset` holds, at most one byte too many; None when it is torn.

    Raises:
        OSError: the file cannot be read.
    """
    decompressor = zstandard.ZstdDecompressor().decompressobj()
    parts: list[bytes] = []
    size = 0
    file.seek(offset)
    while not decompressor.eof:
        chunk = file.read(READ_BYTES)
        if not chunk:
            return None
        try:
            part = decompressor.decompress(chunk)
        except zstandard.ZstdError:
            return None
        parts.append(part[: most_bytes + 1 - size])
        size += len(parts[-1])
        if size > most_bytes:
            break
    return b"".join(parts)


def has_too_many_values(content: bytes) -> bool:
    """Return whether a trace holds more values than any of ours: each takes 60 bytes and more.

    A few thousand bytes of a frame may become 100 million empty lists, and those gigabytes.
    """
    if sum(map(content.count, (b"[", b"{", b","))) <= MAX_TRACE_VALUES:
        return False  # with those in its texts
    marks = (1 for found in VALUES.finditer(content) if found[0] in b"[{,")
    return sum(islice(marks, MAX_TRACE_VALUES + 1)) > MAX_TRACE_VALUES


def trace_content(file: BinaryIO, offset: int) -> bytes | None:
    """Return the JSON of the trace at `offset`; None where there is none, or none of ours.

    Raises:
        OSError: the file cannot be read.
    """
    content = frame_content(file, offset)
    is_ours = content is not None and len(content) <= MAX_TRACE_BYTES
    return content if is_ours and not has_too_many_values(content or b"") else None


def frames(file: BinaryIO, offset: int = 0) -> Iterator[tuple[int, bytes]]:
    """Yield the traces that follow each other from a place on, with where they begin.

    Padding is passed over; the first torn frame, or what is no frame, is the end.
    """
    while True:
        frame = whole_frame(file, offset)
        if frame is not None:
            yield offset, frame
            offset += len(frame)
            continue
        skipped = _padding_at(file, offset)
        if not skipped:
            return
        offset += skipped


def frames_end(file: BinaryIO, offset: int) -> int:
    """Return where the last whole frame ends, padding included, of those that begin at a place."""
    for begin, frame in frames(file, offset):
        offset = begin + len(frame)
    while skipped := _padding_at(file, offset):
        offset += skipped
    return offset


def _padding_at(file: BinaryIO, offset: int) -> int:
    """Return the length of the whole frame of padding at a place; 0 when there is none."""
    size = file.seek(0, os.SEEK_END)
    file.seek(offset)
    head = file.read(8)
    length = 8 + int.from_bytes(head[4:], "little")
    return length if head.startswith(PADDING_MAGIC) and offset + length <= size else 0


_local = threading.local()


def now_ms() -> int:
    """Return the wall clock in ms since the epoch."""
    return time.time_ns() // 1_000_000


def artifact_frame(artifact: dict[str, Any]) -> bytes:
    """Return a trace as one compressed frame, without secrets."""
    line = orjson.dumps(artifact)
    if may_hold_secret(line.decode()):
        line = orjson.dumps(redact_json(artifact))
    compressor = getattr(_local, "compressor", None)
    if compressor is None:  # one a thread: making it costs more than using it
        compressor = _local.compressor = zstandard.ZstdCompressor(level=3)
    frame: bytes = compressor.compress(line + b"\n")
    return frame


class Stamped(Record):
    """What every trace event has."""

    sequence: Count
    at_ms: EpochMillis
    trajectory: str | None = Field(
        default=None, description="`main/<name>` of an agent that the main one started."
    )
    is_copied_context: bool | None = Field(
        default=None, description="It happened in another session, and was taken over."
    )
    source: str | None = Field(
        default=None, description="Where an agent has stored it: file#line below its state."
    )


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
    repair: str | None = Field(
        default=None, description="What was mended before the arguments could be read."
    )


class ToolResultEvent(Stamped):
    """What a tool returned."""

    event_type: Literal["tool_result"] = "tool_result"
    call_id: str
    status: Literal["success", "error"]
    output: JsonValue
    shown: str | None = Field(
        default=None, description="What the model read, where it is not the whole output."
    )
    duration_ms: Millis | None = None
    produced_bytes: Count | None = Field(default=None, description="Before anything was cut.")
    stored_bytes: Count | None = Field(default=None, description="Of the output, as JSON.")
    shown_bytes: Count | None = Field(default=None, description="Of what the model read.")
    truncated: bool | None = Field(
        default=None, description="The model did not read all that was produced."
    )
    exit_code: int | None = None
    ended_by: str | None = Field(default=None, description="`exit`, or the limit that ended it.")
    cpu_ms: Millis | None = None
    peak_memory_bytes: Count | None = None
    oom_kills: Count | None = Field(default=None, description="Null: no control group of ours.")
    throttled_ms: Millis | None = Field(default=None, description="As above.")


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
    turns: Count | None = Field(
        default=None, description="Requests and answers; null: the runner does not count them."
    )
    turns_completed: Count | None = Field(
        default=None, description="Of the case, by an agent; null: no agent ran."
    )
    ended_by: str | None = Field(
        default=None, description="`exit`, or what ended the agent; null: no agent ran."
    )
    phases: dict[str, Millis] = Field(
        default_factory=dict, description="What the runner spent its time on."
    )
    workspace: str | None = Field(
        default=None, description="Folder of what the trial has left, below the run's."
    )
