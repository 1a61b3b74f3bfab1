"""Server-sent events: bytes in, the data of each event out (WHATWG HTML, section 9.2)."""

from __future__ import annotations

from codecs import BOM_UTF8
from collections.abc import Iterator

END_MARKER = b"[DONE]"
"""The data of the event that ends a stream of a chat completion."""


def events(raw: bytes) -> Iterator[tuple[bytes, int]]:
    """Yield the data of every event in `raw` and the offset at which the event was complete.

    An event without its closing blank line is torn and left out; only an end marker is taken so,
    since some servers end there.
    """
    data: list[bytes] = []
    offset = 0
    if raw.startswith(BOM_UTF8):
        offset = len(BOM_UTF8)
        raw = raw[offset:]
    for line in raw.split(b"\n"):
        offset += len(line) + 1
        if line.startswith(b"data:"):
            data.append(line[6:] if line.startswith(b"data: ") else line[5:])
        elif (not line or line == b"\r") and data:
            if event := _joined(data):
                yield event, offset
            data = []
    if data and _joined(data) == END_MARKER:
        yield END_MARKER, offset - 1


def _joined(data: list[bytes]) -> bytes:
    if len(data) == 1:
        return data[0].removesuffix(b"\r")
    return b"\n".join([line.removesuffix(b"\r") for line in data])
