"""A gate as a JUnit report for build servers: one test a case, and one a line of the gate.

A case is red only in a gate that failed by the comparison, where it did worse than in the baseline:
a case alone proves nothing. How many of its trials passed stands in every test.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from io import BytesIO

from junitparser import Error, Failure, JUnitXml, Skipped, TestCase, TestSuite

from analyze.comparison.verdict import cause_counts
from analyze.gate.decide import CandidateCase
from analyze.gate.document import baseline_names
from analyze.regressions.document import open_sentences
from analyze.render.numbers import whole
from analyze.render.text import line_of
from schemas.output.comparison import CaseChange, ExcludedCase
from schemas.output.regressions import GateLine, GateResult, OpenShift

EXCLUDED: Mapping[str, str] = {
    "only_in_base": "only the baseline has it",
    "only_in_candidate": "the baseline does not have it",
    "axis_differs": "not the same as in the baseline",
    "no_verdict_in_base": "no verdict in the baseline",
    "no_verdict_in_candidate": "no verdict",
    "quarantined": "quarantined",
}


def junit_xml(result: GateResult, cases: Sequence[CandidateCase]) -> bytes:
    """Return the report of a gate, and of every case of its candidate in this order, as XML."""
    report = JUnitXml("analyze gate")
    report.add_testsuite(_gate_suite(result))
    failed = {
        line.model_id
        for line in result.lines
        if line.outcome == "failed" and line.metric == "passed_rate" and not line.by_open_shift
    }
    changes = {
        (change.suite_id, change.candidate_model_id, change.case_id): change
        for change in result.comparison.cases
    }
    excluded = {
        (case.suite_id, case.model_id, case.case_id): case for case in result.comparison.excluded
    }
    tests: dict[str, list[TestCase]] = {}
    for case in cases:
        test = _case(
            case, changes.get(case.key), excluded.get(case.key), is_failed=case.model_id in failed
        )
        tests.setdefault(line_of(f"{case.suite_id}: {case.model_id}"), []).append(test)
    for name, found in tests.items():
        suite = TestSuite(name)
        suite.add_testcases(found)  # counts once; one by one it counts all of them every time
        report.add_testsuite(suite)
    report.update_statistics()  # type: ignore[no-untyped-call]
    content = BytesIO()
    report.write(content)
    return content.getvalue()


def _gate_suite(result: GateResult) -> TestSuite:
    suite = TestSuite("gate")
    tests = [_gate_case(line, _of_line(result, line)) for line in result.lines]
    tests += [_not_asked(one) for one in result.open_shifts if one.last_asked_in is not None]
    if not result.lines:
        nothing = TestCase("gate", "gate")
        nothing.result = Error("nothing of the candidate can be compared", "cannot_judge")
        tests.append(nothing)
    suite.add_testcases(tests)
    return suite


def _of_line(result: GateResult, line: GateLine) -> list[str]:
    """Return whose nights a line is held against, and what stands, with commands that show it."""
    runs = baseline_names(result, line)
    shifts = [
        one
        for one in result.open_shifts
        if (one.series.model_id, one.series.metric) == (line.model_id, line.metric)
    ]
    return [*([f"held against {runs}"] if runs else []), *_standing(shifts)]


def _standing(opened: Sequence[OpenShift]) -> list[str]:
    return [f"open shift: {what}; {command}" for what, command in open_sentences(opened)]


def _not_asked(shift: OpenShift) -> TestCase:
    """Return the test of a series that stands and that the candidate says nothing of."""
    series = shift.series
    case = TestCase(line_of(f"gate: {series.metric}"), line_of(series.model_id))
    (line,) = map(line_of, _standing([shift]))
    case.result = Skipped(line, "open_shift")
    case.system_out = line
    return case


def _gate_case(line: GateLine, more: Sequence[str]) -> TestCase:
    case = TestCase(line_of(f"gate: {line.metric}"), line_of(line.model_id))
    why = line_of(line.why)
    if line.outcome == "failed":
        case.result = Failure(why, "open_shift" if line.by_open_shift else "regressed")
    elif line.outcome == "cannot_judge":
        case.result = Error(why, "cannot_judge")
    case.system_out = "\n".join([why, *map(line_of, more)])
    return case


def _case(
    case: CandidateCase,
    change: CaseChange | None,
    excluded: ExcludedCase | None,
    *,
    is_failed: bool,
) -> TestCase:
    found = TestCase(line_of(case.case_id), line_of(f"{case.suite_id}.{case.model_id}"))
    counts = _of(case.n_passed, case.n_scored)
    if change is not None:
        counts += f"; {_of(change.base_passed, change.base_scored)} in the baseline"
    if case.n_scored == 0:
        found.result = Skipped(line_of(_no_verdict(case)), "no_verdict")
    elif is_failed and excluded is None and change is not None and change.difference < 0:
        kind = "broke" if change.flip == "broke" else "got_worse"
        found.result = Failure(line_of(counts), kind)
    lines = [counts]
    if case.causes:
        lines.append(f"without a verdict: {cause_counts(case.causes)}")
    if excluded is not None:
        axes = f": {', '.join(excluded.axes)}" if excluded.axes else ""
        lines.append(f"not in the test: {EXCLUDED[excluded.reason]}{axes}")
    found.system_out = "\n".join(map(line_of, lines))
    return found


def _no_verdict(case: CandidateCase) -> str:
    if case.n_scorable == 0:
        return "it has no check that could give a verdict"
    return f"no verdict: {cause_counts(case.causes)}" if case.causes else "no verdict"


def _of(passed: int, scored: int) -> str:
    return f"{whole(passed)} of {whole(scored)} passed"
