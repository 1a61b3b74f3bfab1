"""Puts the tool calls of a chat completion together from their pieces.

The API gives each call an index and its id and name once. Ollama gives every call the index 0, or
none, and sends each in one piece; others say the name again, or a new id without a name, with each
piece of the same call.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import orjson

from collect.providers.base import ToolCall
from collect.providers.http_reply import Malformed


@dataclass(slots=True)
class _Call:
    """A tool call as far as its pieces came."""

    call_id: str = ""
    name: str = ""
    arguments: str = ""

    def is_over(self, call_id: str, name: str, *, has_index: bool) -> bool:
        """Return whether a piece that comes in the place of this call begins another one."""
        if not name or not self.name or (call_id and call_id == self.call_id):
            return False
        return bool(call_id) or not has_index


class ToolCalls:
    """The tool calls of one answer, in the order in which they began."""

    def __init__(self) -> None:
        self._calls: list[_Call] = []
        self._open: dict[tuple[bool, int], _Call] = {}

    def add(self, piece: Any, number: int) -> None:
        """Take a call or a piece of one in; what is neither is passed over.

        Args:
            piece: an item of `tool_calls`.
            number: its place in that list, which stands in for an index left out.

        Raises:
            Malformed: arguments that no JSON text can hold.
        """
        function = piece.get("function") if isinstance(piece, dict) else None
        if not isinstance(function, dict):
            return
        index = piece.get("index")
        has_index = isinstance(index, int)
        call_id, name = _text_of(piece.get("id")), _text_of(function.get("name"))
        place = (has_index, index if isinstance(index, int) else number)
        call = self._open.get(place)
        if call is None or call.is_over(call_id, name, has_index=has_index):
            call = self._open[place] = _Call()
            self._calls.append(call)
        call.call_id = call.call_id or call_id
        if name != call.name:
            call.name += name
        call.arguments += _arguments(function.get("arguments"))

    def done(self) -> tuple[ToolCall, ...]:
        """Return the calls that have a name."""
        return tuple(
            ToolCall(one.call_id, one.name, one.arguments) for one in self._calls if one.name
        )


def _arguments(value: Any) -> str:
    """Return arguments, or a piece of them, as text; the API of Ollama sends the object itself."""
    if not isinstance(value, dict):
        return _text_of(value)
    try:
        return orjson.dumps(value).decode()
    except orjson.JSONEncodeError as exc:
        message = f"arguments of a tool that are nested too deeply: {exc}"
        raise Malformed(message) from exc


def _text_of(value: Any) -> str:
    return value if isinstance(value, str) else ""
