"""The calls of an answer as they are carried out: ids, arguments, and what had to be mended.

Servers and models differ: an id may be missing or be the same for all, arguments may be JSON inside
of a JSON text, two parallel calls may arrive as one whose arguments stand one behind the other.
What is no JSON object stays as it is, and the model is told; it never becomes an empty object,
which would be a call that nobody made.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count, islice
from typing import Literal

import orjson
from pydantic import JsonValue

from collect.config.resolved import WireCall
from collect.providers.base import ToolCall

Repair = Literal["split", "unquoted"]
"""What had to be done before arguments could be read."""

MAX_CALLS_PER_TURN = 32
"""Carried out of one answer, or read in one text: nobody needs more, and some models loop."""

TYPES: Mapping[str, type | tuple[type, ...]] = {
    "string": str,
    "integer": int,
    "number": (int, float),
    "boolean": bool,
    "array": list,
    "object": dict,
}
"""Of JSON Schema, as Python has them."""


@dataclass(frozen=True, slots=True)
class ParsedCall:
    """One call."""

    call_id: str
    name: str
    raw: str
    """The arguments as the model wrote them."""
    arguments: dict[str, JsonValue] | None
    """None: they are no JSON object."""
    problem: str | None = None
    """Why there are none."""
    repair: Repair | None = None

    @property
    def wire(self) -> WireCall:
        """Return the call as it is sent back; servers refuse arguments that are no object."""
        arguments: JsonValue = self.arguments
        if arguments is None:
            arguments = {"malformed_arguments": self.raw}
        text = (
            self.raw if self.repair is None and self.arguments is not None else _dumped(arguments)
        )
        return WireCall(call_id=self.call_id, name=self.name, arguments=text)


def parsed_calls(calls: Sequence[ToolCall], turn: int, taken: set[str]) -> list[ParsedCall]:
    """Return the calls of one answer, each with an id of its own.

    Args:
        calls: as the server sent them.
        turn: number of the answer in its conversation, from 1.
        taken: ids of the calls before; those of these calls are added.
    """
    found = [
        (call, arguments, problem, repair)
        for call in calls
        for arguments, problem, repair in _arguments(call.arguments)
    ]
    parsed = []
    for number, (call, arguments, problem, repair) in enumerate(found, start=1):
        call_id = call.call_id
        if not call_id or call_id in taken:
            own = (f"call_{turn}_{free}" for free in count(number))
            call_id = next(one for one in own if one not in taken)
        taken.add(call_id)
        raw = call.arguments if repair != "split" else _dumped(arguments)
        parsed.append(ParsedCall(call_id, call.name, raw, arguments, problem, repair))
    return parsed


def _arguments(
    raw: str,
) -> Iterator[tuple[dict[str, JsonValue] | None, str | None, Repair | None]]:
    """Yield the arguments of each call that a text holds, or why there are none."""
    try:
        values = list(islice(_values(raw), MAX_CALLS_PER_TURN + 1))
        if len(values) == 1 and isinstance(values[0], str):
            inner = list(_values(values[0]))
            if len(inner) == 1 and isinstance(inner[0], dict):
                yield inner[0], None, "unquoted"
                return
    except (ValueError, TypeError, RecursionError) as exc:
        what = "nested too deeply" if isinstance(exc, RecursionError) else str(exc)
        yield None, f"the arguments are not valid JSON: {what}", None
        return
    objects = [value for value in values if isinstance(value, dict)]
    if not values:
        yield None, "the arguments are empty, and a JSON object is expected", None
    elif len(values) > MAX_CALLS_PER_TURN:
        most = f"more than {MAX_CALLS_PER_TURN} JSON values"
        yield None, f"the arguments are {most}, and one JSON object is expected", None
    elif len(objects) < len(values):
        kinds = ", ".join(dict.fromkeys(type(value).__name__ for value in values))
        yield None, f"the arguments are no JSON object (found {kinds})", None
    elif len(objects) == 1:
        yield objects[0], None, None
    else:
        for one in objects:
            yield one, None, "split"


def _values(text: str) -> Iterator[JsonValue]:
    """Yield the JSON values that stand one behind the other in a text.

    Raises:
        ValueError: it holds something else.
        TypeError: it holds what none of our JSON can.
        RecursionError: one is nested too deeply.
    """
    decoder = json.JSONDecoder(parse_constant=_refuse)
    at = 0
    while (at := len(text) - len(text[at:].lstrip())) < len(text):
        value, at = decoder.raw_decode(text, at)
        orjson.dumps(value)  # what no JSON text of ours can hold: lone surrogates, huge integers
        yield value


def _refuse(name: str) -> JsonValue:
    message = f"{name} is no JSON"
    raise ValueError(message)


def _dumped(value: JsonValue) -> str:
    return orjson.dumps(value).decode()


def misfit(arguments: Mapping[str, JsonValue], parameters: Mapping[str, JsonValue]) -> str | None:
    """Return what of some arguments does not fit a tool's schema, for the model; None: all fits."""
    properties = parameters.get("properties")
    known = properties if isinstance(properties, dict) else {}
    required = parameters.get("required")
    for name in required if isinstance(required, list) else ():
        if name not in arguments:
            return f"`{name}` is missing"
    for name, value in arguments.items():
        if name not in known:
            if parameters.get("additionalProperties") is False:
                return f"`{name}` is no parameter; there are: {', '.join(known)}"
            continue
        schema = known[name]
        wanted = schema.get("type") if isinstance(schema, dict) else None
        kind = TYPES.get(wanted) if isinstance(wanted, str) else None
        is_odd_bool = isinstance(value, bool) and wanted in ("integer", "number")
        if kind is not None and (not isinstance(value, kind) or is_odd_bool):
            return f"`{name}` must be of the type {wanted}"
    return None
