"""The budget of agents: what the collector adds around commands that take 200 ms.

    python benchmarks/agents.py            three rounds
    python benchmarks/agents.py --quick    one round

Trials of an agent by configuration that is `sleep 0.2`, 16 at once, in bwrap: a workspace made, a
door opened, a command locked in, its files kept. 64 of them and 256 of them, each from the first
trial's start to the last one's end: the difference says what agents take, over the ideal, and the
rest is the start, which does not grow. Exits 1 when a must is missed.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from budgets import Budget, judge, show, table
from calibration import between, calibrate

ROUNDS, QUICK_ROUNDS = 3, 1
FEW, MANY, AT_ONCE, COMMAND_S = 64, 256, 16, 0.2
IDEAL_S = COMMAND_S / AT_ONCE
"""Of one trial among others."""

BUDGETS = (
    Budget(
        "P-18",
        "agents of 200 ms, 16 at once: wall without the start, over the ideal",
        "x",
        1.5,
        1.15,
    ),
    Budget("P-18", "the start of 16 agents", "s", 0.6, 0.35, "wall"),
    Budget("P-18", "loop late, at most", "ms", 10, 5, "wall", 0),
)

FILES = {
    "configs/agents/sleeper/agent.yaml": """\
schema_version: 1
agent_id: sleeper
title: Sleeper
command:
  argv: [sh, -c, "sleep 0.2; echo done"]
  prompt: stdin
""",
    "configs/suites/bench.yaml": """\
schema_version: 1
suite_id: bench
title: Bench
models:
  - {model_id: m, provider: openai_chat, requested_model: m, base_url: "http://127.0.0.1:9/v1"}
""",
    "configs/run_profiles/bench.yaml": f"""\
schema_version: 1
run_profile_id: bench
title: Bench
execution_policy: {{max_concurrency: {AT_ONCE}}}
agent: {{agent_id: sleeper, executable: local, timeout_seconds: 60}}
""",
}


@dataclass(frozen=True)
class Figures:
    """What two runs took."""

    few_s: float
    many_s: float
    late_ms: float
    median_ms: float
    """Of a trial's own time, among many."""

    @property
    def ratio(self) -> float:
        """Wall of further trials over the ideal."""
        return (self.many_s - self.few_s) / ((MANY - FEW) * IDEAL_S)

    @property
    def start_s(self) -> float:
        """What does not grow with the number of trials."""
        return self.few_s - self.ratio * FEW * IDEAL_S


def main() -> None:
    """Measure, print, and exit 1 when a must is missed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="one round")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    options = parser.parse_args()
    load = os.getloadavg()
    before = calibrate()
    with tempfile.TemporaryDirectory(prefix="benchlake-agents-") as name:
        folders = {n_trials: Path(name, str(n_trials)) for n_trials in (FEW, MANY)}
        for n_trials, folder in folders.items():
            write_project(folder, n_trials)
        rounds = [measure(folders) for _ in range(QUICK_ROUNDS if options.quick else ROUNDS)]
    calibration = between(before, calibrate())
    figures = [
        [one.ratio for one in rounds],
        [one.start_s for one in rounds],
        [one.late_ms for one in rounds],
    ]
    judged = [judge(*pair, calibration) for pair in zip(BUDGETS, figures, strict=True)]
    names = [f"{FEW} trials s", f"{MANY} trials s", "a trial, median ms", "loop late ms"]
    rows = [
        [f"{one.few_s:.2f}", f"{one.many_s:.2f}", f"{one.median_ms:.0f}", f"{one.late_ms:.0f}"]
        for one in rounds
    ]
    details = table(names, rows), {"rounds": [asdict(one) for one in rounds]}
    missed = show(judged, calibration, load, details, as_json=options.json)
    sys.exit(missed > 0)


def write_project(folder: Path, n_trials: int) -> None:
    """Write a project whose cases are of an agent that asks no model."""
    case = {
        "schema_version": 1,
        "title": "Sleep",
        "runner": {"type": "command"},
        "input": {"messages": [{"role": "user", "content": "Sleep."}]},
        "validator": {"type": "exact", "value": "done"},
    }
    files = dict(FILES)
    for number in range(n_trials):
        case_id = f"case-{number:03d}"
        text = json.dumps({**case, "case_id": case_id})
        files[f"configs/cases/bench/{case_id}/test.yaml"] = text
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)


def measure(folders: dict[int, Path]) -> Figures:
    """Make a run of few trials and one of many, and return what they took."""
    few, many = (_trials(folders[n_trials], n_trials) for n_trials in (FEW, MANY))
    late = [row["clock_late_ms"] for row in (*few, *many)]
    took = sorted(row["ended_at_ms"] - row["started_at_ms"] for row in many)
    return Figures(_wall_s(few), _wall_s(many), max(late), took[MANY // 2])


def _trials(folder: Path, n_trials: int) -> list[dict[str, Any]]:
    """Make one run, and return its rows."""
    command = [sys.executable, "-m", "collect", "run", "--suite", "bench", "--run-profile", "bench"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"the run failed: {done.stdout}{done.stderr}")
    log = max(folder.glob("runs/*/results.jsonl"), key=lambda path: path.stat().st_mtime)
    rows = [json.loads(line) for line in log.read_text().splitlines()]
    rows = [row for row in rows if row["record_type"] == "result"]
    assert len(rows) == n_trials
    assert all(row["passed"] for row in rows), rows[0]
    return rows


def _wall_s(rows: list[dict[str, Any]]) -> float:
    began = min(row["started_at_ms"] for row in rows)
    return (max(row["ended_at_ms"] for row in rows) - began) / 1000


if __name__ == "__main__":
    main()
