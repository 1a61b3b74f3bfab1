"""Server-sent events: bytes in, the data of each event out (WHATWG HTML, section 9.2)."""

from __future__ import annotations

import re
from codecs import BOM_UTF8
from collections.abc import Iterator
from io import BytesIO

END_MARKER = b"[DONE]"
"""The data of the event that ends a stream of a chat completion."""

LONE_CR = re.compile(rb"\r(?!\n)")
"""The end of a line, as LF and CR LF are."""


def events(raw: bytes) -> Iterator[tuple[bytes, int]]:
    """Yield the data of every event in `raw` and the offset at which the event was complete.

    An event without its closing blank line is torn and left out; only an end marker is taken so,
    since some servers end there.
    """
    if raw.count(b"\r") != raw.count(b"\r\n"):
        raw = LONE_CR.sub(b"\n", raw)
    lines = BytesIO(raw)
    offset = 0
    if raw.startswith(BOM_UTF8):
        offset = lines.seek(len(BOM_UTF8))
    data: list[bytes] = []
    for ended in lines:
        offset += len(ended)
        line = ended.rstrip(b"\r\n")
        if line.startswith(b"data:"):
            data.append(line[6:] if line.startswith(b"data: ") else line[5:])
        elif line == b"data":
            data.append(b"")
        elif not line and data:
            if event := _joined(data):
                yield event, offset
            data = []
    if data and _joined(data) == END_MARKER:
        yield END_MARKER, offset


def _joined(data: list[bytes]) -> bytes:
    return data[0] if len(data) == 1 else b"\n".join(data)
