"""What the SWE-bench harness wrote about single instances: when, and which tests passed.

Its logs lie in `logs/run_evaluation/<run_id>/<model>/<instance_id>/`; any folder above the
instances may be named.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import ValidationError

from analyze.importers.defaults import file_moment
from analyze.importers.originals import is_file_within, is_within
from schemas.errors import counted
from schemas.formats.swebench import InstanceReport
from schemas.io.json_text import read_json_text
from schemas.run.result import CheckOutcome, CheckResult

REPORT = "report.json"
FILES = ("eval.sh", "patch.diff", "run_instance.log", "test_output.txt", REPORT)
"""In the order in which the harness writes them."""

KIND = "swebench"
GROUPS = ("FAIL_TO_PASS", "PASS_TO_PASS")
MAX_REPORT_BYTES = 1 << 26
"""Of the report of an instance; a larger one is none."""

MAX_FOLDER_DEPTH = 5
"""From the folder around `logs` down to that of a model."""


class InstanceLog(NamedTuple):
    """The log folder of one instance."""

    began_ms: int
    """When its first file was last written, in ms since 1970."""
    ended_ms: int
    report: Path | None
    resolved: bool | None
    """By its own report; None when that is missing or cannot be read."""
    checks: tuple[CheckResult, ...]


class Logs:
    """The logs of one evaluation.

    Args:
        folder: the one that holds those of the instances, or one above it, up to that of `logs`.
        ids: of the instances.
        report_name: of the report without its suffix, `<model>.<run_id>`: tells the evaluation
            from others whose logs lie there as well.
    """

    def __init__(self, folder: Path, ids: Iterable[str], report_name: str) -> None:
        self._ids = {one for one in ids if _is_name(one)}
        there = self._places(folder)
        if len(there) > 1:
            there = [one for one in there if f"{one.name}.{one.parent.name}" == report_name]
        self.folder = there[0] if there else None

    def _places(self, folder: Path) -> list[Path]:
        """Return the folders that hold those of instances, on the first level that has any."""
        level = [folder]
        for _ in range(MAX_FOLDER_DEPTH):
            below = {one: _folders_in(one) for one in level}
            found = [
                one
                for one, inner in below.items()
                if not self._ids.isdisjoint(each.name for each in inner)
            ]
            if found:
                return found
            level = [each for inner in below.values() for each in inner]
        return []

    def of(self, instance_id: str) -> InstanceLog | None:
        """Return what is known of an instance; None when it has no log."""
        if self.folder is None or not _is_name(instance_id):
            return None
        folder, real = self.folder / instance_id, self.folder.resolve()
        if not is_within(folder, real):
            return None
        files = [one for name in FILES if is_file_within(one := folder / name, real)]
        try:
            times = [file_moment(one) for one in files]
            report = next((one for one in files if one.name == REPORT and _is_short(one)), None)
        except OSError:
            return None
        if not times:
            return None
        instance_report = None if report is None else _read_instance_report(report, instance_id)
        return InstanceLog(
            began_ms=min(times),
            ended_ms=max(times),
            report=report,
            resolved=None if instance_report is None else instance_report.resolved,
            checks=() if instance_report is None else _checks(instance_report.tests_status or {}),
        )


def _is_name(instance_id: str) -> bool:
    """Return whether an id can be the name of a folder, and of none elsewhere."""
    is_plain = "/" not in instance_id and "\0" not in instance_id
    return is_plain and instance_id not in {"", ".", ".."} and len(instance_id.encode()) < 256


def _is_short(path: Path) -> bool:
    return path.stat().st_size <= MAX_REPORT_BYTES


def _folders_in(folder: Path) -> list[Path]:
    try:
        return sorted(one for one in folder.iterdir() if one.is_dir())
    except OSError:
        return []


def _read_instance_report(path: Path, instance_id: str) -> InstanceReport | None:
    try:
        value, _ = read_json_text(path.read_bytes())
    except OSError:
        return None
    if not isinstance(value, dict) or instance_id not in value:
        return None
    try:
        return InstanceReport.model_validate(value[instance_id])
    except ValidationError:
        return None


def _checks(tests: dict[str, Any]) -> tuple[CheckResult, ...]:
    """Return each group of tests as one check: thousands of single ones decide nothing alone."""
    found = []
    for group in GROUPS:
        lists = tests.get(group)
        if not isinstance(lists, dict):
            continue
        passed, failed = lists.get("success"), lists.get("failure")
        if not isinstance(passed, list) or not isinstance(failed, list):
            continue
        outcome: CheckOutcome = "failed" if failed else "passed"
        message = f"{len(passed)} of {counted(len(passed) + len(failed), 'test')} passed"
        found.append(
            CheckResult(check_id=group.lower(), kind=KIND, outcome=outcome, message=message)
        )
    return tuple(found)
