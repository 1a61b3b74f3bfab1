"""Evaluation reports of 10,000 instances: validate, migrate and Markdown, beside reading JSON.

Budget: each below one second on a quiet machine. The ratio to `json.loads` of the same file, taken
in the same session, is what to compare between machines.
"""

from __future__ import annotations

import gc
import json
import statistics
import sys
import time
from collections.abc import Callable

from analyze import EvaluationReport, generate_markdown_summary
from analyze.exporters.swebench import of_report, swebench_json, swebench_report
from schemas.formats.migration.migrate import migration_of
from schemas.formats.report_v2 import report_json
from schemas.formats.report_v2_instance import InstanceResult, ValidationBreakdown, scored
from schemas.formats.report_v2_problems import schema_problems
from schemas.formats.swebench import Style
from schemas.io.json_text import read_json_text

N = 10_000
ROUNDS = 5
BUDGET_S = 1.0
STYLE: Style = 5


def instance(n: int) -> InstanceResult:
    ok = n % 3 > 0
    validation = ValidationBreakdown(
        deployment_status="pass",
        deployment_message="Deployed successfully",
        unit_test_status="pass" if ok else "fail",
        unit_test_message=f"{n} of {n} tests",
        functional_status="pass" if ok else "error",
        functional_message="Business outcome *achieved* <b>" if ok else "none",
        bulk_status="pass",
        bulk_records_processed=200,
        no_tweaks_status="skipped",
    )
    return InstanceResult(
        instance_id=f"task-{n:05}",
        status="resolved" if ok else "fail",
        resolved=ok,
        validation=scored(validation),
        duration_seconds=1 + n / 7,
        error_message=None if ok else f"assertion {n} | failed\non a second line",
        solution_patch=f"diff --git a/{n} b/{n}\n",
    )


def v2_text() -> bytes:
    instances = tuple(map(instance, range(N)))
    settings = {"tasks_file": "data/tasks/verified.json", "max_workers": 2}
    report = EvaluationReport(
        schema_version="2.0", run_id="bench", model_name="acme/model", dataset="verified",
        start_time="2026-01-01T00:00:00Z", config=settings, instances=instances, summary={},
    )  # fmt: skip
    return report_json(report).encode()


def v1_text() -> bytes:
    results = [
        {"task_id": f"task-{n:05}", "status": ("FAIL", "PASS", "ERROR")[n % 3], "duration": n / 7,
         "timestamp": "2026-01-01T00:00:00", "details": {"exit_code": n % 3}}
        for n in range(N)
    ]  # fmt: skip
    functional = [
        {"task_id": f"task-{n:05}", "score": 80, "deployment_passed": True,
         "unit_tests_passed": True, "functional_tests_passed": n % 3 == 1}
        for n in range(N)
    ]  # fmt: skip
    whole = {"model": "acme/model", "timestamp": "2026-01-01T00:00:00", "results": results}
    return json.dumps(whole | {"functional_validation": functional}).encode()


def seconds(work: Callable[[], object]) -> list[float]:
    times = []
    for round_no in range(ROUNDS + 1):
        gc.collect()
        began = time.perf_counter()
        work()
        if round_no:  # the first one builds validators
            times.append(time.perf_counter() - began)
    return times


def main() -> None:
    v2, v1 = v2_text(), v1_text()
    report = EvaluationReport(**json.loads(v2))
    old = json.loads(v1)
    works: dict[str, Callable[[], object]] = {
        "json.loads of the report": lambda: json.loads(v2),
        "validate: read and check": lambda: schema_problems(read_json_text(v2)[0]),
        "migrate a v1 run file": lambda: migration_of(old),
        "Markdown": lambda: generate_markdown_summary(report),
        "write the report": lambda: report_json(report),
        "SWE-bench report": lambda: swebench_json(swebench_report(of_report(report), style=STYLE)),
    }
    assert not schema_problems(json.loads(v2))
    base = 0.0
    over = False
    print(f"{N:,} instances, {len(v2) / 1e6:.1f} MB of v2, {len(v1) / 1e6:.1f} MB of v1")
    print(f"{'work':<26} {'median s':>9} {'min':>6} {'max':>6} {'ratio':>6}  budget")
    for name, work in works.items():
        times = seconds(work)
        median = statistics.median(times)
        base = base or median
        judged = ""
        if name.startswith(("validate", "migrate", "Markdown")):
            over = over or median > BUDGET_S
            judged = f"{BUDGET_S:g} s {'MISSED' if median > BUDGET_S else 'kept'}"
        shown = f"{median:9.2f} {min(times):6.2f} {max(times):6.2f} {median / base:6.1f}"
        print(f"{name:<26} {shown}  {judged}")
    sys.exit(over)


if __name__ == "__main__":
    main()
