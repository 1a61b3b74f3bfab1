"""Budgets, and a table that judges figures by them."""

from __future__ import annotations

import json
import os
import platform
import statistics
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Literal

from calibration import Calibration

Scale = Literal["none", "wall", "cpu"]


@dataclass(frozen=True)
class Budget:
    """One line of the budget table; smaller is better."""

    row: str
    what: str
    unit: str
    must: float | None
    """None: a figure to know, which nothing is refused for."""
    stretch: float | None = None
    scale: Scale = "none"
    """Seconds are for a quiet reference machine: which calibration stretches them here."""
    digits: int = 2


@dataclass(frozen=True)
class Judged:
    """A figure and its verdict."""

    budget: Budget
    figures: tuple[float, ...]
    factor: float

    @property
    def figure(self) -> float | None:
        """Return the median over rounds; None when it was not measured."""
        return statistics.median(self.figures) if self.figures else None

    @property
    def verdict(self) -> str:
        """Return `stretch`, `ok`, `MISSED`, a `figure` without a must, or that there is none."""
        if (figure := self.figure) is None:
            return "not measured"
        if self.must_here is not None and figure > self.must_here:
            return "MISSED"
        stretch = self.budget.stretch
        if stretch is not None and figure <= stretch * self.factor:
            return "stretch"
        return "figure" if self.must_here is None else "ok"

    @property
    def must_here(self) -> float | None:
        """Return the must as this machine has it; None where there is none."""
        return None if self.budget.must is None else self.budget.must * self.factor

    def cells(self) -> list[str]:
        """Return the columns of the plain table."""
        budget, digits = self.budget, self.budget.digits
        figure = "-" if self.figure is None else f"{self.figure:.{digits}f}"
        if len(self.figures) > 1:
            figure += f" ({min(self.figures):.{digits}f}-{max(self.figures):.{digits}f})"
        must, stretch = ("-" if it is None else f"{it:g}" for it in (budget.must, budget.stretch))
        is_scaled = self.must_here is not None and budget.scale != "none"
        here = f"{self.must_here:.2f}" if is_scaled else ""
        return [
            budget.row,
            budget.what,
            budget.unit,
            figure,
            must,
            stretch,
            here,
            self.verdict,
        ]

    def as_json(self) -> dict[str, object]:
        """Return the line for other programs."""
        return {
            "row": self.budget.row,
            "what": self.budget.what,
            "unit": self.budget.unit,
            "median": self.figure,
            "rounds": list(self.figures),
            "must": self.budget.must,
            "stretch": self.budget.stretch,
            "must_here": self.must_here,
            "verdict": self.verdict,
        }


def show(
    judged: Sequence[Judged],
    calibration: Calibration,
    load: Sequence[float],
    details: tuple[str, object],
    *,
    as_json: bool,
) -> int:
    """Print what was measured and how it is judged, and return how many musts are missed.

    Args:
        judged: the lines of the table.
        calibration: of the machine.
        load: of it, at the start.
        details: what stands above the table, and the same for other programs.
        as_json: one JSON object.
    """
    missed = sum(one.verdict == "MISSED" for one in judged)
    text, facts = details
    if as_json:
        whole = {
            "machine": {"cores": os.cpu_count(), "python": platform.python_version(), "load": load},
            "calibration": asdict(calibration),
            "rows": [one.as_json() for one in judged],
            "details": facts,
        }
        print(json.dumps(whole, indent=1))
    else:
        print(f"load at the start {load[0]:.2f}; {calibration.text()}", end="\n\n")
        print(text, end="\n\n")
        print(table(HEADINGS, [one.cells() for one in judged]), end="\n\n")
        print(f"{missed} of {len(judged)} musts missed")
    return missed


HEADINGS = ["row", "budget", "unit", "median (range)", "must", "stretch", "must here", "verdict"]


def judge(budget: Budget, figures: Sequence[float], calibration: Calibration) -> Judged:
    """Judge the figures of all rounds by their median."""
    factors = {"none": 1.0, "wall": calibration.wall_factor, "cpu": calibration.cpu_factor}
    return Judged(budget, tuple(figures), factors[budget.scale])


def table(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return columns of equal width; those that hold numbers are on the right."""
    widths = [max(len(row[at]) for row in (headings, *rows)) for at in range(len(headings))]
    right = [
        all(row[at][:1].isdigit() or row[at] == "-" for row in rows) for at in range(len(widths))
    ]

    def line(cells: Sequence[str]) -> str:
        placed = zip(cells, widths, right, strict=True)
        return "  ".join(
            cell.rjust(width) if number else cell.ljust(width) for cell, width, number in placed
        ).rstrip()

    return "\n".join([line(headings), line(["-" * width for width in widths]), *map(line, rows)])
