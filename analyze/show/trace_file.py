"""One trial's whole trace, read from artifacts/<model_id>.jsonl.zst at the place its result names.

One frame is read and never the whole file. What is torn, missing or not ours is a value with a
sentence: a lost trace must not hide the result beside it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from schemas.artifact import Artifact
from schemas.base import SCHEMA_VERSION

REFERENCE = re.compile(r"(artifacts/[^/\0]+\.jsonl\.zst)#([0-9]{1,18})")
"""`artifact_path` of a result: file#offset, below the run's own folder and nowhere else."""

CHUNK_BYTES = 1 << 14
MOST_BYTES = 1 << 28
"""Of one trace; a frame that grows past it is no trace of ours."""


@dataclass(frozen=True)
class NoTrace:
    """There is no trace to show, and why."""

    why: str


def read_trace(run_dir: Path | None, reference: str | None) -> Artifact | NoTrace:
    """Return the trace that `file#offset` names.

    Args:
        run_dir: the run's folder; None when it is not here.
        reference: `artifact_path` of the result.
    """
    if reference is None:
        return NoTrace("its result names no trace")
    if run_dir is None:
        return NoTrace("the folder of the run is not here, and its trace is there")
    match = REFERENCE.fullmatch(reference)
    if match is None:
        return NoTrace(f"its result names no trace of ours: {reference!r}")
    path = run_dir / match[1]
    try:
        if not path.is_file():
            return NoTrace(f"{match[1]} is not in the folder of the run")
        content = _frame(path, int(match[2]))
    except OSError as exc:
        return NoTrace(f"{match[1]} cannot be read ({exc.strerror})")
    if content is None:
        return NoTrace(f"{match[1]} is torn or holds no trace at byte {int(match[2])}")
    return _artifact(content, reference)


def _frame(path: Path, offset: int) -> bytes | None:
    """Return what the frame at `offset` holds; None when it does not end or is none."""
    import zstandard  # noqa: PLC0415 - only who shows a trace needs it

    decompressor = zstandard.ZstdDecompressor().decompressobj()
    parts: list[bytes] = []
    size = 0
    with path.open("rb") as file:
        file.seek(offset)
        while not decompressor.eof:
            chunk = file.read(CHUNK_BYTES)
            if not chunk or size > MOST_BYTES:
                return None
            try:
                parts.append(decompressor.decompress(chunk))
            except zstandard.ZstdError:
                return None
            size += len(parts[-1])
    return b"".join(parts)


def _artifact(content: bytes, reference: str) -> Artifact | NoTrace:
    try:
        artifact = Artifact.model_validate_json(content, extra="ignore")
    except ValidationError as exc:
        first = exc.errors()[0]
        where = ".".join(map(str, first["loc"]))
        return NoTrace(f"{reference} is no trace that can be read: `{where}`: {first['msg']}")
    if artifact.schema_version > SCHEMA_VERSION:
        return NoTrace(f"a newer benchlake wrote {reference}")
    return artifact
