"""Two answers held side by side: what both say, and what only one of them does.

By words where both are short and by lines otherwise, as people read them. What follows is for the
eye: parts that were joined again give both answers back, character by character.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from typing import Literal

from schemas.output.report import DiffPart

MOST_WORDS = 400
"""Of an answer that is compared by words."""

MOST_PAIRS = 20_000
"""Pairs of the same word or line on both sides; past it the search would take seconds."""

WORD = re.compile(r"\S+\s*|\s+")
"""A word and the space after it; space before the first one stands alone."""

Kind = Literal["same", "base", "candidate"]


def answer_diff(base: str, candidate: str) -> tuple[DiffPart, ...]:
    """Return both answers in reading order.

    `same` and `base` joined are the base's answer, `same` and `candidate` the candidate's. No two
    neighbours are of one kind, none is empty, and what the base said stands first.

    Args:
        base: an answer of the base.
        candidate: one of the candidate.
    """
    words = _words(base), _words(candidate)
    if words[0] is None or words[1] is None:
        pieces = base.splitlines(keepends=True), candidate.splitlines(keepends=True)
    else:
        pieces = words[0], words[1]
    return tuple(_joined(_parts(*pieces)))


def _words(text: str) -> list[str] | None:
    """Return the words of a short text; None of a long one."""
    found = []
    for match in WORD.finditer(text):
        found.append(match[0])
        if len(found) > MOST_WORDS:
            return None
    return found


def _parts(base: Sequence[str], candidate: Sequence[str]) -> Iterator[tuple[Kind, str]]:
    """Yield what is said, piece by piece; the ends that are the same are not searched."""
    begin = _n_same(base, candidate)
    end = _n_same(base[begin:][::-1], candidate[begin:][::-1])
    middle = base[begin : len(base) - end], candidate[begin : len(candidate) - end]
    yield "same", "".join(base[:begin])
    yield from _searched(*middle)
    yield "same", "".join(base[len(base) - end :])


def _n_same(base: Sequence[str], candidate: Sequence[str]) -> int:
    """Return how many pieces at the beginning are the same."""
    n = 0
    for one, other in zip(base, candidate, strict=False):
        if one != other:
            break
        n += 1
    return n


def _searched(base: Sequence[str], candidate: Sequence[str]) -> Iterator[tuple[Kind, str]]:
    counts = Counter(candidate)
    if sum(counts[piece] for piece in base) > MOST_PAIRS:
        yield from (("base", "".join(base)), ("candidate", "".join(candidate)))
        return
    matcher = SequenceMatcher(None, base, candidate, autojunk=False)
    for what, i1, i2, j1, j2 in matcher.get_opcodes():
        if what == "equal":
            yield "same", "".join(base[i1:i2])
        else:
            yield "base", "".join(base[i1:i2])
            yield "candidate", "".join(candidate[j1:j2])


def _joined(parts: Iterator[tuple[Kind, str]]) -> Iterator[DiffPart]:
    """Yield parts with neighbours of one kind as one, and without empty ones."""
    texts: dict[Kind, list[str]] = {"same": [], "base": [], "candidate": []}

    def told(*kinds: Kind) -> Iterator[DiffPart]:
        for kind in kinds:
            if text := "".join(texts[kind]):
                yield DiffPart(kind=kind, text=text)
            texts[kind].clear()

    for kind, text in parts:
        if not text:
            continue
        if kind == "same":
            yield from told("base", "candidate")
        else:
            yield from told("same")
        texts[kind].append(text)
    yield from told("same", "base", "candidate")
