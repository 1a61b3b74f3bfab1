"""The page of a run in Chromium: its size, its first paint, and how a long trial scrolls.

    python benchmarks/page_in_browser.py            five openings of the page
    python benchmarks/page_in_browser.py --json

Two runs of 10 models, 150 cases and 3 repetitions with answers of 120 words and their traces, and a
run with trials of 500 steps. Needs chromium on the PATH and 100 MB below `--folder`, which is
removed. Exits 1 when a must is missed.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import sys
import tempfile
from pathlib import Path

from budgets import Budget, judge, show
from calibration import between, calibrate
from playwright.sync_api import Browser, Page, sync_playwright
from report_page import analyze
from synthetic_lake import make_logs
from synthetic_rows import Shape
from synthetic_traces import write_traces

OPENINGS = 5
WIDE = Shape(2, n_models=10, n_cases=150, repetitions=3, words=120)
LONG = Shape(1, n_models=1, n_cases=2, repetitions=1, words=120)
TURNS = 170
"""Each is what the agent says, a call and its result: 510 steps and a question and an answer."""

BUDGETS = {
    "size": Budget("P-A17", "page of 10 models x 150 cases x 3", "KB", 3_000, digits=0),
    "paint": Budget("P-A17", "its first contentful paint", "ms", 1_500, digits=0),
    "frame": Budget("P-A17", "a trial of 500 steps scrolls, p95 of a frame", "ms", 33, digits=1),
}

PAINT = "performance.getEntriesByName('first-contentful-paint')[0].startTime"
READY = "performance.now()"

UNFOLD = """async () => {
  const trial = document.querySelector("details.trial");
  trial.open = true;
  await new Promise((done) => setTimeout(done, 200));
  trial.querySelectorAll("details").forEach((one) => { one.open = true; });
  return trial.querySelectorAll(".part").length;
}"""

SCROLL = """async () => {
  const trial = document.querySelector("details.trial");
  const frame = () => new Promise(requestAnimationFrame);
  const frames = [];
  scrollTo(0, trial.getBoundingClientRect().top + scrollY);
  let last = await frame();
  while (trial.getBoundingClientRect().bottom > innerHeight && frames.length < 2000) {
    scrollBy(0, 400);
    const now = await frame();
    frames.push(now - last);
    last = now;
  }
  return frames;
}"""


def main() -> None:
    """Measure, print, and exit 1 when a must is missed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--folder", type=Path, help="where the runs lie meanwhile")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--python", default=sys.executable, help="of the environment to measure")
    options = parser.parse_args()
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if chromium is None:
        sys.exit("there is no chromium on the PATH")
    load = os.getloadavg()
    with tempfile.TemporaryDirectory(prefix="benchlake-", dir=options.folder) as name:
        folder = Path(name).resolve()
        wide = page_of(folder, "wide", WIDE, 0, options.python)
        long = page_of(folder, "long", LONG, TURNS, options.python)
        before = calibrate()
        with sync_playwright() as playwright:
            flags = ["--no-sandbox", "--disable-gpu"]
            browser = playwright.chromium.launch(executable_path=chromium, args=flags)
            openings = [opened(browser, wide) for _ in range(OPENINGS + 1)][1:]
            n_parts, frames = scrolled(browser, long)
            browser.close()
        size = wide.stat().st_size / 1000
    calibration = between(before, calibrate())
    figures = {
        "size": [size],
        "paint": [paint for paint, _ in openings],
        "frame": [statistics.quantiles(frames, n=20)[-1]],
    }
    rows = [judge(BUDGETS[name], figures[name], calibration) for name in BUDGETS]
    ready = statistics.median(ready for _, ready in openings)
    summary = f"all trials unpacked after {ready:.0f} ms; {n_parts} turns, {len(frames)} frames"
    facts = {"ready_ms": ready, "n_parts": n_parts, "n_frames": len(frames)}
    sys.exit(show(rows, calibration, load, (summary, facts), as_json=options.json) > 0)


def page_of(folder: Path, name: str, shape: Shape, turns: int, python: str) -> Path:
    """Write runs with their traces and the page of the newest, and return its path."""
    runs = folder / name
    make_logs(runs, shape)
    for number in range(shape.n_runs):
        write_traces(runs / shape.run_id(number), turns=turns)
    analyze(python, folder, "report", name, "-o", f"{name}.html")
    return folder / f"{name}.html"


def open_page(browser: Browser, path: Path) -> Page:
    """Open a page without a network and wait until its trials are there."""
    context = browser.new_context(offline=True, viewport={"width": 1280, "height": 800})
    page = context.new_page()
    page.goto(path.as_uri())
    page.wait_for_selector("html[data-ready]", state="attached")
    return page


def opened(browser: Browser, path: Path) -> tuple[float, float]:
    """Return after how many ms a page was painted first, and had all its trials."""
    page = open_page(browser, path)
    ready = page.evaluate(READY)
    paint = page.evaluate(PAINT)
    page.context.close()
    return paint, ready


def scrolled(browser: Browser, path: Path) -> tuple[int, list[float]]:
    """Return the turns of a long trial, all unfolded, and the ms of each frame while it scrolls."""
    page = open_page(browser, path)
    n_parts = page.evaluate(UNFOLD)
    frames = page.evaluate(SCROLL)
    page.context.close()
    return n_parts, frames


if __name__ == "__main__":
    main()
