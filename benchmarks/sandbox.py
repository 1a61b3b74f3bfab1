"""The budget of a command that is locked in: started by the helper, ended, and answered for.

    python benchmarks/sandbox.py            five rounds
    python benchmarks/sandbox.py --quick    two rounds

`/bin/true` in the sandbox, one at a time and 8 at once, as tools of a run start it. Below stands
what it takes without the helper, and without a network of its own. Exits 1 when a must is missed.

The helper is at low priority, as in a run: whatever else this machine does is in the figures, so
that the best round is judged.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import statistics
import subprocess
import sys
import time
from dataclasses import asdict, dataclass

from budgets import Budget, judge, show, table
from calibration import between, calibrate

from collect.sandbox import Bwrap, Command, Folders, Sandbox
from schemas.config.sandbox import DEFAULT_SANDBOX

ROUNDS, QUICK_ROUNDS = 5, 2
ALONE, TOGETHER, AT_ONCE = 60, 320, 8
TRUE = Command(argv=("/bin/true",))

BUDGETS = (
    Budget("P-14", "a command locked in, one at a time", "ms", 15, 10, "wall"),
    Budget("P-14", "the same, 8 at once, for each", "ms", 8.3, 6.5, "wall"),
)


@dataclass(frozen=True)
class Figures:
    """Milliseconds of a command in one round."""

    alone: float
    together: float
    bare: float
    """By bwrap alone, without the helper."""
    shared_network: float
    """The same, in the network of this machine."""
    unlocked: float


def main() -> None:
    """Measure, print, and exit 1 when a must is missed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="two rounds")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    options = parser.parse_args()
    load = os.getloadavg()
    before = calibrate()
    start_ms, rounds = asyncio.run(measure(QUICK_ROUNDS if options.quick else ROUNDS))
    calibration = between(before, calibrate())
    figures = ([min(one.alone for one in rounds)], [min(one.together for one in rounds)])
    judged = [judge(*pair, calibration) for pair in zip(BUDGETS, figures, strict=True)]
    details = (
        _details(start_ms, rounds),
        {"helper_start_ms": start_ms, "rounds": [asdict(one) for one in rounds]},
    )
    missed = show(judged, calibration, load, details, as_json=options.json)
    sys.exit(missed > 0)


async def measure(n_rounds: int) -> tuple[float, list[Figures]]:
    """Return how long the helper took to start, and the figures of each round."""
    backend = Bwrap(DEFAULT_SANDBOX.limits)
    began = time.perf_counter()
    sandbox = await Sandbox.open(DEFAULT_SANDBOX, backend)
    start_ms = (time.perf_counter() - began) * 1000
    try:
        folders = await sandbox.folders()
        await sandbox.run(folders, TRUE)
        rounds = [await _round(sandbox, backend, folders) for _ in range(n_rounds)]
    finally:
        await sandbox.aclose()
    return start_ms, rounds


async def _round(sandbox: Sandbox, backend: Bwrap, folders: Folders) -> Figures:
    alone = [await _timed(sandbox, folders) for _ in range(ALONE)]
    began = time.perf_counter()

    async def work() -> None:
        for _ in range(TOGETHER // AT_ONCE):
            await _timed(sandbox, folders)

    await asyncio.gather(*(work() for _ in range(AT_ONCE)))
    together = (time.perf_counter() - began) / TOGETHER
    argv = backend.argv(TRUE, folders, "benchmark")
    argv[argv.index("--json-status-fd") + 1] = "1"
    shared = [word for word in argv if word != "--unshare-net"]
    return Figures(
        alone=statistics.median(alone) * 1000,
        together=together * 1000,
        bare=_bare(argv, folders),
        shared_network=_bare(shared, folders),
        unlocked=_bare(["/bin/true"], folders),
    )


async def _timed(sandbox: Sandbox, folders: Folders) -> float:
    began = time.perf_counter()
    done = await sandbox.run(folders, TRUE)
    assert done.exit_code == 0, done
    return time.perf_counter() - began


def _bare(argv: list[str], folders: Folders) -> float:
    """Return the median of a command that this process starts, as the user of the helper."""
    owner = folders.workspace.stat().st_uid
    as_owner = {"user": owner, "group": owner, "extra_groups": []} if os.geteuid() == 0 else {}
    times = []
    for _ in range(ALONE):
        began = time.perf_counter()
        subprocess.run(argv, check=True, stdout=subprocess.DEVNULL, **as_owner)
        times.append(time.perf_counter() - began)
    return statistics.median(times) * 1000


def _details(start_ms: float, rounds: list[Figures]) -> str:
    rows = [["start of the helper", f"{start_ms:.1f}", "-"]]
    for name, what in {
        "alone": "a command, one at a time",
        "together": f"a command, {AT_ONCE} at once",
        "bare": "bwrap without the helper",
        "shared_network": "bwrap in this machine's network",
        "unlocked": "/bin/true itself",
    }.items():
        values = [getattr(one, name) for one in rounds]
        rows.append([what, f"{statistics.median(values):.1f}", f"{min(values):.1f}"])
    best = 1000 / min(one.together for one in rounds)
    return table(["ms", "median", "best"], rows) + f"\n\nat most {best:.0f} commands a second"


if __name__ == "__main__":
    main()
