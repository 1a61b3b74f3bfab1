"""Reports of the SWE-bench harness: each instance that something was handed in for is a trial.

The report alone has no times and no patches; predictions and logs add them where they are given. Of
each instance the report's own word stays in `error_code`, its reason in `violation`: an export
writes them back.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal, NamedTuple

from pydantic import JsonValue

from analyze.exporters.predictions import read_predictions
from analyze.exporters.swebench import UNKNOWN, UNNAMED
from analyze.importers import Importer, ImportRequest, base
from analyze.importers.defaults import file_moment, result_of, slug_of, slugs_of, with_whole_text
from analyze.importers.detect import mentions
from analyze.importers.swebench_logs import InstanceLog, Logs
from schemas.base import Finding, warning
from schemas.errors import ConfigError, Problem
from schemas.formats.swebench import FAILURE_TIERS, Prediction, SwebenchReport, swebench_problems
from schemas.io.json_text import read_json_text
from schemas.redact import redact_json
from schemas.run.import_record import UnfinishedTrial
from schemas.run.result import Result

Outcome = Literal["resolved", "unresolved", "empty_patch", "error", "unreadable"]

MESSAGES: dict[Outcome, str] = {
    "error": "the harness has no report of this instance",
    "unreadable": "the harness has a report of this instance that cannot be read",
}

PROVIDER = "swebench"
"""Of its trials: by it an export knows that `error_code` holds the harness' own word."""

KEPT = ("unstopped_instances", "unstopped_containers", "unremoved_images")
"""Fields that say nothing of an instance."""


class Submitted(NamedTuple):
    """An instance of the data set that something was handed in for."""

    instance_id: str
    outcome: Outcome
    reason: str | None
    """Of a likely failure of the environment, or an ambiguous one."""
    is_infra: bool


def submitted_of(report: SwebenchReport) -> Iterator[Submitted]:
    """Yield the instances that have an outcome, in order of their ids."""
    completed, infra = set(report.completed_ids), set(report.infra_failure_ids or ())
    reasons = report.failure_reasons or {}
    found: dict[str, Outcome] = {}
    for name in report.error_ids:
        found[name] = "unreadable" if name in completed else "error"
    found |= dict.fromkeys(report.resolved_ids, "resolved")
    found |= dict.fromkeys(report.unresolved_ids, "unresolved")
    found |= dict.fromkeys(report.empty_patch_ids, "empty_patch")
    for name in sorted(found):
        reason = reasons.get(name)
        yield Submitted(name, found[name], reason, name in infra or _is_infra(reason))


def _is_infra(reason: str | None) -> bool:
    return reason is not None and FAILURE_TIERS.get(reason) == "infra_failure"


def outside_of(report: SwebenchReport) -> list[str]:
    """Return the ids that something was handed in for, and that are not in the data set."""
    known = {one.instance_id for one in submitted_of(report)} | set(report.incomplete_ids)
    return sorted(set(report.submitted_ids) - known)


def fields_of(one: Submitted) -> dict[str, Any]:
    """Return verdict, failure and the harness' own words of an instance.

    A likely failure of the environment is nobody's verdict; an ambiguous one is, as the harness
    counts it.
    """
    failure: str | None = None
    verdict: bool | None = one.outcome == "resolved"
    if one.outcome == "empty_patch":
        failure = "empty_response"
    elif one.is_infra:
        failure, verdict = "container_error", None
    elif one.outcome in {"error", "unreadable"}:
        failure, verdict = "exception", None
    return {
        "failure_type": failure,
        "objective_pass": None if failure else verdict,
        "passed": verdict,
        "violation": one.reason,
        "error_code": None if one.outcome == "resolved" else one.outcome,
        "error_message": MESSAGES.get(one.outcome),
    }


def import_swebench(
    path: Path,
    runs_dir: Path,
    *,
    predictions: Path | None = None,
    logs: Path | None = None,
    model: str | None = None,
    suite_id: str | None = None,
    run_id: str | None = None,
) -> base.Written:
    """Make a run folder of a report.

    Args:
        path: the report, `<model>.<run_id>.json`.
        runs_dir: where runs are kept.
        predictions: the file that was evaluated: models and patches.
        logs: the harness' logs, or those of one run or model: times and tests.
        model: by default the predictions' own, else what the report's file is called.
        suite_id: by default `swebench`.
        run_id: by default what the report's file is called.

    Raises:
        ConfigError: there is no such file, or another run has the name.
        NotImportable: it is no report of the harness, or one that contradicts itself.
        OSError: a file cannot be read or written.
    """
    for one in (path, predictions):
        if one is not None and not one.is_file():
            raise ConfigError([Problem(one, "there is no such file")])
    if logs is not None and not logs.is_dir():
        raise ConfigError([Problem(logs, "there is no such folder", key="--logs")])
    value, found = read_json_text(path.read_bytes())
    base.refuse_errors((path, one) for one in found)
    found = swebench_problems(value)
    base.refuse_errors(((path, one) for one in found), COUNTS)
    source = _Source(path, SwebenchReport.model_validate(value), predictions, logs, model)
    run_id, suite = run_id or base.run_id_of(path.stem), suite_id or PROVIDER
    record = base.new_record(
        sources=source.files,
        run_id=run_id,
        source_format="swebench",
        source_name=path.name,
        suite_id=suite,
        suite_title="SWE-bench" if suite_id is None else suite_id,
        started_at_ms=source.started_at_ms,
        unfinished=tuple(source.unfinished()),
        leftover=source.leftover(),
    )
    findings = (*found, *source.findings)
    return base.write_run(runs_dir, record, source.results(run_id, suite), source.files, findings)


COUNTS = base.DERIVED - {"ids_contradict"}
"""Errors of counts; the lists are what there is, so these have to agree."""


class _Source:
    """A report as trials, with what predictions and logs know of them."""

    def __init__(
        self,
        path: Path,
        report: SwebenchReport,
        predictions: Path | None,
        logs: Path | None,
        model: str | None,
    ) -> None:
        self._report = report
        self._name = path.stem
        self._written_ms = file_moment(path)
        self._submitted = list(submitted_of(report))
        self.findings: list[Finding] = []
        self.files = {"report.json": path}
        self._predicted = {} if predictions is None else self._read(predictions)
        first = next(iter(self._predicted.values()), None)
        named = path.stem.rpartition(".")[0] or path.stem
        self._model = model or (first.model_name_or_path if first else named)
        if not model and first is None:
            message = (
                f"the model is by the file's name {self._model!a:.80}; --model NAME says otherwise"
            )
            self.findings.append(warning("model_by_file_name", "", message))
        self._model_id = slug_of(self._model)
        ids = [one.instance_id for one in self._submitted]
        self._case_ids = slugs_of([*ids, *report.incomplete_ids])
        self._logs = {} if logs is None else self._look(logs)

    def _read(self, path: Path) -> dict[str, Prediction]:
        """Return predictions by their instance, and note what is wrong with them."""
        self.files[f"predictions{path.suffix}"] = path
        read = read_predictions(path)
        for one in read.findings:
            update = {"message": f"{path.name}: {one.message}"}
            self.findings.append(one.model_copy(update=update))
        found = {one.instance_id: one for one in read.predictions}
        known = set(self._report.submitted_ids)
        for names, what in (
            (found.keys() - known, "predictions are not of this report"),
            (known - found.keys(), "instances of this report have no prediction there"),
        ):
            if names:
                message = f"{path.name}: {len(names)} {what}, that of {min(names)!a:.80} for one"
                self.findings.append(warning("other_predictions", "", message))
        return found

    def _look(self, folder: Path) -> dict[str, InstanceLog]:
        """Return logs by their instance, and note where they say something else."""
        ids = (one.instance_id for one in self._submitted)
        there = Logs(folder, ids, self._name)
        found = {}
        for name, outcome, *_ in self._submitted:
            log = there.of(name)
            if log is None:
                continue
            found[name] = log
            if log.report is not None:
                self.files[f"logs/{name}/report.json"] = log.report
            if log.resolved is not None and log.resolved is not (outcome == "resolved"):
                message = f"the log of {name!a:.80} does not say {outcome}; the report counts"
                self.findings.append(warning("log_contradicts", "", message))
        if not found:
            message = f"{folder} has no logs of this report, or those of several evaluations"
            self.findings.append(warning("no_logs", "", message))
        return found

    @property
    def started_at_ms(self) -> int:
        """Return the first time that a log knows, else when the report was written."""
        return min((log.began_ms for log in self._logs.values()), default=self._written_ms)

    def _names(self, instance_id: str) -> dict[str, Any]:
        return {
            "model_id": self._model_id,
            "case_id": self._case_ids[instance_id],
            "repetition": 1,
            "provider": PROVIDER,
            "model": self._model,
            "prompt_id": instance_id,
        }

    def unfinished(self) -> Iterator[UnfinishedTrial]:
        for instance_id in self._report.incomplete_ids:
            yield UnfinishedTrial(**self._names(instance_id))

    def leftover(self) -> dict[str, JsonValue]:
        """Return what an export writes back, and no trial says."""
        report = self._report
        document: dict[str, JsonValue] = report.model_dump(mode="json", include=set(KEPT))
        outside: list[JsonValue] = [*outside_of(report)]
        document["outside"] = outside
        document["style"] = 4 if report.failure_reasons is None else 5
        n_named = len(self._submitted) + len(report.incomplete_ids)
        document[UNNAMED] = max(0, report.total_instances - n_named) or None
        document[UNKNOWN] = redact_json(report.model_extra) or None
        return {name: value for name, value in document.items() if value is not None}

    def results(self, run_id: str, suite_id: str) -> Iterator[Result | base.Traced]:
        for one in self._submitted:
            log, prediction = self._logs.get(one.instance_id), self._predicted.get(one.instance_id)
            patch = "" if prediction is None else prediction.model_patch or ""
            result = result_of(
                run_id=run_id,
                suite_id=suite_id,
                **self._names(one.instance_id),
                **fields_of(one),
                started_at_ms=self._written_ms if log is None else log.began_ms,
                ended_at_ms=self._written_ms if log is None else log.ended_ms,
                raw_output=patch,
                checks=() if log is None else log.checks,
            )
            yield with_whole_text(result, patch)


def _run(asked: ImportRequest) -> list[base.Written]:
    return [
        import_swebench(
            asked.path,
            asked.runs_dir,
            predictions=asked.predictions,
            logs=asked.logs,
            model=asked.model,
            suite_id=asked.suite_id,
            run_id=asked.run_id,
        )
    ]


def _detect(path: Path) -> bool:
    """Return whether a file is a report of the harness."""
    return path.suffix == ".json" and mentions(path, "resolved_ids", "total_instances")


OPTIONS = frozenset({"--predictions", "--logs", "--model", "--suite", "--run-id"})

IMPORTER = Importer(OPTIONS, _run, _detect)
