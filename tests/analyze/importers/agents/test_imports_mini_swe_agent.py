"""Runs of mini-swe-agent: a folder of trajectories is a run, an instance a case."""

import json

import pytest

from analyze.importers.detect import detect
from schemas.errors import ConfigError
from schemas.run.import_record import load_import_record
from tests.support.agent_sessions import at_ms, imported, rows_of, steps_of, texts_of

FORM = "mini-swe-agent"
PATCH = "diff --git a/x b/x\n"


@pytest.fixture
def runs_dir(tmp_path):
    return tmp_path / "runs"


def answer(number, command, **usage):
    """An answer of version 2, with a tool call."""
    function = {"name": "bash", "arguments": json.dumps({"command": command})}
    counts = {"prompt_tokens": 100, "completion_tokens": 10,
              "prompt_tokens_details": {"cached_tokens": 40}} | usage  # fmt: skip
    return {
        "role": "assistant", "content": f"Step {number}.",
        "tool_calls": [{"id": f"c{number}", "type": "function", "function": function}],
        "extra": {
            "actions": [{"command": command, "tool_call_id": f"c{number}"}], "cost": 0.25,
            "timestamp": at_ms(number) / 1000,
            "response": {"id": f"r{number}", "model": "gpt-5-2026", "usage": counts,
                         "choices": [{"finish_reason": "tool_calls"}]},
        },
    }  # fmt: skip


def result(number, code, said):
    extra = {"raw_output": said, "returncode": code, "timestamp": at_ms(number + 1) / 1000,
             "exception_info": ""}  # fmt: skip
    return {"role": "tool", "tool_call_id": f"c{number}", "content": said, "extra": extra}


TWO_STEPS = [
    {"role": "system", "content": "You can use bash."},
    {"role": "user", "content": "Fix it.\nNow."},
    answer(1, "ls x"), result(1, 2, "no x"), answer(3, "echo COMPLETE"), result(3, 0, ""),
]  # fmt: skip


def document(status="Submitted", submission=PATCH, messages=TWO_STEPS, **more):
    info = {
        "model_stats": {"instance_cost": 0.5, "api_calls": 2}, "mini_version": "2.4.6",
        "config": {"model": {"model_name": "openai/gpt-5"}, "agent": {"step_limit": 250}},
        "exit_status": status, "submission": submission,
    } | more  # fmt: skip
    return {"info": info, "messages": list(messages), "trajectory_format": "mini-swe-agent-1.1"}


def put(folder, name, content):
    path = folder / name / f"{name}.traj.json"
    path.parent.mkdir(parents=True)
    whole = content if isinstance(content, str) else json.dumps(content | {"instance_id": name})
    path.write_text(whole)
    return path


def predict(folder, *names, model="openai/gpt-5"):
    predictions = {
        name: {"model_name_or_path": model, "instance_id": name, "model_patch": PATCH}
        for name in names
    }
    (folder / "preds.json").write_text(json.dumps(predictions))


def test_an_instance_is_a_case_whose_answer_is_the_patch(tmp_path, runs_dir):
    folder = tmp_path / "night-1"
    put(folder, "django__django-1", document())
    predict(folder, "django__django-1")
    (folder / "minisweagent.log").write_text("begun")

    (run,) = imported(FORM, folder, runs_dir)
    row = rows_of(run)["django__django-1"]

    assert (run.run_dir.name, run.n_trials, run.findings) == ("mini-swe-agent_night-1", 1, ())
    assert (row["suite_id"], row["model"], row["model_id"], row["served_model"]) == (
        "swebench", "openai/gpt-5", "openai_gpt-5", "gpt-5-2026",
    )  # fmt: skip
    assert (row["passed"], row["status"], row["raw_output"]) == (None, "success", PATCH)
    assert (row["input_tokens"], row["cached_input_tokens"], row["output_tokens"]) == (200, 80, 20)
    assert (row["cost_usd"], row["cost_source"], row["e2e_ms"]) == (0.5, "provider", None)
    assert (row["started_at_ms"], row["ended_at_ms"]) == (at_ms(1), at_ms(4))
    source = run.run_dir / "source"
    assert sorted(one.name for one in source.rglob("*") if one.is_file()) == [
        "django__django-1.traj.json", "minisweagent.log", "preds.json",
    ]  # fmt: skip
    record = load_import_record(run.run_dir)
    assert (record.scorable, record.started_at_ms) == (False, at_ms(1))
    assert [one.format for one in detect(tmp_path)][:1] == [FORM]


def test_its_messages_are_steps(tmp_path, runs_dir):
    put(tmp_path / "n", "a", document())
    imported(FORM, tmp_path / "n", runs_dir)

    assert texts_of(runs_dir) == [
        ("message", "You can use bash."), ("message", "Fix it.\nNow."),
        ("message", "Step 1."), ("tool_call", '{"command":"ls x"}'), ("tool_result", "no x"),
        ("message", "Step 3."), ("tool_call", '{"command":"echo COMPLETE"}'),
        ("tool_result", None),
    ]  # fmt: skip
    assert steps_of(runs_dir, "tool, exit_code, is_error", "kind = 'tool_result'") == [
        ("bash", 2, True), ("bash", 0, False),
    ]  # fmt: skip


def test_the_same_import_again_changes_nothing(tmp_path, runs_dir):
    put(tmp_path / "n", "a", document())
    imported(FORM, tmp_path / "n", runs_dir)
    before = {p: p.read_bytes() for p in runs_dir.rglob("*") if p.is_file()}

    (again,) = imported(FORM, tmp_path / "n", runs_dir)

    assert (again.is_new, again.n_trials) == (False, 1)
    assert {p: p.read_bytes() for p in runs_dir.rglob("*") if p.is_file()} == before


@pytest.mark.parametrize(
    ("status", "submission", "failure", "ended"),
    [
        ("Submitted", " \n", "empty_response", "invalid"),
        ("LimitsExceeded", "", "limit_exceeded", "failed"),
        ("TimeExceeded", "", "timeout", "timed_out"),
        ("RepeatedFormatError", "", "agent_error", "failed"),
        ("RateLimitError", "", "http_429", "provider_error"),
        ("AuthenticationError", None, "http_401", "provider_error"),
        ("CalledProcessError", "", "container_error", "failed"),
        ("KeyError", "", "exception", "failed"),
        (None, None, "exception", "failed"),
    ],
)
def test_how_the_agent_ended_is_a_failure_of_ours(
    tmp_path, runs_dir, status, submission, failure, ended
):
    put(tmp_path / "n", "a", document(status, submission, exception_str="why"))

    (run,) = imported(FORM, tmp_path / "n", runs_dir)
    row = rows_of(run)["a"]

    assert (row["failure_type"], row["status"], row["passed"]) == (failure, ended, None)
    code = None if status == "Submitted" else status or "unended"
    assert (row["error_code"], row["error_message"]) == (code, "why")
    assert row["output_tokens"] == 20


def test_version_1_has_its_commands_in_the_text(tmp_path, runs_dir):
    messages = [
        {"role": "system", "content": "One block."},
        {"role": "user", "content": "Fix it."},
        {"role": "assistant", "content": "THOUGHT: look\n\n```bash\nls x\n```"},
        {"role": "user", "content": "<returncode>2</returncode>\n<output>\nno x\n</output>"},
        {"role": "assistant", "content": "```bash\na\n```\n```bash\nb\n```"},
        {"role": "user", "content": "Please always provide EXACTLY ONE action"},
        {"role": "assistant", "content": "```bash\necho COMPLETE\n```"},
        {"role": "user", "content": PATCH},
    ]
    older = document(messages=messages) | {"trajectory_format": "mini-swe-agent-1"}
    put(tmp_path / "n", "a", older)

    (run,) = imported(FORM, tmp_path / "n", runs_dir)

    row = rows_of(run)["a"]
    assert (row["tool_calls"], row["input_tokens"], row["cost_usd"]) == (["bash"], None, 0.5)
    calls = texts_of(runs_dir, "kind IN ('tool_call', 'tool_result')")
    assert [one for _, one in calls] == [
        '{"command":"ls x"}', messages[3]["content"], '{"command":"echo COMPLETE"}',
    ]  # fmt: skip
    assert steps_of(runs_dir, "exit_code", "kind = 'tool_result'") == [(2,)]


def test_a_model_without_tools_and_one_of_the_responses_api_have_calls_too(tmp_path, runs_dir):
    extra = {"raw_output": "x\n", "returncode": 0, "exception_info": "", "timestamp": 5.0}
    plain = [
        {"role": "assistant", "content": "Go.", "extra": {"actions": [{"command": "ls"}]}},
        {"role": "user", "content": "<returncode>0</returncode>x", "extra": extra},
    ]
    call = {"type": "function_call", "call_id": "c1", "name": "bash",
            "arguments": '{"command": "ls"}'}  # fmt: skip
    said = {"type": "message", "role": "assistant",
            "content": [{"type": "output_text", "text": "Go."}]}  # fmt: skip
    usage = {"input_tokens": 7, "output_tokens": 2, "input_tokens_details": {"cached_tokens": 3}}
    responses = [
        {"object": "response", "id": "r", "model": "m", "output": [said, call], "usage": usage,
         "extra": {"actions": [{"command": "ls", "tool_call_id": "c1"}]}},
        {"type": "function_call_output", "call_id": "c1", "output": "x", "extra": extra},
    ]  # fmt: skip
    put(tmp_path / "n", "a", document(messages=plain))
    put(tmp_path / "n", "b", document(messages=responses))

    (run,) = imported(FORM, tmp_path / "n", runs_dir)

    for case in ("a", "b"):
        assert texts_of(runs_dir, f"steps.case_id = '{case}'") == [
            ("message", "Go."), ("tool_call", '{"command":"ls"}'), ("tool_result", "x\n"),
        ]  # fmt: skip
        where = f"case_id = '{case}' AND kind = 'tool_result'"
        assert steps_of(runs_dir, "tool, exit_code", where) == [("bash", 0)]
    row = rows_of(run)["b"]
    assert (row["input_tokens"], row["cached_input_tokens"], row["output_tokens"]) == (7, 3, 2)


def test_what_has_no_trajectory_that_can_be_read_is_unfinished(tmp_path, runs_dir):
    folder = tmp_path / "n"
    put(folder, "a", document())
    put(folder, "torn", json.dumps(document())[:-40])
    predict(folder, "a", "never_started")

    (run,) = imported(FORM, folder, runs_dir)

    assert (run.n_trials, run.n_unfinished) == (1, 2)
    assert [one.code for one in run.findings] == ["unread"]
    left = load_import_record(run.run_dir).unfinished
    assert [(one.case_id, one.model) for one in left] == [
        ("never_started", "openai/gpt-5"), ("torn", "openai/gpt-5"),
    ]  # fmt: skip


def test_one_trajectory_alone_is_a_run_as_well(tmp_path, runs_dir):
    path = put(tmp_path / "n", "a", document())

    (run,) = imported(FORM, path, runs_dir, suite_id="mine")

    row = rows_of(run)["a"]
    assert (run.run_dir.name, row["suite_id"]) == ("mini-swe-agent_a", "mine")


def test_a_folder_of_runs_is_a_run_each(tmp_path, runs_dir):
    for name in ("night-1", "night-2"):
        put(tmp_path / "out" / name, "a", document())

    written = imported(FORM, tmp_path / "out", runs_dir)

    names = ["mini-swe-agent_night-1", "mini-swe-agent_night-2"]
    assert [one.run_dir.name for one in written] == names
    assert [one.path.name for one in detect(tmp_path / "out")] == ["night-1", "night-2"]
    with pytest.raises(ConfigError, match="2 folders"):
        imported(FORM, tmp_path / "out", runs_dir, run_id="one")


@pytest.mark.parametrize("content", ["", "{}", "[]", '{"messages": []}', '{"info": {}}', "\0"])
def test_what_is_no_trajectory_is_refused_in_a_sentence(tmp_path, runs_dir, content):
    path = put(tmp_path / "n", "a", content)

    for one, what in ((path, "is no trajectory"), (path.parents[1], "holds no trajectory"),
                      (tmp_path / "no", "not there")):  # fmt: skip
        with pytest.raises(ConfigError, match=what):
            imported(FORM, one, runs_dir)
    assert not runs_dir.exists()


def test_times_of_a_trajectory_without_any_are_those_of_its_file(tmp_path, runs_dir):
    messages = [{"role": "assistant", "content": "Hi"}]
    path = put(tmp_path / "n", "a", document(messages=messages))
    written_ms = path.stat().st_mtime_ns // 1_000_000

    (run,) = imported(FORM, tmp_path / "n", runs_dir)

    row = rows_of(run)["a"]
    assert (row["started_at_ms"], row["ended_at_ms"]) == (written_ms, written_ms)
