"""Whole runs against a scripted endpoint: what is written, when a run stops, what it ends with."""

import asyncio
import json
import threading
import time
from functools import partial

import pyarrow.dataset as ds
import pytest
import zstandard

from collect.commands.run import start
from collect.execute.budget import Budget
from collect.execute.collector import Collector
from collect.execute.executor import MAX_REFUSED, MAX_UNREACHABLE, Executor, Hooks
from collect.execute.spec import RunRequest, new_spec
from collect.providers.base import Reply
from collect.providers.openai_chat import ChatCompletions
from schemas.errors import ConfigError, RunExists
from schemas.lake import live_files
from schemas.output.summary import RunSummary
from schemas.run.result import Result
from schemas.run.trace import Artifact
from tests.support.executions import executed
from tests.support.forked_mirror import forked_mirrors, no_mirrors
from tests.support.run_rows import planned


def run_in(run_dir, inputs, screen, mirrors=forked_mirrors):
    with mirrors():
        request = RunRequest(run_dir.parent, run_id=run_dir.name)
        return Collector(new_spec(inputs, request, screen.note), screen).run()


class Quiet:
    """A screen that only remembers."""

    def __init__(self):
        self.notes = []

    def begin(self, report): ...

    def result(self, result): ...

    def note(self, text):
        self.notes.append(text)

    def end(self): ...


class Made:
    """A finished run, read back from its files."""

    def __init__(self, run_dir, report, notes):
        self.dir = run_dir
        self.report = report
        self.notes = notes

    def lines(self):
        return [json.loads(line) for line in (self.dir / "results.jsonl").read_text().splitlines()]

    def results(self):
        return [line for line in self.lines() if line["record_type"] == "result"]

    def events(self):
        """Return what happened, but for the endpoint's only name being no model's here."""
        events = [line for line in self.lines() if line["record_type"] == "event"]
        return [event for event in events if "answered by `served-m`" not in event["detail"]]

    def summary(self):
        return RunSummary.model_validate_json((self.dir / "summary.json").read_bytes())


@pytest.fixture
def make(project, endpoint, tmp_path):
    """Make one run of the project with its model at the endpoint."""
    return partial(make_run, project, endpoint, tmp_path, forked_mirrors)


@pytest.fixture
def make_log(project, endpoint, tmp_path):
    """The same without a mirror, where neither lake, summary nor a good end are looked at."""
    return partial(make_run, project, endpoint, tmp_path, no_mirrors)


def make_run(project, endpoint, tmp_path, mirrors, run_id="r", base_url=None, models=None, **model):
    fields = {"base_url": base_url or endpoint.base_url} | model
    if models is None:
        project.model(**fields)
    else:
        project.suite(models=models)
    screen = Quiet()
    run_dir = tmp_path / "runs" / run_id
    report = run_in(run_dir, project.load(), screen, mirrors=mirrors)
    return Made(run_dir, report, screen.notes)


def test_a_run_leaves_every_file_of_the_house(project, make):
    project.case(validator={"type": "exact", "value": "Hello there."})
    project.profile(execution_policy={"run_repetitions": 2})

    made = make()

    names = {path.name for path in made.dir.iterdir() if not path.name.startswith(".")}
    assert names == {
        "config.json", "inventory.json", "cases.jsonl.zst", "plan.jsonl", "results.jsonl",
        "artifacts", "run.log", "summary.json", "summary.md",
        "resources_ollama_openai__r__none_before.txt", "resources_ollama_openai__r__none_after.txt",
    }  # fmt: skip
    assert made.report.exit_code == 0
    assert (made.report.planned, made.report.present, made.report.passed) == (2, 2, 2)
    assert (made.dir / "run.log").read_text() == ""
    (group,) = made.summary().models
    assert (group.n_planned, group.n_total, group.passed_rate) == (2, 2, 1.0)


def test_a_result_has_the_documents_fields_first_and_in_its_order(project, make_log):
    project.case()

    (line,) = make_log().results()

    assert list(line)[:23] == [
        "record_type", "run_id", "provider", "model", "thinking_level", "prompt_id", "prompt_name",
        "availability_status", "started_at_ms", "ended_at_ms", "e2e_ms", "ttft_ms", "success",
        "failure_type", "objective_pass", "violation", "input_tokens", "output_tokens",
        "raw_output", "parsed_output", "tool_calls", "tool_call_count", "tool_use_success",
    ]  # fmt: skip
    assert list(line) == list(Result.model_fields)
    assert (line["prompt_id"], line["prompt_name"]) == ("one", "Case one")
    assert (line["input_tokens"], line["output_tokens"]) == (7, 3)
    assert line["served_model"] == "served-m"
    assert line["attempt_count"] == 1


def test_a_seed_per_repetition_is_really_sent(project, make_log, endpoint):
    project.case()
    project.profile(
        runner_defaults={"seed": 7, "seed_per_repetition": True},
        execution_policy={"run_repetitions": 3},
    )
    make_log()
    assert [request.body["seed"] for request in endpoint.requests] == [7, 8, 9]

    endpoint.requests.clear()
    project.profile(runner_defaults={"seed": 7}, execution_policy={"run_repetitions": 3})
    make_log("again")
    assert [request.body["seed"] for request in endpoint.requests] == [7, 7, 7]


def test_the_artifact_holds_the_whole_trace_at_its_offset(project, make_log):
    project.case("one")
    project.case("two")

    made = make_log()

    for line in made.results():
        name, _, offset = line["artifact_path"].partition("#")
        raw = (made.dir / name).read_bytes()[int(offset) :]
        text = zstandard.ZstdDecompressor().decompressobj().decompress(raw)
        artifact = Artifact.model_validate_json(text)
        assert artifact.case_id == line["case_id"]
        kinds = [event.event_type for event in artifact.trace]
        assert kinds == ["message", "runner", "message", "final_output"]
        assert artifact.trace[-1].content == "Hello there."
        assert [event.sequence for event in artifact.trace] == [0, 1, 2, 3]
        assert artifact.request["stream"] is True


def test_the_lake_holds_what_the_log_holds(project, make, tmp_path):
    for name in "abc":
        project.case(name, validator={"type": "max_words", "value": 1})

    made = make()

    lake = tmp_path / "runs" / "lake"
    rows = ds.dataset(live_files(lake, "results")).to_table().to_pylist()
    texts = ds.dataset(live_files(lake, "outputs")).to_table().to_pylist()
    logged = {line["case_id"]: line for line in made.results()}
    assert {row["case_id"]: row["passed"] for row in rows} == {
        case_id: line["passed"] for case_id, line in logged.items()
    }
    assert {row["case_id"]: json.loads(row["parsed_output"]) for row in texts} == {
        case_id: line["parsed_output"] for case_id, line in logged.items()
    }
    assert len(ds.dataset(live_files(lake, "plans")).to_table()) == 3


def test_config_json_knows_where_each_setting_came_from(project, make_log):
    project.case(runner={"type": "llm_probe", "max_tokens": 5})
    project.profile(runner_defaults={"temperature": 0.5})

    config = json.loads((make_log().dir / "config.json").read_text())

    (model,) = config["models"]
    assert model["settings"]["temperature"] == {"value": 0.5, "origin": "runner_defaults"}
    assert model["settings"]["retries"] == {"value": 5, "origin": "default"}
    assert config["case_settings"] == {"one": {"max_tokens": {"value": 5, "origin": "case"}}}
    assert {len(digest) for digest in config["config_files"].values()} == {64}


def test_the_cases_own_setting_is_really_sent(project, make_log, endpoint):
    project.case("hot", runner={"type": "llm_probe", "temperature": 1.5})
    project.case("plain")
    project.profile(runner_defaults={"temperature": 0.5})

    make_log()

    assert [request.body["temperature"] for request in endpoint.requests] == [1.5, 0.5]


def test_a_transient_failure_is_repeated_and_noted(project, make, endpoint, answers):
    project.case()
    project.profile(runner_defaults={"retries": 2})

    def script(wire, request):
        if len(endpoint.requests) < 3:
            wire.answer({"error": "busy"}, status=503, headers=["Retry-After: 0"])
        else:
            wire.stream(answers.stream_of("ok"))

    endpoint.script = script

    made = make()

    (line,) = made.results()
    assert (line["success"], line["attempt_count"], line["http_status"]) == (True, 3, 200)
    assert line["e2e_ms"] < line["ended_at_ms"] - line["started_at_ms"] + 2
    assert made.report.exit_code == 0


def test_no_retries_means_one_request(project, make_log, endpoint):
    project.case()
    project.profile(runner_defaults={"retries": 0})
    endpoint.script = lambda wire, request: wire.answer({"error": "busy"}, status=503)

    made = make_log()

    assert len(endpoint.requests) == 1
    assert made.results()[0]["failure_type"] == "http_503"
    assert made.report.exit_code == 1, "a failure outside the model is bad news"


def test_a_time_limit_is_the_wall_clock_of_one_request(project, make_log, endpoint, monkeypatch):
    monkeypatch.setattr("collect.runners.chat.MAX_LAG_SHARE", 1.0)  # of a busy machine
    project.case(validator={"type": "max_words", "value": 9})
    project.profile(runner_defaults={"timeout_seconds": 3, "retries": 0})
    endpoint.script = lambda wire, request: wire.sleep(12)

    began = time.monotonic()
    (line,) = make_log().results()

    assert (line["failure_type"], line["status"], line["passed"]) == ("timeout", "timed_out", False)
    assert 3 < time.monotonic() - began < 10


def test_fail_fast_stops_after_the_first_trial_that_fails(project, make, make_log, endpoint):
    for name in "abcd":
        project.case(name, validator={"type": "exact", "value": "no"})
    project.profile(execution_policy={"fail_fast": True})

    made = make()

    assert len(endpoint.requests) == 1
    assert (made.report.planned, made.report.present, made.report.exit_code) == (4, 1, 1)
    assert "fail_fast: case `a`, model `m` failed" in made.events()[0]["detail"]
    (group,) = made.summary().models
    assert (group.n_planned, group.n_total, group.coverage) == (4, 1, 0.25)

    project.profile(execution_policy={"fail_fast": False})
    assert make_log("again").report.present == 4


@pytest.mark.parametrize("status", [401, 404])
def test_an_error_no_retry_mends_stops_that_model_only(
    project, make_log, endpoint, answers, status
):
    for name in "abc":
        project.case(name)

    def script(wire, request):
        if request.body["model"] == "bad":
            wire.answer({"error": {"message": "no"}}, status=status)
        else:
            wire.stream(answers.stream_of("ok"))

    endpoint.script = script
    models = [
        {"model_id": name, "provider": "ollama_openai", "base_url": endpoint.base_url,
         "requested_model": name, "warmup": 0} for name in ("bad", "good")
    ]  # fmt: skip

    made = make_log(models=models)

    asked = [request.body["model"] for request in endpoint.requests]
    assert asked == ["bad", "good", "good", "good"]
    assert made.report.exit_code == 1
    assert "stop_on_runner_error" in made.events()[0]["detail"]

    endpoint.requests.clear()
    project.profile(execution_policy={"stop_on_runner_error": False})
    make_log("again", models=models)
    assert len(endpoint.requests) == 6


@pytest.mark.parametrize(
    ("replies", "n_asked"),
    [
        ("uuuuuu", MAX_UNREACHABLE),
        ("uuauuauu", 8),
        ("uu5uu5uu", 8),
        ("tttttt", 6),
        ("ututut", 6),
        ("ssssss", MAX_UNREACHABLE),
    ],
)
def test_only_trials_in_a_row_that_reach_nobody_give_an_endpoint_up(project, replies, n_asked):
    """Unreachable, an answer, an error, a time-out of who had the request, and of who had not."""
    meaning = {
        "u": Reply(failure_type="connection_error", accepted=False),
        "a": Reply(text="ok"),
        "5": Reply(failure_type="http_500"),
        "t": Reply(failure_type="timeout"),
        "s": Reply(failure_type="timeout", accepted=False),
    }
    project.case()
    inputs = project.load()
    asked = []

    class Scripted:
        async def run(self, trial, case, place):
            asked.append(trial.repetition)
            reply = meaning[replies[len(asked) - 1]]
            return executed(trial, case, reply)

        async def aclose(self): ...

    async def nothing(*_): ...

    plan = [planned(case_id="one", repetition=n) for n in range(1, len(replies) + 1)]
    hooks = Hooks(lambda *_: Scripted(), nothing, nothing, lambda *_: None, nothing)
    cases = {case.case_id: case for case in inputs.cases}
    budget = Budget(None, inputs.models)
    executor = Executor(inputs.models, lambda _: iter(plan), cases, hooks, 1, budget)

    asyncio.run(executor.run())

    assert len(asked) == n_asked


def test_a_clock_that_is_set_back_makes_no_run_shorter(project, make, monkeypatch):
    project.case("one")
    project.case("two")
    moments = iter(range(2_000_000_000_000, 0, -3_600_000))
    monkeypatch.setattr("collect.runners.chat.now_ms", lambda: next(moments))

    made = make()

    first, second = made.results()
    assert second["started_at_ms"] < first["started_at_ms"]
    assert 0 <= first["elapsed_ms"] <= second["elapsed_ms"] < 60_000
    assert made.summary().run_wall_clock_ms == second["elapsed_ms"]


def test_more_requests_than_files_are_refused_before_the_first(project, endpoint, monkeypatch):
    for name in "abcdef":
        project.case(name)
    project.profile(execution_policy={"max_concurrency": 500})
    project.model(base_url=endpoint.base_url)
    monkeypatch.setattr("resource.getrlimit", lambda _: (69, 1_000))

    with pytest.raises(ConfigError) as caught:
        start(project.load(), RunRequest(project.root / "runs"))

    assert (
        "p.yaml: `execution_policy.max_concurrency`: 6 trials at once need about 70 open files; "
        "allowed: 69 open files; `ulimit -n 70` raises the limit of this shell" in str(caught.value)
    )
    assert endpoint.requests == []
    assert not (project.root / "runs").exists()


def test_an_endpoint_that_cannot_be_reached_is_given_up(project, make_log, free_port):
    for name in "abcdef":
        project.case(name)
    project.profile(runner_defaults={"retries": 0})

    # 0.0.0.0 is no address of this machine as far as a run can tell
    made = make_log(base_url=f"http://0.0.0.0:{free_port}/v1")

    results = made.results()
    assert len(results) == 6, "the rest is recorded, not forgotten"
    assert {line["availability_status"] for line in results} == {"skipped_unavailable"}
    assert [line["attempt_count"] for line in results] == [1] * MAX_UNREACHABLE + [0] * 3
    assert {line["passed"] for line in results} == {None}
    assert made.events()[0]["event"] == "model_stopped"
    assert made.report.exit_code == 1


@pytest.mark.parametrize(("retries", "rows"), [(5, 0), (0, MAX_REFUSED)])
def test_a_server_of_this_machine_that_was_not_started_ends_the_run_at_once(
    project, make, free_port, retries, rows
):
    for name in "abcdefgh":
        project.case(name)
    project.profile(runner_defaults={"retries": retries}, execution_policy={"max_concurrency": 2})
    fields = {
        "provider": "ollama_openai", "base_url": f"http://localhost:{free_port}/v1",
        "warmup": 0,
    }  # fmt: skip
    began = time.monotonic()

    made = make(models=[fields | {"model_id": name} for name in ("m", "n")])

    assert time.monotonic() - began < 15, "with every wait it would be minutes"
    assert rows <= len(made.results()) <= rows + 1, "the rest is left to --resume"
    assert {line["model_id"] for line in made.results()} <= {"m"}
    assert (made.report.exit_code, made.report.planned) == (1, 16)
    reason = (
        f"http://localhost:{free_port}/v1: nobody listens there (connection refused); "
        "start the server, or name another address with `base_url`"
    )
    assert [note for note in made.notes if "stopped" in note] == [
        f"models `m`, `n` were stopped: {reason}"
    ]
    assert [event["detail"] for event in made.events()] == [reason, reason]


def test_a_server_that_answered_once_may_come_back(project, make, endpoint, answers):
    for name in "abcdef":
        project.case(name)
    project.profile(runner_defaults={"retries": 0})

    def script(wire, request):
        wire.stream(answers.stream_of("ok"))
        endpoint.close()
        wire.close()

    endpoint.script = script
    made = make()

    assert len(made.results()) == 6, "given up, and every trial recorded"
    assert made.results()[0]["success"] is True
    assert {line["failure_type"] for line in made.results()[1:]} == {"connection_error"}


def test_a_missing_key_is_a_row_and_no_request(project, make_log, endpoint, monkeypatch):
    project.case()
    monkeypatch.delenv("NO_SUCH_API_KEY", raising=False)

    made = make_log(provider="openai_chat", api_key_env="NO_SUCH_API_KEY")

    (line,) = made.results()
    assert endpoint.requests == []
    assert (line["failure_type"], line["availability_status"]) == ("api_key_missing", "auth_error")
    assert "NO_SUCH_API_KEY is not set" in line["error_message"]


def test_concurrency_is_bounded_by_profile_and_model(project, make_log, endpoint, answers):
    for number in range(12):
        project.case(f"c{number}")
    lock, now, peak = threading.Lock(), [0], [0]

    def script(wire, request):
        with lock:
            now[0] += 1
            peak[0] = max(peak[0], now[0])
        time.sleep(0.05)
        with lock:
            now[0] -= 1
        wire.stream(answers.stream_of("ok"))

    endpoint.script = script
    project.profile(execution_policy={"max_concurrency": 4})
    make_log("wide")
    assert peak[0] == 4

    peak[0] = 0
    make_log("narrow", max_concurrency=2)
    assert peak[0] == 2


def test_models_on_this_machine_run_one_after_another(project, make_log, endpoint):
    project.case("a")
    project.case("b")
    project.profile(execution_policy={"max_concurrency": 4})
    models = [
        {
            "model_id": name,
            "provider": "ollama_openai",
            "base_url": endpoint.base_url,
            "warmup": 0,
        }
        for name in ("m1", "m2")
    ]

    make_log(models=models)

    assert [request.body["model"] for request in endpoint.requests] == ["m1", "m1", "m2", "m2"]


def test_a_server_without_streaming_is_noted_once(project, make_log, endpoint, answers):
    project.case("a")
    project.case("b")

    def script(wire, request):
        if request.body["stream"]:
            wire.answer({"error": "stream not supported"}, status=400)
        else:
            wire.answer(answers.whole("ok"))

    endpoint.script = script

    made = make_log()

    assert [event["event"] for event in made.events()] == ["provider_note"]
    assert [line["ttft_ms"] for line in made.results()] == [None, None]


def test_stream_false_is_really_sent(project, make_log, endpoint, answers):
    project.case()
    project.profile(runner_defaults={"stream": False})
    endpoint.script = lambda wire, request: wire.answer(answers.whole("ok"))

    assert make_log().results()[0]["raw_output"] == "ok"
    assert endpoint.requests[0].body["stream"] is False


def test_a_run_is_never_written_twice(project, make_log):
    project.case()
    make_log()

    with pytest.raises(RunExists, match="exists already"):
        make_log()


def test_a_bug_of_ours_is_raised_and_what_was_finished_is_kept(
    project, make, monkeypatch, tmp_path
):
    for name in "abc":
        project.case(name)

    def broken(*_, **__):
        message = "our bug"
        raise ZeroDivisionError(message)

    monkeypatch.setattr("collect.execute.pipeline.result_of", broken)

    with pytest.raises(ZeroDivisionError, match="our bug"):
        make()

    assert (tmp_path / "runs" / "r" / "summary.json").exists()


def test_a_bug_in_a_runner_costs_one_trial_and_is_said(project, make_log, endpoint, monkeypatch):
    project.case("a")
    project.case("b")
    project.profile(execution_policy={"stop_on_runner_error": False})
    real = ChatCompletions.ask

    async def broken(self, request):
        if len(endpoint.requests) == 0:
            endpoint.requests.append(None)
            message = "our bug"
            raise ZeroDivisionError(message)
        return await real(self, request)

    monkeypatch.setattr(ChatCompletions, "ask", broken)

    first, second = make_log().results()

    assert (first["failure_type"], first["passed"]) == ("exception", None)
    assert first["error_message"] == "ZeroDivisionError: our bug"
    assert second["success"]


def test_a_key_that_is_none_is_refused_before_the_first_request(project, make_log, monkeypatch):
    project.case()
    for value in ("two words 123", "schlüssel1", "a\nb"):
        monkeypatch.setenv("ODD_API_KEY", value)
        with pytest.raises(ConfigError, match="holds characters that no key has"):
            make_log(f"r{len(value)}", provider="openai_chat", api_key_env="ODD_API_KEY")


def test_a_mirror_that_fails_is_bad_news(project, make, tmp_path):
    project.case()
    (tmp_path / "runs" / "lake").mkdir(parents=True)
    (tmp_path / "runs" / "lake" / "outputs").write_text("in the way")

    made = make()

    assert made.report.exit_code == 1
    assert any("the mirror ended with code" in note for note in made.notes)
    assert len(made.results()) == 1


def test_the_denominator_does_not_depend_on_how_a_trial_ended(project, make, endpoint, answers):
    project.case("a", validator={"type": "noop"})
    project.case("b", validator={"type": "max_words", "value": 9})
    endpoint.script = lambda wire, request: wire.answer(answers.whole(""))

    (group,) = make().summary().models

    assert (group.n_scorable, group.passed_rate, group.coverage) == (1, 0.0, 1.0)


def test_two_names_that_clean_up_alike_keep_snapshots_of_their_own(project, make, endpoint):
    project.case()
    models = [
        {"model_id": f"m{number}", "provider": "ollama_openai", "base_url": endpoint.base_url,
         "requested_model": name} for number, name in enumerate(("a:b", "a/b"))
    ]  # fmt: skip

    made = make(models=models)

    assert len(list(made.dir.glob("resources_*_before.txt"))) == 2
    assert [group.model for group in made.summary().models] == ["a/b", "a:b"]
    assert all(group.resources_before for group in made.summary().models)


@pytest.mark.parametrize(
    ("options", "routing"), [({}, "unpinned"), ({"provider": {"only": ["one"]}}, "pinned")]
)
def test_every_row_says_whether_a_router_could_choose(project, make, options, routing):
    project.case()

    made = make(provider="openrouter", request_options=options)

    (row,) = [line for line in made.lines() if line["record_type"] == "result"]
    config = json.loads((made.dir / "config.json").read_text())
    assert (row["routing"], config["models"][0]["routing"]) == (routing, routing)
    lake = ds.dataset(made.dir.parent / "lake" / "results").to_table()
    assert lake["routing"].to_pylist() == [routing]
    assert any("OpenRouter chooses" in note for note in made.notes) == (routing == "unpinned")


def test_there_is_no_routing_without_a_router(project, make_log):
    project.case()

    (row,) = [line for line in make_log().lines() if line["record_type"] == "result"]

    assert row["routing"] is None


def test_what_a_model_cannot_be_sent_is_in_config_json_and_said_once(project, make_log, endpoint):
    project.case("one")
    project.case("two")
    project.profile(runner_defaults={"seed": 1, "temperature": 0, "retries": 0})

    made = make_log(provider="openai_responses")

    (config,) = json.loads((made.dir / "config.json").read_text())["models"]
    assert config["not_applied"] == ["seed"]
    assert "seed" not in config["settings"]
    assert len([note for note in made.notes if "not applied" in note]) == 1
    assert ["seed" in one.body for one in endpoint.requests] == [False, False]
    assert [one.body["temperature"] for one in endpoint.requests] == [0, 0]
