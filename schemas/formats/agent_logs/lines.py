"""What readers of agents' logs share: lines of JSON, moments, texts that are made of parts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

from pydantic import JsonValue

from schemas.formats.agent_logs.log import Entry, Trajectory, count, json_object, string

LATEST_MS = 2**53
"""Above it a moment is none that a trace can hold."""

OMITTED = {
    "image": "[image]",
    "image_url": "[image]",
    "input_image": "[image]",
    "document": "[document]",
    "input_file": "[file]",
    "input_audio": "[audio]",
}
"""What stands for a part that has no text, by its type."""

Line = Mapping[str, Any]


def objects(name: str, raw: bytes, notes: list[str]) -> Iterator[tuple[str, Line]]:
    """Yield the lines of a file that are JSON objects, each with where it stands (`file#line`).

    Args:
        name: of the file.
        raw: what it holds.
        notes: takes how many lines were passed over.
    """
    for number, line in numbered_objects(name, raw.splitlines(), notes):
        yield f"{name}#{number}", line


def numbered_objects(
    name: str, raws: Iterable[bytes], notes: list[str]
) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield those of some lines that are JSON objects, with their numbers from 1; as `objects`."""
    n_wrong = 0
    for number, text in enumerate(raws, start=1):
        line = json_object(text)
        if line is not None:
            yield number, line
        elif text.strip():
            n_wrong += 1
    if n_wrong:
        notes.append(f"{name}: {n_wrong:,} lines are no JSON objects")


def moment(value: object) -> int:
    """Return an ISO 8601 time in ms since the epoch, of UTC if it names no zone; 0: it is none."""
    if not isinstance(value, str):
        return 0
    try:
        found = datetime.fromisoformat(value)
        at = found if found.tzinfo is not None else found.replace(tzinfo=UTC)
        return max(0, round(at.timestamp() * 1000))
    except (ValueError, OverflowError):
        return 0


def epoch(value: object, *, unit_ms: int = 1) -> int:
    """Return a time that is a number since the epoch, in ms; 0: it is none.

    Args:
        value: as it was found.
        unit_ms: how many ms one is: 1000 for seconds.
    """
    if isinstance(value, bool) or not isinstance(value, int | float):
        return 0
    return round(value * unit_ms) if 0 <= value < LATEST_MS / unit_ms else 0


def fields(value: object) -> Line:
    """Return an object, or an empty one for anything else."""
    return value if isinstance(value, dict) else {}


def members(value: object) -> Iterator[Line]:
    """Yield those members of a list that are objects."""
    for one in value if isinstance(value, list) else ():
        if isinstance(one, dict):
            yield one


def text_of(value: object) -> str:
    """Return a text, or those of its parts, a line each; a picture is what it is, in brackets."""
    if isinstance(value, list):
        return "\n".join(text for one in value if (text := _part(one)))
    return string(value)


def _part(value: object) -> str:
    if isinstance(value, str):
        return value
    part = fields(value)
    return string(part.get("text")) or OMITTED.get(string(part.get("type")), "")


def arguments_of(raw: object) -> JsonValue:
    """Return what a call was given: the object that a text spells, or what it was as it was."""
    found = json_object(raw) if isinstance(raw, str) else raw
    return raw if found is None else found  # type: ignore[return-value]


def counts_of(value: object, names: Mapping[str, str]) -> dict[str, int]:
    """Return the quantities that an object has, by names of ours.

    Args:
        value: as it was found.
        names: what we call each, by the name that it has there.
    """
    return {
        ours: count(fields(value)[name]) for name, ours in names.items() if name in fields(value)
    }


def usd(value: object) -> float | None:
    """Return what an answer has cost; None: it does not say."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if 0 <= value < 1e6 else None


def in_paths(entries: Mapping[str, list[Entry]]) -> tuple[Trajectory, ...]:
    """Return a trajectory for each path that has entries."""
    return tuple(Trajectory(path, own) for path, own in entries.items() if own)
