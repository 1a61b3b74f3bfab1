"""The JUnit report of a gate, as the library and any XML parser read it back."""

import xml.etree.ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st
from junitparser import Error, Failure, JUnitXml, Skipped

from analyze.gate.decide import CandidateCase
from analyze.gate.junit import junit_xml
from analyze.gate.rules import judge
from schemas.output.comparison import CaseChange, ExcludedCase
from tests.support.gates import RULES, comparison, difference, group

WORSE = difference(-0.1, 0.05, q=0.01)


def case(case_id="one", passed=3, scored=3, scorable=3, model_id="m", **causes):
    return CandidateCase("s", model_id, case_id, scorable, scored, passed, causes)


def change(case_id="one", before=3, now=0, model_id="m", flip="broke"):
    return CaseChange(
        suite_id="s", case_id=case_id, model_id=model_id, candidate_model_id=model_id,
        base_passed=before, base_scored=3, candidate_passed=now, candidate_scored=3,
        difference=(now - before) / 3, flip=flip, commands=("a", "b"),
    )  # fmt: skip


def report(listed, found=WORSE, model_id="m", **fields):
    """Return the tests of a report by suite and name."""
    result = judge(comparison(group(found, model_id), **fields), RULES)
    parsed = JUnitXml.fromstring(junit_xml(result, listed))
    return {suite.name: {test.name: test for test in suite} for suite in parsed}


def only(test, kind):
    (result,) = test.result
    assert isinstance(result, kind)
    return result


def test_a_case_that_broke_is_red_in_a_gate_that_failed():
    tests = report([case(passed=0), case("two")], cases=[change()])["s: m"]
    failure = only(tests["one"], Failure)

    assert failure.type == "broke"
    assert failure.message == "0 of 3 passed; 3 of 3 passed in the baseline"
    assert tests["two"].is_passed


def test_a_case_that_passed_less_often_is_red_too_and_one_that_got_better_is_not():
    changes = [change(before=3, now=2, flip=None), change("two", before=0, now=3, flip="fixed")]
    tests = report([case(passed=2), case("two")], cases=changes)["s: m"]

    assert only(tests["one"], Failure).type == "got_worse"
    assert tests["two"].is_passed


def test_no_case_is_red_in_a_gate_that_passed():
    tests = report([case(passed=0)], found=difference(-0.1, 0.2, q=0.2), cases=[change()])

    assert tests["s: m"]["one"].is_passed
    assert tests["gate"]["gate: passed_rate"].is_passed


def test_how_many_passed_always_stands_in_it():
    tests = report([case(), case("two", 1, 2, 3, provider=1)])["s: m"]

    assert tests["one"].system_out == "3 of 3 passed"
    assert tests["two"].system_out == "1 of 2 passed\nwithout a verdict: 1 provider"


def test_a_case_without_a_verdict_is_skipped_with_its_cause():
    tests = report([case(passed=0, scored=0, provider=2, missing=1), case("two", 0, 0, 0)])["s: m"]

    assert only(tests["one"], Skipped).message == "no verdict: 2 provider, 1 missing"
    assert only(tests["two"], Skipped).message == "it has no check that could give a verdict"


def test_the_gate_itself_is_a_test_a_line():
    failed = report([])["gate"]["gate: passed_rate"]
    unclear = report([], found=None)["gate"]["gate: passed_rate"]

    assert "-10.0 points" in only(failed, Failure).message
    assert (failed.classname, only(unclear, Error).type) == ("m", "cannot_judge")


def test_nothing_to_compare_is_an_error():
    parsed = JUnitXml.fromstring(junit_xml(judge(comparison(), RULES), []))

    assert parsed.errors == 1


def test_cases_outside_the_test_say_so_and_are_never_red():
    out = [
        ExcludedCase(model_id="m", suite_id="s", case_id="one", reason="quarantined"),
        ExcludedCase(
            model_id="m", suite_id="s", case_id="two", reason="axis_differs", axes=("case", "tools")
        ),
    ]
    tests = report([case(passed=0), case("two")], cases=[change()], excluded=out)["s: m"]

    assert tests["one"].is_passed
    assert tests["one"].system_out.endswith("\nnot in the test: quarantined")
    assert "not the same as in the baseline: case, tools" in tests["two"].system_out


def test_models_and_suites_are_suites_of_their_own_and_are_counted():
    cases = [case(), case(model_id="n"), CandidateCase("t", "m", "one", 3, 0, 0, {"missing": 3})]
    content = junit_xml(judge(comparison(group(WORSE)), RULES), cases)
    parsed = JUnitXml.fromstring(content)

    assert [suite.name for suite in parsed] == ["gate", "s: m", "s: n", "t: m"]
    assert (parsed.tests, parsed.failures, parsed.skipped, parsed.errors) == (4, 1, 1, 0)
    assert content.startswith(b"<?xml")


HOSTILE = [
    "]]>",
    '"><system-out>',
    "&amp;",
    "a\x00b\x1b[31m",
    "\ud800",
    "\uffff\u202e",
    "a\nb\tc",
    "",
]


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_names_stay_text(name):
    cases = [case(name, 0, 3, model_id=name), case(name, 0, 0, 3, **{name or "x": 1})]
    result = judge(comparison(group(WORSE, name), cases=[change(name, model_id=name)]), RULES)
    root = ET.fromstring(junit_xml(result, cases))

    assert len(root.findall("./testsuite/testcase")) == 3
    assert len(root.findall(".//failure")) == 2


@given(st.text(alphabet=st.characters(), max_size=20))
def test_any_name_at_all_gives_xml(name):
    result = judge(comparison(group(WORSE, name), cases=[change(name, model_id=name)]), RULES)

    ET.fromstring(junit_xml(result, [case(name, 0, 3, model_id=name)]))
