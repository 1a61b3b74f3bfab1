"""What each mart takes on DuckDB and on Spark, over lakes of as many trials as are asked for.

    python benchmarks/engines.py                          100,000 trials, some minutes
    python benchmarks/engines.py --trials 100000 1000000  two sizes, from which to extrapolate
    python benchmarks/engines.py --steps 100000 1000000   marts of steps, over so many of them

Wall and CPU seconds of reading a mart whole, of the engine with all its threads, per million
trials, or steps, in the table; planning is part of them. CPU of Spark is that of its JVM. A first
mart is read on each engine before anything is counted. Rows go nowhere: neither engine keeps them.
The lake of trials has no steps and no judges, so marts of those are empty. `--json` has the bytes
of a row of each table of the lake as well. Needs `benchlake[spark]`, Java, and Linux or macOS.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import psutil
import pyarrow.parquet as pq
from budgets import table
from steps import MARTS as STEP_MARTS
from steps import TURNS
from synthetic_lake import make_lake, make_logs
from synthetic_rows import Shape
from synthetic_steps import write_agent_traces

from analyze.lake.sync import sync
from analyze.query.session import Session
from analyze.spark import MARTS, register
from analyze.spark.session import own_spark
from schemas.lake import TABLE_NAMES, lake_of, live_files

PER = 1_000_000
BATCH = 100_000
WARM_UP = "run_summary"
STEPS_A_RUN = 100_000
STEP_BYTES = 500
"""Of text, on average."""


@dataclass(frozen=True)
class Took:
    """What reading one mart whole took."""

    mart: str
    size: int
    """Trials of the lake, or steps."""
    rows: int
    duckdb_wall_s: float
    duckdb_cpu_s: float
    spark_wall_s: float
    spark_cpu_s: float


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--trials", type=int, nargs="*", default=None, metavar="N")
    parser.add_argument("--steps", type=int, nargs="*", default=[], metavar="N")
    parser.add_argument("--marts", nargs="*", choices=MARTS, default=MARTS, metavar="MART")
    parser.add_argument("--master", default="local[2]", help="of Spark")
    parser.add_argument("--memory", default="6g", help="of Spark's driver")
    parser.add_argument("--folder", type=Path, help="where the synthetic lakes lie meanwhile")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    options = parser.parse_args()
    by_default = [100_000] * (not options.steps)
    trials = by_default if options.trials is None else options.trials
    works = [("trials", n) for n in trials] + [("steps", n) for n in options.steps]
    found: dict[str, list[Took]] = {}
    widths: dict[str, dict[str, dict[str, float]]] = {}
    settings = {"spark.driver.memory": options.memory}
    for what, wanted in works:
        with tempfile.TemporaryDirectory(prefix="benchlake-", dir=options.folder) as made:
            runs = Path(made).resolve() / "runs"
            size = make_trials(runs, wanted) if what == "trials" else make_steps(runs, wanted)
            name = f"{size:,} {what}"
            widths[name] = bytes_of_rows(runs)
            marts = [one for one in options.marts if what == "trials" or one in STEP_MARTS]
            with own_spark(options.master, settings) as spark:
                found[name] = measure(runs, spark.session(), size, marts)
    if options.json:
        facts = {"cores": os.cpu_count(), "master": options.master, "tables": widths}
        marts_of = {name: [asdict(one) for one in some] for name, some in found.items()}
        print(json.dumps(facts | {"marts": marts_of}, indent=1))
        return
    for name, tables in widths.items():
        rows = [[one, f"{of['rows']:,}", f"{of['bytes']:.1f}"] for one, of in tables.items()]
        print(f"{name}: the lake's tables", end="\n\n")
        print(table(["table", "rows", "bytes a row"], rows), end="\n\n")
        print(f"seconds per million {name.rpartition(' ')[2]}", end="\n\n")
        print(table(HEADINGS, [cells(one) for one in found[name]]), end="\n\n")


def make_trials(runs: Path, n_trials: int) -> int:
    """Write a lake of trials, and return how many there are."""
    shape = Shape(max(1, n_trials // 1000), 5, 40, 5)
    make_lake(runs, shape, text=True)
    return shape.n_rows


def make_steps(runs: Path, n_steps: int) -> int:
    """Bring traces of agents into a lake, and return how many steps they are."""
    n_runs = max(1, n_steps // STEPS_A_RUN)
    shape = Shape(n_runs, 5, 40, 5)
    make_logs(runs, shape)
    n_made = sum(
        write_agent_traces(runs / shape.run_id(run), turns=TURNS, text_bytes=STEP_BYTES)
        for run in range(n_runs)
    )
    sync(runs)
    return n_made


HEADINGS = ["mart", "rows", "DuckDB wall", "CPU", "Spark wall", "CPU"]


def cells(took: Took) -> list[str]:
    """Return what a mart took for each million trials, or steps."""
    seconds = (took.duckdb_wall_s, took.duckdb_cpu_s, took.spark_wall_s, took.spark_cpu_s)
    return [took.mart, f"{took.rows:,}", *(f"{one * PER / took.size:.2f}" for one in seconds)]


def bytes_of_rows(runs: Path) -> dict[str, dict[str, float]]:
    """Return rows, and bytes of one on disk, of each table of a lake that has files."""
    facts = {}
    for name in TABLE_NAMES:
        files = live_files(lake_of(runs), name)
        if n_rows := sum(pq.read_metadata(path).num_rows for path in files):
            size = sum(path.stat().st_size for path in files)
            facts[name] = {"rows": n_rows, "bytes": size / n_rows}
    return facts


def measure(runs: Path, session: Any, size: int, marts: list[str]) -> list[Took]:
    """Read each mart whole on both engines, one after the other."""
    register(session, runs)
    java = psutil.Process(session.sparkContext._gateway.proc.pid)
    own = psutil.Process()
    with Session(runs) as lake:
        connection = lake.connection

        def on_duckdb(mart: str) -> int:
            batches = connection.sql(f"select * from {mart}").to_arrow_reader(BATCH)
            return sum(batch.num_rows for batch in batches)

        def on_spark(mart: str) -> int:
            rows = session.sql(f"select * from {mart}")
            rows.write.format("noop").mode("overwrite").save()
            return 0

        on_duckdb(WARM_UP)
        on_spark(WARM_UP)
        found = []
        for mart in marts:
            n_rows, *duckdb = timed(own, lambda mart=mart: on_duckdb(mart))
            _, *spark = timed(java, lambda mart=mart: on_spark(mart))
            found.append(Took(mart, size, n_rows, *duckdb, *spark))
            sys.stderr.write(f"{size:,} {mart}: {duckdb[0]:.2f} s, {spark[0]:.2f} s\n")
    return found


def timed(process: psutil.Process, work: Callable[[], int]) -> tuple[int, float, float]:
    """Return what work returns, its wall and the CPU seconds of a process meanwhile."""
    used, began = process.cpu_times(), time.perf_counter()
    found = work()
    took, now = time.perf_counter() - began, process.cpu_times()
    return found, took, now.user + now.system - used.user - used.system


if __name__ == "__main__":
    main()
