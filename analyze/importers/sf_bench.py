"""SF-Bench's evaluation reports: each instance is a trial, and each component one of its checks.

A report is read from files of schema v2 or older. Its duration is that of the evaluation, so no
latency follows from it. The verdict stays the report's own, also where its points say something
else.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import JsonValue

from analyze.exporters.run_trials import SKIPPED
from analyze.importers import Importer, ImportRequest, base, defaults
from analyze.importers.detect import mentions
from analyze.report_v2.older import OldReport, find_report
from schemas.base import Finding, error, pointer, warning
from schemas.errors import ConfigError, NotMigratable, Problem, counted
from schemas.failures import classify
from schemas.formats.migration.functional import stored_total
from schemas.formats.migration.migrate import migration_of
from schemas.formats.report_v2 import ID_FIELDS, EvaluationReport
from schemas.formats.report_v2_instance import (
    COMPONENTS,
    InstanceResult,
    ValidationBreakdown,
    status_of,
)
from schemas.formats.report_v2_problems import schema_problems
from schemas.redact import redact_json
from schemas.run.import_record import UnfinishedTrial
from schemas.run.result import CheckOutcome, CheckResult, Result

ONE_FILE = "report.json"
"""What the only original is called below `source/`, so that a renamed file is the same one."""

MAX_COUNT = 10**12
"""A number above it counts nothing."""

NO_LOSS = frozenset({"derivable_absent", "older_rule"})
"""Warnings about what no trial is made of."""

PROVIDER = "sf-bench"

UNLISTED = "not_in_the_report"
"""Begins the name of an instance that the report counts and neither holds nor names."""

MAX_UNLISTED = 100_000
"""Instances that a report may count beyond those it holds: no data set of it has as many."""

OF_SKIPPED = {"validation", "error_type", "error_message"}

OUTCOMES: dict[str, CheckOutcome] = {"pass": "passed", "fail": "failed", "error": "error"}
"""Status of a component to the outcome of its check; one that was skipped is none."""


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
        raise base.NotImportable(found)
    base.refuse_errors(found.findings)
    value, of_migration = _migrated(found)
    problems = schema_problems(value)
    base.refuse_errors(((found.files[0].path, one) for one in problems), base.DERIVED)
    findings = (*(one for _, one in found.findings), *of_migration, *problems)
    report = EvaluationReport.model_validate(value)
    return ReadReport(
        report=report,
        name=path.resolve().name,
        files=_originals(found),
        written_ms=max(0, (found.modified_at() - defaults.EPOCH) // defaults.MILLISECOND),
        findings=tuple(one for one in findings if one.code not in NO_LOSS),
        n_counted=max(report.summary.total_instances or 0, _counted_before(found.value)),
    )


def _counted_before(value: object) -> int:
    """Return how many results an older file says there are; 0 where it does not."""
    if not isinstance(value, dict):
        return 0
    parts = (value, value.get("statistics"), value.get("summary"))
    return int(min(max(map(stored_total, parts)), MAX_COUNT))


def _migrated(found: OldReport) -> tuple[object, tuple[Finding, ...]]:
    """Return the report of schema v2, and a finding where it is migrated."""
    try:
        made = migration_of(found.value, found.modified_at(), model_name=found.model_name)
    except NotMigratable as exc:
        findings = [one for one in exc.findings if isinstance(one, Finding)]
        places = found.located(findings or [error("not_recognised", "", str(exc))])
        raise base.NotImportable(places) from exc
    if made.shape == "v2":
        return made.report, ()
    shape = made.shape.replace("_", " ")
    message = f"a report from before schema v2 ({shape}); `analyze migrate` tells what became of it"
    return made.report, (warning("migrated", "", message),)


def _originals(found: OldReport) -> dict[str, Path]:
    if found.is_list:
        return {file.path.name: file.path for file in found.files}
    return {ONE_FILE: found.files[0].path}


def import_sf_bench(
    path: Path, runs_dir: Path, *, run_id: str | None = None, suite_id: str | None = None
) -> base.Written:
    """Make a run folder of a report.

    Args:
        path: a report of schema v2 or older, or a folder that the older tool filled.
        runs_dir: where runs are kept.
        run_id: of the new run; by default the report's own.
        suite_id: by default it follows from the data set.

    Raises:
        ConfigError: there is no such file, it cannot be read, or another run has the name.
        NotImportable: it is no report, or one whose instances cannot be trusted.
        OSError: the run cannot be written.
    """
    read = read_report(path)
    source = _Source(read, run_id, suite_id)
    record = base.new_record(
        sources=read.files,
        run_id=source.run_id,
        source_format="sf-bench",
        source_name=read.name,
        suite_id=source.suite_id,
        suite_title=read.report.dataset or source.suite_id,
        started_at_ms=defaults.moment_of(read.report.start_time),
        unfinished=tuple(source.unfinished()),
        leftover=source.leftover(),
    )
    findings = (*read.findings, *source.findings())
    return base.write_run(runs_dir, record, source.results(), read.files, findings)


class _Source:
    """A report as trials."""

    def __init__(self, read: ReadReport, run_id: str | None, suite_id: str | None) -> None:
        self._report = report = read.report
        self._written_ms = read.written_ms
        self._start_ms = defaults.moment_of(report.start_time)
        self._end_ms = defaults.moment_of(report.end_time)
        self._absent = _absent_of(report, read.n_counted)
        here = (one.instance_id for one in report.instances)
        self._case_ids = defaults.slugs_of((*here, *self._absent))
        self._model_id = defaults.slug_of(report.model_name)
        self.run_id = run_id or base.run_id_of(report.run_id)
        self.suite_id = suite_id or defaults.slug_of(f"sf_bench_{report.dataset}")

    def _names(self, instance_id: str) -> dict[str, Any]:
        return {
            "model_id": self._model_id,
            "case_id": self._case_ids[instance_id],
            "repetition": 1,
            "provider": PROVIDER,
            "model": self._report.model_name,
            "prompt_id": instance_id,
        }

    def unfinished(self) -> Iterator[UnfinishedTrial]:
        """Yield what was planned and has no result: skipped, or counted and not there."""
        for instance in self._report.instances:
            if instance.status == "skipped":
                yield UnfinishedTrial(**self._names(instance.instance_id))
        for instance_id in self._absent:
            yield UnfinishedTrial(**self._names(instance_id))

    def leftover(self) -> dict[str, JsonValue]:
        """Return what is said of skipped instances, which are no results, for an export."""
        every: dict[str, JsonValue] = {}
        for one in self._report.instances:
            if one.status == "skipped":
                said = one.model_dump(include=OF_SKIPPED, exclude_defaults=True)
                every |= {one.instance_id: redact_json(said)} if said else {}
        return {SKIPPED: every} if every else {}

    def results(self) -> Iterator[Result | base.Traced]:
        for instance in self._report.instances:
            if instance.status != "skipped":
                yield self._result(instance)

    def _result(self, instance: InstanceResult) -> Result | base.Traced:
        began, ended = self._times(instance)
        failure = _failure(instance) if instance.status == "error" else None
        verdict = None if failure else instance.resolved
        against = failure is not None and classify(failure).counts_against_model
        result = defaults.result_of(
            run_id=self.run_id,
            suite_id=self.suite_id,
            **self._names(instance.instance_id),
            started_at_ms=began,
            ended_at_ms=ended,
            failure_type=failure,
            objective_pass=verdict,
            passed=False if against else verdict,
            violation=instance.error_message if verdict is False else None,
            error_code=instance.error_type,
            error_message=instance.error_message,
            raw_output=instance.solution_patch or "",
            parsed_output={"validation": instance.validation.model_dump()},
            checks=checks_of(instance.validation),
        )
        return defaults.with_whole_text(result, instance.solution_patch or "")

    def _times(self, instance: InstanceResult) -> tuple[int, int]:
        """Return when an instance was evaluated, in ms since 1970.

        Its own times, else the report's, else the file's.
        """
        own, end = defaults.moment_of(instance.start_time), defaults.moment_of(instance.end_time)
        began = next(
            (one for one in (own, self._start_ms, self._end_ms) if one is not None),
            self._written_ms,
        )
        if instance.duration_seconds:
            return began, began + round(instance.duration_seconds * 1000)
        return began, began if end is None else max(began, end)

    def findings(self) -> Iterator[Finding]:
        report = self._report
        if self._start_ms is None:
            message = "no time that can be read; that of the end or of the file stands for it"
            yield warning("no_time", pointer("start_time"), message)
        if n_absent := len(self._absent):
            here, total = len(report.instances), len(report.instances) + n_absent
            message = (
                f"the report holds {here:,} of the {total:,} instances that it counts; what it "
                f"does not hold ({n_absent:,}) counts as planned and missing"
            )
            yield warning("instances_missing", pointer("instances"), message)
        others = {one.model_name for one in report.instances} - {None, report.model_name}
        if others:
            named = counted(len(others), "other model is", "other models are")
            message = f"{named} named here; all count as the report's"
            yield warning("model_differs", pointer("instances"), message)


def _absent_of(report: EvaluationReport, n_counted: int) -> list[str]:
    """Return the instances that a report counts and does not hold: by its lists, else by a number.

    Args:
        report: what it holds.
        n_counted: instances that it says there are.

    Raises:
        ConfigError: it counts more than any data set has.
    """
    here = {one.instance_id for one in report.instances}
    n_absent = n_counted - len(here)
    if n_absent <= 0:
        return []
    if n_absent > MAX_UNLISTED:
        what = f"counts {n_absent:,} instances more than it holds"
        key, allowed = "summary.total_instances", f"at most {MAX_UNLISTED:,} more"
        raise ConfigError([Problem(None, what, key, allowed=allowed)])
    listed = {one for name in ID_FIELDS for one in getattr(report, name)} - here
    named = sorted(listed)[:n_absent]
    digits = len(str(n_absent))
    numbers = (f"{UNLISTED}_{number:0{digits}}" for number in range(1, 2 * n_absent + 2))
    taken = here | listed
    free = [name for name in numbers if name not in taken]
    return [*named, *free[: n_absent - len(named)]]


def _failure(instance: InstanceResult) -> str:
    """Return the failure of an instance in error; a time-out counts against the model."""
    return "timeout" if "timeout" in (instance.error_type or "").lower() else "exception"


def checks_of(validation: ValidationBreakdown) -> tuple[CheckResult, ...]:
    """Return the components that were validated as checks."""
    return tuple(
        CheckResult(
            check_id=component,
            kind=PROVIDER,
            outcome=OUTCOMES[status],
            message=getattr(validation, f"{component}_message") or None,
        )
        for component in COMPONENTS
        if (status := status_of(validation, component)) in OUTCOMES
    )


def _run(asked: ImportRequest) -> list[base.Written]:
    ids = {"run_id": asked.run_id, "suite_id": asked.suite_id}
    return [import_sf_bench(asked.path, asked.runs_dir, **ids)]


def _detect(path: Path) -> bool:
    """Return whether a file, or a folder that the tool filled, is a report of SF-Bench."""
    report = path / "report.json" if path.is_dir() else path
    if report.suffix != ".json":
        return False
    return mentions(report, "schema_version", "instances", "summary")


IMPORTER = Importer(frozenset({"--suite", "--run-id"}), _run, _detect)
