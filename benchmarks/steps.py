"""How long steps of agents take: into the lake, through every view, and to be searched.

    python benchmarks/steps.py            a million steps, 2 GB of text
    python benchmarks/steps.py --quick    a fifth

Traces are made, `analyze sync` brings them in as a whole process, and each view is read whole in a
process of its own, a batch at a time. Linux only, since it reads /proc. Exits 1 when a must is
missed.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import sys
import tempfile
from collections import defaultdict
from dataclasses import asdict, replace
from pathlib import Path

from budgets import HEADINGS, Budget, judge, table
from calibration import between, calibrate
from synthetic_lake import make_logs
from synthetic_rows import Shape
from synthetic_steps import write_agent_traces
from watched import Watched, watch

ENGINE = Path(__file__).resolve().parent / "engine.py"

TURNS = 33
"""About a hundred steps a trial."""

MARTS = (
    "steps", "step_texts", "trajectories", "contexts", "trial_times", "stops", "progress", "loops",
    "tool_errors", "error_signatures",
)  # fmt: skip

TEXTS = "step_texts"
"""Is the text itself: read whole, it takes what the engine is given."""

BUDGETS = {
    "long": Budget("P-A13", "steps of 1 KB into the lake, µs each (8,000 a second)", "µs", 125),
    "short": Budget("P-A13", "steps of 200 B, µs each (20,000 a second)", "µs", 50),
    "sync_mb": Budget("P-A14", "peak memory of either", "MB", 500, digits=0),
    "mart": Budget("P-A15", "slowest view over {steps} steps", "s", 1.5, None, "wall"),
    "mart_mb": Budget("P-A15", "peak memory of any but the texts", "MB", 500, digits=0),
    "search": Budget("P-A16", "`analyze search` over {gigabytes} GB", "s", 5, None, "wall"),
}

NEEDLE = "a text that nobody wrote"


class Bench:
    """Measures in a folder that belongs to it."""

    def __init__(self, folder: Path, python: str, n_runs: int) -> None:
        self._folder, self._python, self._n_runs = folder, python, n_runs
        self.figures: dict[str, list[float]] = defaultdict(list)
        self.details: list[tuple[str, float, float]] = []
        """What, in how many seconds, with how many MB at its peak."""
        self.n_steps = self.n_viewed = 0
        self.searched_gb = 0.0

    def measure(self) -> None:
        """Measure everything, and remove what was made for it."""
        for name, text_bytes in (("long", 1_000), ("short", 200)):
            runs = self._made(name, text_bytes, self._n_runs)
            synced = self._analyze("sync", runs)
            self.figures[name].append(synced.wall_s * 1e6 / self.n_steps)
            self.figures["sync_mb"].append(synced.peak_mb)
            self._note(f"sync, {text_bytes} B a step", synced.wall_s, synced.peak_mb)
        self._read(runs)
        for made in self._folder.iterdir():
            shutil.rmtree(made)
        runs = self._made("wordy", 4_000, self._n_runs // 2)
        self._note("sync, 4000 B a step", self._analyze("sync", runs).wall_s, 0)
        size = self._engine("size", runs)
        self.searched_gb = size["rows"] / 1e9
        found = self._analyze("search", runs, NEEDLE, "--no-sync")
        self.figures["search"].append(found.wall_s)
        self._note(f"search, {self.searched_gb:.2f} GB", found.wall_s, found.peak_mb)

    def _read(self, runs: Path) -> None:
        self.n_viewed = self.n_steps
        slowest = largest = 0.0
        for mart in MARTS:
            took = self._engine("stream", runs, mart)
            slowest = max(slowest, took["wall_s"])
            largest = max(largest, took["peak_mb"] if mart != TEXTS else 0)
            self._note(mart, took["wall_s"], took["peak_mb"])
        self.figures["mart"].append(slowest)
        self.figures["mart_mb"].append(largest)

    def _made(self, name: str, text_bytes: int, n_runs: int) -> Path:
        shape = Shape(n_runs, 5, 40, 5)
        runs = self._folder / name
        make_logs(runs, shape)
        self.n_steps = sum(
            write_agent_traces(runs / shape.run_id(run), turns=TURNS, text_bytes=text_bytes)
            for run in range(n_runs)
        )
        return runs

    def _note(self, what: str, seconds: float, peak_mb: float) -> None:
        self.details.append((what, seconds, peak_mb))

    def _analyze(self, command: str, runs: Path, *words: str) -> Watched:
        return self._process("-P", "-m", "analyze", command, *words, "--runs", str(runs))

    def _engine(self, task: str, runs: Path, *names: str) -> dict[str, float]:
        figures: dict[str, float] = json.loads(
            self._process(str(ENGINE), task, str(runs), *names).output
        )
        return figures

    def _process(self, *words: str) -> Watched:
        done = watch([self._python, *words], cwd=self._folder, timeout_s=1_800)
        if done.exit_code:
            raise RuntimeError(done.output)
        return done


def main() -> None:
    """Measure, print, and exit 1 when a must is missed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="a fifth of the steps")
    parser.add_argument("--folder", type=Path, help="where the synthetic data lies meanwhile")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--python", default=sys.executable, help="of the environment to measure")
    options = parser.parse_args()
    load, before = os.getloadavg(), calibrate()
    with tempfile.TemporaryDirectory(prefix="benchlake-", dir=options.folder) as made:
        bench = Bench(Path(made).resolve(), options.python, 2 if options.quick else 10)
        bench.measure()
    calibration = between(before, calibrate())
    numbers = {"steps": f"{bench.n_viewed:,}", "gigabytes": f"{bench.searched_gb:.1f}"}
    rows = [
        judge(
            replace(one, what=one.what.format(**numbers)),
            bench.figures[name],
            calibration,
        )
        for name, one in BUDGETS.items()
    ]
    missed = sum(row.verdict == "MISSED" for row in rows)
    if options.json:
        facts = {
            "machine": {"cores": os.cpu_count(), "python": platform.python_version(), "load": load},
            "calibration": asdict(calibration),
            "rows": [row.as_json() for row in rows],
            "details": bench.details,
        }
        print(json.dumps(facts, indent=1))
    else:
        print(f"load at the start {load[0]:.2f}; {calibration.text()}", end="\n\n")
        texts = [[what, f"{took:.2f}", f"{peak:.0f}"] for what, took, peak in bench.details]
        print(table(["work", "wall s", "peak MB"], texts), end="\n\n")
        print(table(HEADINGS, [row.cells() for row in rows]), end="\n\n")
        print(f"{missed} of {len(rows)} musts missed")
    sys.exit(bool(missed))


if __name__ == "__main__":
    main()
