"""An evaluation report from files, of schema v2 or older, for whoever imports it."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from analyze.imports.moments import EPOCH, MILLISECOND
from analyze.imports.refused import DERIVED, NotImportable, refuse_errors
from analyze.report_v2.find_older import OldReport, find_report
from schemas.base import Finding, error, warning
from schemas.errors import NotMigratable
from schemas.formats.migration.functional import stored_total
from schemas.formats.migration.migrate import migration_of
from schemas.formats.report_v2 import EvaluationReport
from schemas.formats.report_v2_problems import schema_problems

ONE_FILE = "report.json"
"""What the only original is called below `source/`, so that a renamed file is the same one."""

MOST_COUNTED = 10**12
"""A number above it counts nothing."""

NO_LOSS = frozenset({"derivable_absent", "older_rule"})
"""Warnings about what no trial is made of."""


class ReadReport(NamedTuple):
    """A report, and where it was read."""

    report: EvaluationReport
    name: str
    """Of the file or folder."""
    files: dict[str, Path]
    """The originals by their path below `source/`."""
    written_ms: int
    """When the oldest of them was last written, in ms since 1970."""
    findings: tuple[Finding, ...]
    n_counted: int = 0
    """Instances that the file says there are, also where it holds a sample of them."""


def read_report(path: Path) -> ReadReport:
    """Read a report, or what a folder of results holds of one.

    What is wrong with counts and lists alone is told and stands in nobody's way: the instances
    count.

    Raises:
        ConfigError: there is no such file, it cannot be read, or a folder holds several reports.
        NotImportable: it is no report, or one whose instances cannot be trusted.
    """
    found = find_report(path)
    if isinstance(found, list):
        raise NotImportable(found)
    refuse_errors(found.findings)
    value, of_migration = _migrated(found)
    problems = schema_problems(value)
    refuse_errors(((found.files[0].path, one) for one in problems), DERIVED)
    told = (*(one for _, one in found.findings), *of_migration, *problems)
    report = EvaluationReport.model_validate(value)
    return ReadReport(
        report=report,
        name=path.resolve().name,
        files=_originals(found),
        written_ms=max(0, (found.modified_at() - EPOCH) // MILLISECOND),
        findings=tuple(one for one in told if one.code not in NO_LOSS),
        n_counted=max(report.summary.total_instances or 0, _counted_before(found.value)),
    )


def _counted_before(value: object) -> int:
    """Return how many results an older file says there are; 0 where it does not."""
    if not isinstance(value, dict):
        return 0
    parts = (value, value.get("statistics"), value.get("summary"))
    return int(min(max(map(stored_total, parts)), MOST_COUNTED))


def _migrated(found: OldReport) -> tuple[object, tuple[Finding, ...]]:
    """Return the report of schema v2, and a finding where it is migrated."""
    try:
        made = migration_of(found.value, found.modified_at(), model_name=found.model_name)
    except NotMigratable as exc:
        told = [one for one in exc.findings if isinstance(one, Finding)]
        places = found.located(told or [error("not_recognised", "", str(exc))])
        raise NotImportable(places) from exc
    if made.shape == "v2":
        return made.report, ()
    shape = made.shape.replace("_", " ")
    message = f"a report from before schema v2 ({shape}); `analyze migrate` tells what became of it"
    return made.report, (warning("migrated", "", message),)


def _originals(found: OldReport) -> dict[str, Path]:
    if found.is_list:
        return {file.path.name: file.path for file in found.files}
    return {ONE_FILE: found.files[0].path}
