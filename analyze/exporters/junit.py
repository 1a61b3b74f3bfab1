"""A run as JUnit reports for build servers: a file a model, one test a case.

Viewers have no shared notion of a repetition, so a case is one test: red where most of its verdicts
are fails, an error where none could be had, skipped where there is nothing to judge by. How many of
how many passed stands in each.
"""

from __future__ import annotations

from collections.abc import Iterable
from io import BytesIO

from junitparser import Error, Failure, JUnitXml, Skipped, TestCase, TestSuite

from analyze.exporters import Exporter, ExportText, RunExport
from analyze.exporters.majority import NOT_JUDGED, FoldedCase, FoldedModel
from analyze.render.numbers import whole
from analyze.render.text import line_of
from schemas.formats.report_v2 import EvaluationReport
from schemas.formats.report_v2_instance import InstanceResult, InstanceStatus
from schemas.redact import redact


def _text(name: str, tests: Iterable[TestCase]) -> str:
    report, suite = JUnitXml(name), TestSuite(name)
    suite.add_testcases(list(tests))
    report.add_testsuite(suite)
    report.update_statistics()  # type: ignore[no-untyped-call]
    content = BytesIO()
    report.write(content, pretty=True)
    return content.getvalue().decode()


def _test(
    name: str, of: str, status: InstanceStatus, kind: str | None, message: str | None
) -> TestCase:
    found = TestCase(line_of(name), line_of(of))
    text = line_of(redact(message or kind or status))
    if status == "fail":
        found.result = Failure(text, kind or "failed")
    elif status == "skipped":
        found.result = Skipped(text, kind or "skipped")
    elif status != "resolved":
        found.result = Error(text, kind or status)
    return found


def _of_case(model: FoldedModel, case: FoldedCase) -> TestCase:
    verdicts = [one.passed for one in case.repetitions if one.passed is not None]
    counts = f"{whole(sum(verdicts))} of {whole(len(verdicts))} passed"
    more = case.violation or case.error_message
    message = NOT_JUDGED if case.status == "skipped" else f"{counts}; {more}" if more else counts
    of = f"{model.suite_id}.{model.model_id}"
    found = _test(case.instance_id, of, case.status, case.error_type, message)
    found.time = case.duration_seconds or 0
    failures = sorted({one.failure_type for one in case.repetitions if one.failure_type})
    lines = [counts, f"{whole(len(case.repetitions))} repetitions", *failures]
    found.system_out = "\n".join(map(line_of, lines))
    return found


def _of_run(wanted: RunExport) -> list[ExportText]:
    return [
        ExportText(
            model.model_id,
            f"{model.model_id}.xml",
            _text(
                line_of(f"{model.suite_id}: {model.model_id}"),
                (_of_case(model, case) for case in model.cases),
            ),
        )
        for model in wanted.chosen
    ]


def _of_instance(report: EvaluationReport, one: InstanceResult) -> TestCase:
    of = f"{report.dataset}.{report.model_name_or_path}"
    return _test(one.instance_id, of, one.status, one.error_type, one.error_message)


def _of_report(report: EvaluationReport, _: object) -> list[ExportText]:
    name = line_of(f"{report.dataset}: {report.model_name_or_path}")
    tests = (_of_instance(report, one) for one in report.instances)
    return [ExportText("", "report.xml", _text(name, tests))]


EXPORTER = Exporter((".xml",), _of_run, _of_report)
