"""What happens around a model's trials: others make room, it warms up, and the log says so."""

import asyncio

import pytest

from collect.execute.collector import Collector
from collect.execute.spec import RunRequest
from collect.execute.stored_run import stored_spec
from collect.inventory import ollama
from collect.inventory.ollama import Unloaded, unload_others
from collect.run_folder.log import RunLog
from tests.collect.execute.test_run import Made, Quiet, run_in
from tests.support.forked_mirror import forked_mirrors, no_mirrors


class Ollama:
    """Ollama's own API beside its OpenAI-compatible one, as far as it is asked here."""

    def __init__(self, endpoint, answers, *loaded):
        self.loaded = list(loaded)
        self.stubborn = set()
        self.seen = []
        self._answers = answers
        endpoint.script = self._script

    def _script(self, wire, request):
        self.seen.append((request.line.rsplit(" ", 1)[0], request.body))
        match request.line.split(" ")[1]:
            case "/api/ps":
                wire.answer({"models": [{"name": name, "size": 1} for name in self.loaded]})
            case "/api/generate":
                assert request.body["keep_alive"] == 0
                if request.body["model"] not in self.stubborn:
                    self.loaded.remove(request.body["model"])
                wire.answer({"model": request.body["model"], "done": True})
            case "/v1/chat/completions" if request.body["stream"]:
                wire.stream(self._answers.stream_of("Hello there."))
            case "/v1/chat/completions":
                wire.answer(self._answers.whole("Hi"))

    def lines(self):
        return [line for line, _ in self.seen]


@pytest.fixture
def make(project, endpoint, tmp_path):
    """Make a run of one case with a model at the endpoint."""

    def make_run(provider="ollama_openai", mirrors=forked_mirrors, **model):
        project.case()
        base = {"model_id": "m", "provider": provider, "requested_model": "r",
                "base_url": endpoint.base_url}  # fmt: skip
        project.suite(models=[base | model])
        screen, run_dir = Quiet(), tmp_path / "runs" / "r"
        report = run_in(run_dir, project.load(), screen, mirrors=mirrors)
        return Made(run_dir, report, screen.notes)

    return make_run


def named(made, name):
    return [event["detail"] for event in made.events() if event["event"] == name]


def test_ollama_is_warmed_up_once_unless_told_otherwise(make, endpoint, answers):
    server = Ollama(endpoint, answers)

    made = make()

    warm, trial = (body for _, body in server.seen)
    assert (warm["stream"], warm["max_tokens"], warm["model"]) == (False, 1, "r")
    assert trial["messages"][0]["content"] == "Say one."
    (detail,) = named(made, "warmup")
    assert detail.pop("e2e_ms") >= 0
    assert detail == {"number": 1, "failure_type": None, "error_message": None}
    assert [line["record_type"] for line in made.lines()][:2] == ["event", "result"]
    (group,) = made.summary().models
    assert (group.n_total, made.report.present) == (1, 1), "a warm-up is no trial"


@pytest.mark.parametrize(("warmup", "n_asked"), [(0, 1), (3, 4)])
def test_as_often_as_the_suite_says(make, endpoint, answers, warmup, n_asked):
    server = Ollama(endpoint, answers)

    made = make(mirrors=no_mirrors, warmup=warmup)

    assert len(server.seen) == n_asked
    assert [detail["number"] for detail in named(made, "warmup")] == list(range(1, warmup + 1))


def test_other_servers_are_warmed_up_only_when_told(make, endpoint, answers):
    server = Ollama(endpoint, answers)

    made = make("openai_chat", no_mirrors, api_key_env="NONE_API_KEY")

    assert (named(made, "warmup"), named(made, "exclusive")) == ([], [])
    assert len(server.seen) <= 1


def test_a_warm_up_that_fails_is_written_down_and_the_trials_are_made(make, endpoint, answers):
    def script(wire, request):
        if request.body["stream"]:
            wire.stream(answers.stream_of("ok"))
        else:
            wire.answer({"error": {"message": "still loading"}}, status=503)

    endpoint.script = script

    made = make()

    (detail,) = named(made, "warmup")
    assert (detail["failure_type"], detail["e2e_ms"]) == ("http_503", None)
    assert "still loading" in detail["error_message"]
    assert made.report.exit_code == 0
    assert made.results()[0]["attempt_count"] == 1


def test_nothing_is_warmed_up_for_a_model_without_trials(make, endpoint, answers, tmp_path):
    server = Ollama(endpoint, answers)
    make(mirrors=no_mirrors)
    server.seen.clear()

    run_dir = tmp_path / "runs" / "r"
    log = RunLog.reopen(run_dir)
    with forked_mirrors():
        spec = stored_spec(log, RunRequest(run_dir.parent, resume="r"), print)
        report = Collector(spec, Quiet(), log).run()

    assert (server.seen, report.exit_code) == ([], 0)


def test_an_exclusive_model_has_the_server_to_itself_before_it_is_warmed_up(
    make, endpoint, answers
):
    server = Ollama(endpoint, answers, "llama:8b", "r:latest", "qwen:4b")

    made = make(mirrors=no_mirrors, exclusive=True)

    assert server.loaded == ["r:latest"]
    assert server.lines() == [
        "GET /api/ps", "POST /api/generate", "POST /api/generate", "GET /api/ps",
        "POST /v1/chat/completions", "POST /v1/chat/completions",
    ]  # fmt: skip
    (detail,) = named(made, "exclusive")
    assert detail == {"asked": ["llama:8b", "qwen:4b"], "still_loaded": [], "error": None}
    assert [event["event"] for event in made.events()] == ["exclusive", "warmup"]


def test_a_model_that_does_not_go_is_named(make, endpoint, answers, monkeypatch):
    monkeypatch.setattr(ollama, "CHECKS", 2)
    server = Ollama(endpoint, answers, "big:70b", "small:1b")
    server.stubborn = {"big:70b"}

    made = make(exclusive=True)

    (detail,) = named(made, "exclusive")
    assert detail == {
        "asked": ["big:70b", "small:1b"], "still_loaded": ["big:70b"], "error": None,
    }  # fmt: skip
    assert made.report.exit_code == 0, "it is measured all the same, and the log says beside what"


def test_a_server_that_is_no_ollama_is_said_and_the_trials_are_made(make, endpoint, answers):
    def script(wire, request):
        if request.line.startswith("GET /api/ps"):
            wire.answer({"error": "not found"}, status=404)
        elif request.body["stream"]:
            wire.stream(answers.stream_of("ok"))
        else:
            wire.answer(answers.whole("ok"))

    endpoint.script = script

    made = make(exclusive=True)

    (detail,) = named(made, "exclusive")
    assert (detail["asked"], detail["still_loaded"]) == ([], [])
    assert "404" in detail["error"]
    assert made.report.exit_code == 0


@pytest.mark.parametrize(
    "body",
    [b"", b"<html>", b"[]", b"{}", b'{"models": null}', b'{"models": ["r"]}', b'{"models": [{}]}',
     b'{"models": 3}', b"\xff\xfe"],
)  # fmt: skip
def test_an_answer_that_is_not_ollamas_is_an_error_not_a_crash(endpoint, body):
    endpoint.script = lambda wire, request: wire.answer(body)

    done = asyncio.run(unload_others(endpoint.base_url, "r"))

    assert (done.requested, done.remaining) == ((), ())
    assert done.error


@pytest.mark.parametrize("models", [[], [{"name": "r"}], [{"name": "r:latest"}]])
def test_nobody_is_asked_to_go_when_nobody_else_is_there(endpoint, models):
    endpoint.script = lambda wire, request: wire.answer({"models": models})

    assert asyncio.run(unload_others(endpoint.base_url, "r")) == Unloaded()
    assert [request.line.split(" ")[0] for request in endpoint.requests] == ["GET"]


def test_a_server_that_cannot_be_reached_is_an_error(free_port):
    done = asyncio.run(unload_others(f"http://127.0.0.1:{free_port}/v1", "r"))

    assert done.error
    assert "ConnectError" in done.error


def test_a_server_that_refuses_to_unload_is_an_error(endpoint):
    def script(wire, request):
        if request.line.startswith("GET"):
            wire.answer({"models": [{"name": "other"}]})
        else:
            wire.answer({"error": "no"}, status=500)

    endpoint.script = script

    assert "500" in (asyncio.run(unload_others(endpoint.base_url, "r")).error or "")
