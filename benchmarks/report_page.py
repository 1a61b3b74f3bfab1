"""The budgets of the page of a run: how long `analyze report` takes, and how large the page is.

    python benchmarks/report_page.py            medians of three rounds, about 3 minutes
    python benchmarks/report_page.py --quick    one round

Three histories: 100 runs of 1,000 trials with their folders and the traces of the newest two, 1,000
such runs in a lake alone, and one run of a million trials. The page is counted whole, with the
library that draws its charts and with every transcript that it embeds. Needs 1 GB below
`--folder`, which is removed. Exits 1 when a must is missed.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import re
import statistics
import sys
import tempfile
from collections import defaultdict
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

from budgets import HEADINGS, Budget, judge, table
from calibration import between, calibrate
from synthetic_lake import make_lake, make_logs
from synthetic_rows import Shape
from synthetic_traces import write_traces
from watched import Watched, watch

ROUNDS = 3
WORDS = 120
"""Of an answer, on average: three quarters of a kilobyte."""

HUNDRED = Shape(100, n_models=4, n_cases=50, repetitions=5, words=WORDS)
THOUSAND = Shape(1_000, n_models=4, n_cases=50, repetitions=5, words=WORDS)
ONE = Shape(1, n_models=4, n_cases=5_000, repetitions=50, words=WORDS)

BUDGETS = {
    "a9": Budget("P-A9", "analyze report, 100 runs of 1,000 trials", "s", 6, 4, "wall"),
    "a9_size": Budget("P-A9", "its page, whole", "KB", 3_000, 2_000, digits=0),
    "a10": Budget("P-A10", "analyze report, 1,000 runs of 1,000 trials", "s", 8, None, "wall"),
    "a10_size": Budget("P-A10", "its page / that of 100 runs, or the inverse", "x", 1.2),
    "a10_one": Budget("P-A10", "analyze report, one run of 1,000,000 trials", "s", 8, None, "wall"),
    "a10_one_size": Budget("P-A10", "its page, whole", "KB", 3_000, digits=0),
}

LIBRARY = re.compile(rb'id="library">([^<]*)')
LEAST_LIBRARY = 200_000
"""Bytes, deflated; a page with less of it lacks what draws its charts."""


@dataclass(frozen=True)
class Made:
    """One report."""

    history: str
    process: Watched
    size: int
    """Bytes of the page."""

    @property
    def wall_s(self) -> float:
        """Seconds from start to exit."""
        return self.process.wall_s


def main() -> None:
    """Measure, print, and exit 1 when a must is missed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="one round")
    parser.add_argument("--rounds", type=int, help="default 3, with --quick 1")
    parser.add_argument("--folder", type=Path, help="where the histories lie meanwhile")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--python", default=sys.executable, help="of the environment to measure")
    options = parser.parse_args()
    if sys.platform != "linux":
        sys.exit("this benchmark reads /proc, which only Linux has")
    load = os.getloadavg()
    with tempfile.TemporaryDirectory(prefix="benchlake-", dir=options.folder) as folder:
        histories = make(Path(folder).resolve(), options.python)
        before = calibrate()
        rounds = options.rounds or (1 if options.quick else ROUNDS)
        made = [report(options.python, *one) for one in histories.items()]  # warms the caches
        made = [report(options.python, *one) for _ in range(rounds) for one in histories.items()]
    calibration = between(before, calibrate())
    figures = figures_of(made)
    rows = [judge(BUDGETS[name], figures[name], calibration) for name in BUDGETS]
    missed = [row for row in rows if row.verdict == "MISSED"]
    if options.json:
        facts = {
            "machine": {"cores": os.cpu_count(), "python": platform.python_version(), "load": load},
            "calibration": asdict(calibration),
            "rows": [row.as_json() for row in rows],
            "details": [asdict(one) for one in made],
        }
        print(json.dumps(facts, indent=1))
    else:
        print(f"load at the start {load[0]:.2f}; {calibration.text()}", end="\n\n")
        print(details(made), end="\n\n")
        print(table(HEADINGS, [row.cells() for row in rows]), end="\n\n")
        print(f"{len(missed)} of {len(rows)} musts missed")
    sys.exit(bool(missed))


def make(folder: Path, python: str) -> dict[str, Path]:
    """Write the histories and return their folders of runs, by budget."""
    lakes: dict[str, Callable[[Path], None]] = {
        "a9": hundred_runs,
        "a10": lambda runs: make_lake(runs, THOUSAND, text=True),
        "a10_one": lambda runs: make_lake(runs, ONE, text=True),
    }
    for name, write in lakes.items():
        sys.stderr.write(f"{BUDGETS[name].what.partition(', ')[2]}\n")
        write(folder / name)
        analyze(python, folder, "sync", "--runs", name)
    return {name: folder / name for name in lakes}


def hundred_runs(runs: Path) -> None:
    """Write the folders of a hundred runs; the newest one and its baseline have their traces."""
    make_logs(runs, HUNDRED)
    for number in (HUNDRED.n_runs - 2, HUNDRED.n_runs - 1):
        write_traces(runs / HUNDRED.run_id(number))


def report(python: str, history: str, runs: Path) -> Made:
    """Write the page of the newest run and return what it took."""
    page = runs.parent / f"{history}.html"
    process = analyze(python, runs.parent, "report", runs.name, "-o", page.name)
    html = page.read_bytes()
    page.unlink()
    library = LIBRARY.search(html)
    if library is None or len(library[1]) < LEAST_LIBRARY:
        message = f"the page of {history} holds no library that draws charts"
        raise RuntimeError(message)
    return Made(history, process, len(html))


def analyze(python: str, folder: Path, *command: str) -> Watched:
    """Run a command of `analyze` as a whole process, in a folder."""
    process = watch([python, "-P", "-m", "analyze", *command], cwd=folder)
    if process.exit_code:
        message = f"{command} ended with exit code {process.exit_code}:\n{process.output}"
        raise RuntimeError(message)
    return process


def figures_of(made: list[Made]) -> dict[str, list[float]]:
    """Return the figures of every budget; sizes of a round are compared with each other."""
    figures: dict[str, list[float]] = defaultdict(list)
    whole = statistics.median(one.size for one in made if one.history == "a9")
    for one in made:
        figures[one.history].append(one.wall_s)
        is_ratio = one.history == "a10"
        size = max(one.size / whole, whole / one.size) if is_ratio else one.size / 1000
        figures[f"{one.history}_size"].append(size)
    return figures


def details(made: list[Made]) -> str:
    """Return a line for each history: medians over rounds."""
    rows = []
    for name in dict.fromkeys(one.history for one in made):
        some = [one for one in made if one.history == name]
        figures = (
            statistics.median(one.wall_s for one in some),
            statistics.median(one.process.cpu_s + one.process.children_cpu_s for one in some),
            statistics.median(one.process.peak_mb for one in some),
            statistics.median(one.size / 1000 for one in some),
        )
        what = BUDGETS[name].what.partition(", ")[2]
        rows.append([what, *(f"{number:.2f}" for number in figures)])
    return table(["history", "wall s", "CPU s", "peak MB", "page KB"], rows)


if __name__ == "__main__":
    main()
