"""The budgets of the lake: logs to Parquet, summaries of millions of rows, many runs, start-up.

    python benchmarks/lake.py            every row, medians of three rounds, about 10 minutes
    python benchmarks/lake.py --quick    a tenth of the rows, one round, about 2 minutes

Needs 6 GB for synthetic logs and lakes below `--folder` (default: the temporary folder), which are
removed. Most rows are ratios of two processes that take turns. Exits 1 when a must is missed.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path

from budgets import HEADINGS, Budget, judge, table
from calibration import between, calibrate
from lake_work import Bench, Figures, Sizes

WHOLE = Sizes(log_rows=150_000, rows=1_000_000, many_rows=10_000_000, runs=10_000, rounds=3)
QUICK = Sizes(log_rows=30_000, rows=100_000, many_rows=1_000_000, runs=1_000, rounds=1)

BUDGETS = {
    "a1": Budget("P-A1", "sync of one log of short lines: CPU a line", "µs", None, 12, "cpu", 1),
    "a2": Budget("P-A2", "model_summary, {rows} rows: CPU / bare scan", "x", 4, 2.7),
    "a2_many": Budget("P-A2", "model_summary, {many_rows} rows: CPU / bare scan", "x", 4, 2.7),
    "a3": Budget("P-A3", "peak memory of it, {many_rows} rows", "MB", 400, 200, digits=0),
    "a4": Budget("P-A4", "{runs} runs after sync: slowest summary / one file", "x", 1.5, 1.1),
    "a5_one": Budget("P-A5", "analyze sync of one new run", "s", 1.5, 0.8, "wall"),
    "a5_none": Budget("P-A5", "analyze sync of nothing new", "s", 0.8, 0.4, "wall"),
    "a6": Budget("P-A6", "first sync of {runs} runs", "s", 90, 45, "wall", 1),
    "a7": Budget("P-A7", "analyze compare of two runs / import duckdb, pydantic", "x", 2.5, 1.8),
    "a8": Budget("P-A8", "pairs of consecutive runs, {rows} rows, engine", "s", 1.5, 0.8, "wall"),
    "a8_many": Budget("P-A8", "the same, {many_rows} rows", "s", 8, 4, "wall"),
    "a8_memory": Budget("P-A8", "peak memory of it, {many_rows} rows", "MB", 1000, None, digits=0),
    "a10": Budget("P-A10", "every mart of a report, {rows} rows, engine", "s", 8, None, "wall"),
    "a12": Budget("P-A12", 'analyze sql "select 1" / import duckdb, typer', "x", 1.6, 1.3),
}


@dataclass(frozen=True)
class Machine:
    """Where this was measured."""

    cores: int | None
    python: str
    load: tuple[float, float, float]


def main() -> None:
    """Measure, print, and exit 1 when a must is missed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="a tenth of the rows, one round")
    parser.add_argument("--rounds", type=int, help="default 3, with --quick 1")
    parser.add_argument("--only", nargs="*", metavar="ROW", help="such as P-A2 P-A12")
    parser.add_argument("--folder", type=Path, help="where the synthetic data lies meanwhile")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--python", default=sys.executable, help="of the environment to measure")
    options = parser.parse_args()
    if sys.platform != "linux":
        sys.exit("this benchmark reads /proc, which only Linux has")
    sizes = QUICK if options.quick else WHOLE
    sizes = sizes.with_rounds(options.rounds)
    chosen = {name.upper() for name in options.only or ()}
    wanted = {name for name, one in BUDGETS.items() if not chosen or one.row in chosen}
    machine = Machine(os.cpu_count(), platform.python_version(), os.getloadavg())
    before = calibrate()
    with tempfile.TemporaryDirectory(prefix="benchlake-", dir=options.folder) as made:
        figures = Bench(Path(made).resolve(), options.python, sizes).measure(wanted)
    calibration = between(before, calibrate())
    rows = [
        judge(sizes.named(BUDGETS[name]), figures.of[name], calibration)
        for name in BUDGETS
        if name in wanted
    ]
    missed = [row for row in rows if row.verdict == "MISSED"]
    if options.json:
        facts = {
            "machine": asdict(machine),
            "calibration": asdict(calibration),
            "rows": [row.as_json() for row in rows],
            "details": figures.details,
        }
        print(json.dumps(facts, indent=1))
    else:
        print(f"load at the start {machine.load[0]:.2f}; {calibration.text()}", end="\n\n")
        print(_details(figures), end="\n\n")
        print(table(HEADINGS, [row.cells() for row in rows]), end="\n\n")
        print(f"{len(missed)} of {len(rows)} musts missed")
    sys.exit(bool(missed))


def _details(figures: Figures) -> str:
    headings = ["work", "wall s", "CPU s", "peak MB", "rows"]
    rows = [
        [
            str(one["what"]),
            f"{one['wall_s']:.2f}",
            f"{one['cpu_s']:.2f}",
            f"{one['peak_mb']:.0f}",
            f"{one['rows']:,}",
        ]
        for one in figures.details
    ]
    return table(headings, rows)


if __name__ == "__main__":
    main()
