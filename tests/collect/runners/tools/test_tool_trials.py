"""Trials whose model calls tools, on every wire: what it is told, what is kept, what is judged."""

import base64
import json
from functools import partial

import pytest

from analyze.query.session import open_session
from collect.execute.tools import locked_in
from collect.runners.tools.base import ToolResult
from collect.runners.tools.shell import SandboxTool
from schemas.base import read_stored
from schemas.errors import ConfigError
from schemas.run.workspace import Workspace
from tests.collect.execute.test_run import Made, Quiet, run_in
from tests.support.forked_mirror import forked_mirrors, no_mirrors
from tests.support.kept_run import Kept
from tests.support.sandboxes import sandboxed
from tests.support.tool_endpoint import ToolModel

pytestmark = [pytest.mark.agents, sandboxed]

WIRES = ("ollama_openai", "openai_responses", "openrouter", "anthropic_messages")

WRITE = ("write_file", {"path": "out/report.txt", "content": "sixteen bytes...\n"})
TOUCH = ("exec_shell", {"command": "mkdir -p made && echo 42 > made/by_shell && cat made/by_shell"})


def run(project, endpoint, tmp_path, monkeypatch, mirrors, *, skip=False, **model):
    monkeypatch.setenv("OPENROUTER_API_KEY", "sk-or-test")
    of_api = {"base_url": endpoint.base_url}
    if model.get("provider") == "anthropic_messages":
        of_api = {"base_url": endpoint.base_url.removesuffix("/v1"), "max_tokens": 512}
    project.model(**of_api | model)
    inputs = locked_in(project.load(skip=skip), is_unsafe=False, skip_unevaluable=skip)
    screen = Quiet()
    run_dir = tmp_path / "runs" / "r"
    report = run_in(run_dir, inputs, screen, mirrors=mirrors)
    return Made(run_dir, report, screen.notes)


@pytest.fixture
def make(project, endpoint, tmp_path, monkeypatch):
    """Make a run of the project with its model at the endpoint."""
    return partial(run, project, endpoint, tmp_path, monkeypatch, forked_mirrors)


@pytest.fixture
def make_log(project, endpoint, tmp_path, monkeypatch):
    """The same without a mirror, where only the log is looked at."""
    return partial(run, project, endpoint, tmp_path, monkeypatch, no_mirrors)


def offer(project, *tools, checks=(), **fields):
    context = {"llm_probe": {"tools": list(tools), **fields.pop("probe", {})}}
    message = {"role": "user", "content": "Do it."}
    project.case(
        input={"messages": [message], "context": context},
        deterministic_checks=[
            {"check_id": f"c{number}", "declarative": check} for number, check in enumerate(checks)
        ],
        **fields,
    )


def trace_of(made, number=0):
    kept = Kept(made.dir)
    return kept.artifact(kept.results()[number]).trace


def of_type(trace, event_type):
    return [event for event in trace if event.event_type == event_type]


@pytest.mark.parametrize("provider", WIRES)
@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize(
    "turns", [([WRITE], [TOUCH]), ([WRITE, TOUCH],)], ids=["single", "parallel"]
)
def test_what_the_tools_made_is_found_by_checks(project, endpoint, make, provider, stream, turns):
    endpoint.script = model = ToolModel(*turns)
    offer(
        project, "write_file", "exec_shell",
        checks=[
            {"kind": "file_contains", "path": "out/report.txt", "text": "sixteen bytes"},
            {"kind": "file_exists", "path": "/workspace/made/by_shell"},
            {"kind": "tool_call_count", "count": 2},
        ],
    )  # fmt: skip
    project.profile(runner_defaults={"stream": stream})

    made = make(provider=provider)

    (row,) = made.results()
    assert (row["passed"], row["checks_passed"]) == (True, 3)
    assert (row["raw_output"], row["attempt_count"]) == ("Done.", len(turns) + 1)
    assert sorted(row["tool_calls"]) == ["exec_shell", "write_file"]
    assert row["tool_call_source"] == "api"
    assert (row["input_tokens"], row["output_tokens"]) == (
        7 * len(endpoint.requests),
        3 * len(endpoint.requests),
    )
    assert row["tool_ms"] >= 1
    assert len(model.results) == 2
    message = json.loads(model.results[1])
    assert message["status"] == "success"
    assert message["output"]["stdout"] == "42\n"
    assert message["output"]["returncode"] == 0
    assert (
        made.dir / "workspaces/m/one/1/workspace/out/report.txt"
    ).read_text() == "sixteen bytes...\n"
    assert made.report.exit_code == 0


def test_steps_of_a_trial_add_up_to_its_result(project, endpoint, make):
    endpoint.script = ToolModel([WRITE, ("exec_shell", {"command": "exit 3"})], [TOUCH])
    offer(project, "write_file", "exec_shell")

    made = make()

    with open_session(made.dir.parent) as session:
        found = session.rows(
            "select kind, tool, effect, exit_code, turn_no from steps order by step_no"
        )
        ((sent, got, spent, took, tools),) = session.rows(
            "select sum(input_tokens), sum(output_tokens), sum(cost_usd), "
            "sum(duration_ms) filter (role = 'assistant'), sum(duration_ms) filter "
            "(kind = 'tool_result') from steps"
        )
    assert found == [
        ("message", None, None, None, 0),
        ("message", None, None, None, 1),
        ("tool_call", "write_file", "write", None, 1),
        ("tool_call", "exec_shell", "run", None, 1),
        ("tool_result", "write_file", None, 0, 1),
        ("tool_result", "exec_shell", None, 3, 1),
        ("message", None, None, None, 2),
        ("tool_call", "exec_shell", "write", None, 2),
        ("tool_result", "exec_shell", None, 0, 2),
        ("message", None, None, None, 3),
    ]
    (row,) = made.results()
    assert (sent, got, spent) == (row["input_tokens"], row["output_tokens"], row["cost_usd"])
    assert (took, tools) == (row["e2e_ms"], row["tool_ms"])


def test_time_of_tools_is_beside_the_models_time(project, endpoint, make):
    endpoint.script = ToolModel([("exec_shell", {"command": "sleep 0.7"})])
    offer(project, "exec_shell")

    (row,) = make().results()

    assert row["tool_ms"] >= 700
    assert row["e2e_ms"] < 500
    assert row["ended_at_ms"] - row["started_at_ms"] >= 700


# ---- what servers and models get wrong


def test_arguments_as_an_object_and_no_ids_as_ollama_sends_them(project, endpoint, make_log):
    sent = ToolModel([("write_file", {"path": "a", "content": "1"}), TOUCH], ids=False)

    def as_objects(wire, request):
        message = sent._message(request.body)
        for call in message.get("tool_calls", ()):
            call["function"]["arguments"] = json.loads(call["function"]["arguments"])
            del call["index"]
        wire.answer({"model": "served-m", "choices": [{"index": 0, "message": message}]})

    endpoint.script = as_objects
    offer(project, "write_file", "exec_shell")
    project.profile(runner_defaults={"stream": False})

    made = make_log()

    (row,) = made.results()
    assert (row["success"], row["tool_call_count"]) == (True, 2)
    asked = endpoint.requests[1].body["messages"]
    ids = [call["id"] for call in asked[1]["tool_calls"]]
    assert ids == [message["tool_call_id"] for message in asked[2:]] == ["call_1_1", "call_1_2"]


def test_malformed_arguments_are_answered_once_with_the_error(project, endpoint, make_log):
    bad = ("exec_shell", '{"command": "touch made')
    endpoint.script = model = ToolModel([bad], [TOUCH])
    offer(project, "exec_shell")

    made = make_log()

    (row,) = made.results()
    assert row["success"]
    first, second = map(json.loads, model.results)
    assert first["status"] == "error"
    assert first["output"]["error_type"] == "invalid_arguments"
    assert "not valid JSON" in first["output"]["error"]
    assert second["status"] == "success"
    calls = of_type(trace_of(made), "tool_call")
    assert (calls[0].raw_arguments, calls[0].parsed_arguments) == (bad[1], None)
    sent_back = endpoint.requests[1].body["messages"][1]["tool_calls"][0]["function"]
    assert json.loads(sent_back["arguments"]) == {"malformed_arguments": bad[1]}


@pytest.mark.parametrize(
    ("call", "error_type", "said"),
    [
        (("rm_rf", {}), "unknown_tool", "there is no tool `rm_rf`; there are: exec_shell"),
        (("read_file", {"path": "a"}), "unknown_tool", "there is no tool `read_file`"),
        (("exec_shell", {}), "invalid_arguments", "`command` is missing"),
        (("exec_shell", {"command": "a\0b"}), "invalid_arguments", "NUL"),
        (("exec_shell", {"command": "x" * 200_000}), "invalid_arguments", "131,071 bytes"),
    ],
)  # fmt: skip
def test_a_call_that_nobody_can_carry_out_is_an_error_the_model_sees(
    project, endpoint, make_log, call, error_type, said
):
    endpoint.script = model = ToolModel([call])
    offer(project, "exec_shell")

    (row,) = make_log().results()

    (message,) = map(json.loads, model.results)
    assert message["status"] == "error"
    assert message["output"]["error_type"] == error_type
    assert said in message["output"]["error"]
    assert row["success"], "what the model makes of it is its own"


def test_a_file_that_is_not_there_is_an_error_the_model_sees(project, endpoint, make_log):
    endpoint.script = model = ToolModel([("read_file", {"path": "gone"})])
    offer(project, "read_file")

    make_log()

    (message,) = map(json.loads, model.results)
    assert message["status"] == "error"
    assert "gone" in message["output"]["error"]
    assert "No such file" in message["output"]["error"]


@pytest.mark.parametrize("path", ["a b", "-n", "deep/er/x", "new\nline", "/tmp/x", "ü"])
def test_a_file_is_read_as_it_was_written_whatever_it_is_called(project, endpoint, make_log, path):
    content = "one\ntwo\0three — no newline"
    write = ("write_file", {"path": path, "content": content})
    endpoint.script = model = ToolModel([write], [("read_file", {"path": path})])
    offer(project, "read_file", "write_file")

    make_log()

    written, read = map(json.loads, model.results)
    assert written["output"] == {"path": path, "bytes_written": len(content.encode())}
    assert read["output"] == {"path": path, "content": content}


# ---- turns


@pytest.mark.parametrize("provider", WIRES)
def test_after_its_turns_a_model_is_asked_for_the_text_alone(project, endpoint, make_log, provider):
    endpoint.script = ToolModel(*[[TOUCH]] * 9)
    offer(project, "exec_shell", runner={"type": "llm_probe", "max_turns": 3})

    made = make_log(provider=provider)

    (row,) = made.results()
    assert (row["success"], row["raw_output"], row["attempt_count"]) == (True, "Done.", 4)
    bodies = [request.body for request in endpoint.requests]
    assert all("tools" in body for body in bodies[:3])
    assert all("tool_choice" not in body for body in bodies[:3])
    if none := {"openrouter": "none", "anthropic_messages": {"type": "none"}}.get(provider):
        assert bodies[3]["tool_choice"] == none
        assert bodies[3]["tools"] == bodies[0]["tools"]
    else:
        assert not {"tools", "tool_choice"} & bodies[3].keys()


def test_a_model_that_has_no_text_even_then_has_used_up_its_turns(project, endpoint, make_log):
    endpoint.script = ToolModel(*[[TOUCH]] * 9, text="")
    offer(project, "exec_shell", runner={"type": "llm_probe", "max_turns": 2})

    (row,) = make_log().results()

    assert (row["failure_type"], row["availability_status"]) == ("max_turns_exceeded", "ok")
    assert (row["passed"], row["attempt_count"], row["tool_call_count"]) == (None, 3, 0)
    assert row["input_tokens"] == 21


def test_a_request_that_failed_is_repeated_and_no_tool_is(project, endpoint, make_log):
    count = ("exec_shell", {"command": "echo x >> log; wc -l < log"})
    model = ToolModel([count], [count])
    failures = [3, 1]

    def flaky(wire, request):
        n_turns = sum(bool(one.get("tool_calls")) for one in request.body["messages"])
        if n_turns and failures[n_turns - 1]:
            failures[n_turns - 1] -= 1
            wire.answer({"error": {"message": "busy"}}, status=503)
        else:
            model(wire, request)

    endpoint.script = flaky
    offer(project, "exec_shell")

    (row,) = make_log().results()

    assert (row["success"], row["attempt_count"]) == (True, 3 + 4)
    assert [json.loads(one)["output"]["stdout"].strip() for one in model.results] == ["1", "2"]


def test_a_provider_that_stops_answering_leaves_a_trial_without_a_verdict(
    project, endpoint, make_log
):
    model = ToolModel([TOUCH])

    def fails(wire, request):
        if len(request.body["messages"]) > 1:
            wire.answer({"error": {"message": "gone"}}, status=500)
        else:
            model(wire, request)

    endpoint.script = fails
    offer(project, "exec_shell", validator={"type": "exact", "value": "Done."})
    project.profile(runner_defaults={"retries": 0})

    made = make_log()

    (row,) = made.results()
    assert (row["failure_type"], row["passed"], row["e2e_ms"]) == ("http_500", None, None)
    assert (row["input_tokens"], row["output_tokens"]) == (7, 3), "of the turn that was answered"
    assert (made.dir / "workspaces/m/one/1/workspace/made/by_shell").exists(), (
        "what it made is kept"
    )


def test_tokens_of_which_a_turn_says_nothing_are_unknown_and_counted_by_nobody(
    project, endpoint, make_log
):
    model = ToolModel([TOUCH])

    def silent_once(wire, request):
        message = model._message(request.body)
        usage = {"usage": {"prompt_tokens": 7}} if message.get("tool_calls") else {}
        choices = [{"index": 0, "message": message, "finish_reason": "stop"}]
        wire.answer({"model": "served-m", "choices": choices} | usage)

    endpoint.script = silent_once
    offer(project, "exec_shell")
    project.profile(runner_defaults={"stream": False})

    (row,) = make_log().results()

    assert row["success"]
    assert (row["input_tokens"], row["output_tokens"], row["token_source"]) == (None, None, None)


@pytest.mark.parametrize(
    ("choice", "chat", "others"),
    [
        (
            "required",
            "required",
            {"openai_responses": "required", "anthropic_messages": {"type": "any"}},
        ),
        (
            "exec_shell",
            {"type": "function", "function": {"name": "exec_shell"}},
            {
                "openai_responses": {"type": "function", "name": "exec_shell"},
                "anthropic_messages": {"type": "tool", "name": "exec_shell"},
            },
        ),
    ],
)
@pytest.mark.parametrize("provider", WIRES)
def test_what_must_be_called_is_called_in_the_first_request(
    project, endpoint, make_log, provider, choice, chat, others
):
    endpoint.script = ToolModel([TOUCH])
    offer(project, "exec_shell", probe={"tool_choice": choice})

    make_log(provider=provider)

    first, second = (request.body for request in endpoint.requests)
    assert first["tool_choice"] == others.get(provider, chat)
    assert "tool_choice" not in second


def test_reasoning_between_calls_goes_back_as_it_came(project, endpoint, make_log):
    details = [
        {"type": "reasoning.text", "index": 0, "text": "I sho"},
        {"type": "reasoning.text", "index": 0, "text": "uld look.", "signature": "s1"},
        {"type": "reasoning.encrypted", "index": 1, "data": "abc"},
    ]
    model = ToolModel([TOUCH])

    def thinks(wire, request):
        message = model._message(request.body)
        if message.get("tool_calls"):
            message |= {"reasoning": "I should look.", "reasoning_details": details}
        wire.answer({"model": "served-m", "choices": [{"index": 0, "message": message}]})

    endpoint.script = thinks
    offer(project, "exec_shell")
    project.profile(runner_defaults={"stream": False})

    make_log(provider="openrouter")

    sent = endpoint.requests[1].body["messages"][1]
    assert sent["reasoning_details"] == [
        {"type": "reasoning.text", "index": 0, "text": "I should look.", "signature": "s1"},
        details[2],
    ]
    assert "reasoning" not in sent


def test_many_calls_of_one_answer_are_not_all_carried_out(project, endpoint, make_log):
    one = ("exec_shell", {"command": "echo x >> log; wc -l < log"})
    endpoint.script = model = ToolModel([one] * 40)
    offer(project, "exec_shell")

    make_log()

    messages = [json.loads(result) for result in model.results]
    assert [one["status"] for one in messages] == ["success"] * 32 + ["error"] * 8
    assert "only the first 32 calls" in messages[-1]["output"]["error"]


# ---- what is kept


def test_every_call_is_in_the_trace_with_its_sizes(project, endpoint, make_log):
    endpoint.script = model = ToolModel(
        [("exec_shell", {"command": "seq -s x 60000 | head -c 300000; echo oops >&2; exit 3"})],
        [("exec_shell", {"command": "printf 'caf\\351'"})],
    )  # fmt: skip
    offer(project, "exec_shell")

    trace = trace_of(make_log())

    first, second = of_type(trace, "tool_call")
    assert first.parsed_arguments["command"].startswith("seq -s")
    assert json.loads(second.raw_arguments) == {"command": "printf 'caf\\351'"}
    large, latin = of_type(trace, "tool_result")
    assert (large.status, large.exit_code, large.ended_by) == ("success", 3, "exit")
    assert large.produced_bytes == 300_005
    assert 60_000 < large.stored_bytes <= 65_536
    assert 15_000 < large.shown_bytes <= 16_384
    assert large.truncated
    assert large.shown == model.results[0]
    assert json.loads(large.shown)["output"]["stderr"] == "oops\n"
    assert large.duration_ms >= 0
    assert (large.oom_kills, large.throttled_ms) == (None, None)
    assert latin.output["stdout"] == "caf\\xe9"
    assert base64.b64decode(latin.output["stdout_base64"]) == b"caf\xe9"
    assert not latin.truncated
    assert "base64" not in model.results[1]


def test_facts_that_no_trace_knows_leave_the_trace_readable(
    project, endpoint, make_log, monkeypatch
):
    class Odd:
        def __init__(self, services): ...

        async def call(self, arguments, context):
            facts = {"exit_code": 3, "duration_ms": "long", "colour": "red"}
            return ToolResult(output={"a": 1}, facts=facts)

        async def aclose(self): ...

    monkeypatch.setattr("collect.runners.tools.files.ReadFile", Odd)
    endpoint.script = ToolModel([("read_file", {"path": "a"})])
    offer(project, "read_file")

    (result,) = of_type(trace_of(make_log()), "tool_result")

    assert (result.output, result.exit_code) == ({"a": 1}, 3)


def test_what_a_model_said_beside_its_calls_comes_before_them(project, endpoint, make_log):
    endpoint.script = ToolModel([TOUCH], says="Let me look.")
    offer(project, "exec_shell")

    kinds = [event.event_type for event in trace_of(make_log()) if event.event_type != "runner"]

    assert kinds == ["message", "message", "tool_call", "tool_result", "message", "final_output"]


@pytest.mark.parametrize("size", [16_200, 16_290, 16_320, 17_000])
def test_what_the_model_did_not_read_is_said_to_the_byte(project, endpoint, make_log, size):
    endpoint.script = model = ToolModel([("exec_shell", {"command": f"printf %{size}d 1"})])
    offer(project, "exec_shell")

    (event,) = of_type(trace_of(make_log()), "tool_result")

    is_whole = len(json.loads(model.results[0])["output"]["stdout"]) == size
    assert event.truncated is not is_whole
    assert (event.shown is None) is is_whole
    assert is_whole is (size < 16_290)


def test_a_trial_with_a_command_that_takes_too_long_goes_on(project, endpoint, make_log):
    endpoint.script = model = ToolModel([("exec_shell", {"command": "echo begun; sleep 60"})])
    offer(project, "exec_shell")
    project.profile(sandbox={"limits": {"command_seconds": 1}})

    (row,) = make_log().results()

    (message,) = map(json.loads, model.results)
    assert (message["status"], message["output"]["error_type"]) == ("error", "time")
    assert message["output"]["error"] == "the command was ended: it took longer than 1 s"
    assert message["output"]["stdout"] == "begun\n"
    assert row["success"]
    assert 1_000 <= row["tool_ms"] < 10_000


def test_a_secret_that_a_command_prints_is_in_no_file(project, endpoint, make_log):
    secret = "sk-ant-api03-" + "aB3" * 30
    endpoint.script = ToolModel([("exec_shell", {"command": f"echo {secret}"})])
    offer(project, "exec_shell")

    made = make_log()

    (row,) = made.results()
    assert secret not in json.dumps(row)
    assert secret not in Kept(made.dir).artifact(row).model_dump_json()


def test_trials_do_not_see_each_others_files(project, endpoint, make_log):
    endpoint.script = model = ToolModel(
        [("exec_shell", {"command": "ls -A . ~ /tmp; touch x ~/y /tmp/z"})]
    )
    offer(project, "exec_shell")
    project.profile(execution_policy={"run_repetitions": 3, "max_concurrency": 3})
    seen = []

    def watched(wire, request):
        model(wire, request)
        seen.extend(model.results)

    endpoint.script = watched

    made = make_log()

    assert len(seen) == 3
    for message in map(json.loads, seen):
        assert not {"x", "y", "z"} & set(message["output"]["stdout"].split())
    kept = sorted(
        str(path.relative_to(made.dir)) for path in made.dir.glob("workspaces/*/*/*/workspace/*")
    )
    assert kept == [f"workspaces/m/one/{number}/workspace/x" for number in (1, 2, 3)]


def test_what_checks_name_outside_the_workspace_is_kept_beside_it(project, endpoint, make_log):
    command = "echo 1 > f; echo 2 > /tmp/z; mkdir ~/d; echo 3 > ~/d/y; touch /tmp/other ~/other"
    endpoint.script = ToolModel([("exec_shell", {"command": command})])
    offer(
        project, "exec_shell",
        checks=[
            {"kind": "file_exists", "path": "f"},
            {"kind": "file_contains", "path": "/tmp/z", "text": "2"},
            {"kind": "path_exists", "path": "/home/agent/d"},
            {"kind": "path_exists", "path": "/etc/passwd"},
            {"kind": "final_response_present"},
        ],
    )  # fmt: skip

    made = make_log(skip=True)

    kept = made.dir / "workspaces/m/one/1"
    files = {path.relative_to(kept).as_posix() for path in kept.rglob("*") if path.is_file()}
    assert files == {"workspace/f", "tmp/z", "home/d/y", "workspace.json", "workspace.diff"}
    record = read_stored(Workspace, kept / "workspace.json")
    assert [entry.path for entry in record.entries] == [
        "/home/agent/d", "/home/agent/d/y", "/tmp/z", "f",
    ]  # fmt: skip
    trial = Kept(made.dir).artifact(made.results()[0])
    assert trial.workspace == "workspaces/m/one/1"


def test_a_trial_whose_folder_is_there_has_another_one(project, endpoint, make_log, tmp_path):
    """As after a trial that was cut off while its files were copied."""
    model = ToolModel([TOUCH])

    def script(wire, request):
        (tmp_path / "runs/r/workspaces/m/one/1").mkdir(parents=True, exist_ok=True)
        model(wire, request)

    endpoint.script = script
    offer(project, "exec_shell")

    made = make_log()

    assert (made.dir / "workspaces/m/one/1-2/workspace/made/by_shell").exists()
    assert Kept(made.dir).artifact(made.results()[0]).workspace == "workspaces/m/one/1-2"


# ---- what cannot be offered


def test_a_transport_that_cannot_offer_tools_is_refused_by_name(project, endpoint):
    offer(project, "read_file")
    base_url = endpoint.base_url.removesuffix("/v1")
    project.model(provider="claude_code_cli", base_url=base_url)

    with pytest.raises(ConfigError) as caught:
        project.load()

    said = str(caught.value)
    assert "case `one`: `claude_code_cli` cannot offer tools to a model" in said
    assert "allowed: ollama_openai, openai_chat" in said


def test_calls_that_nobody_wanted_are_not_carried_out(project, endpoint, make_log):
    """Some servers pass `tool_choice` over."""
    model = ToolModel([TOUCH])

    def passes_over(wire, request):
        assert request.body.pop("tool_choice") == "none"
        model(wire, request)

    endpoint.script = passes_over
    offer(project, "exec_shell", probe={"tool_choice": "none"})

    made = make_log()

    (row,) = made.results()
    assert (row["failure_type"], row["availability_status"]) == ("tool_calls_not_supported", "ok")
    assert len(endpoint.requests) == 1
    assert row["tool_ms"] is None
    assert not (made.dir / "workspaces").exists()


def test_a_model_is_stopped_whose_tools_can_do_nothing(project, endpoint, make_log, monkeypatch):
    async def gone(*_):
        message = "the sandbox's helper ended"
        return ToolResult(output={"error": message}, is_error=True, outage=message)

    monkeypatch.setattr(SandboxTool, "run", gone)
    endpoint.script = ToolModel([TOUCH])
    offer(project, "exec_shell")
    project.profile(execution_policy={"run_repetitions": 9})

    made = make_log()

    assert [row["failure_type"] for row in made.results()] == ["tool_unavailable"] * 3
    assert len(endpoint.requests) == 3, "each was paid for"
    (stopped,) = [event for event in made.events() if event["event"] == "model_stopped"]
    assert "could do nothing 3 times in a row: the sandbox's helper" in stopped["detail"]
    assert made.report.exit_code == 1


@pytest.mark.parametrize("network", ["allow", "deny"])
def test_a_command_reaches_the_network_only_where_the_case_allows_it(
    project, endpoint, make_log, network
):
    reach = f"exec 3<>/dev/tcp/127.0.0.1/{endpoint.port} && echo reached"
    endpoint.script = model = ToolModel([("exec_shell", {"command": f"bash -c '{reach}'"})])
    offer(project, "exec_shell", probe={"network": network})

    make_log()

    (message,) = map(json.loads, model.results)
    assert (message["output"]["stdout"] == "reached\n") == (network == "allow"), message
