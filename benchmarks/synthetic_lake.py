"""Makes the history of years in a minute: runs that nobody made, as a lake or as the logs of one.

    python benchmarks/synthetic_lake.py /tmp/big --runs 10000            a lake of 1,000,000 rows
    python benchmarks/synthetic_lake.py /tmp/big --runs 10000 --logs     the same rows as folders

A lake is written straight as Parquet, one file a month as compaction leaves it; text only with
`--text`. Logs are what a collector leaves: config.json, plan.jsonl and results.jsonl of every run,
for `analyze sync` to read. The same arguments give the same rows in both shapes, on any machine.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path

import pyarrow as pa
from synthetic_files import Month, write_lake, write_logs
from synthetic_rows import Shape, block_of_runs

from schemas.lake import lake_of, month_of


def months(shape: Shape, *, text: bool) -> Iterator[Month]:
    """Yield each month with the tables of its runs, about 100,000 rows at a time."""
    for month, runs in groupby(range(shape.n_runs), lambda run: month_of(shape.started_at_ms(run))):
        chosen = list(runs)
        yield Month(month, chosen, _blocks(shape, chosen, text))


def _blocks(shape: Shape, runs: list[int], text: bool) -> Iterator[dict[str, pa.Table]]:
    for first in range(runs[0], runs[-1] + 1, shape.block_runs):
        last = min(first + shape.block_runs, runs[-1] + 1)
        yield block_of_runs(shape, range(first, last), text=text)


def make_lake(runs_dir: Path, shape: Shape, *, text: bool = False) -> None:
    """Write a compact lake below `runs_dir`, without any folder of a run."""
    write_lake(lake_of(runs_dir), shape, months(shape, text=text))


def make_logs(runs_dir: Path, shape: Shape) -> None:
    """Write a folder for each run, and no lake."""
    write_logs(runs_dir, shape, months(shape, text=True))


def main() -> None:
    """Write one history and say how much it is."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("runs_dir", type=Path, help="a new or empty folder")
    parser.add_argument("--runs", type=int, default=10_000)
    parser.add_argument("--models", type=int, default=5)
    parser.add_argument("--cases", type=int, default=10)
    parser.add_argument("--repetitions", type=int, default=2)
    parser.add_argument("--text", action="store_true", help="answers too, in the lake")
    parser.add_argument("--logs", action="store_true", help="folders of runs instead of a lake")
    options = parser.parse_args()
    shape = Shape(options.runs, options.models, options.cases, options.repetitions)
    began = time.perf_counter()
    if options.logs:
        make_logs(options.runs_dir, shape)
    else:
        make_lake(options.runs_dir, shape, text=options.text)
    size = sum(path.stat().st_size for path in options.runs_dir.rglob("*") if path.is_file())
    took = time.perf_counter() - began
    print(f"{shape.n_runs:,} runs, {shape.n_rows:,} rows, {size / 1e6:,.0f} MB in {took:.0f} s")


if __name__ == "__main__":
    main()
