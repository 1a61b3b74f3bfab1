"""Parts of a report about what agents did: counted by hand, cut at a limit, and left out."""

import json

import pytest

from analyze.report.html.page import render_html
from analyze.report.sections.steps import MAX_ROWS, steps_of
from tests.support.analyze_cli import call
from tests.support.made_report import made_report
from tests.support.report_context import open_context
from tests.support.run_builder import RunBuilder
from tests.support.run_rows import trace

pytestmark = pytest.mark.usefixtures("warm_engines")


def reply(e2e_ms, tokens):
    usage = {"input_tokens": tokens, "output_tokens": 1, "usage_counts": "delta"}
    return ("runner", {"name": "provider_reply", "detail": {"e2e_ms": e2e_ms, "usage": usage}})


def called(number, tool, status, output="same"):
    return (
        ("tool_call", {"call_id": number, "tool_name": tool, "raw_arguments": '{"path": "/"}'}),
        ("tool_result", {"call_id": number, "status": status, "output": output}),
    )


ASKED = ("message", {"role": "user", "content": "How full is it?"})
ANSWER = ("message", {"role": "assistant", "content": "full"})
ENDED = (
    ("looped", True, [
        ASKED,
        *(event for n in "1234" for event in (reply(100, 10), *called(n, "df", "error"))),
        reply(200, 10), ANSWER,
    ]),
    ("fine", True, [ASKED, reply(300, 5), *called("1", "df", "ok"), reply(50, 5), ANSWER]),
    ("gave_up", False, [ASKED, reply(10, 5), *called("1", "rm", "error"), reply(10, 5), ANSWER]),
)  # fmt: skip


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    run = RunBuilder(tmp_path_factory.mktemp("parts") / "runs")
    for case_id, passed, events in ENDED:
        trial = run.plan(case_id)
        (path,) = run.write_traces(trace(run.run_id, "m1", case_id, 1, *events))
        run.result(trial, artifact_path=path, tool_ms=5, passed=passed)
    run.write()
    return run


@pytest.fixture(scope="module")
def parts(run):
    with open_context(run.runs_dir, run.run_id) as of:
        return steps_of(of)


def test_how_trials_ended_is_counted_by_model(parts):
    found = {(one.stop, one.stop_detail): (one.n_trials, one.n_passed) for one in parts.stops}

    assert found == {("finished", None): (2, 2), ("gave_up", "tool_error"): (1, 0)}
    assert parts.n_left_out == 0


def test_calls_that_failed_are_counted_by_tool_and_their_rate_is_of_cases(parts):
    df, rm = parts.tools

    assert (df.tool, df.n_cases, df.n_calls, df.n_errors, df.error_rate) == ("df", 2, 5, 4, 0.5)
    assert df.error_rate_low < 0.5 < df.error_rate_high
    assert (rm.tool, rm.n_cases, rm.n_errors, rm.error_rate_low) == ("rm", 1, 1, None)


def test_loops_and_times_are_added_up(parts):
    (loop,) = parts.loops
    (times,) = parts.times

    assert (loop.tool, loop.n_loops, loop.n_trials, loop.n_calls) == ("df", 1, 1, 4)
    assert (loop.model_ms, loop.input_tokens) == (400, 40)
    assert times.n_trials == 3
    assert (times.model_ms, times.tool_ms, times.retry_ms) == (600 + 350 + 20, 15, 0)
    known = (times.setup_ms, times.model_ms, times.tool_ms, times.retry_ms, times.idle_ms)
    assert times.total_ms <= sum(known)


def test_they_stand_in_what_programs_read(run, parts):
    out = call("report", run.runs_dir, "--run", run.run_id, "--format", "json").out

    assert json.loads(out)["steps"] == parts.model_dump(mode="json")


def test_a_run_whose_trials_have_no_steps_has_none_of_it(new_run):
    run = new_run()
    run.result(run.plan("c1"))
    run.write()
    with open_context(run.runs_dir, run.run_id) as of:
        assert steps_of(of) is None

    page = render_html(made_report().model_copy(update={"steps": None}), {})
    assert '<section id="failures"' in page
    assert '<section id="steps"' not in page


def test_of_more_names_of_tools_than_fit_the_rest_is_counted(new_run):
    run = new_run()
    trial = run.plan("c1")
    events = [event for n in range(MAX_ROWS + 7) for event in called(str(n), f"made-up-{n}", "ok")]
    (path,) = run.write_traces(trace(run.run_id, "m1", "c1", 1, ASKED, *events))
    run.result(trial, artifact_path=path, tool_ms=5)
    run.write()
    with open_context(run.runs_dir, run.run_id) as of:
        found = steps_of(of)

    assert (len(found.tools), found.n_left_out) == (MAX_ROWS, 7)
    page = render_html(made_report().model_copy(update={"steps": found}), {})
    assert "7 rarer rows left out here." in page
