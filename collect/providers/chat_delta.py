"""Reads the many events of a stream that differ from the one before in their text alone.

A token costs a model's server some hundred bytes of JSON that say the same each time. Two events
that agree up to a value and from its end on say the same but for this value, since a JSON value
may be replaced by another wherever it stands. So the first is parsed, and of the next the text.
"""

from __future__ import annotations

from typing import Any

import orjson

TEXTS = frozenset({"content", "reasoning_content", "reasoning"})
"""Fields of a delta that hold a piece of text."""


class DeltaShape:
    """What surrounds the text in the last event that was read in full."""

    def __init__(self) -> None:
        self.name = ""
        """The field that the text belongs to."""
        self._before = b""
        self._after = b""

    def learn(self, event: bytes, data: Any) -> None:
        """Take the shape of an event whose delta holds text and nothing else."""
        self._before = b""
        choices = data.get("choices")
        delta = choices[0].get("delta") if choices else None
        if not delta:
            return
        full = [name for name, value in delta.items() if value and name != "role"]
        if len(full) != 1 or full[0] not in TEXTS or not isinstance(delta[full[0]], str):
            return
        field = b'"%s":' % full[0].encode()
        if event.count(field) != 1:
            return
        start = event.index(field) + len(field)
        start += event.startswith(b" ", start)
        text = orjson.dumps(delta[full[0]])
        if event.startswith(text, start):
            self.name = full[0]
            self._before, self._after = event[:start], event[start + len(text) :]

    def text_of(self, event: bytes) -> str | None:
        """Return the text of an event of this shape, None for any other."""
        before, after = self._before, self._after
        if not before or not event.startswith(before) or not event.endswith(after):
            return None
        try:
            text = orjson.loads(event[len(before) : len(event) - len(after)])
        except orjson.JSONDecodeError:
            return None
        return text if isinstance(text, str) else None
