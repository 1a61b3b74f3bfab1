"""How long checks of stored trials take, and hooks among them.

    python benchmarks/checks.py            10,000 trials, 1,000 with a hook
    python benchmarks/checks.py --quick    1,000 and 200

A real run against the endpoint, each of whose trials leaves a file by a command in the sandbox.
Then its five checks are edited, and `collect check` makes them again; then there is a hook as well.
Whole processes are measured: start, reading the run, checks, lake and summary. Exits 1 when a must
is missed or a verdict is not what it should be.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
import tempfile
from dataclasses import asdict
from pathlib import Path

import orjson
from answers import MODEL
from budgets import HEADINGS, Budget, judge, table
from calibration import between, calibrate
from measured import COMMAND, RUN_ID, environment
from served import Served
from watched import Watched, watch

N, QUICK = (10_000, 1_000), (1_000, 200)
"""Trials with declarative checks, and of them those with a hook."""

IN_FLIGHT = 64

CHECK = ("-P", "-m", "collect", "check", RUN_ID, "--json")

ROWS = (
    Budget("P-16", "`collect check` of 10,000 trials, 5 checks each", "s", 20, 10, "wall"),
    Budget("P-17", "a hook among them, ms each (60 a second)", "ms", 16.7, 10, "wall"),
)

HOOK = "def judge(artifact, context):\n    return artifact['status'] == 'success'\n"


def checks(text: str, *, hooked: bool) -> list[dict[str, object]]:
    """Return the checks of a case; another text is another check."""
    declarative = [
        {"kind": "final_response_present"},
        {"kind": "status_is", "status": "success"},
        {"kind": "file_exists", "path": "a.txt"},
        {"kind": "file_contains", "path": "a.txt", "text": text},
        {"kind": "openclaw_workspace_file_present", "relative_path": "a.txt", "contains": text},
    ]
    made: list[dict[str, object]] = [
        {"check_id": f"c{number}", "declarative": one} for number, one in enumerate(declarative)
    ]
    own = {"check_id": "own", "python_hook": {"path": "hook.py", "callable_name": "judge"}}
    return [*made, own] if hooked else made


def write_project(folder: Path, base_url: str, trials: int, some: int) -> None:
    """Write a project of two cases, one of them asked as often as hooks are to look."""
    configs = folder / "configs"
    for name in ("cases/bench", "suites", "run_profiles", "evaluation_profiles"):
        (configs / name).mkdir(parents=True)
    (folder / ".git").mkdir()
    model = {"model_id": "m", "provider": "openai_chat", "requested_model": MODEL}
    n_cases = trials // some
    files = {
        "suites/bench.yaml": {
            "schema_version": 1,
            "suite_id": "bench",
            "title": "Checks",
            "models": [model | {"base_url": base_url}],
        },
        "run_profiles/bench.yaml": {
            "schema_version": 1,
            "run_profile_id": "bench",
            "title": "Checks",
            "runner_defaults": {"stream": False, "timeout_seconds": 60},
            "execution_policy": {"max_concurrency": IN_FLIGHT, "run_repetitions": some},
        },
        "evaluation_profiles/hooks.yaml": {
            "schema_version": 1,
            "evaluation_profile_id": "hooks",
            "title": "Hooks",
            "security_policy": {"allow_local_python_hooks": True},
        },
    }
    for name, content in files.items():
        (configs / name).write_text(json.dumps(content), encoding="utf-8")  # JSON is YAML
    for number in range(n_cases):
        write_case(folder, number, "nothing")


def write_case(folder: Path, number: int, text: str, *, hooked: bool = False) -> None:
    """Write a case whose trials leave a file."""
    case = folder / "configs" / "cases" / "bench" / f"c{number}"
    case.mkdir(exist_ok=True)
    content = {
        "schema_version": 1,
        "case_id": f"c{number}",
        "title": "A file",
        "runner": {"type": "llm_probe"},
        "input": {
            "messages": [{"role": "user", "content": "Run: echo benchlake > a.txt"}],
            "context": {"llm_probe": {"tools": ["exec_shell"]}},
        },
        "deterministic_checks": checks(text, hooked=hooked),
    }
    (case / "test.yaml").write_text(json.dumps(content), encoding="utf-8")
    (case / "hook.py").write_text(HOOK, encoding="utf-8")


def collected(folder: Path, python: str, words: tuple[str, ...]) -> Watched:
    """Run `collect`, which has to end well."""
    process = watch([python, *words], cwd=folder, env=environment(), timeout_s=1_800)
    if process.exit_code:
        raise RuntimeError(process.output)
    return process


def main() -> None:
    """Measure, print, and exit 1 when a must is missed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="fewer trials")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--python", default=sys.executable, help="of the environment to measure")
    options = parser.parse_args()
    load, before = os.getloadavg(), calibrate()
    trials, some = QUICK if options.quick else N
    with tempfile.TemporaryDirectory(prefix="benchlake-") as made:
        folder = Path(made).resolve()
        with Served(latency_ms=1, ttft_ms=1, tokens=1) as served:
            write_project(folder, served.base_url, trials, some)
            run = collected(folder, options.python, COMMAND)
        for number in range(trials // some):
            write_case(folder, number, "benchlake")
        declarative = collected(folder, options.python, CHECK)
        write_case(folder, 0, "benchlake", hooked=True)
        words = (*CHECK, "--case", "c0", "--evaluation-profile", "hooks")
        hooked = collected(folder, options.python, words)
        lines = (folder / "runs" / RUN_ID / "evaluations.jsonl").read_bytes().splitlines()
    n_checks = [len(orjson.loads(line)["checks"]) for line in lines]
    n_passed = sum(orjson.loads(line)["passed"] is True for line in lines)
    wrong = abs(trials + some - len(lines)) + len(lines) - n_passed + abs(some - n_checks.count(6))
    calibration = between(before, calibrate())
    figures = (declarative.wall_s * N[0] / trials, hooked.wall_s * 1000 / some)
    judged = [judge(budget, [one], calibration) for budget, one in zip(ROWS, figures, strict=True)]
    missed = sum(one.verdict == "MISSED" for one in judged)
    if options.json:
        facts = {
            "machine": {"cores": os.cpu_count(), "python": platform.python_version(), "load": load},
            "calibration": asdict(calibration),
            "rows": [one.as_json() for one in judged],
            "seconds": [run.wall_s, declarative.wall_s, hooked.wall_s],
        }
        print(json.dumps(facts, indent=1))
    else:
        print(f"load at the start {load[0]:.2f}; {calibration.text()}", end="\n\n")
        print(f"the run of {trials:,} trials: {run.wall_s:.1f} s", end="\n\n")
        print(table(HEADINGS, [one.cells() for one in judged]), end="\n\n")
        print(f"{missed} of {len(judged)} musts missed, {wrong} lines wrong")
    sys.exit(bool(missed or wrong))


if __name__ == "__main__":
    main()
