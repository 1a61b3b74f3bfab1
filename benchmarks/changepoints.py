"""Level shifts beside Apache Otava and ruptures: the same nights, looked at after every one.

    python benchmarks/changepoints.py            as docs/statistics.md prints it
    python benchmarks/changepoints.py --quick    a tenth of the series
    python benchmarks/changepoints.py --sample 1   other series than those of the page

Otava at 1e-4, and PELT (l2, 3 ln(T) s^2), get the value of each run; the scans get the cases behind
it. Two tables in Markdown: pass rates, and times. The draws come from `scenarios`. Both tools are
installed into an environment of their own (`environments`).
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from environments import CannotInstall, default_folder, environment_with
from measures import scan_of_rates, scan_of_values
from scenarios import Nights, Size, Times, passes_of_nights, times_of_nights
from simulation import generator, percent, table

from analyze.stats.changepoints.scan import Scan

PACKAGES = ["apache-otava>=0.8", "ruptures>=1.1.10"]
UNCHANGED, CHANGED = 200, 100
"""Series in a row of each kind; of pass rates that never change twice as many, thrice where nights
differ."""
FURTHER = 100_000
"""Series between two samples."""
MARGIN, RATIO_MARGIN = 0.05, 0.10

RATES = {
    "30x1": Nights(Size(30, 1)),
    "30x3": Nights(Size(30, 3)),
    "100x1": Nights(Size(100, 1)),
    "30x3, nights sd 0.4": Nights(Size(30, 3), noise=0.4),
    "30x3, nights sd 0.4, AR 0.8": Nights(Size(30, 3), noise=0.4, memory=0.8),
}
DROPS = ((None, 0.0), (30, -0.10), (30, -0.20))
TIMES = {
    "normal": Times("normal"),
    "t3": Times("t3"),
    "spikes": Times("spikes"),
    "AR 0.8": Times("normal", memory=0.8),
}
SLOWER = ((None, 1.0), (4, 2.0), (30, 1.22))

Alerts = list[tuple[int, int]]
"""First run, and the run after which it was told."""


@dataclass(frozen=True)
class Asked:
    """The series of one row of a table."""

    noise: str
    change: str
    shift_at: int | None
    values: list[list[float]]
    ours: dict[str, list[Alerts]]


def main() -> None:
    """Draw, ask everybody, print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="a tenth of the series")
    parser.add_argument("--sample", type=int, default=0, help="0: the series of the page")
    parser.add_argument("--env-dir", type=Path, default=default_folder(), help="of the tools")
    options = parser.parse_args()
    try:
        python = environment_with(options.env_dir, "changepoints", PACKAGES)
    except CannotInstall as exc:
        sys.exit(f"{' and '.join(PACKAGES)} cannot be installed: {exc}")
    share = 10 if options.quick else 1
    n_series = UNCHANGED // share, CHANGED // share
    began = time.perf_counter()
    tables = {
        "Pass rates": list(_rates(*n_series, options.sample)),
        "Times": list(_times(*n_series, options.sample)),
    }
    ours = time.perf_counter() - began
    every = {f"{row.noise}|{row.change}": row.values for rows in tables.values() for row in rows}
    answer = subprocess.run(
        [python, Path(__file__).with_name("changepoint_peers.py")],
        input=json.dumps(every), capture_output=True, text=True, check=True,
    )  # fmt: skip
    found = json.loads(answer.stdout)
    for title, rows in tables.items():
        print(f"### {title}\n")
        head = ("nights", "change", *rows[0].ours, *found["alerts"])
        table(head, (_row(row, found["alerts"]) for row in rows))
    seconds = {"scans, with drawing": ours} | found["seconds"]
    spent = ", ".join(f"{name} {value:.0f} s" for name, value in seconds.items())
    print(f"60 nights, {n_series[1]} series in a row where they change; {spent}")


def _rates(n_unchanged: int, n_changed: int, sample: int) -> Iterator[Asked]:
    for place, (noise, nights) in enumerate(RATES.items()):
        for number, (at, change) in enumerate(DROPS):
            made = replace(nights, shift_at=at, change=change)
            n_series = n_unchanged * (3 if nights.noise else 2) if at is None else n_changed
            counts = [
                passes_of_nights(made, generator(13, place, number, one + FURTHER * sample))
                for one in range(n_series)
            ]
            yield Asked(
                noise,
                "none" if at is None else f"{100 * change:.0f} points at night {at + 1}",
                at,
                [(k / m).mean(axis=1).tolist() for k, m in counts],
                {
                    "scan, no margin": [_alerts(scan_of_rates(*one, margin=0)) for one in counts],
                    "scan": [_alerts(scan_of_rates(*one, margin=MARGIN)) for one in counts],
                },
            )


def _times(n_unchanged: int, n_changed: int, sample: int) -> Iterator[Asked]:
    for place, (noise, times) in enumerate(TIMES.items()):
        for number, (at, ratio) in enumerate(SLOWER):
            made = replace(times, shift_at=at, ratio=ratio)
            n_series = n_unchanged if at is None else n_changed
            logs = [
                times_of_nights(made, generator(14, place, number, one + FURTHER * sample))
                for one in range(n_series)
            ]
            yield Asked(
                noise,
                "none" if at is None else f"x{ratio:g} at night {at + 1}",
                at,
                [one.mean(axis=1).tolist() for one in logs],
                {
                    "t scan, no margin": [_alerts(scan_of_values(x, ratio_margin=0)) for x in logs],
                    "t scan": [_alerts(scan_of_values(x, ratio_margin=RATIO_MARGIN)) for x in logs],
                },
            )


def _alerts(scan: Scan) -> Alerts:
    return [(shift.at, shift.seen_at) for shift in scan.shifts]


def _row(row: Asked, peers: dict[str, dict[str, list[Alerts]]]) -> Sequence[object]:
    of_peers = [alerts[f"{row.noise}|{row.change}"] for alerts in peers.values()]
    return (
        row.noise,
        row.change,
        *(_alert_figures(one, row.shift_at) for one in [*row.ours.values(), *of_peers]),
    )


def _alert_figures(series: list[Alerts], shift_at: int | None) -> str:
    """Return false alerts per 100, shares told within 4 and 7 runs, median runs until told."""
    if shift_at is None:
        return f"{100 * sum(map(len, series)) / len(series):.1f}"
    false, delays = 0, []
    for alerts in series:
        late = [run for _, run in alerts if run >= shift_at]
        false += len(alerts) - len(late)
        delays += [late[0] - shift_at + 1] if late else []
    shares = [percent(sum(delay <= runs for delay in delays) / len(series)) for runs in (4, 7)]
    median = f"{np.median(delays):.0f}" if delays else "-"
    return " / ".join((f"{100 * false / len(series):.1f}", *shares, median))


if __name__ == "__main__":
    main()
