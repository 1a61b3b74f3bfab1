"""Sessions of Codex as runs: a project a run, a session a trial."""

import json
import shutil

import pytest

from analyze.importers.detect import detect
from schemas.errors import ConfigError
from tests.support.agent_logs import SAMPLES
from tests.support.agent_sessions import (
    at,
    at_ms,
    codex,
    counted,
    imported,
    item,
    put,
    rows_of,
    said_by,
    steps_of,
    texts_of,
)

FORM = "codex"
A, B = "01a21a7c-0000-7a63-ae39-000000000001", "01a21a7c-0000-7a63-ae39-000000000002"
META = {"id": A, "cwd": "/home/me/proj", "cli_version": "0.60.0", "model_provider": "openai"}


@pytest.fixture
def runs_dir(tmp_path):
    return tmp_path / "runs"


@pytest.fixture
def day(tmp_path):
    return tmp_path / "codex" / "sessions" / "2026" / "03" / "01"


def call(second, name, **given):
    arguments = json.dumps(given)
    return item(second, "function_call", name=name, call_id=f"c{second}", arguments=arguments)


def output(second, of, said):
    return item(second, "function_call_output", call_id=of, output=said)


def session(**meta):
    """A session of a version that has `token_count` alone, with a count that is told twice."""
    return [
        codex("session_meta", 1, **(META | meta)),
        said_by(1, "user", "<environment_context>\n  <cwd>/home/me/proj</cwd>"),
        codex("turn_context", 2, cwd="/home/me/proj", model="gpt-5", effort="high"),
        said_by(3, "user", "Make a report."),
        codex("event_msg", 3, type="user_message", message="Make a report."),
        codex("event_msg", 3, type="token_count", info=None, rate_limits={}),
        item(4, "reasoning", summary=[{"type": "summary_text", "text": "Hm."}], content=None),
        call(5, "exec_command", cmd="ls"),
        codex("event_msg", 6, type="exec_command_end", call_id="c5", exit_code=2,
              duration={"secs": 1, "nanos": 500_000_000}),
        output(6, "c5", "no such file"),
        counted(6, (100, 40, 10), (100, 40, 10)),
        counted(6, (100, 40, 10), (100, 40, 10)),
        codex("turn_context", 7, cwd="/home/me/proj", model="gpt-5-mini"),
        said_by(8, "assistant", "Done."),
        counted(8, (250, 60, 15), (150, 20, 5)),
        codex("event_msg", 9, type="task_complete", last_agent_message="Done."),
    ]  # fmt: skip


def only(written):
    (run,) = written
    (row,) = rows_of(run).values()
    return row


def test_a_session_is_a_trial_of_the_project_that_it_worked_in(day, runs_dir):
    put(day / "rollout-1.jsonl", *session())

    (run,) = imported(FORM, day.parents[3], runs_dir)
    row = only([run])

    assert (run.run_dir.name, run.n_trials, run.findings) == ("codex_home-me-proj", 1, ())
    assert (row["suite_id"], row["case_id"], row["model"], row["requested_model"]) == (
        "home-me-proj", A, "gpt-5", "gpt-5",
    )  # fmt: skip
    assert (row["input_tokens"], row["cached_input_tokens"], row["output_tokens"]) == (250, 60, 15)
    assert (row["passed"], row["e2e_ms"], row["served_model"], row["cost_usd"]) == (None,) * 4
    assert (row["raw_output"], row["prompt_name"], row["tool_ms"]) == (
        "Done.", "Make a report.", 1500,
    )  # fmt: skip
    assert (row["started_at_ms"], row["ended_at_ms"]) == (at_ms(1), at_ms(8))


def test_its_items_are_steps_with_the_model_of_their_turn(day, runs_dir):
    put(day / "rollout-1.jsonl", *session())
    imported(FORM, day, runs_dir)

    assert texts_of(runs_dir)[1:] == [
        ("message", "Make a report."), ("reasoning", "Hm."), ("message", None),
        ("tool_call", '{"cmd":"ls"}'), ("tool_result", "no such file"), ("message", "Done."),
    ]  # fmt: skip
    facts = "requested_model, input_tokens, output_tokens"
    assert steps_of(runs_dir, facts, "kind = 'message' AND role = 'assistant'") == [
        ("gpt-5", 100, 10), ("gpt-5-mini", 150, 5),
    ]  # fmt: skip
    facts = "tool, is_error, exit_code, duration_ms"
    assert steps_of(runs_dir, facts, "kind = 'tool_result'") == [("exec_command", True, 2, 1500)]


def test_the_same_import_again_changes_nothing(day, runs_dir):
    put(day / "rollout-1.jsonl", *session())
    imported(FORM, day, runs_dir)
    before = {p: p.read_bytes() for p in runs_dir.rglob("*") if p.is_file()}

    (again,) = imported(FORM, day, runs_dir)

    assert (again.is_new, again.n_trials) == (False, 1)
    assert {p: p.read_bytes() for p in runs_dir.rglob("*") if p.is_file()} == before


def test_the_first_versions_wrote_items_without_an_envelope(day, runs_dir):
    tool_output = {"output": "a.txt\n", "metadata": {"exit_code": 0, "duration_seconds": 0.25}}
    put(
        day / "rollout-1.jsonl",
        {"id": A, "timestamp": at(1), "instructions": None},
        {"record_type": "state"},
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Look."}]},
        {"type": "reasoning", "id": "r", "summary": []},
        {"type": "function_call", "name": "shell", "arguments": '{"command": ["ls"]}',
         "call_id": "c1"},
        {"type": "function_call_output", "call_id": "c1", "output": json.dumps(tool_output)},
        {"type": "message", "role": "assistant", "content": [
            {"type": "output_text", "text": "One file."}]},
    )  # fmt: skip

    row = only(imported(FORM, day, runs_dir))

    assert (row["case_id"], row["suite_id"], row["model"]) == (A, "01", "unknown")
    assert (row["raw_output"], row["input_tokens"], row["tool_ms"]) == ("One file.", None, 250)
    assert texts_of(runs_dir) == [
        ("message", "Look."), ("message", None), ("tool_call", '{"command":["ls"]}'),
        ("tool_result", "a.txt\n"), ("message", "One file."),
    ]  # fmt: skip


def test_sessions_that_it_started_are_its_own(day, runs_dir):
    inner = session(id=B, parent_thread_id=A, source={"subagent": {"thread_spawn": {}}})
    put(day / "rollout-1.jsonl", *session(source="exec"))
    put(day / "rollout-2.jsonl", *inner)

    row = only(imported(FORM, day, runs_dir))

    assert (row["case_id"], row["input_tokens"]) == (A, 500)
    assert len(steps_of(runs_dir, "kind", f"trajectory = 'main/{B}'")) == 7


def test_every_project_is_a_run(day, runs_dir):
    put(day / "rollout-1.jsonl", *session())
    put(day / "rollout-2.jsonl", *session(id=B, cwd="/srv/x"))
    put(day / "index.jsonl", {"a": 1})

    found = detect(day.parents[3])
    written = imported(FORM, found[0].path, runs_dir)

    assert [(one.path.name, one.format) for one in found] == [("sessions", FORM)]
    assert [one.run_dir.name for one in written] == ["codex_home-me-proj", "codex_srv-x"]
    assert [one.code for one in written[0].findings] == ["no_session"]
    with pytest.raises(ConfigError, match="2 projects"):
        imported(FORM, day, runs_dir, run_id="one")


@pytest.mark.parametrize(
    ("event", "failure"),
    [
        ({"type": "error", "message": "unexpected status 429 Too Many: x"}, "http_429"),
        ({"type": "error", "message": "stream broke"}, "cli_error"),
        ({"type": "turn_aborted", "reason": "interrupted"}, None),
    ],
)
def test_how_it_ended_is_an_errors_word_and_no_persons(day, runs_dir, event, failure):
    put(day / "rollout-1.jsonl", *session(), codex("event_msg", 20, **event))

    assert only(imported(FORM, day, runs_dir))["failure_type"] == failure


def test_a_turn_that_was_refused_is_a_trial_of_the_model_that_was_asked(day, runs_dir):
    error = codex("event_msg", 4, type="error", message="unexpected status 401 Unauthorized")
    put(day / "rollout-1.jsonl", *session()[:5], error)

    row = only(imported(FORM, day, runs_dir))

    assert (row["model"], row["failure_type"], row["input_tokens"]) == ("gpt-5", "http_401", None)


def test_a_compaction_is_a_step(day, runs_dir):
    put(day / "rollout-1.jsonl", *session(), codex("compacted", 10, message="So far."))
    imported(FORM, day, runs_dir)

    assert texts_of(runs_dir)[-1] == ("compaction", '{"summary":"So far."}')


def test_a_torn_last_line_costs_that_line_alone(day, runs_dir):
    path = put(day / "rollout-1.jsonl", *session())
    path.write_bytes(path.read_bytes()[:-20])

    (run,) = imported(FORM, path, runs_dir)

    assert [one.code for one in run.findings] == ["torn_line"]
    assert only([run])["raw_output"] == "Done."


@pytest.mark.parametrize("content", ["", "{}\n", '{"type": "thread.started"}\n', "x"])
def test_what_is_no_session_is_refused_in_a_sentence(tmp_path, runs_dir, content):
    path = put(tmp_path / "x" / "rollout-1.jsonl", text=content)

    for one, what in ((path, "is no session"), (path.parent, "holds no session"),
                      (tmp_path / "no", "not there")):  # fmt: skip
        with pytest.raises(ConfigError, match=what):
            imported(FORM, one, runs_dir)
    assert not runs_dir.exists()
    assert detect(path.parent) == []


def test_real_sessions_have_the_tokens_that_were_served(day, runs_dir):
    day.mkdir(parents=True)
    for name in ("session", "parent", "started", "forked", "compacted"):
        shutil.copy(SAMPLES / f"codex-0.171.0-{name}.jsonl", day / f"rollout-{name}.jsonl")

    (run,) = imported(FORM, day, runs_dir)

    usages = sorted(
        (row["input_tokens"], row["output_tokens"], row["tool_calls"])
        for row in rows_of(run).values()
    )
    assert usages == [
        (104, 14, []), (306, 36, ["spawn_agent", "exec_command"]), (498, 138, ["exec_command"]),
        (515, 65, ["exec_command", "apply_patch"]),
    ]  # fmt: skip
