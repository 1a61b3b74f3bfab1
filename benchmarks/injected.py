"""Two months of nights in which it is known what happened: what do the verdicts make of them?

    python benchmarks/injected.py [--keep FOLDER]

Writes the run folders of nine suites, brings them into a lake as `analyze sync` does, and asks what
`analyze regressions` and `analyze gate` ask: which drops are found, which are missed, what is
called a drop that is none, and what an outage, a new judge or a changed prompt is called.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from made_nights import OUTAGES, Suite, two_months, write_suite
from verdicts_on_nights import LIMITS, Detection, Score, gate, night_of, outcomes, score, warned

from analyze.query.session import Session, open_session
from analyze.regressions.alerts import find_regressions
from schemas.output.regressions import Shift


def main() -> None:
    """Make the nights, ask, print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--keep", type=Path, help="a new folder for the runs, kept afterwards")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="benchlake-") as made:
        runs_dir = (options.keep or Path(made)) / "runs"
        suites = two_months()
        began = time.perf_counter()
        for suite in suites:
            write_suite(runs_dir, suite)
        with open_session(runs_dir) as session:
            ready = time.perf_counter()
            found = find_regressions(session, limits=LIMITS)
            took = time.perf_counter() - ready
            print(f"{found.n_runs} runs, {found.n_series} series and {found.n_cells} cells;")
            print(f"made and synced in {ready - began:.0f} s, scanned in {took:.1f} s\n")
            scored = score(suites, found)
            print_drops(scored)
            print_cells(scored)
            print_explained(scored)
            print_false(suites, scored)
            print_gates(session, {suite.suite_id: suite for suite in suites}, scored)


def print_drops(scored: Score) -> None:
    """Print the drops of whole series."""
    print("## drops of a model, 30 cases x 3\n")
    print("| drop, points | night | first run told | told after nights | size told, points |")
    print("| ---: | ---: | ---: | ---: | ---: |")
    for one in scored.of("worse"):
        print(f"| {100 * one.size:.0f} | {one.night} | {_drop_cells(one)} |")
    print()


def _drop_cells(one: Detection) -> str:
    if not isinstance(one.alert, Shift):
        return "missed | | "
    seen = night_of(one.alert.seen_in) - one.night + 1
    return f"{night_of(one.alert.first_run)} | {seen} | {100 * one.alert.size:.1f}"


def print_cells(scored: Score) -> None:
    """Print the drops of single cells."""
    cells = scored.of("cell")
    found = [one for one in cells if one.alert is not None]
    names = ", ".join(f"{100 * one.size:.0f}" for one in found)
    print("## drops of single cells, 3 trials a night, 200 cells\n")
    print(f"{len(found)} of {len(cells)} named: those of {names or 'no'} points\n")


def print_explained(scored: Score) -> None:
    """Print what is said of a shift that is not the model's own doing."""
    print("## shifts with another cause\n\n| cause | series | told | told with the cause |")
    print("| --- | ---: | ---: | ---: |")
    for kind in ("judge", "served", "slower"):
        of_kind = scored.of(kind)
        hits = [one for one in of_kind if one.alert is not None]
        print(f"| {kind} | {len(of_kind)} | {len(hits)} | {sum(one.is_named for one in hits)} |")
    print()


def print_false(suites: Sequence[Suite], scored: Score) -> None:
    """Print alerts that tell nothing that happened."""
    print("## false alerts\n")
    n_series = 3 * sum(suite.n_models for suite in suites)
    print(f"{len(scored.false)} in {n_series} series and their cells:")
    for one in scored.false:
        of = one.series if isinstance(one, Shift) else one
        what = f"metric {one.series.metric}" if isinstance(one, Shift) else f"case {one.case_id}"
        first = one.first_run if isinstance(one, Shift) else one.first_bad_run
        print(f"- {of.suite_id} {of.model_id}, {what}: {one.direction} at {first}")
    print()


def print_gates(session: Session, suites: dict[str, Suite], scored: Score) -> None:
    """Print what a gate says of single nights."""
    print("## gates\n\n| night | against | models passed | failed | cannot judge | warned |")
    print("| --- | --- | ---: | ---: | ---: | --- |")
    steady = suites["steady"]
    for baseline in ("previous", "history"):
        usual: Counter[str] = Counter()
        for night in range(10, steady.nights):
            before = steady.outage(night - 1) if baseline == "previous" else None
            if steady.outage(night) is None and before is None:
                usual += outcomes(gate(session, steady, night, baseline))
        _row("usual nights, nothing changed", baseline, usual, is_warned=False)
        for event in steady.events:
            if event.kind in OUTAGES and event.night >= 10:
                result = gate(session, steady, event.night, baseline)
                _row(f"outage: {event.kind}", baseline, outcomes(result), is_warned=warned(result))
    for name in ("judged", "edited", "touched", "rewritten", "served", "moved"):
        suite = suites[name]
        result = gate(session, suite, suite.events[0].night, "previous")
        _row(f"{name}", "previous", outcomes(result), is_warned=warned(result))
    found: dict[str, list[str]] = {"previous": [], "history": []}
    series = suites["series"]
    for one in scored.of("worse"):
        model = int(one.model_id.rpartition("m")[2])
        night = next(n for n in range(one.night, series.nights) if series.outage(n) is None)
        for baseline, list_ in found.items():
            if outcomes(gate(session, series, night, baseline, model))["failed"]:
                list_.append(f"{100 * one.size:.0f}")
    print()
    for baseline, list_ in found.items():
        print(f"- first night of a drop, against {baseline}: failed at {', '.join(list_)} points")


def _row(what: str, against: str, found: Counter[str], *, is_warned: bool) -> None:
    counts = " | ".join(str(found[name]) for name in ("passed", "failed", "cannot_judge"))
    print(f"| {what} | {against} | {counts} | {'yes' if is_warned else ''} |", flush=True)


if __name__ == "__main__":
    main()
