"""What a tool is, and what one call of it brings: kept for the trace, and shown to the model.

Three sizes of an output: what was produced, what is kept in the trace, and what the model reads.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

import orjson
from pydantic import JsonValue

from collect.sandbox.base import MAX_STORED_BYTES
from schemas.config.sandbox import DEFAULT_SANDBOX, SandboxLimits
from schemas.config.tools import WebSearchSettings

if TYPE_CHECKING:
    from collect.sandbox import Sandbox
    from collect.sandbox.base import Folders

MAX_SHOWN_BYTES = 16_384
"""Of the JSON text that a model gets of one call."""

STEP_BYTES = 32
"""By how much more than in proportion texts are cut, so that a text of escapes comes to fit."""

HEAD_SHARE = 0.75
"""Of a text that is cut: how much of what stays is its beginning; the rest is its end."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolResult:
    """What one call brought."""

    output: dict[str, JsonValue]
    """What is kept; of what is longer than `MAX_STORED_BYTES` the beginning and the end."""
    is_error: bool = False
    produced_bytes: int = 0
    """Of the texts of the output, before anything was cut."""
    is_cut: bool = False
    """Something that was produced is not kept."""
    raw: Mapping[str, JsonValue] = field(default_factory=dict)
    """For the trace alone, such as bytes that are no text."""
    outage: str | None = None
    """Why nothing could be done, where that is ours or the machine's failure, not the model's."""
    facts: Mapping[str, JsonValue] = field(default_factory=dict)
    """For the trace: those of a process, as `schemas.run.trace` names them; others are dropped."""


@dataclass(frozen=True, slots=True)
class ToolServices:
    """What the tools of a run share."""

    sandbox: Sandbox | None = None
    limits: SandboxLimits = DEFAULT_SANDBOX.limits
    search: WebSearchSettings | None = None
    blocked: tuple[str, ...] = ()
    """Phrases that a search result may not name, beside those of its settings."""


@dataclass(slots=True)
class ToolContext:
    """What the calls of one trial share."""

    folders: Folders | None = None
    """Made for the first call that needs them."""
    network: bool = False


class Tool(Protocol):
    """One tool of a run."""

    async def call(self, arguments: Mapping[str, JsonValue], context: ToolContext) -> ToolResult:
        """Do what the model asks for; whatever comes of it is returned.

        The arguments have every required name, and each the type that the schema says.
        """

    async def aclose(self) -> None:
        """Let go of what the tool holds."""


def failed(error: str, error_type: str, **output: JsonValue) -> ToolResult:
    """Return a call of which nothing came, as the model is told."""
    return ToolResult(output={"error": error, "error_type": error_type, **output}, is_error=True)


def cut_middle(text: str, max_bytes: int) -> str:
    """Return the beginning and the end of a text of which so many bytes of UTF-8 may stay."""
    raw = text.encode()
    if len(raw) <= max_bytes:
        return text
    mark = f"\n[... {len(raw) - max_bytes:,} of {len(raw):,} bytes left out ...]\n"
    room = max(0, max_bytes - len(mark))
    head = raw[: round(room * HEAD_SHARE)].decode(errors="ignore")
    rest = room - round(room * HEAD_SHARE)
    tail = raw[len(raw) - rest :].decode(errors="ignore") if rest else ""
    return head + mark + tail


def bounded(output: Mapping[str, JsonValue], max_bytes: int) -> dict[str, JsonValue]:
    """Return an output whose JSON text has at most so many bytes; its longest texts are cut.

    One that is long by anything else, such as a list of a thousand rows, becomes one text.
    """
    fitted = dict(output)
    texts = {name: one for name, one in output.items() if isinstance(one, str)}
    sizes = [len(one.encode()) for one in texts.values()]
    room = sum(sizes)
    while (size := len(orjson.dumps(fitted))) > max_bytes and room > 0:
        room = max(0, room * max_bytes // size - STEP_BYTES)
        cuts = zip(texts.items(), shares(sizes, room), strict=True)
        fitted |= {name: cut_middle(one, share) for (name, one), share in cuts}
    return fitted if size <= max_bytes else bounded({"json": _json(output)}, max_bytes)


def _json(output: Mapping[str, JsonValue]) -> str:
    return orjson.dumps(dict(output)).decode()


def shares(sizes: list[int], room: int) -> list[int]:
    """Return how much of a room each of several texts gets: short ones first get all they need."""
    left, granted = room, dict.fromkeys(range(len(sizes)), 0)
    for number, place in enumerate(sorted(granted, key=lambda at: sizes[at])):
        granted[place] = min(sizes[place], left // (len(sizes) - number))
        left -= granted[place]
    return list(granted.values())


def shown_text(result: ToolResult) -> str:
    """Return what the model reads of a call, as JSON text: its status and the output."""
    status = "error" if result.is_error else "success"
    envelope = len(orjson.dumps({"status": status, "output": {}}))
    output = bounded(result.output, MAX_SHOWN_BYTES - envelope)
    return orjson.dumps({"status": status, "output": output}).decode()


def stored_output(result: ToolResult) -> dict[str, JsonValue]:
    """Return what the trace keeps of a call."""
    return {**bounded(result.output, MAX_STORED_BYTES), **result.raw}
