"""Fenced blocks of Markdown: where a model puts its commands and its JSON."""

from __future__ import annotations

import re
from typing import NamedTuple

FENCE = re.compile(
    r"^[ \t]*(?:>[ \t]*)*(?:(?:[-*+]|[0-9]{1,9}[.)])[ \t]+)?"  # in a quotation, in a list
    r"(?P<marks>`{3,}|~{3,})[ \t]*(?P<tag>[^\s`]*)(?P<rest>[^`\n]*)$",
    re.MULTILINE,
)


class Fence(NamedTuple):
    """One block: its language tag and the offsets of the whole and of the lines inside."""

    tag: str
    start: int
    body_start: int
    body_end: int
    end: int


def find_fences(text: str) -> list[Fence]:
    """Return the blocks in order; one that is never closed runs to the end of the text."""
    found = []
    opening: re.Match[str] | None = None
    for line in FENCE.finditer(text):
        if opening is None:
            opening = line
        elif _closes(line, opening):
            found.append(_fence(opening, line.start(), line.end()))
            opening = None
    if opening is not None:
        found.append(_fence(opening, len(text), len(text)))
    return found


def _closes(line: re.Match[str], opening: re.Match[str]) -> bool:
    """Tell whether `line` holds nothing but at least as many marks of the same kind."""
    bare = not line["tag"] and not line["rest"].strip()
    return bare and line["marks"].startswith(opening["marks"])


def _fence(opening: re.Match[str], body_end: int, end: int) -> Fence:
    """Return the block between an opening line and an end; `{.bash}` is the tag `bash`."""
    body_start = min(opening.end() + 1, body_end)
    tag = opening["tag"].strip("{}.").lower()
    return Fence(tag, opening.start(), body_start, body_end, end)
