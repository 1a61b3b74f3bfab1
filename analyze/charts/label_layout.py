"""Where names stand beside their points so that none covers another one.

A name that has no room is left out: the point, its tooltip and the table still have it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

LABEL_CHARACTER, LABEL_LINE = 6.7, 12.0
"""Width of a character and height of a line, in px, rather too much than too little."""

MARK = 7.0
"""Half of what a point takes, in px."""


class Point(NamedTuple):
    """A point in px from the upper left corner, with its name."""

    x: float
    y: float
    name: str


class Place(NamedTuple):
    """Where a name stands from its point, in px, and which side of it is fixed."""

    align: str
    dx: float
    dy: float


SIDES = (
    Place("left", 8, -12),
    Place("left", 8, 12),
    Place("right", -8, -12),
    Place("right", -8, 12),
    Place("left", 11, 0),
    Place("right", -11, 0),
    Place("center", 0, -15),
    Place("center", 0, 15),
)
"""Beside the lines of both intervals first, and on one of them when all else is taken."""


@dataclass(frozen=True)
class _Box:
    left: float
    top: float
    right: float
    bottom: float

    def meets(self, other: _Box) -> bool:
        return (
            self.left < other.right
            and other.left < self.right
            and self.top < other.bottom
            and other.top < self.bottom
        )


def placed(points: Sequence[Point], width: float, height: float) -> list[Place | None]:
    """Return where each name stands, None where there is no room for it.

    Args:
        points: the more important ones first.
        width: of what the points lie in, in px.
        height: the same, in px.
    """
    marks = [_Box(x - MARK, y - MARK, x + MARK, y + MARK) for x, y, _ in points]
    taken: list[_Box] = []
    found: list[Place | None] = []
    for point in points:
        for side in SIDES:
            box = _box(point, side)
            if box.left < 0 or box.right > width or box.top < -MARK or box.bottom > height:
                continue
            if any(map(box.meets, taken)) or any(map(box.meets, marks)):
                continue
            taken.append(box)
            found.append(side)
            break
        else:
            found.append(None)
    return found


def _box(point: Point, side: Place) -> _Box:
    length = LABEL_CHARACTER * len(point.name)
    x, y = point.x + side.dx, point.y + side.dy
    left = {"left": x, "center": x - length / 2, "right": x - length}[side.align]
    return _Box(left, y - LABEL_LINE / 2, left + length, y + LABEL_LINE / 2)
