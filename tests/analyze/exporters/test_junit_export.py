"""A run as JUnit: read back by junitparser, one test a case, with how many of how many passed."""

import pytest
from junitparser import Error, Failure, JUnitXml, Skipped

from analyze.exporters.report_v2 import make_run_report
from tests.support.analyze_cli import call

pytestmark = pytest.mark.usefixtures("warm_engines")


@pytest.fixture
def run(new_run, tmp_path, monkeypatch):
    """A run of one model: a case that mostly passes, one that fails, one that cannot be had."""
    run = new_run()
    for repetition in (1, 2, 3):
        run.result(run.plan("mostly", repetition=repetition), passed=repetition != 2)
        wrong = {"passed": False, "violation": "no <b>\x00bold</b> & ]]> at all"}
        run.result(run.plan("never", repetition=repetition), **wrong)
        run.result(run.plan("gone", repetition=repetition), failure_type="http_503", passed=None)
    run.plan("missing")
    run.write()
    monkeypatch.chdir(tmp_path)
    return run


def read_back(path):
    (suite,) = JUnitXml.fromfile(str(path))
    return suite, {test.name: test for test in suite}


def test_a_case_is_one_test_whatever_its_repetitions(run, tmp_path):
    done = call("export", "junit", "run-1", "-o", "out.xml")

    assert (done.code, done.out) == (0, "out.xml\n")
    suite, tests = read_back(tmp_path / "out.xml")
    assert (suite.tests, suite.failures, suite.errors, suite.skipped) == (4, 1, 1, 1)
    assert tests["mostly"].result == []
    assert tests["mostly"].system_out.splitlines()[:2] == ["2 of 3 passed", "3 repetitions"]
    (failed,) = tests["never"].result
    assert isinstance(failed, Failure)
    assert failed.message == "0 of 3 passed; no <b>\\x00bold</b> & ]]> at all"
    (error,) = tests["gone"].result
    assert (type(error), error.type) == (Error, "http_503")
    (skipped,) = tests["missing"].result
    assert isinstance(skipped, Skipped)


def test_a_report_v2_has_the_same_tests(run, tmp_path):
    make_run_report(run.path, tmp_path / "made")
    (report,) = (tmp_path / "made").rglob("report.json")

    done = call("export", "junit", report, "-o", "-")

    assert done.code == 0, done.err
    (tmp_path / "own.xml").write_text(done.out)
    _, tests = read_back(tmp_path / "own.xml")
    kinds = {name: [type(one) for one in test.result] for name, test in tests.items()}
    assert kinds == {"mostly": [], "never": [Failure], "gone": [Error], "missing": [Skipped]}
