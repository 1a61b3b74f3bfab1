r"""Hunks of a unified diff of two texts, found in bounded time.

The differences are the fewest (Myers 1986), as long as finding them costs no more steps than there
are left; else everything between the same beginning and the same end is another one. A hostile pair
of texts costs no more than a harmless one.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

CONTEXT = 3
"""Lines around a difference that are the same."""

MAX_STEPS = 1_000_000
"""For one pair of texts; about 0.3 s."""

NO_NEWLINE = "\\ No newline at end of file\n"

Block = tuple[int, int, int]
"""Lines that are the same: where they begin in the old and in the new text, and how many."""

Difference = tuple[int, int, int, int]
"""Lines that are not: where they begin and end in the old text, and in the new one."""


@dataclass(slots=True)
class Work:
    """What may still be spent on a diff of many files."""

    steps: int = 4 * MAX_STEPS


def lines_of(text: str) -> list[str]:
    """Return the lines of a text with what ends them, which is a newline alone, as for git."""
    *whole, rest = text.split("\n")
    lines = [f"{line}\n" for line in whole]
    return [*lines, rest] if rest else lines


def hunks(old: Sequence[str], new: Sequence[str], work: Work) -> Iterator[str]:
    """Yield the lines of all hunks, each with a newline; none where the texts are the same."""
    for group in _groups(_differences(old, new, work)):
        first, last = group[0], group[-1]
        begin = max(0, first[0] - CONTEXT)
        end = min(len(old), last[1] + CONTEXT)
        new_begin = first[2] - (first[0] - begin)
        yield f"@@ -{_span(begin, end)} +{_span(new_begin, last[3] + end - last[1])} @@\n"
        for old_from, old_to, new_from, new_to in group:
            yield from (_shown(" ", line) for line in old[begin:old_from])
            yield from (_shown("-", line) for line in old[old_from:old_to])
            yield from (_shown("+", line) for line in new[new_from:new_to])
            begin = old_to
        yield from (_shown(" ", line) for line in old[begin:end])


def _shown(mark: str, line: str) -> str:
    return f"{mark}{line}" if line.endswith("\n") else f"{mark}{line}\n{NO_NEWLINE}"


def _span(begin: int, end: int) -> str:
    """Return lines as a hunk names them: from 1, and the line before where there are none."""
    count = end - begin
    return f"{begin + 1}" if count == 1 else f"{begin + (count > 0)},{count}"


def _groups(differences: Sequence[Difference]) -> Iterator[list[Difference]]:
    """Yield the differences that share a hunk, since their contexts touch."""
    group: list[Difference] = []
    for one in differences:
        if group and one[0] - group[-1][1] > 2 * CONTEXT:
            yield group
            group = []
        group.append(one)
    if group:
        yield group


def _differences(old: Sequence[str], new: Sequence[str], work: Work) -> list[Difference]:
    """Return what is not the same, in order."""
    shortest = min(len(old), len(new))
    head = next((at for at in range(shortest) if old[at] != new[at]), shortest)
    room = shortest - head
    tail = next((at for at in range(room) if old[~at] != new[~at]), room)
    end, new_end = len(old) - tail, len(new) - tail
    numbers: dict[str, int] = {}
    was, now = (
        [numbers.setdefault(line, len(numbers)) for line in side]
        for side in (old[head:end], new[head:new_end])
    )
    found: list[Difference] = []
    at, new_at = head, head
    blocks = [(head + one, head + other, n) for one, other, n in _same(was, now, work)]
    for begin, new_begin, n in [*blocks, (end, new_end, 0)]:
        if begin > at or new_begin > new_at:
            found.append((at, begin, new_at, new_begin))
        at, new_at = begin + n, new_begin + n
    return found


def _same(old: list[int], new: list[int], work: Work) -> list[Block]:
    """Return what is the same in two lists, with the fewest differences; none where that is dear.

    Row `d` holds how far down the old list one comes with `d` differences, for each diagonal from
    -d to d in steps of two; a diagonal is the place in the old list minus that in the new one.
    """
    limit = min(MAX_STEPS, work.steps)
    steps, rows = 0, [array("q")]
    for n_differences in range(len(old) + len(new) + 1):
        above, row = rows[-1], array("q")
        for place in range(n_differences + 1):
            diagonal = 2 * place - n_differences
            at = _reached(above, place) if n_differences else 0
            began, new_at = at, at - diagonal
            while at < len(old) and new_at < len(new) and old[at] == new[new_at]:
                at, new_at = at + 1, new_at + 1
            row.append(at)
            steps += 1 + at - began
            if steps > limit:
                work.steps -= steps
                return []
            if at >= len(old) and new_at >= len(new):
                work.steps -= steps
                return _blocks([*rows, row], place)
        rows.append(row)
    raise AssertionError


def _reached(above: array[int], place: int) -> int:
    """Return how far one comes by one more difference: a line that is new, or one that is gone."""
    added = above[place] if place < len(above) else -1
    gone = above[place - 1] + 1 if place else -1
    return max(added, gone)


def _blocks(rows: list[array[int]], place: int) -> list[Block]:
    """Return the way back from the end, as what is the same on it."""
    found: list[Block] = []
    for n_differences in range(len(rows) - 2, -1, -1):
        at = rows[n_differences + 1][place]
        new_at = at - (2 * place - n_differences)
        above = rows[n_differences]
        begin = _reached(above, place) if n_differences else 0
        if at > begin:
            found.append((begin, new_at - (at - begin), at - begin))
        if place and above[place - 1] + 1 == begin:
            place -= 1
    return found[::-1]
