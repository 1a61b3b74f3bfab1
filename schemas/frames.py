"""Frames of artifacts/<model_id>.jsonl.zst: each is one trace, found by where it begins."""

from __future__ import annotations

import re
import threading
from typing import Any, BinaryIO

import orjson
import zstandard

from schemas.redact import may_hold_secret, redact_json

MAGIC = b"\x28\xb5\x2f\xfd"
PADDING_MAGIC = b"\x50\x2a\x4d\x18"
"""Begins a frame that every zstd reader skips."""

REFERENCE = re.compile(r"(artifacts/[^/\0]+\.jsonl\.zst)#([0-9]{1,18})")
"""`artifact_path` of a result."""

CHUNK_BYTES = 1 << 12
"""Most traces are shorter."""


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


_local = threading.local()


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
