"""The collector's budgets, measured on the real `collect run` as a whole process.

    python benchmarks/collector.py            every row, medians of three rounds, about 3 minutes
    python benchmarks/collector.py --quick    one round of the smaller runs, well under a minute

Exits 1 when a must is missed or a run's records are wrong. MB and KB are 10^6 and 10^3 bytes.
Row 8, the start of `--help`, is in startup.py. Linux only.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict

from budgets import HEADINGS, Budget, Judged, judge, table
from calibration import Calibration, between, calibrate
from measured import FAULTS, KB, Measured, Work, measure

WARM_UP = Work(50, 16)
MANY = Work(5_000, 256)
MOST = Work(20_000, 256)
FEW = Work(1_000, 64)
SMALL = Work(1_000, 256, tail=True)
STREAMED = Work(5_000, 256, stream=True)
FAULTY = Work(5_000, 256, faults=FAULTS)

QUICK = (MANY, FEW, SMALL, STREAMED, FAULTY)
WHOLE = (MANY, MOST, FEW, SMALL, STREAMED, FAULTY)

Row = tuple[Budget, Callable[[Work], bool], Callable[[Measured], float | None]]


def _is(*works: Work) -> Callable[[Work], bool]:
    return lambda work: work in works


def _streams(work: Work) -> bool:
    return work.stream


def _faulty(work: Work) -> bool:
    return bool(work.faults)


ROWS: tuple[Row, ...] = (
    (
        Budget("P-1", "reported e2e p50, 256 in flight, true 200", "ms", 205, 202, digits=1),
        _is(MANY),
        lambda run: run.e2e_ms["p50"],
    ),
    (
        Budget("P-1", "reported e2e p99", "ms", 230, 214, digits=1),
        _is(MANY),
        lambda run: run.e2e_ms["p99"],
    ),
    (
        Budget("P-2", "streaming: reported ttft p50, true 200", "ms", 205, 202, digits=1),
        _streams,
        lambda run: run.ttft_ms["p50"],
    ),
    (
        Budget("P-2", "streaming: reported ttft p99", "ms", 235, 220, digits=1),
        _streams,
        lambda run: run.ttft_ms["p99"],
    ),
    (
        Budget("P-3", "wall / floor, N = 5,000 at 256", "x", 1.35, 1.2),
        _is(MANY),
        lambda run: run.over_floor,
    ),
    (
        Budget("P-3", "wall / floor, N = 20,000 at 256", "x", 1.15, 1.06),
        _is(MOST),
        lambda run: run.over_floor,
    ),
    (
        Budget("P-4", "wall / floor, N = 1,000 at 64", "x", 1.45, 1.25),
        _is(FEW),
        lambda run: run.over_floor,
    ),
    (
        Budget("P-5", "CPU per trial, N = 5,000, the child apart", "ms", 0.7, 0.45, "cpu", 3),
        _is(MANY),
        lambda run: run.cpu_ms,
    ),
    (
        Budget("P-6", "CPU per trial, streaming 16 tokens", "ms", 1.0, 0.5, "cpu", 3),
        _streams,
        lambda run: run.cpu_ms,
    ),
    (
        Budget("P-7", "process start to first request, N = 1,000", "s", 0.6, 0.35, "wall", 3),
        _is(FEW),
        lambda run: run.start_s,
    ),
    (
        Budget("P-9", "last answer to exit, N = 1,000", "s", 0.9, 0.4, "wall", 3),
        _is(FEW),
        lambda run: run.end_s,
    ),
    (
        Budget("P-9", "last answer to exit, N = 20,000", "s", 1.8, 0.9, "wall", 3),
        _is(MOST),
        lambda run: run.end_s,
    ),
    (
        Budget("P-10", "peak memory of the collector", "MB", 80, 60, digits=1),
        lambda _: True,
        lambda run: run.process.peak_mb,
    ),
    (
        Budget("P-10", "peak memory of its child", "MB", 200, 160, digits=1),
        lambda _: True,
        lambda run: run.process.child_peak_mb,
    ),
    (
        Budget("P-11", "disk per trial: plan, JSONL, Parquet", "KB", 2.2),
        _is(MANY),
        lambda run: run.record_bytes / KB / run.work.n,
    ),
    (
        Budget("P-11", "disk per trial: artifacts", "KB", 1.0),
        _is(MANY),
        lambda run: run.artifact_bytes / KB / run.work.n,
    ),
    (
        Budget("P-12", "faults: trials lost or not passed", "", 0, digits=0),
        _faulty,
        lambda run: run.lost + run.not_passed,
    ),
    (
        Budget("P-12", "faults: trials recorded twice", "", 0, digits=0),
        _faulty,
        lambda run: run.doubled,
    ),
    (
        Budget("P-12", "faults: requests / N", "x", 1.12, digits=3),
        _faulty,
        lambda run: run.endpoint["requests"] / run.work.n,
    ),
    (
        Budget("P-12", "faults: wall / floor", "x", 1.5, 1.25),
        _faulty,
        lambda run: run.over_floor,
    ),
    (
        Budget("P-13", "last byte to readable line, slowest of all", "ms", 100, 25, digits=1),
        lambda work: work.tail,
        lambda run: run.visible_ms["max"],
    ),
)

GROWTH = Budget("P-10", "growth of the collector, 1,000 to 20,000 trials", "MB", 20, 5, digits=1)


def judged(rounds: Sequence[Sequence[Measured]], calibration: Calibration) -> list[Judged]:
    """Return every row of the table; peaks over several runs count by the worst of a round."""
    found = []
    for budget, chosen, figure in ROWS:
        figures = []
        for one in rounds:
            values = [figure(run) for run in one if chosen(run.work)]
            known = [value for value in values if value is not None]
            figures += [max(known)] if known else []
        found.append(judge(budget, figures, calibration))
    growth = []
    for one in rounds:
        peaks = {run.work: run.process.peak_mb for run in one}
        if MOST in peaks and SMALL in peaks:
            growth.append(peaks[MOST] - peaks[SMALL])
    at = next(at for at, one in enumerate(found) if one.budget.row == "P-11")
    found.insert(at, judge(GROWTH, growth, calibration))
    return found


def runs_table(runs: Sequence[Measured]) -> str:
    """Return what each run took, and how late endpoint and collector were themselves."""
    headings = ["run", "wall s", "floor", "CPU s", "child", "e2e p50", "p99", "max", "endpoint p99"]
    headings += ["max", "loop late max", "requests", "in flight"]
    rows = []
    for run in runs:
        facts: list[float | None] = [run.process.wall_s, run.work.floor_s, run.process.cpu_s]
        facts += [run.process.children_cpu_s, run.e2e_ms["p50"], run.e2e_ms["p99"]]
        facts += [run.e2e_ms["max"], run.endpoint["lateness_ms"]["p99"]]
        facts += [run.endpoint["lateness_ms"]["max"], run.clock_late_ms]
        texts = ["-" if fact is None else f"{fact:.2f}" for fact in facts]
        counts = [str(run.endpoint["requests"]), str(run.endpoint["in_flight_max"])]
        rows.append([run.work.name, *texts, *counts])
    return table(headings, rows)


def main() -> None:
    """Measure, print, and exit 1 when a must is missed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="one round of the smaller runs")
    parser.add_argument("--rounds", type=int, help="default 3, with --quick 1")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--python", default=sys.executable, help="of the environment to measure")
    options = parser.parse_args()
    if sys.platform != "linux":
        sys.exit("this benchmark reads /proc, which only Linux has")
    before = calibrate()
    measure(WARM_UP, options.python)
    rounds: list[list[Measured]] = []
    for _ in range(options.rounds or (1 if options.quick else 3)):
        rounds.append([])
        for work in QUICK if options.quick else WHOLE:
            sys.stderr.write(f"{work.name} ...\n")
            rounds[-1].append(measure(work, options.python))
    calibration = between(before, calibrate())
    rows = judged(rounds, calibration)
    runs = [run for one in rounds for run in one]
    wrong = [f"{run.work.name}: {what}" for run in runs for what in run.problems()]
    missed = [row for row in rows if row.verdict == "MISSED"]
    if options.json:
        facts = {
            "machine": {"cores": os.cpu_count(), "python": platform.python_version()},
            "calibration": asdict(calibration),
            "rows": [row.as_json() for row in rows],
            "runs": [asdict(run) for run in runs],
            "wrong": wrong,
        }
        print(json.dumps(facts, indent=1))
    else:
        print(calibration.text(), end="\n\n")
        print(runs_table(runs), end="\n\n")
        print(table(HEADINGS, [row.cells() for row in rows]), end="\n\n")
        for line in wrong:
            print(f"WRONG: {line}")
        print(f"{len(missed)} of {len(rows)} musts missed, {len(wrong)} records wrong")
    sys.exit(bool(missed or wrong))


if __name__ == "__main__":
    main()
