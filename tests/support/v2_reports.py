"""Evaluation reports v2 for tests: the examples of schema v2, and any report that is valid."""

import json

from hypothesis import strategies as st

from schemas.formats.report_v2 import EvaluationReport, report_json
from schemas.formats.report_v2_instance import COMPONENTS, MAX_POINTS, InstanceResult

TOP_LEVEL = """
{
  "schema_version": "2.0",
  "run_id": "claude-sonnet-4.5-20251229_143000",
  "model_name": "anthropic/claude-3.5-sonnet",
  "model_name_or_path": "anthropic/claude-3.5-sonnet",
  "dataset": "verified",
  "created_at": "2025-12-29T14:30:00Z",
  "start_time": "2025-12-29T14:30:00Z",
  "end_time": "2025-12-29T16:45:00Z",
  "evaluation_config": {...},
  "config": {...},
  "instances": [...],
  "summary": {...},
  "resolved_ids": ["lwc-component-001", "apex-trigger-handler-001"],
  "unresolved_ids": ["flow-screen-component-001"],
  "error_ids": ["architecture-001"],
  "empty_patch_ids": [],
  "completed_ids": ["lwc-component-001", "apex-trigger-handler-001", "flow-screen-component-001"],
  "environment": {...}
}
"""

CONFIG = """
{
  "tasks_file": "data/tasks/verified.json",
  "validation_mode": "functional",
  "max_workers": 2,
  "functional_validation": true,
  "scratch_org_alias": "sfbench-claude-sonnet-4.5-20251229"
}
"""

INSTANCE = """
{
  "instance_id": "lwc-component-001",
  "model_name": "anthropic/claude-3.5-sonnet",
  "status": "resolved",
  "resolved": true,
  "validation": {...},
  "duration_seconds": 245.3,
  "scratch_org_username": "test-abc123@example.com",
  "error_message": null,
  "error_type": null,
  "start_time": "2025-12-29T14:30:15Z",
  "end_time": "2025-12-29T14:34:20Z",
  "log_path": "logs/run_evaluation/claude-sonnet-4.5-20251229/lwc-component-001/run_instance.log",
  "solution_patch": "diff --git a/..."
}
"""

VALIDATION = """
{
  "deployment_status": "pass",
  "deployment_message": "Deployed successfully",
  "deployment_points": 10,

  "unit_test_status": "pass",
  "unit_test_message": "All tests passed",
  "unit_test_passed": 15,
  "unit_test_failed": 0,
  "unit_test_total": 15,
  "unit_test_points": 20,

  "functional_status": "pass",
  "functional_message": "Business outcome achieved",
  "functional_details": {...},
  "functional_points": 50,

  "bulk_status": "pass",
  "bulk_message": "Handled 200 records",
  "bulk_records_processed": 200,
  "bulk_records_expected": 200,
  "bulk_points": 10,

  "no_tweaks_status": "pass",
  "no_tweaks_message": "No manual tweaks needed",
  "no_tweaks_points": 10,

  "total_score": 100
}
"""

SUMMARY = """
{
  "total_instances": 12,
  "instances_submitted": 12,
  "instances_completed": 7,
  "resolved_instances": 5,
  "instances_resolved": 5,
  "instances_unresolved": 2,
  "failed_instances": 2,
  "error_instances": 5,
  "instances_error": 5,
  "instances_empty_patch": 0,

  "resolve_rate": 0.4167,
  "resolution_rate": 41.67,

  "avg_score": 6.0,
  "avg_functional_score": 3.0,
  "median_score": 0.0,
  "min_score": 0,
  "max_score": 100,

  "deployment_pass_rate": 0.4167,
  "unit_test_pass_rate": 0.3333,
  "functional_pass_rate": 0.0833,
  "bulk_pass_rate": 0.0,
  "no_tweaks_pass_rate": 0.4167,

  "avg_duration_seconds": 245.3,
  "total_duration_seconds": 2943.6
}
"""

COMPLETE = """
{
  "schema_version": "2.0",
  "run_id": "claude-sonnet-4.5-20251229",
  "model_name": "anthropic/claude-3.5-sonnet",
  "dataset": "verified",
  "config": {
    "tasks_file": "data/tasks/verified.json",
    "validation_mode": "functional",
    "max_workers": 2,
    "functional_validation": true
  },
  "instances": [
    {
      "instance_id": "lwc-component-001",
      "model_name": "anthropic/claude-3.5-sonnet",
      "status": "resolved",
      "resolved": true,
      "validation": {
        "deployment_status": "pass",
        "deployment_points": 10,
        "unit_test_status": "pass",
        "unit_test_points": 20,
        "functional_status": "pass",
        "functional_points": 50,
        "bulk_status": "pass",
        "bulk_points": 10,
        "no_tweaks_status": "pass",
        "no_tweaks_points": 10,
        "total_score": 100
      },
      "duration_seconds": 245.3
    }
  ],
  "summary": {
    "total_instances": 12,
    "resolved_instances": 5,
    "resolve_rate": 41.67,
    "avg_score": 6.0
  },
  "start_time": "2025-12-29T14:30:00Z",
  "end_time": "2025-12-29T16:45:00Z"
}
"""


def filled():
    """Return the top-level example of schema v2, each `...` filled from the section below it."""
    validation = VALIDATION.replace("{...}", '{"steps": []}')
    instance = INSTANCE.replace("{...}", validation)
    text = TOP_LEVEL.replace('config": {...}', f'config": {CONFIG}')
    text = text.replace("[...]", f"[{instance}]")
    text = text.replace('summary": {...}', f'summary": {SUMMARY}')
    return json.loads(text.replace("{...}", '{"python_version": "3.11.7"}'))


def passing(**changes):
    """Return a validation in which everything passed."""
    return json.loads(VALIDATION.replace("{...}", "{}")) | changes


def instance(name, status="resolved", **changes):
    """Return one instance as a report holds it."""
    given = {"instance_id": name, "status": status, "resolved": status == "resolved"}
    return given | changes


def report(*instances, **changes):
    """Return a whole report of some instances, with every field that follows from them."""
    head = {
        "schema_version": "2.0",
        "run_id": "m-20251229_143000",
        "model_name": "m",
        "dataset": "verified",
        "config": {},
        "start_time": "2025-12-29T14:30:00Z",
        "summary": {},
        "instances": list(instances),
    }
    whole = json.loads(report_json(EvaluationReport(**head)))
    return whole | changes


TEXT = st.text(st.characters(codec="utf-8"), max_size=12)
NUMBERS = st.integers(-(10**6), 10**6) | st.floats(-1e6, 1e6)
COMPONENT_STATUSES = st.sampled_from(["pass", "fail", "error", "skipped"])
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | TEXT
    | st.floats(allow_nan=False, allow_infinity=False),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=6,
)  # fmt: skip
TIMES = st.datetimes().map(lambda time: time.isoformat() + "Z")


@st.composite
def validations(draw):
    """Return a validation of any statuses and points that add up."""
    found = {}
    if draw(st.booleans()):
        for component in COMPONENTS:
            status = draw(COMPONENT_STATUSES)
            found[f"{component}_status"] = status
            found[f"{component}_points"] = MAX_POINTS[component] * (status == "pass")
    if draw(st.booleans()):
        found["total_score"] = draw(st.none() | NUMBERS)
    if draw(st.booleans()):
        found["functional_details"] = draw(st.dictionaries(TEXT, JSON, max_size=2))
    return found


INSTANCES = st.lists(
    st.fixed_dictionaries(
        {
            "instance_id": TEXT,
            "status": st.sampled_from(["resolved", "fail", "error", "skipped"]),
        },
        optional={
            "resolved": st.booleans(),
            "validation": validations(),
            "duration_seconds": st.none() | st.integers(0, 10**9) | st.floats(0, 1e9),
            "error_message": st.none() | TEXT,
            "solution_patch": st.none() | st.sampled_from(["", " \n", "diff"]) | TEXT,
            "start_time": st.none() | TIMES,
            "anything else": JSON,
        },
    ),
    max_size=6,
    unique_by=lambda one: one["instance_id"],
)


@st.composite
def reports(draw, instances=INSTANCES):
    """Return a valid report in which names of pairs and what is derivable may be absent."""
    found = {
        "schema_version": "2.0",
        "run_id": draw(TEXT),
        draw(st.sampled_from(["model_name", "model_name_or_path"])): draw(TEXT),
        "dataset": draw(TEXT),
        draw(st.sampled_from(["config", "evaluation_config"])): {
            "max_workers": draw(st.none() | st.integers(1, 99))
        },
        draw(st.sampled_from(["start_time", "created_at"])): draw(TIMES),
        "instances": draw(instances),
        "summary": {},
    }
    if draw(st.booleans()):
        found["environment"] = draw(st.dictionaries(TEXT, JSON, max_size=3))
    return found


def parsed(instances):
    """Return instances as records."""
    return [InstanceResult(**one) for one in instances]
