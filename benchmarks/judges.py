"""The budget of judges: how well they are kept busy, and what trials beside them notice of it.

    python benchmarks/judges.py            three rounds
    python benchmarks/judges.py --quick    one round

The real `collect evaluate` and `collect run --evaluation-profile` against endpoints of exactly
200 ms an answer, 64 in flight each. The wall clock is that of the endpoint, from the first question
to the last answer. Model and judge stand at an address that does not look like this machine, so
that both are asked at once. Exits 1 when a must is missed or a judgement went wrong.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

import orjson
from budgets import Budget, judge, show
from calibration import between, calibrate
from measured import COMMAND, LATENCY_MS, RUN_ID, environment
from project import write_project
from quantiles import spread
from served import Served
from watched import Watched, watch

CONCURRENCY = 64
CASES, MANY = 1_000, 10
"""Cases, and how often each is asked where memory is measured."""

SHORT_MS = 20
"""Of an answer where only memory is measured."""

ROUNDS = 3
EVALUATE = ("-P", "-m", "collect", "evaluate", RUN_ID, "--evaluation-profile", "bench", "--json")


@dataclass(frozen=True)
class Figures:
    """One round."""

    over_floor: float
    p99_alone_ms: float
    p99_beside_ms: float
    peak_mb: float
    grown_mb: float
    """From 1,000 judgements to 10,000."""
    wrong: int
    """Trials without a judgement."""


ROWS: tuple[tuple[Budget, Callable[[Figures], float]], ...] = (
    (Budget("P-19", "wall / floor, 64 in flight", "x", 1.15, 1.06), lambda r: r.over_floor),
    (
        Budget("P-19", "reported p99 of trials, beside judges / alone", "x", 1.05, 1.02, digits=3),
        lambda r: r.p99_beside_ms / r.p99_alone_ms,
    ),
    (
        Budget("P-19", "memory, 10,000 judgements - 1,000", "MB", 20, 10, digits=1),
        lambda r: r.grown_mb,
    ),
)


def elsewhere(served: Served) -> str:
    """Return the address of an endpoint as one that is not this machine's, by its looks."""
    return f"http://0.0.0.0:{served.port}/v1"


def write(folder: Path, model: Served, judged_by: Served, repetitions: int) -> None:
    """Write a project whose cases are judged by one judge with one question each."""
    address = elsewhere(model)
    write_project(folder, base_url=address, n=CASES, concurrency=CONCURRENCY, tokens=16)
    suite = folder / "configs" / "suites" / "bench.yaml"
    facts = json.loads(suite.read_text())
    facts["models"][0] |= {"provider": "ollama_openai", "warmup": 0}
    suite.write_text(json.dumps(facts))
    run_profile = folder / "configs" / "run_profiles" / "bench.yaml"
    facts = json.loads(run_profile.read_text())
    facts["execution_policy"]["run_repetitions"] = repetitions
    run_profile.write_text(json.dumps(facts))
    profile = {
        "schema_version": 1,
        "evaluation_profile_id": "bench",
        "title": "Judges",
        "judges": [
            {
                "judge_id": "main",
                "type": "llm_probe",
                "provider": "ollama_openai",
                "model": "bench-judge",
                "base_url": elsewhere(judged_by),
                "max_concurrency": CONCURRENCY,
            }
        ],
        "judge_runs": [{"judge_run_id": "once", "judge_id": "main"}],
        "aggregation": {"pass_threshold": 7},
    }
    path = folder / "configs" / "evaluation_profiles" / "bench.yaml"
    path.parent.mkdir()
    path.write_text(json.dumps(profile))


def run(folder: Path, python: str, *words: str) -> Watched:
    """Run one command of the collector to its good end."""
    process = watch([python, *words], cwd=folder, env=environment())
    if process.exit_code:
        raise RuntimeError(process.output)
    return process


def p99_of(folder: Path) -> float:
    """Return the p99 of the latencies that a run reports."""
    log = (folder / "runs" / RUN_ID / "results.jsonl").read_bytes()
    rows = [row for line in log.splitlines() if (row := orjson.loads(line)).get("case_id")]
    return spread([row["e2e_ms"] for row in rows])["p99"] or 0.0


def judged_in(folder: Path) -> int:
    """Return how many trials of a run have a judgement."""
    log = (folder / "runs" / RUN_ID / "evaluations.jsonl").read_bytes()
    lines = map(orjson.loads, log.splitlines())
    judged = (row for row in lines if row["record_type"] == "judgement")
    return len({(row["case_id"], row["repetition"]) for row in judged})


def evaluated(
    repetitions: int, latency_ms: float, python: str
) -> tuple[Watched, float, float, int]:
    """Return one `collect evaluate`, its wall over the floor, and the p99 of its run alone."""
    with (
        tempfile.TemporaryDirectory(prefix="benchlake-") as made,
        Served(latency_ms=latency_ms, ttft_ms=latency_ms, tokens=16) as model,
        Served(latency_ms=latency_ms, ttft_ms=latency_ms, tokens=16) as judged_by,
    ):
        folder = Path(made).resolve()
        write(folder, model, judged_by, repetitions)
        run(folder, python, *COMMAND)
        p99 = p99_of(folder)
        process = run(folder, python, *EVALUATE)
        stats = judged_by.stats()
        wall_s = (stats["last_finish_ns"] - stats["first_arrival_ns"]) / 1e9
        trials = CASES * repetitions
        floor_s = trials * latency_ms / 1000 / CONCURRENCY
        return process, wall_s / floor_s, p99, trials - judged_in(folder)


def judged_p99(python: str) -> tuple[float, int]:
    """Return the p99 of a run whose trials are judged as they are made."""
    with (
        tempfile.TemporaryDirectory(prefix="benchlake-") as made,
        Served(latency_ms=LATENCY_MS, ttft_ms=LATENCY_MS, tokens=16) as model,
        Served(latency_ms=LATENCY_MS, ttft_ms=LATENCY_MS, tokens=16) as judged_by,
    ):
        folder = Path(made).resolve()
        write(folder, model, judged_by, 1)
        run(folder, python, *COMMAND, "--evaluation-profile", "bench")
        return p99_of(folder), CASES - judged_in(folder)


def measure(python: str) -> Figures:
    """Make one round, each part of it in a new folder with new endpoints."""
    few, over_floor, alone, wrong = evaluated(1, LATENCY_MS, python)
    p99, wrong_judged = judged_p99(python)
    many, _, _, wrong_many = evaluated(MANY, SHORT_MS, python)
    return Figures(
        over_floor=over_floor,
        p99_alone_ms=alone,
        p99_beside_ms=p99,
        peak_mb=many.peak_mb,
        grown_mb=many.peak_mb - few.peak_mb,
        wrong=wrong + wrong_judged + wrong_many,
    )


def main() -> None:
    """Measure, print, and exit 1 when a must is missed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="one round")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--python", default=sys.executable, help="of the environment to measure")
    options = parser.parse_args()
    load, before = os.getloadavg(), calibrate()
    rounds = [measure(options.python) for _ in range(1 if options.quick else ROUNDS)]
    calibration = between(before, calibrate())
    judged = [
        judge(budget, [figure(one) for one in rounds], calibration) for budget, figure in ROWS
    ]
    wrong = sum(one.wrong for one in rounds)
    peaks = ", ".join(f"{one.peak_mb:.0f}" for one in rounds)
    summary = f"{CASES * MANY:,} judgements: peak memory {peaks} MB; {wrong} trials wrong"
    details = summary, {"rounds": [asdict(one) for one in rounds]}
    missed = show(judged, calibration, load, details, as_json=options.json)
    sys.exit(bool(missed or wrong))


if __name__ == "__main__":
    main()
