"""What the lake's benchmark measures: makes the data, starts the processes, collects figures."""

from __future__ import annotations

import json
import shutil
import statistics
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from budgets import Budget
from one_file import one_file_a_table
from synthetic_lake import make_lake, make_logs
from synthetic_rows import Shape
from watched import Watched, watch

ENGINE = Path(__file__).resolve().parent / "engine.py"
IMPORTS = "import duckdb, typer"
IMPORTS_OF_RECORDS = "import duckdb, typer, pydantic"
STARTS = 11
"""How often the start of a command is timed in a round."""

LONG_ANSWER = 90
"""Words: with them a line has about 2.1 KB."""

SUMMARIES = ("model_summary", "run_summary", "failure_summary")
REPORT = (
    "runs", "models", "cases", "model_summary", "run_summary", "failure_summary", "repetitions",
    "cells", "cell_history", "pairs", "flips", "case_matrix", "tool_use", "tiers",
    "latency_histogram", "cost_quality",
)  # fmt: skip
"""Marts that a report draws from: all but those with one row a trial."""


@dataclass(frozen=True)
class Sizes:
    """How much of everything."""

    log_rows: int
    rows: int
    many_rows: int
    runs: int
    rounds: int

    def with_rounds(self, rounds: int | None) -> Sizes:
        """Return the same with another number of rounds, when one is given."""
        return self if rounds is None else replace(self, rounds=rounds)

    def named(self, budget: Budget) -> Budget:
        """Return a budget whose text says how much was measured."""
        numbers = {"rows": self.rows, "many_rows": self.many_rows, "runs": self.runs}
        texts = {name: f"{number:,}" for name, number in numbers.items()}
        return replace(budget, what=budget.what.format(**texts))


@dataclass
class Figures:
    """What was found: figures by budget, and what each piece of work took."""

    of: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    details: list[dict[str, Any]] = field(default_factory=list)


class Bench:
    """Measures in a folder that belongs to it."""

    def __init__(self, folder: Path, python: str, sizes: Sizes) -> None:
        self._folder, self._python, self._sizes = folder, python, sizes
        self._figures = Figures()

    def measure(self, wanted: set[str]) -> Figures:
        """Measure what is wanted, and remove what was made for it as soon as it is done."""
        stages: tuple[tuple[set[str], Callable[[set[str]], None]], ...] = (
            ({"a1"}, self._one_log),
            ({"a2", "a7", "a8", "a10", "a12"}, self._one_lake),
            ({"a2_many", "a3"}, self._big_lake),
            ({"a8_many", "a8_memory"}, self._many_cells),
            ({"a4", "a5_one", "a5_none", "a6"}, self._many_runs),
        )
        for names, stage in stages:
            if names & wanted:
                stage(wanted)
                for made in self._folder.iterdir():
                    shutil.rmtree(made)
        return self._figures

    def _one_log(self, _: set[str]) -> None:
        """P-A1: one run of very many trials, of this month: nothing is compacted."""
        shape = Shape(1, 5, self._sizes.log_rows // 50, 10, LONG_ANSWER, begin_ms=_now_ms())
        _say(f"a log of {shape.n_rows:,} lines")
        runs = self._folder / "one"
        make_logs(runs, shape)
        for _ in range(self._sizes.rounds):
            shutil.rmtree(runs / "lake", ignore_errors=True)
            synced = self._engine("sync", runs, rows=shape.n_rows)
            self._note("a1", synced["cpu_s"] / shape.n_rows * 1e6)

    def _one_lake(self, wanted: set[str]) -> None:
        """P-A2, P-A7, P-A8, the data of P-A10, P-A12: a lake of a thousand trials a run."""
        shape = Shape(self._sizes.rows // 1000, 5, 40, 5)
        runs = self._lake("lake", shape)
        for _ in range(self._sizes.rounds):
            if "a2" in wanted:
                self._summary(runs, "a2", None)
            if "a10" in wanted:
                took = self._engine("ask", runs, *REPORT, what="every mart of a report")
                self._note("a10", took["wall_s"])
            if "a8" in wanted:
                self._note("a8", self._engine("stream", runs, "pairs")["wall_s"])
            if "a12" in wanted:
                self._note("a12", self._start(runs, IMPORTS, "sql", "select 1"))
            if "a7" in wanted:
                newest = (shape.run_id(shape.n_runs - 2), shape.run_id(shape.n_runs - 1))
                self._note("a7", self._start(runs, IMPORTS_OF_RECORDS, "compare", *newest))

    def _big_lake(self, _: set[str]) -> None:
        """P-A2 and P-A3 with ten times the trials in each group."""
        runs = self._lake("big", Shape(self._sizes.many_rows // 10_000, 5, 200, 10))
        for _ in range(self._sizes.rounds):
            self._summary(runs, "a2_many", "a3")

    def _many_cells(self, _: set[str]) -> None:
        """P-A8 with ten times the runs."""
        runs = self._lake("cells", Shape(self._sizes.many_rows // 1000, 5, 40, 5))
        for _ in range(self._sizes.rounds):
            paired = self._engine("stream", runs, "pairs")
            self._note("a8_many", paired["wall_s"])
            self._note("a8_memory", paired["peak_mb"])

    def _lake(self, name: str, shape: Shape) -> Path:
        _say(f"a lake of {shape.n_rows:,} rows")
        make_lake(self._folder / name, shape)
        return self._folder / name

    def _summary(self, runs: Path, ratio: str, memory: str | None) -> None:
        bare = self._engine("scan", runs, "model_summary")
        summed = self._engine("view", runs, "model_summary")
        self._note(ratio, summed["cpu_s"] / bare["cpu_s"])
        if memory is not None:
            self._note(memory, summed["peak_mb"])

    def _start(self, runs: Path, imports: str, *command: str) -> float:
        """Start both processes in turn; the first of each warms the caches."""
        ours = ("-P", "-m", "analyze", *command, "--runs", str(runs))
        times: dict[tuple[str, ...], list[float]] = {ours: [], ("-c", imports): []}
        for number in range(STARTS + 1):
            for arguments, took in times.items():
                process = self._process(*arguments, good=(0, 1))  # 1: it found something
                if number:
                    took.append(process.wall_s)
        whole, bare = (statistics.median(took) for took in times.values())
        return whole / bare

    def _many_runs(self, wanted: set[str]) -> None:
        """P-A6, P-A5 and P-A4: many runs of a hundred trials, from their logs."""
        shape = Shape(self._sizes.runs, 5, 10, 2)
        _say(f"logs of {shape.n_runs:,} runs")
        runs = self._folder / "many"
        make_logs(runs, shape)
        size = sum(path.stat().st_size for path in runs.glob("*/results.jsonl"))
        _say(f"results.jsonl: {size / 1e9:.2f} GB")
        first = self._command("first sync", "sync", runs)
        self._note("a6", first.wall_s)
        self._command("sync after it", "sync", runs)  # what the first one left to compact
        for number in range(self._sizes.rounds):
            if wanted & {"a5_one", "a5_none"}:
                self._one_more(runs, shape, number)
        if "a4" in wanted:
            compact = self._folder / "compact"
            one_file_a_table(runs, compact)
            for _ in range(self._sizes.rounds):
                ratios = []
                for name in SUMMARIES:
                    many = self._engine("ask", runs, name, what=f"{name}, after sync")
                    one = self._engine("ask", compact, name, what=f"{name}, one file")
                    ratios.append(many["wall_s"] / one["wall_s"])
                self._note("a4", max(ratios))

    def _one_more(self, runs: Path, shape: Shape, number: int) -> None:
        """Sync nothing, then one new run."""
        self._note("a5_none", self._command("sync, nothing new", "sync", runs).wall_s)
        other = replace(shape, n_runs=1, prefix=f"new_{number}", begin_ms=_now_ms())
        make_logs(self._folder / "new", other)
        made = self._folder / "new" / other.run_id(0)
        made.rename(runs / made.name)
        self._note("a5_one", self._command("sync, one new run", "sync", runs).wall_s)

    def _command(self, what: str, command: str, runs: Path) -> Watched:
        """Run a command of `analyze` as a whole process."""
        process = self._process("-P", "-m", "analyze", command, "--runs", str(runs))
        peak = max(process.peak_mb, process.child_peak_mb)
        cpu = process.cpu_s + process.children_cpu_s
        facts = {"what": what, "wall_s": process.wall_s, "cpu_s": cpu, "peak_mb": peak, "rows": 0}
        self._figures.details.append(facts)
        return process

    def _process(self, *arguments: str, good: tuple[int, ...] = (0,)) -> Watched:
        process = watch([self._python, *arguments], cwd=self._folder)
        if process.exit_code not in good:
            message = f"{arguments} ended with exit code {process.exit_code}:\n{process.output}"
            raise RuntimeError(message)
        return process

    def _engine(
        self, task: str, first: Path, *rest: str, rows: int | None = None, what: str | None = None
    ) -> dict[str, Any]:
        """Do one piece of work in a process of its own, and return what it took."""
        command = [self._python, str(ENGINE), task, str(first), *rest]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            message = f"{task} failed:\n{done.stderr}"
            raise RuntimeError(message)
        facts: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
        if rows is not None and facts["rows"] != rows:
            message = f"{task}: {facts['rows']:,} rows instead of {rows:,}"
            raise RuntimeError(message)
        of = rest[0] if task in {"scan", "view", "stream", "ask"} else "one log"
        facts["what"] = what or f"{task} {of}"
        self._figures.details.append(facts)
        return facts

    def _note(self, name: str, figure: float) -> None:
        self._figures.of[name].append(figure)
        _say(f"  {name}: {figure:.2f}")


def _now_ms() -> int:
    return time.time_ns() // 1_000_000


def _say(text: str) -> None:
    sys.stderr.write(f"{text}\n")
