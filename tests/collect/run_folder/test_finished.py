"""What a resumed run need not ask again, and how the whole of it is counted."""

import orjson
import pytest

from collect.console.progress import RunReport
from collect.run_folder.finished import FinishedTrials
from tests.support.run_rows import event, failed, line_of, result


@pytest.fixture
def finished(tmp_path):
    """Read records back as a resumed run does."""

    def read(*records):
        log = tmp_path / "results.jsonl"
        lines = (one if isinstance(one, bytes) else line_of(one) for one in records)
        log.write_bytes(b"".join(lines))
        return FinishedTrials(log)

    return read


def report_of(finished, *, final):
    report = RunReport("r", "runs/r", 9)
    outside = finished.count_into(report, final=final)
    return report, outside


@pytest.mark.parametrize(
    ("record", "is_final"),
    [
        (result(), True),
        (result(passed=False, objective_pass=False), True),
        (failed("empty_response"), True),
        (failed("output_truncated"), True),
        (failed("timeout"), False),
        (failed("stream_interrupted"), False),
        (failed("connection_error"), False),
        (failed("connection_error", error_code="endpoint_given_up"), False),
        (failed("http_429"), False),
        (failed("http_503"), False),
        (failed("http_400"), True),
        (failed("http_401"), True),
        (failed("container_error"), False),
        (failed("exception"), True),
        (failed("of_a_later_version"), False),
    ],
)
def test_a_trial_is_final_unless_asking_again_would_help(finished, record, is_final):
    assert finished(record).is_final("m", "one", 1) is is_final


def test_a_trial_that_was_never_recorded_is_asked(finished):
    trials = finished(result())

    assert not trials.is_final("m", "one", 2)
    assert not trials.is_final("m", "two", 1)
    assert not trials.is_final("other", "one", 1)


@pytest.mark.parametrize(
    ("records", "is_final"),
    [
        ((failed("http_503"), result()), True),
        ((failed("http_503"), failed("http_503")), False),
        ((failed("http_503"), failed("http_400")), True),
        ((result(), failed("http_503")), False),
    ],
)
def test_the_later_record_counts(finished, records, is_final):
    trials = finished(*records)

    assert len(trials) == 1
    assert trials.is_final("m", "one", 1) is is_final


def test_every_trial_of_the_run_is_counted_once_before_and_after(finished):
    trials = finished(
        result(case_id="a", cost_usd=0.5, cost_source="provider"),
        event(),
        result(case_id="b", passed=False, objective_pass=False),
        failed("http_503", case_id="c", cost_usd=9.0, cost_source="provider"),
        failed("http_503", case_id="c"),
        failed("timeout", case_id="d"),
        failed("http_401", case_id="e"),
        failed("http_503", case_id="f"),
        result(case_id="f", cost_usd=0.25, cost_source="provider"),
    )

    report, outside = report_of(trials, final=True)
    assert (report.present, report.ok, report.success, report.passed) == (4, 3, 3, 2)
    assert report.by_status == {"success": 3, "provider_error": 1}
    assert report.cost_usd == 0.75
    assert outside == 1, "the key that was refused"
    assert report.n_open == 0

    trials.replace("m", "c", 1)
    trials.replace("m", "never recorded", 1)
    report, outside = report_of(trials, final=False)
    assert (report.present, report.by_status) == (1, {"timed_out": 1})
    assert report.n_open == 1
    assert report.cost_usd is None
    assert outside == 0


def test_what_was_paid_is_every_record_but_reused_ones_and_what_it_cost_is_the_latest(finished):
    def paid(usd, **fields):
        return result(cost_usd=usd, cost_source="computed", **fields)

    trials = finished(
        paid(1.0, case_id="asked"),
        paid(2.0, case_id="reused", reused_from_run_id="older"),
        failed("http_503", case_id="twice", cost_usd=4.0, cost_source="computed"),
        paid(8.0, case_id="twice"),
        paid(16.0, case_id="then_reused"),
        paid(32.0, case_id="then_reused", reused_from_run_id="older"),
        failed("http_503", case_id="open", cost_usd=64.0, cost_source="computed"),
    )

    assert trials.spent_usd == 1.0 + 4.0 + 8.0 + 16.0 + 64.0, "a limit counts what was paid"
    report, _ = report_of(trials, final=True)
    assert report.present == 4
    assert report.cost_usd == 1.0 + 8.0, "of the run: the latest record, and none of another run"
    trials.replace("m", "open", 1)
    assert report_of(trials, final=False)[0].cost_usd is None
    assert trials.spent_usd == 93.0


def test_a_trial_that_was_tried_again_is_counted_elsewhere(finished):
    trials = finished(failed("http_503"))
    _, outside = report_of(trials, final=False)
    assert outside == 1

    trials.replace("m", "one", 1)

    assert len(trials) == 0
    assert report_of(trials, final=False)[1] == 0


@pytest.mark.parametrize(
    "line",
    [
        b"\0\0\0\n", b"{]\n", b"[]\n", b"1\n", b"\n", b"{}\n", b'{"record_type":"result"}\n',
        b'{"record_type":"result","model_id":1,"case_id":"a","repetition":1}\n',
        b'{"record_type":"result","model_id":"m","case_id":"a","repetition":true}\n',
        b'{"record_type":"result","model_id":"m","case_id":"a","repetition":1,"status":[]}\n',
        b'{"record_type":"later","model_id":"m","case_id":"a","repetition":1}\n',
        b'{"record_type":"result","mod',
    ],
)  # fmt: skip
def test_lines_that_say_nothing_are_passed_over(finished, line):
    trials = finished(result(), line) if not line.endswith(b"\n") else finished(line, result())

    assert len(trials) == 1
    assert trials.is_final("m", "one", 1)


def test_fields_of_a_later_version_are_passed_over(finished):
    row = orjson.loads(line_of(result())) | {"brand_new": {"model_id": "x"}}

    assert finished(orjson.dumps(row) + b"\n").is_final("m", "one", 1)
