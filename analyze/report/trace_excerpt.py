"""Turns of a trace as parts of a report, and as many of them as there is room for.

Text stays as it was said; who shows it makes it safe. Room is counted in bytes of UTF-8 and kept
exactly: long parts lose their middle first, then the trace loses turns in its middle, where a
part says so. A tool's call and its result stay or go together.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from pydantic import JsonValue

from analyze.render.text import clipped
from analyze.show.transcript import json_text
from schemas.base import Record
from schemas.errors import counted
from schemas.output.report_trials import TranscriptPart
from schemas.run.trace import (
    FinalOutputEvent,
    MessageEvent,
    RunnerEvent,
    ToolCallEvent,
    ToolResultEvent,
    TraceEvent,
)

MARK = "\n…\n"
"""Stands where the middle of a text is left out."""

MAX_MORE_DIGITS = 24
"""Bytes that a sum of some costs may be longer than the sum of all."""

MIN_TEXT_BYTES = 300
"""Bytes that a long part keeps at least; where that is too much, turns are left out instead."""

MAX_NAME_CHARS = 200
"""Of the name of a tool, or of what a runner did."""

MAX_USD = 1e9
"""Of one answer; more is no price."""

ERROR_KEYS = frozenset({"error", "error_code", "error_message", "exception", "failure_type"})
"""What a runner notes of something that went wrong."""

Kind = Literal["message", "tool_call", "tool_result", "runner", "final_output"]

SAID_ABOVE = "final output: the message above"


@dataclass(frozen=True)
class Fitted:
    """Parts that fit, in their order."""

    parts: tuple[TranscriptPart, ...]
    n_left_out: int
    """Turns that are not there."""


def parts_of(events: Iterable[TraceEvent]) -> list[TranscriptPart]:
    """Return every turn of a trace, whole, in the order of their sequence.

    Where all have one time, as in a trace that came without times, none is told. A final output
    that repeats the message before it is named so and has no text.
    """
    ordered = sorted(events, key=lambda event: event.sequence)
    begin = ordered[0].at_ms if ordered else 0
    has_times = any(event.at_ms != begin for event in ordered)
    tools: dict[str, str] = {}
    said = None
    parts = []
    for event in ordered:
        after_ms = max(event.at_ms - begin, 0) if has_times else None
        agent = event.trajectory
        if isinstance(event, FinalOutputEvent) and event.content and event.content == said:
            parts.append(_part("final_output", SAID_ABOVE, "", after_ms, agent=agent))
            continue
        if isinstance(event, ToolCallEvent):
            tools[event.call_id] = event.tool_name
        parts.append(_part_of(event, tools, after_ms).model_copy(update={"agent": agent}))
        if isinstance(event, MessageEvent):
            said = event.content
    return parts


def answer_part(text: str, *, is_beginning: bool, n_left_out: int = 0) -> TranscriptPart:
    """Return an answer as the lake has it.

    Args:
        text: the answer; where characters are left out, its beginning and its end.
        is_beginning: the lake has the beginning of it only.
        n_left_out: characters in its middle that are not in `text`.
    """
    name = "final output" if text else "final output: empty"
    if is_beginning:
        name = "final output: its first 64 KB"
    return _part("final_output", name, text, None, n_left_out=n_left_out)


def bytes_of(value: object) -> int:
    """Return the bytes of all text in a record, or in a tuple of them, as UTF-8."""
    match value:
        case str():
            return len(value) if value.isascii() else len(value.encode())
        case Record():
            return sum(map(bytes_of, vars(value).values()))
        case tuple():
            return sum(map(bytes_of, value))
        case _:
            return 0


def units_of(events: Iterable[TraceEvent]) -> list[list[int]]:
    """Return the places of turns that belong together: a call and its result, others alone."""
    units: list[list[int]] = []
    waiting: dict[str, list[int]] = {}
    for place, event in enumerate(sorted(events, key=lambda event: event.sequence)):
        if isinstance(event, ToolResultEvent) and event.call_id in waiting:
            waiting.pop(event.call_id).append(place)
            continue
        units.append([place])
        if isinstance(event, ToolCallEvent):
            waiting[event.call_id] = units[-1]
    return units


def fitted(
    parts: Sequence[TranscriptPart], room: int, units: Sequence[Sequence[int]] | None = None
) -> Fitted | None:
    """Return parts in so many bytes; None when not even the first one fits.

    Args:
        parts: all of them, whole.
        room: bytes of all their text.
        units: places that belong together; by default each alone.
    """
    texts = [bytes_of(part.text) for part in parts]
    fixed = [bytes_of(part) - text for part, text in zip(parts, texts, strict=True)]
    if sum(texts) + sum(fixed) <= room:
        return Fitted(tuple(parts), 0)
    most = _level(texts, room - sum(fixed))
    if most >= MIN_TEXT_BYTES:
        return Fitted(tuple(_cut(part, most) for part in parts), 0)
    marker_size = bytes_of(_marker(parts)) + MAX_MORE_DIGITS
    least = [size + min(text, MIN_TEXT_BYTES) for size, text in zip(fixed, texts, strict=True)]
    kept = _fitting_places(least, room - marker_size, units or [[n] for n in range(len(parts))])
    if not kept:
        return None
    most = _level([texts[n] for n in kept], room - marker_size - sum(fixed[n] for n in kept))
    return Fitted(tuple(_with_marker(parts, kept, most)), len(parts) - len(kept))


def _level(sizes: Sequence[int], room: int) -> int:
    """Return how many bytes each may have, so that short ones leave their room to long ones."""
    for n_done, size in enumerate(sorted(sizes)):
        share = room // (len(sizes) - n_done)
        if size > share:
            return share
        room -= size
    return max(sizes, default=0)


def _fitting_places(sizes: Sequence[int], room: int, units: Sequence[Sequence[int]]) -> list[int]:
    """Return the places that fit, taken from both ends in turns, in their order."""
    kept: list[int] = []
    for step in range(len(units)):
        unit = units[-(step // 2) - 1 if step % 2 else step // 2]
        room -= sum(sizes[place] for place in unit)
        if room < 0:
            break
        kept += unit
    return sorted(kept)


def _with_marker(
    parts: Sequence[TranscriptPart], kept: Sequence[int], most: int
) -> Iterator[TranscriptPart]:
    held = frozenset(kept)
    left_out = [part for place, part in enumerate(parts) if place not in held]
    is_marked = False
    for n, place in enumerate(kept):
        if n != place and not is_marked:
            is_marked = True
            yield _marker(left_out)
        yield _cut(parts[place], most)
    if not is_marked:
        yield _marker(left_out)


def _marker(left_out: Sequence[TranscriptPart]) -> TranscriptPart:
    """Return what stands for turns: it ends when the last of them did, and costs what all did."""
    costs = [part.cost_usd for part in left_out if part.cost_usd is not None]
    part = _part("runner", "left out here", counted(len(left_out), "turn"), left_out[-1].after_ms)
    return part.model_copy(update={"cost_usd": sum(costs) if costs else None})


def _cut(part: TranscriptPart, most: int) -> TranscriptPart:
    """Return a part with at most so many bytes of text: its beginning and its end."""
    text = part.text
    if bytes_of(text) <= most:
        return part
    content = text.encode()
    room = max(most - bytes_of(MARK), 0)
    head = content[: room - room // 2].decode(errors="ignore")
    tail = content[len(content) - room // 2 :].decode(errors="ignore")
    left_out = len(text) - len(head) - len(tail)
    cut = f"{head}{MARK}{tail}" if room else ""
    return part.model_copy(update={"text": cut, "n_left_out": part.n_left_out + left_out})


def _part_of(event: TraceEvent, tools: dict[str, str], after_ms: int | None) -> TranscriptPart:
    match event:
        case MessageEvent():
            name = event.role if event.name is None else f"{event.role} ({event.name})"
            return _part("message", name, event.content, after_ms)
        case ToolCallEvent():
            return _part("tool_call", event.tool_name, event.raw_arguments, after_ms)
        case ToolResultEvent():
            name = tools.get(event.call_id, event.call_id)
            text = json_text(event.output)
            is_error = event.status == "error"
            return _part("tool_result", name, text, after_ms, is_error=is_error)
        case RunnerEvent():
            noted = {key: value for key, value in event.detail.items() if value is not None}
            text = "\n".join(f"{key} {json_text(value)}" for key, value in noted.items())
            is_error = not ERROR_KEYS.isdisjoint(noted)
            part = _part("runner", event.name, text, after_ms, is_error=is_error)
            return part.model_copy(update={"cost_usd": _cost(event.detail)})
        case FinalOutputEvent():
            name = "final output" if event.content else "final output: empty"
            return _part("final_output", name, event.content, after_ms)


def _cost(detail: Mapping[str, JsonValue]) -> float | None:
    """Return what an answer cost, where the runner noted it for this one alone."""
    usage, cost = detail.get("usage"), detail.get("cost_usd")
    if isinstance(usage, dict) and usage.get("usage_counts") == "cumulative":
        return None
    is_number = isinstance(cost, int | float) and not isinstance(cost, bool)
    return float(cost) if is_number and 0 <= cost <= MAX_USD else None  # type: ignore[operator, arg-type]


def _part(
    kind: Kind,
    name: str,
    text: str,
    after_ms: int | None,
    *,
    is_error: bool = False,
    n_left_out: int = 0,
    agent: str | None = None,
) -> TranscriptPart:
    return TranscriptPart(
        kind=kind,
        name=clipped(name, MAX_NAME_CHARS),
        text=text,
        is_error=is_error,
        after_ms=after_ms,
        n_left_out=n_left_out,
        agent=agent,
    )
