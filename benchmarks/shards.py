"""What shards cost and gain: two processes on two cores, and two nodes of Ray, one of which dies.

    python benchmarks/shards.py            three rounds, about 8 minutes
    python benchmarks/shards.py --quick    one round of fewer trials

Two processes against one, at an endpoint that answers at once: the whole command, start, mirror and
end included. Then a cluster of two nodes here, 20,000 trials of exactly 200 ms, 64 in flight a
shard; one node is killed in the middle. What starting takes is apart: from the first request to the
last answer. Exits 1 when a must is missed or a trial is lost or there twice.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

import orjson
from budgets import HEADINGS, Budget, judge, table
from calibration import between, calibrate
from measured import COMMAND, LATENCY_MS, TOKENS, environment
from project import write_project
from served import Served
from watched import watch

NODES = Path(__file__).resolve().parents[1] / "tests" / "support" / "ray_nodes.py"
AT_ONCE = 64
TRIALS, QUICK_TRIALS = 100_000, 40_000
RAY_TRIALS, QUICK_RAY_TRIALS = 20_000, 5_000
ROUNDS = 3
POLL_S = 0.1


@dataclass(frozen=True)
class Figures:
    """One round."""

    one_wall_s: float
    two_wall_s: float
    one_cpu_ms: float
    """Of a trial, by every process that the command started."""
    two_cpu_ms: float
    ray_over_floor: float
    ray_requests: int
    wrong: int
    """Trials that are lost, or there twice."""


ROWS: tuple[tuple[Budget, Callable[[Figures], float]], ...] = (
    (
        Budget("P-20", "wall of --processes 2 / of one process", "x", 0.83, 0.7),
        lambda r: r.two_wall_s / r.one_wall_s,
    ),
    (
        Budget("P-20", "CPU of a trial, the same", "x", 1.1, 1.05),
        lambda r: r.two_cpu_ms / r.one_cpu_ms,
    ),
    (
        Budget("P-21", "wall / floor, two nodes, one killed", "x", 1.35, 1.2),
        lambda r: r.ray_over_floor,
    ),
)


def wrong_in(runs: Path, n: int) -> int:
    """Return how many of `n` trials are lost or there twice."""
    rows: Counter[str] = Counter()
    for log in runs.glob("*/results.jsonl"):
        rows.update(
            row["case_id"]
            for line in log.read_bytes().splitlines()
            if (row := orjson.loads(line))["record_type"] == "result"
        )
    return abs(n - len(rows)) + sum(count > 1 for count in rows.values())


def at_latency_zero(n: int, python: str, *flags: str) -> tuple[float, float, int]:
    """Return seconds of the whole command, CPU of a trial in ms, and trials that are wrong."""
    with (
        tempfile.TemporaryDirectory(prefix="benchlake-") as made,
        Served(latency_ms=0, tokens=TOKENS) as served,
    ):
        folder = Path(made).resolve()
        write_project(folder, base_url=served.base_url, n=n, concurrency=AT_ONCE, tokens=TOKENS)
        process = watch([python, *COMMAND, *flags], cwd=folder, env=environment())
        if process.exit_code:
            raise RuntimeError(process.output)
        cpu_ms = (process.cpu_s + process.children_cpu_s) * 1000 / n
        return process.wall_s, cpu_ms, wrong_in(folder / "runs", n)


def on_two_nodes(n: int, python: str) -> tuple[float, int, int]:
    """Return wall over the least possible, requests, and trials that are wrong."""
    cluster = subprocess.Popen(
        [python, str(NODES)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        stderr=subprocess.DEVNULL,
    )  # fmt: skip
    assert cluster.stdin is not None
    assert cluster.stdout is not None
    try:
        address = json.loads(cluster.stdout.readline())["address"]
        with (
            tempfile.TemporaryDirectory(prefix="benchlake-") as made,
            Served(latency_ms=LATENCY_MS, tokens=TOKENS) as served,
        ):
            folder = Path(made).resolve()
            concurrency = 2 * AT_ONCE
            write_project(
                folder, base_url=served.base_url, n=n, concurrency=concurrency, tokens=TOKENS
            )
            is_over = threading.Event()

            def kill_in_the_middle() -> None:
                while served.stats()["requests"] < n / 2:
                    if is_over.wait(POLL_S):
                        return
                assert cluster.stdin is not None
                cluster.stdin.write("kill\n")
                cluster.stdin.flush()

            killing = threading.Thread(target=kill_in_the_middle)
            killing.start()
            flags = ("--executor", "ray", "--address", address, "--shards", "2")
            process = watch([python, *COMMAND, *flags], cwd=folder, env=environment())
            is_over.set()
            killing.join()
            if process.exit_code:
                raise RuntimeError(process.output)
            seen = served.stats()
            took_s = (seen["last_finish_ns"] - seen["first_arrival_ns"]) / 1e9
            floor_s = n * LATENCY_MS / 1000 / concurrency
            return took_s / floor_s, seen["requests"], wrong_in(folder / "runs", n)
    finally:
        cluster.stdin.close()
        cluster.wait(timeout=60)


def measure(n: int, n_on_ray: int, python: str) -> Figures:
    """Make one round."""
    one_wall_s, one_cpu_ms, one_wrong = at_latency_zero(n, python)
    two_wall_s, two_cpu_ms, two_wrong = at_latency_zero(n, python, "--processes", "2")
    over_floor, n_requests, ray_wrong = on_two_nodes(n_on_ray, python)
    return Figures(
        one_wall_s=one_wall_s,
        two_wall_s=two_wall_s,
        one_cpu_ms=one_cpu_ms,
        two_cpu_ms=two_cpu_ms,
        ray_over_floor=over_floor,
        ray_requests=n_requests,
        wrong=one_wrong + two_wrong + ray_wrong,
    )


def main() -> None:
    """Measure, print, and exit 1 when a must is missed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="one round of fewer trials")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--python", default=sys.executable, help="of the environment to measure")
    options = parser.parse_args()
    began, load, before = time.monotonic(), os.getloadavg(), calibrate()
    n, n_on_ray = (QUICK_TRIALS, QUICK_RAY_TRIALS) if options.quick else (TRIALS, RAY_TRIALS)
    rounds = [measure(n, n_on_ray, options.python) for _ in range(1 if options.quick else ROUNDS)]
    calibration = between(before, calibrate())
    judged = [
        judge(budget, [figure(one) for one in rounds], calibration) for budget, figure in ROWS
    ]
    missed = sum(one.verdict == "MISSED" for one in judged)
    wrong = sum(one.wrong for one in rounds)
    if options.json:
        rows = [one.as_json() for one in judged]
        print(json.dumps({"rows": rows, "rounds": [asdict(one) for one in rounds]}, indent=1))
    else:
        print(f"load at the start {load[0]:.2f}; {calibration.text()}", end="\n\n")
        for one in rounds:
            print(
                f"one process {one.one_wall_s:.1f} s, {one.one_cpu_ms:.2f} ms of CPU a trial; "
                f"two {one.two_wall_s:.1f} s, {one.two_cpu_ms:.2f} ms; "
                f"on nodes {one.ray_requests:,} requests of {n_on_ray:,} trials"
            )
        print("\n" + table(HEADINGS, [one.cells() for one in judged]), end="\n\n")
        took = time.monotonic() - began
        print(f"{missed} of {len(judged)} musts missed, {wrong} trials wrong; {took:.0f} s")
    sys.exit(bool(missed or wrong))


if __name__ == "__main__":
    main()
