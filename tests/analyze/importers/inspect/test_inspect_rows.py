"""What samples of Inspect become: scores, failures, traces; and nothing is guessed."""

import pytest

from analyze.importers.inspect import import_inspect
from analyze.lake.sync import sync
from analyze.query.session import open_session
from schemas.redact import MARK
from schemas.run.import_record import load_import_record
from tests.support.imported_rows import all_traces, latest_of, results_of, trace_of
from tests.support.inspect_logs import (
    event,
    header,
    members,
    message,
    output,
    results,
    sample,
    write_eval,
)

KEY = "sk-abcdefghijklmnopqrst123456"


def imported(tmp_path, *samples, head=None):
    path = write_eval(tmp_path / "log.eval", members(*samples, head=head))
    (written,) = import_inspect(path, tmp_path / "runs")
    return written


def row_of(tmp_path, *samples, head=None):
    return results_of(imported(tmp_path, *samples, head=head).run_dir)[0]


@pytest.mark.parametrize(
    ("value", "number"),
    [
        ("C", 1.0), ("I", 0.0), ("P", 0.5), ("N", 0.0), ("yes", 1.0), ("No", 0.0), ("TRUE", 1.0),
        (True, 1.0), (3, 3.0), ("0.25", 0.25), (None, None), ("correct", None), ("nan", None),
        (10**400, None), ([], None),
    ],
)  # fmt: skip
def test_a_value_becomes_the_number_that_the_tool_makes_of_it_or_none(tmp_path, value, number):
    row = row_of(tmp_path, sample(value=value))

    assert [one.value for one in row.scores] == ([] if value == [] else [number])


def test_parts_of_a_score_stand_by_their_names(tmp_path):
    scores = {
        "f": {"value": {"a": 1, "b": None, "c": {"deep": 1}}}, "l": {"value": ["C", 0.5]},
        "g": {"value": "I", "metadata": {"unscored_reason": "parse"}},
    }  # fmt: skip

    written = imported(tmp_path, sample(scores=scores))

    (row,) = results_of(written.run_dir)
    assert [(one.name, one.value) for one in row.scores] == [
        ("f/a", 1.0), ("f/b", None), ("f/c", None), ("l/0", 1.0), ("l/1", 0.5), ("g", None),
    ]  # fmt: skip
    assert row.passed is None
    assert [one.message[:6] for one in written.findings] == ["f/c: 1"]


def test_a_score_between_is_no_verdict_in_the_whole_log(tmp_path):
    written = imported(tmp_path, sample("a"), sample("b", value="P"))

    assert [one.passed for one in results_of(written.run_dir)] == [None, None]


def test_the_score_that_the_tool_shows_first_decides(tmp_path):
    scores = {"long": {"value": 0.3}, "match": {"value": {"x": 1, "y": 0.5}}}
    head = header(results=results(("match", "x", {"mean": 1.0}), ("long", "long", {"mean": 0.3})))

    written = imported(tmp_path, sample(scores=scores), head=head)

    assert results_of(written.run_dir)[0].passed is True
    names = [one.name for one in load_import_record(written.run_dir).headlines]
    assert names == ["match/x", "long"]


@pytest.mark.parametrize(
    ("fields", "failure", "passed"),
    [
        ({"error": {"message": "RateLimitError('slow down')"}}, "http_429", None),
        ({"error": {"message": "APIStatusError('Error code: 529 - x')"}}, "http_529", None),
        ({"error": {"message": "APIConnectionError('x')"}}, "connection_error", None),
        ({"error": {"message": "RuntimeError('No docker')"}}, "container_error", None),
        ({"error": {"message": "ZeroDivisionError('x')"}}, "exception", None),
        ({"limit": {"type": "time", "limit": 3}}, "timeout", True),
        ({"limit": {"type": "message", "limit": 3}}, "max_turns_exceeded", True),
        ({"limit": {"type": "token", "limit": 3}, "scores": {}}, "limit_exceeded", False),
        ({"limit": {"type": "operator", "limit": 1}}, "exception", None),
        ({"limit": {"type": "new", "limit": 1}}, "limit_exceeded", True),
        ({"invalidation": {"author": "me", "reason": "leaked"}}, "config_invalid", None),
    ],
)
def test_a_failure_says_whose_it_was_and_takes_no_score_away(tmp_path, fields, failure, passed):
    row = row_of(tmp_path, sample("a", **fields), sample("b"))

    assert (row.failure_type, row.passed, row.success) == (failure, passed, False)
    assert row.error_message
    assert len(row.scores) == (0 if fields.get("scores") == {} else 1)


def test_attempts_fallbacks_and_roles_are_kept(tmp_path):
    usage = {"grader": {"input_tokens": 3, "output_tokens": 1, "total_tokens": 4}}
    extra = {"error_retries": [{"message": "x"}] * 2, "role_usage": usage,
             "model_fallbacks": [{"model": "a", "fallback_model": "b"}]}  # fmt: skip

    written = imported(tmp_path, sample(**extra))

    (row,) = results_of(written.run_dir)
    assert row.attempt_count == 3
    artifact = trace_of(written.run_dir, row)
    assert artifact.usage["role_usage"] == usage
    assert artifact.usage["model_fallbacks"] == extra["model_fallbacks"]


def test_tokens_that_hold_cached_ones_already_are_not_counted_twice(tmp_path):
    usage = {
        "input_tokens": 10,
        "output_tokens": 5,
        "total_tokens": 15,
        "input_tokens_cache_read": 8,
    }
    more = {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2, "reasoning_tokens": 1}

    row = row_of(tmp_path, sample(model_usage={"m": usage, "n": more}))

    assert (row.input_tokens, row.output_tokens, row.reasoning_tokens) == (11, 6, 1)


def agent_events():
    call = {
        "id": "c1",
        "function": "bash",
        "arguments": {"cmd": "attachment://h1"},
        "type": "function",
    }
    asks = message(
        "assistant", [{"type": "reasoning", "reasoning": "hm"}], id="m1", tool_calls=[call]
    )
    sub = message("assistant", "found it", id="m3")
    return [
        event("span_begin", id="s", type="agent", name="react", parent_id=None),
        event("model", span_id="s", input=[message("user", "go", id="m0")],
              output=output() | {"choices": [{"message": asks}]}, working_time=1.0),
        event("span_begin", id="t", type="tool", name="bash", parent_id="s"),
        event("span_begin", id="u", type="agent", name="finder", parent_id="t"),
        event("model", span_id="u", input=[message("user", "find", id="m2")],
              output=output() | {"choices": [{"message": sub}]}, working_time=0.5),
        event("tool", span_id="s", id="c1", function="bash", arguments={}, result="attachment://h2",
              error={"type": "timeout", "message": "slow"}, working_time=2.0),
        event("state", changes=[]), event("checkpoint"),
        event("sample_limit", type="token", message="x"),
        event("span_begin", id="v", type="scorer", name="judge", parent_id=None),
        event("model", span_id="v", input=[message("user", "grade", id="m4")],
              output=output("C"), working_time=9.0),
    ]  # fmt: skip


def test_events_become_a_trace_with_tools_agents_and_scorers_apart(tmp_path):
    texts = {"h1": "ls", "h2": "a b"}
    head = header(results=results(("match", "match", {"accuracy": 1.0})))
    written = imported(tmp_path, sample(events=agent_events(), attachments=texts), head=head)

    (row,) = results_of(written.run_dir)
    assert (row.tool_calls, row.tool_ms, row.e2e_ms) == (("bash",), 2000, 1500)
    events = trace_of(written.run_dir, row).trace
    facts = [(one.trajectory, one.event_type, getattr(one, "content", "")) for one in events]
    assert facts == [
        (None, "message", "go"), (None, "runner", ""), (None, "message", "hm"),
        (None, "tool_call", ""), ("main/finder", "message", "find"), ("main/finder", "runner", ""),
        ("main/finder", "message", "found it"), (None, "tool_result", ""), (None, "runner", ""),
        ("main/judge", "message", "grade"), ("main/judge", "runner", ""),
        ("main/judge", "message", "C"), (None, "final_output", "4"),
    ]  # fmt: skip
    assert events[3].parsed_arguments == {"cmd": "ls"}
    assert (events[7].output, events[7].status, events[7].ended_by) == ("a b", "error", "timeout")


def test_steps_follow_from_the_traces(tmp_path):
    written = imported(tmp_path, sample(events=agent_events()))

    assert sync(written.run_dir.parent).problems == ()
    with open_session(written.run_dir.parent) as session:
        kinds = session.rows("select kind, count(*) from steps group by 1 order by 1")
        scores = session.rows("select passed from trials")
    assert kinds == [
        ("limit", 1), ("message", 7), ("reasoning", 1), ("tool_call", 1), ("tool_result", 1),
    ]  # fmt: skip
    assert scores == [(True,)]


def test_secrets_stay_in_the_original_alone(tmp_path):
    events = [event("model", input=[message("user", KEY)], output=output(KEY))]
    one = sample(output=output(KEY * 8_000), events=events, error={"message": f"no {KEY}"})

    written = imported(tmp_path, one, head=header(eval={"task_args": {"x": KEY}}))

    texts = [path.read_text() for path in written.run_dir.glob("*.json*")] + [
        all_traces(written.run_dir)
    ]
    assert all(KEY not in text and MARK in text for text in texts)
    assert MARK in latest_of(written.run_dir)["a", 1].raw_output
