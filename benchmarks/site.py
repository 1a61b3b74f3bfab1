"""A site of 200 runs: its first build, a build after one more night, and one without news.

    python benchmarks/site.py            the site once
    python benchmarks/site.py --json

Runs of one model, 30 cases and 3 repetitions with answers of 60 words. Needs 100 MB below
`--folder`, which is removed. Exits 1 when a must is missed.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from pathlib import Path

from budgets import Budget, judge, show
from calibration import between, calibrate
from report_page import analyze
from synthetic_lake import make_logs
from synthetic_rows import Shape

N_RUNS = 200
SHAPE = Shape(N_RUNS + 1, n_models=1, n_cases=30, repetitions=3, words=60)

BUDGETS = {
    "first": Budget("P-A18", "first build of a site of 200 runs of 30 x 3", "s", 60, scale="wall"),
    "news": Budget("P-A18", "after one more run", "s", 5, scale="wall"),
}


def main() -> None:
    """Measure, print, and exit 1 when a must is missed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--folder", type=Path, help="where the runs lie meanwhile")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--python", default=sys.executable, help="of the environment to measure")
    options = parser.parse_args()
    load, before = os.getloadavg(), calibrate()
    with tempfile.TemporaryDirectory(prefix="benchlake-", dir=options.folder) as name:
        folder = Path(name).resolve()
        make_logs(folder / "runs", SHAPE)
        newest = SHAPE.run_id(N_RUNS)
        (folder / "runs" / newest).rename(folder / newest)
        first = built(folder, options.python)
        (folder / newest).rename(folder / "runs" / newest)
        news = built(folder, options.python)
        nothing = built(folder, options.python)
        n_bytes = sum(one.stat().st_size for one in (folder / "site").rglob("*") if one.is_file())
    calibration = between(before, calibrate())
    rows = [
        judge(BUDGETS["first"], [first], calibration),
        judge(BUDGETS["news"], [news], calibration),
    ]
    summary = f"without news {nothing:.2f} s; the site has {n_bytes / 1e6:.1f} MB"
    facts = {"without_news_s": nothing, "site_bytes": n_bytes}
    sys.exit(show(rows, calibration, load, (summary, facts), as_json=options.json) > 0)


def built(folder: Path, python: str) -> float:
    """Bring the site up to date, and return after how many s that was done."""
    return analyze(python, folder, "report", "runs", "-o", "site").wall_s


if __name__ == "__main__":
    main()
