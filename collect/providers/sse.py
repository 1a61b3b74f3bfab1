"""Server-sent events: bytes in, the data of each event out (WHATWG HTML, section 9.2)."""

from __future__ import annotations

MAX_BUFFER = 8_000_000
"""Bytes of one event; a server that sends more without a line end is broken."""


class EventTooLarge(ValueError):
    """One event is larger than any answer."""


class EventReader:
    """Collects chunks as they arrive, wherever they were cut."""

    def __init__(self) -> None:
        self._buffer = bytearray()
        self._data: list[bytes] = []

    def feed(self, chunk: bytes) -> list[bytes]:
        """Return the data of every event that this chunk completes.

        Raises:
            EventTooLarge: an event grew beyond `MAX_BUFFER` bytes.
        """
        self._buffer += chunk
        lines: list[bytearray] = []
        if b"\n" in chunk:
            *lines, self._buffer = self._buffer.split(b"\n")
        found = [self._line(bytes(line.removesuffix(b"\r"))) for line in lines]
        if len(self._buffer) + sum(map(len, self._data)) > MAX_BUFFER:
            message = f"one event is larger than {MAX_BUFFER:,} bytes"
            raise EventTooLarge(message)
        return [event for event in found if event is not None]

    def _line(self, line: bytes) -> bytes | None:
        if not line:
            event, self._data = b"\n".join(self._data), []
            return event or None
        if line.startswith(b"data:"):
            self._data.append(line[5:].removeprefix(b" "))
        return None

    def rest(self) -> bytes | None:
        """Return an event that lacked its closing blank line when the stream ended."""
        if self._buffer:
            self._line(bytes(self._buffer))
            self._buffer.clear()
        return self._line(b"")
