"""Reports from before schema v2, told apart by what is in them; nothing in them names a version.

Four shapes are known. "flat" is an object with `instances`; the older tool wrote the other three:
"run_file" (`evaluation_<model>_<time>.json`, an object with `results`), "statistics"
(`summary.json`, an object with `statistics` and `results`) and "task_files", which are the results
of single tasks, one a file, as a list.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Literal

from schemas.formats.report_v2 import REPORT_VERSION
from schemas.formats.report_v2_instance import InstanceStatus

V1Shape = Literal["flat", "run_file", "statistics", "task_files"]

LOOKED_FOR = (
    "an object with a list `instances`; "
    "one with a list `results` whose entries have `task_id` and `status`, "
    "with or without `statistics`; "
    "or a folder of single results, each an object with `task_id` and `status`"
)
"""The shapes in words, for those whose document is none of them."""

LIST_KEYS: Mapping[V1Shape, str] = MappingProxyType(
    {"flat": "instances", "run_file": "results", "statistics": "results"}
)
"""Where the instances stand; a list of task files is the instances itself."""

ID_KEYS = ("instance_id", "task_id")
NAMING = frozenset({*ID_KEYS, "status"})
"""Fields of which an instance has at least one."""

STATUSES: Mapping[str, InstanceStatus] = MappingProxyType(
    {
        "resolved": "resolved",
        "pass": "resolved",
        "passed": "resolved",
        "success": "resolved",
        "fail": "fail",
        "failed": "fail",
        "error": "error",
        "timeout": "error",
        "skipped": "skipped",
    }
)
"""Words for what became of an instance, in lower case, to the status of today."""

RUN_KEYS = ("model", "tasks_file", "validation_mode", "total_tasks", "segment_results")
"""Fields by which a run file without a single result is known."""

OLD_VERSIONS = (None, "1", "1.0", 1)


def is_v2(data: object) -> bool:
    """Return whether a document says that it is a report of schema v2."""
    return isinstance(data, dict) and data.get("schema_version") == REPORT_VERSION


def is_old_version(data: object) -> bool:
    """Return whether a document names no version, or that of the older schema."""
    version = data.get("schema_version") if isinstance(data, dict) else None
    return not isinstance(version, bool) and version in OLD_VERSIONS


def shape_of(data: object) -> V1Shape | None:
    """Return which of the older shapes a document has; None for any other, v2 included."""
    if isinstance(data, list):
        return "task_files" if any(map(is_result, data)) else None
    if not isinstance(data, dict) or is_v2(data):
        return None
    if data.get("instances") or ("instances" in data and not data.get("results")):
        return "flat" if _could_be_instances(data["instances"]) else None
    if "results" not in data:
        return None
    if isinstance(data.get("statistics"), dict):
        return "statistics"
    results = data["results"]
    if isinstance(results, list) and any(map(is_result, results)):
        return "run_file"
    return "run_file" if not results and any(key in data for key in RUN_KEYS) else None


def entries_of(data: Any, shape: V1Shape) -> tuple[str, Any]:
    """Return the JSON pointer of the instances in a document of a shape, and what stands there."""
    if shape == "task_files":
        return "", data
    key = LIST_KEYS[shape]
    return f"/{key}", data[key]


def _could_be_instances(value: object) -> bool:
    """Return whether a value is a list of instances, or is wrong where one was meant."""
    if not isinstance(value, list) or not value:
        return True
    return any(isinstance(one, dict) and not NAMING.isdisjoint(one) for one in value)


def is_result(entry: object) -> bool:
    """Return whether a value is the result of one task as the older tool wrote it."""
    return isinstance(entry, dict) and "status" in entry and any(key in entry for key in ID_KEYS)
