"""The budget of a trial with tools: two turns of the model, with a command in a shell between.

    python benchmarks/tool_turns.py            1,920 trials, three rounds
    python benchmarks/tool_turns.py --quick    960 trials, one round

The real `collect run` against an endpoint of exactly 200 ms an answer, 64 trials in flight; each
command is locked in by bubblewrap. What the tools take must be in no latency of the model, and must
not make the collector late. Exits 1 when a must is missed or a trial went wrong.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
import tempfile
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

import orjson
from answers import MODEL
from budgets import HEADINGS, Budget, judge, table
from calibration import between, calibrate
from measured import COMMAND, LATENCY_MS, RUN_ID, environment
from quantiles import quantile, spread
from served import Served
from watched import watch

CONCURRENCY = 64
TURNS = 2
TRIALS, QUICK_TRIALS = 1_920, 960
ROUNDS = 3


@dataclass(frozen=True)
class Figures:
    """One round."""

    e2e_p50_ms: float
    e2e_p99_ms: float
    late_p99_ms: float
    tool_p50_ms: float
    over_floor: float
    wrong: int
    """Trials without a good end, or without a result of the command."""


ROWS: tuple[tuple[Budget, Callable[[Figures], float]], ...] = (
    (
        Budget("P-15", "reported e2e p50, true 400", "ms", 406, 401, digits=1),
        lambda r: r.e2e_p50_ms,
    ),
    (Budget("P-15", "reported e2e p99", "ms", 430, 408, digits=1), lambda r: r.e2e_p99_ms),
    (Budget("P-15", "how late the loop was, p99", "ms", 10, 3, digits=1), lambda r: r.late_p99_ms),
    (Budget("P-15", "wall / floor", "x", 1.5, 1.2), lambda r: r.over_floor),
)


def write_project(folder: Path, base_url: str, trials: int) -> None:
    """Write a project whose one case offers a shell, asked again and again."""
    configs = folder / "configs"
    case = configs / "cases" / "bench" / "shell"
    for made in (folder / ".git", case, configs / "suites", configs / "run_profiles"):
        made.mkdir(parents=True)
    model = {"model_id": "m", "provider": "openai_chat", "requested_model": MODEL}
    files = {
        case / "test.yaml": {
            "schema_version": 1,
            "case_id": "shell",
            "title": "A command",
            "runner": {"type": "llm_probe"},
            "input": {
                "messages": [{"role": "user", "content": "Run it."}],
                "context": {"llm_probe": {"tools": ["exec_shell"]}},
            },
        },
        configs / "suites" / "bench.yaml": {
            "schema_version": 1,
            "suite_id": "bench",
            "title": "Tools",
            "models": [model | {"base_url": base_url}],
        },
        configs / "run_profiles" / "bench.yaml": {
            "schema_version": 1,
            "run_profile_id": "bench",
            "title": "Tools",
            "runner_defaults": {"stream": False, "timeout_seconds": 60},
            "execution_policy": {"max_concurrency": CONCURRENCY, "run_repetitions": trials},
        },
    }
    for path, content in files.items():
        path.write_text(json.dumps(content), encoding="utf-8")  # JSON is YAML


def measure(trials: int, python: str) -> Figures:
    """Make one run in a new folder with a new endpoint."""
    with (
        tempfile.TemporaryDirectory(prefix="benchlake-") as made,
        Served(latency_ms=LATENCY_MS, ttft_ms=LATENCY_MS, tokens=1) as served,
    ):
        folder = Path(made).resolve()
        write_project(folder, served.base_url, trials)
        process = watch([python, *COMMAND], cwd=folder, env=environment())
        if process.exit_code:
            raise RuntimeError(process.output)
        log = (folder / "runs" / RUN_ID / "results.jsonl").read_bytes()
    rows = [row for line in log.splitlines() if (row := orjson.loads(line)).get("case_id")]
    e2e = spread([row["e2e_ms"] for row in rows])
    late = quantile([row["clock_late_ms"] for row in rows], 0.99)
    tools = quantile([row["tool_ms"] for row in rows], 0.5)
    return Figures(
        e2e_p50_ms=e2e["p50"] or 0.0,
        e2e_p99_ms=e2e["p99"] or 0.0,
        late_p99_ms=late or 0.0,
        tool_p50_ms=tools or 0.0,
        over_floor=process.wall_s / (trials * TURNS * LATENCY_MS / 1000 / CONCURRENCY),
        wrong=trials - sum(row["success"] and row["tool_calls"] == ["exec_shell"] for row in rows),
    )


def main() -> None:
    """Measure, print, and exit 1 when a must is missed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="one round of fewer trials")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--python", default=sys.executable, help="of the environment to measure")
    options = parser.parse_args()
    load, before = os.getloadavg(), calibrate()
    trials, n_rounds = (QUICK_TRIALS, 1) if options.quick else (TRIALS, ROUNDS)
    rounds = [measure(trials, options.python) for _ in range(n_rounds)]
    calibration = between(before, calibrate())
    judged = [
        judge(budget, [figure(one) for one in rounds], calibration) for budget, figure in ROWS
    ]
    missed = sum(one.verdict == "MISSED" for one in judged)
    wrong = sum(one.wrong for one in rounds)
    if options.json:
        facts = {
            "machine": {"cores": os.cpu_count(), "python": platform.python_version(), "load": load},
            "calibration": asdict(calibration),
            "rows": [one.as_json() for one in judged],
            "rounds": [asdict(one) for one in rounds],
        }
        print(json.dumps(facts, indent=1))
    else:
        print(f"load at the start {load[0]:.2f}; {calibration.text()}", end="\n\n")
        tools = ", ".join(f"{one.tool_p50_ms:.0f}" for one in rounds)
        print(f"{trials:,} trials; tools of a trial, p50: {tools} ms", end="\n\n")
        print(table(HEADINGS, [one.cells() for one in judged]), end="\n\n")
        print(f"{missed} of {len(judged)} musts missed, {wrong} trials wrong")
    sys.exit(bool(missed or wrong))


if __name__ == "__main__":
    main()
