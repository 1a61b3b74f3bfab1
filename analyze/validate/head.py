"""Tells a file of lines from a document, by the first of its lines that can be read."""

from __future__ import annotations

from pathlib import Path
from typing import BinaryIO

import orjson

from analyze.validate.file_lines import LONGEST_LINE
from analyze.validate.kinds import LinesKind, kind_of_record
from schemas.io.json_text import BOM, read_json_text
from schemas.run.layout import LOG

HEAD_BYTES = 2**20

SUFFIXES = frozenset({".jsonl", ".ndjson"})


def kind_of_lines(path: Path, file: BinaryIO) -> LinesKind | None:
    """Return the kind of a file of lines; None when it has to be read as one document.

    Args:
        path: its name says whether lines that cannot be read may come first.
        file: as it was opened; it stands at its beginning again afterwards.
    """
    lines = _first_lines(file)
    is_named = path.suffix.lower() in SUFFIXES
    for line in lines if is_named else lines[:1]:
        if (kind := kind_of_record(_content(line))) is not None:
            return kind
    return "results" if path.name == LOG else None


def _first_lines(file: BinaryIO) -> list[bytes]:
    """Return the first whole lines that are not blank; a last line needs no newline."""
    head = file.read(HEAD_BYTES)
    is_all = len(head) < HEAD_BYTES
    if b"\n" not in head:
        head += file.readline(LONGEST_LINE)
        is_all = is_all or not file.read(1)
    file.seek(0)
    *lines, rest = head.removeprefix(BOM).split(b"\n")
    return [line for line in (*lines, *([rest] if is_all else [])) if line.strip()]


def _content(line: bytes) -> object:
    """Return what stands on a line, as far as it can be read; None where it cannot."""
    try:
        content: object = orjson.loads(line)
    except orjson.JSONDecodeError:  # a quick no, as to a lone surrogate
        content, _ = read_json_text(line)
    return content
