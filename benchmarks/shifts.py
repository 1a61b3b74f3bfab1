"""The budget of level shifts: every series of a large history, scanned after every night.

    python benchmarks/shifts.py            15,000 series of 100 runs, medians of three rounds
    python benchmarks/shifts.py --quick    a tenth of the series, one round

A series is 10 cases of two trials; one in ten drops by 20 points, one in ten gets slower by 22 %,
one in twenty has a changed prompt. Of each the pass rate is scanned, a time and a cost, and one
cell is split. One process, one thread; drawing the numbers is not counted. Exits 1 when the must
is missed.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass

import numpy as np
from budgets import HEADINGS, Budget, judge, table
from calibration import between, calibrate

from analyze.stats.changepoints.cells import cell_splits
from analyze.stats.changepoints.rates import scan_rate
from analyze.stats.changepoints.values import scan_values

SERIES, QUICK_SERIES, ROUNDS = 15_000, 1_500, 3
RUNS, CASES, TRIALS = 100, 10, 2
COVERED = np.ones(RUNS)
BATCH = 500
"""Series that are drawn at a time: about 16 MB."""


@dataclass(frozen=True)
class Batch:
    """Series x runs x cases."""

    hashes: np.ndarray
    passed: np.ndarray
    scored: np.ndarray
    log_time: np.ndarray
    log_cost: np.ndarray


@dataclass
class Spent:
    """Seconds and findings of one kind of work in one round."""

    seconds: float = 0.0
    found: int = 0


def main() -> None:
    """Measure, print, and exit 1 when the must is missed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="a tenth of the series, one round")
    parser.add_argument("--rounds", type=int, help="default 3, with --quick 1")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    options = parser.parse_args()
    series = QUICK_SERIES if options.quick else SERIES
    budget = Budget("P-A8b", f"level shifts, {series:,} series of {RUNS} runs", "s", 60, 20, "wall")
    load = os.getloadavg()
    before = calibrate()
    rounds = [measure(series) for _ in range(options.rounds or (1 if options.quick else ROUNDS))]
    calibration = between(before, calibrate())
    totals = [sum(spent.seconds for spent in one.values()) for one in rounds]
    row = judge(budget, totals, calibration)
    details = [
        {
            "work": name,
            "seconds": statistics.median(one[name].seconds for one in rounds),
            "found": rounds[0][name].found,
        }
        for name in WORKS
    ]
    if options.json:
        facts = {
            "machine": {"cores": os.cpu_count(), "python": platform.python_version(), "load": load},
            "calibration": asdict(calibration),
            "rows": [row.as_json()],
            "details": details,
        }
        print(json.dumps(facts, indent=1))
    else:
        print(f"load at the start {load[0]:.2f}; {calibration.text()}", end="\n\n")
        print(_details(details), end="\n\n")
        print(table(HEADINGS, [row.cells()]), end="\n\n")
        print(f"{int(row.verdict == 'MISSED')} of 1 musts missed")
    sys.exit(row.verdict == "MISSED")


def measure(series: int) -> dict[str, Spent]:
    """Return what each kind of work took over all series; the same numbers in every round."""
    spent = {name: Spent() for name in WORKS}
    for batch in _batches(series):
        for name, work in WORKS.items():
            began = time.perf_counter()
            spent[name].found += work(batch)
            spent[name].seconds += time.perf_counter() - began
    return spent


def _rates(batch: Batch) -> int:
    series = zip(batch.hashes, batch.passed, batch.scored, strict=True)
    return sum(len(scan_rate(*one, COVERED, margin=0.05).shifts) for one in series)


def _values(batch: Batch, logs: np.ndarray) -> int:
    series = zip(batch.hashes, logs, batch.scored, strict=True)
    return sum(len(scan_values(*one, COVERED, ratio_margin=0.1).shifts) for one in series)


def _cells(batch: Batch) -> int:
    cells = zip(batch.passed[:, :, 0], batch.scored[:, :, 0], strict=True)
    return sum(split is not None and split.p < 0.001 for split in cell_splits(list(cells)))


WORKS: dict[str, Callable[[Batch], int]] = {
    "scan of the rate": _rates,
    "scan of a time": lambda batch: _values(batch, batch.log_time),
    "scan of a cost": lambda batch: _values(batch, batch.log_cost),
    "splits of cells": _cells,
}


def _batches(series: int) -> Iterator[Batch]:
    rng = np.random.default_rng(20)
    for start in range(0, series, BATCH):
        size = min(BATCH, series - start)
        shape = (size, RUNS, CASES)
        late = np.arange(RUNS)[:, None] >= RUNS // 2
        number = np.arange(size)[:, None, None]
        easy = rng.beta(0.8, 0.2, size=(size, 1, CASES))
        chances = easy * np.where(late & (number % 10 == 0), 0.75, 1)
        hashes = np.zeros(shape, dtype=np.int64)
        hashes[::20, RUNS // 3 :, 0] = 1
        slower = np.where(late & (number % 10 == 5), np.log(1.22), 0)
        yield Batch(
            hashes=hashes,
            passed=rng.binomial(TRIALS, chances),
            scored=np.full(shape, TRIALS),
            log_time=7 + slower + rng.normal(0, 0.25, size=shape),
            log_cost=-6 + rng.normal(0, 0.05, size=shape),
        )


def _details(details: list[dict[str, object]]) -> str:
    rows = [[str(one["work"]), f"{one['seconds']:.2f}", f"{one['found']:,}"] for one in details]
    return table(["work", "wall s", "found"], rows)


if __name__ == "__main__":
    main()
