"""One piece of work of the analysis in a process of its own; prints what it took as JSON.

    python benchmarks/engine.py view RUNS_DIR model_summary

CPU and wall are of the work alone, without imports and opening; `peak_mb` is the high-water mark of
the whole process, engine and interpreter included. Linux only, since it reads /proc.
"""

from __future__ import annotations

import json
import resource
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

from analyze.query.session import Session, open_session

warnings.simplefilter("ignore")  # of how rows are handed over; what counts is what it took

BATCH = 100_000
"""Rows."""

NUMBERS = ("BIGINT", "DOUBLE", "INTEGER")


def view(runs_dir: Path, name: str) -> Callable[[], int]:
    """Read a view whole, and return how many rows it has; files are open and views are there."""
    session = open_session(runs_dir, sync=False)
    session.rows(f"select * from {name} limit 0")
    return lambda: session.arrow(f"select * from {name}").num_rows


def stream(runs_dir: Path, name: str) -> Callable[[], int]:
    """Read a view whole, a batch at a time, and return how many rows it has."""
    session = open_session(runs_dir, sync=False)
    session.rows(f"select * from {name} limit 0")
    query = f"select * from {name}"
    return lambda: sum(
        batch.num_rows for batch in session.connection.sql(query).to_arrow_reader(BATCH)
    )


def ask(runs_dir: Path, *names: str) -> Callable[[], int]:
    """Open the lake, read views whole, and return how many rows they have."""

    def opened() -> int:
        with open_session(runs_dir, sync=False) as session:
            return sum(session.arrow(f"select * from {name}").num_rows for name in names)

    return opened


def scan(runs_dir: Path, name: str) -> Callable[[], int]:
    """Read nothing but the columns that a view reads, each as often as the view reads it."""
    session = open_session(runs_dir, sync=False)
    queries = [_bare(session, table, columns) for table, columns in _scans(session, name)]

    def read() -> int:
        return sum(len(session.rows(query)) for query in queries)

    return read


def _scans(session: Session, name: str) -> list[tuple[str, list[str]]]:
    """Return table and columns of every scan in a view's plan."""
    text = session.rows(f"explain (format json) select * from {name}")[0][1]
    found: list[tuple[str, list[str]]] = []

    def walk(node: dict[str, Any]) -> None:
        info = node.get("extra_info", {})
        columns = info.get("Projections")
        if "PARQUET" in node["name"] and columns:
            names = [columns] if isinstance(columns, str) else columns
            found.append((_table_with(session, names), names))
        for child in node.get("children", ()):
            walk(child)

    for node in json.loads(text):
        walk(node)
    return found


def _table_with(session: Session, columns: list[str]) -> str:
    """Return the raw table that has all of these columns."""
    for table in ("raw_plans", "raw_results", "raw_runs", "raw_events", "raw_outputs"):
        there = {row[0] for row in session.rows(f"describe {table}")}
        if there.issuperset(columns):
            return table
    message = f"no table has all of {columns}"
    raise ValueError(message)


def _bare(session: Session, table: str, columns: list[str]) -> str:
    """Return the cheapest query that has to look at every value: counts come from statistics."""
    kinds = {row[0]: row[1] for row in session.rows(f"describe {table}")}
    looked = [
        f"sum({name})"
        if kinds[name] in NUMBERS
        else f"count(*) filter ({name})"
        if kinds[name] == "BOOLEAN"
        else f"max(len({name}))"
        if kinds[name].endswith("[]") or kinds[name] == "VARCHAR"
        else f"max({name})"
        for name in columns
    ]
    return f"select {', '.join(looked)} from {table}"


def size(runs_dir: Path) -> Callable[[], int]:
    """Count the bytes of all texts of steps."""
    session = open_session(runs_dir, sync=False)
    return lambda: int(session.rows("select sum(strlen(text)) from stg_step_texts")[0][0])


def sync(runs_dir: Path) -> Callable[[], int]:
    """Bring every run into the lake, and return how many rows that are."""
    from analyze.lake.sync import sync as bring  # noqa: PLC0415 - the other tasks do without

    return lambda: bring(runs_dir).n_rows


TASKS: dict[str, Callable[..., Callable[[], int]]] = {
    "view": view,
    "stream": stream,
    "ask": ask,
    "scan": scan,
    "size": size,
    "sync": sync,
}


def main() -> None:
    """Do one piece of work."""
    name, first, *rest = sys.argv[1:]
    work = TASKS[name](Path(first), *rest)
    used, began = resource.getrusage(resource.RUSAGE_SELF), time.perf_counter()
    rows = work()
    took = time.perf_counter() - began
    now = resource.getrusage(resource.RUSAGE_SELF)
    cpu = now.ru_utime + now.ru_stime - used.ru_utime - used.ru_stime
    facts = {"rows": rows, "wall_s": took, "cpu_s": cpu, "peak_mb": _peak_mb()}
    print(json.dumps(facts))


def _peak_mb() -> float:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024 / 1e6
    message = "/proc/self/status has no VmHWM"
    raise OSError(message)


if __name__ == "__main__":
    main()
