"""What raw loops of stock httpx, aiohttp and a bare protocol cost for the collector's work.

    python benchmarks/raw_loops.py [-n 2000] [--concurrency 256] [--latency-ms 200] [--rounds 3]

Alternating, medians. Wall and CPU are those of the loop, without start and imports. aiohttp is
installed into an environment of its own and is no dependency of benchlake.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
from pathlib import Path
from typing import Any

from budgets import table
from environments import CannotInstall, default_folder, environment_with, version_of
from raw_client import LOOPS
from served import Served

CLIENT = Path(__file__).resolve().parent / "raw_client.py"
TOKENS = 16
TIMEOUT_S = 300
HEADINGS = ["loop", "version", "CPU ms / request", "wall / floor", "e2e p50", "p99", "max", "note"]


def once(
    python: Path, loop: str, *, n: int, concurrency: int, latency_ms: float
) -> dict[str, Any] | str:
    """Return what one loop took, or why there is nothing to say."""
    with Served(latency_ms=latency_ms, tokens=TOKENS) as served:
        command = [str(python), str(CLIENT), loop, f"--port={served.port}", f"-n={n}"]
        command += [f"--concurrency={concurrency}", f"--tokens={TOKENS}"]
        try:
            done = subprocess.run(
                command, capture_output=True, text=True, timeout=TIMEOUT_S, check=False
            )
        except subprocess.TimeoutExpired:
            seen = served.stats()["answered"]
            return f"not done in {TIMEOUT_S} s: {seen} of {n} answers"
    if done.returncode:
        return (done.stderr.strip().splitlines() or ["failed"])[-1]
    found: dict[str, Any] = json.loads(done.stdout)
    return found if found["passed"] == n else f"only {found['passed']} of {n} answers were right"


def row(
    loop: str, version: str, found: list[dict[str, Any] | str], n: int, floor_s: float
) -> list[str]:
    """Return the medians of all rounds as cells."""
    good = [one for one in found if isinstance(one, dict)]
    notes = sorted({one for one in found if isinstance(one, str)})
    cells = [loop, version]
    for figures, digits in (
        ([one["cpu_s"] * 1000 / n for one in good], 3),
        ([one["wall_s"] / floor_s for one in good], 2),
        *(([one["e2e_ms"][name] for one in good], 1) for name in ("p50", "p99", "max")),
    ):
        cells.append(f"{statistics.median(figures):.{digits}f}" if figures else "-")
    return [*cells, "; ".join(notes)]


def main() -> None:
    """Measure all loops and print one table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("-n", type=int, default=2000)
    parser.add_argument("--concurrency", type=int, default=256)
    parser.add_argument("--latency-ms", type=float, default=200)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--env-dir", type=Path, default=default_folder())
    options = parser.parse_args()
    here = Path(sys.executable)
    pythons: dict[str, Path | str] = dict.fromkeys(LOOPS, here)
    try:
        pythons["aiohttp"] = environment_with(options.env_dir, "aiohttp", ["aiohttp", "orjson"])
    except CannotInstall as exc:
        pythons["aiohttp"] = f"aiohttp cannot be installed here: {exc}"
    found: dict[str, list[dict[str, Any] | str]] = {loop: [] for loop in LOOPS}
    for number in range(options.rounds):
        for loop, python in pythons.items():
            sys.stderr.write(f"round {number + 1}: {loop} ...\n")
            if isinstance(python, str):
                found[loop].append(python)
                continue
            took = once(
                python,
                loop,
                n=options.n,
                concurrency=options.concurrency,
                latency_ms=options.latency_ms,
            )
            found[loop].append(took)
    floor_s = options.n * options.latency_ms / 1000 / options.concurrency
    packages = {"httpx": "httpx", "aiohttp": "aiohttp", "protocol-uvloop": "uvloop"}
    rows = []
    for loop, python in pythons.items():
        version = ""
        if isinstance(python, Path) and loop in packages:
            version = version_of(python, packages[loop])
        rows.append(row(loop, version, found[loop], options.n, floor_s))
    print(
        f"N = {options.n:,} at {options.concurrency}, true latency {options.latency_ms:g} ms, "
        f"floor {floor_s:.2f} s, medians of {options.rounds} rounds"
    )
    print(table(HEADINGS, rows))


if __name__ == "__main__":
    main()
