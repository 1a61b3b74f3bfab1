"""Which weights and which CLI a trial is planned with, and whether they are the same later."""

import asyncio
import json

import pytest

from collect.commands.plan import preview
from collect.execute.spec import RunRequest, new_spec, run_config_of
from collect.inventory.model_builds import look_up, with_builds
from collect.inventory.ollama import OllamaServer, canonical
from collect.plan.plan import make_plan
from collect.run_folder.log import RunLog
from tests.support.kept_run import Kept, collect
from tests.support.run_rows import inventory
from tests.support.wire_model import model

ONE, TWO = "a" * 64, "b" * 64
NEW = ("run", "--suite", "s", "--run-profile", "p", "--json")


def tags(**digests):
    """Return what /api/tags says; `__` in a name stands for `:`."""
    return {
        "models": [
            {
                "name": name.replace("__", ":"),
                "model": name.replace("__", ":"),
                "digest": digest,
                "details": {"parameter_size": "3.2B", "quantization_level": "Q4_K_M"},
            }
            for name, digest in digests.items()
        ]
    }


def ollama(endpoint, **digests):
    endpoint.look = lambda wire, request: wire.answer(tags(**digests))


def local(endpoint, **fields):
    base = {"provider": "ollama_openai", "model": "llama"}
    return model(endpoint.base_url, **base | fields)


def found(*models):
    builds = asyncio.run(look_up(models))
    return [builds.of(one) for one in models], [builds.warning(one) for one in models]


@pytest.fixture
def cli(tmp_path, monkeypatch):
    """Return a maker of executables on PATH."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")

    def make(name, text):
        path = folder / name
        path.write_text(f"#!/bin/sh\n{text}\n")
        path.chmod(0o755)
        return path

    return make


def test_the_digest_of_the_server_is_the_build_of_a_model(endpoint):
    ollama(endpoint, llama__latest=ONE, qwen__4b=f"sha256:{TWO}")

    models, warnings = found(local(endpoint), local(endpoint, model_id="n", model="qwen:4b"))

    assert [one.model_build for one in models] == [ONE, TWO]
    assert warnings == [None, None]
    assert len(endpoint.looks) == 1, "one server, one question"
    assert endpoint.requests == []


@pytest.mark.parametrize(
    ("name", "same"),
    [
        ("llama", "llama:latest"),
        ("Llama:LATEST", "llama:latest"),
        ("library/llama", "llama:latest"),
        ("hf.co/a/B:Q4", "hf.co/a/b:q4"),
        ("host:5000/a/b", "host:5000/a/b:latest"),
    ],
)
def test_names_are_compared_as_ollama_does(name, same):
    assert canonical(name) == same


def test_a_model_that_ollama_does_not_have_is_warned_of_with_the_way_out(endpoint):
    ollama(endpoint, **{"llama3.2__3b": ONE})

    models, (warning,) = found(local(endpoint, model="llama3.2:1b"))

    assert models[0].model_build is None
    assert "did you mean `llama3.2:3b`?" in warning
    assert "`ollama pull llama3.2:1b`" in warning


CUT = b"HTTP/1.1 200 X\r\nContent-Length: 9\r\n\r\n{"
NO_OLLAMA = {
    "llama.cpp": lambda wire, _: wire.answer({"error": {"code": 404}}, status=404),
    "LM Studio": lambda wire, _: wire.answer({"error": "Unexpected endpoint (GET /api/tags)"}),
    "no digest": lambda wire, _: wire.answer({"models": [{"name": "llama", "model": "llama"}]}),
    "short": lambda wire, _: wire.answer({"models": [{"name": "llama:latest", "digest": "ab"}]}),
    "a list": lambda wire, _: wire.answer([1]),
    "a page": lambda wire, _: wire.answer(b"<html>"),
    "moved": lambda wire, _: wire.answer(b"", status=302, headers=["Location: /other"]),
    "no key": lambda wire, _: wire.answer({}, status=401),
    "reset": lambda wire, _: wire.reset(),
    "cut": lambda wire, _: wire.send(CUT) or wire.close(),
    "slow": lambda wire, _: wire.sleep(1) or wire.close(),
}


@pytest.mark.parametrize("answer", NO_OLLAMA.values(), ids=NO_OLLAMA)
def test_what_is_no_ollama_leaves_the_build_unknown_without_a_word(endpoint, answer, monkeypatch):
    monkeypatch.setattr("collect.inventory.ollama.QUERY_TIMEOUT_S", 0.3)
    endpoint.look = answer

    models, warnings = found(local(endpoint))

    assert (models[0].model_build, warnings) == (None, [None])
    assert len(endpoint.looks) == 1
    assert endpoint.requests == [], "no redirect is followed"


def test_a_server_that_is_not_there_leaves_the_build_unknown(free_port):
    address = f"http://127.0.0.1:{free_port}/v1"

    models, warnings = found(model(address, provider="ollama_openai"))

    assert (models[0].model_build, warnings) == (None, [None])


def test_the_key_goes_to_its_own_server_and_is_not_asked_without(endpoint, monkeypatch):
    ollama(endpoint, llama__latest=ONE)
    monkeypatch.setenv("BOX_API_KEY", "box-key-1")
    monkeypatch.delenv("NONE_API_KEY", raising=False)
    plain = local(endpoint)
    keyed = local(endpoint, model_id="k", api_key_env="BOX_API_KEY", key_required=True)
    unset = local(endpoint, model_id="u", api_key_env="NONE_API_KEY", key_required=True)

    models, _ = found(plain, keyed, unset)

    sent = {request.headers.get("authorization") for request in endpoint.looks}
    assert sent == {None, "Bearer box-key-1"}
    assert [one.model_build for one in models] == [ONE, ONE, None]


def test_what_is_known_or_not_asked_for_is_not_asked(endpoint):
    ollama(endpoint, llama__latest=ONE)
    known = local(endpoint, model_build=TWO)
    other = model(endpoint.base_url, provider="openai_chat", model="llama")

    models, _ = found(known, other)

    assert [one.model_build for one in models] == [TWO, None]
    assert endpoint.looks == []


def test_texts_of_a_server_hold_no_keys_and_nothing_a_terminal_obeys(endpoint, monkeypatch):
    rows = tags(llama__latest=ONE)
    rows["models"][0]["details"] = {"parameter_size": "\x1b[2J sk-" + "a1" * 20, "x": 1}
    endpoint.look = lambda wire, _: wire.answer(rows)

    server = OllamaServer(endpoint.base_url, "", is_loopback=True)
    _, (held,) = asyncio.run(server.listed_models())

    assert held.parameter_size == " [2J [redacted]"
    assert held.quantization is None


def test_a_cli_is_asked_for_its_version_once(cli, tmp_path):
    cli("claude", f'echo >> {tmp_path}/calls; echo; echo "2.1.197 (Claude Code)"; echo more')
    fields = {"provider": "claude_code_cli", "executable": "claude"}

    models, _ = found(model("http://x", **fields), model("http://y", **fields))

    assert [one.harness_version for one in models] == ["2.1.197 (Claude Code)"] * 2
    assert (tmp_path / "calls").read_text() == "\n"


def test_a_cli_that_is_not_there_or_fails_has_no_version(cli):
    cli("broken", "echo 1.0; exit 3")
    fields = {"provider": "claude_code_cli"}

    models, _ = found(
        model("http://x", **fields, executable="nobody-has-this"),
        model("http://x", **fields, executable="broken"),
    )

    assert [one.harness_version for one in models] == [None, None]


@pytest.fixture
def work(project, endpoint, answers):
    """A case of a model on an Ollama."""
    project.case()
    project.model(base_url=endpoint.base_url, requested_model="llama")
    ollama(endpoint, llama__latest=ONE)

    def script(wire, request):
        if request.line.split(" ")[1].startswith("/api/"):
            wire.answer({}, status=404)
        else:
            wire.stream(answers.stream_of("Hi"))

    endpoint.script = script
    return project


def begin(project):
    """Begin a run as the project is now; none of its trials is made."""
    inputs = project.load()
    inputs = with_builds(inputs, asyncio.run(look_up(inputs.models)))
    plan = make_plan(inputs, "r")
    (project.root / "runs").mkdir()
    log = RunLog.create(project.root / "runs" / "r")
    config = run_config_of(inputs, new_spec(inputs, RunRequest(project.root / "runs"), print), "r")
    log.begin(config, inventory(), inputs.cases, plan)
    log.close()


def run(project, *arguments):
    done = collect(project.root, *arguments)
    assert "Traceback" not in done.stderr, done.stderr
    return done


def test_plan_run_and_reuse_agree_on_the_build(work, endpoint):
    run(work, *NEW, "--run-id", "r")
    (line,) = (work.root / "runs" / "r" / "plan.jsonl").read_text().splitlines()
    assert json.loads(line)["fingerprint_parts"]["model_build"] == ONE[:16]

    plan = run(work, "plan", "--suite", "s", "--run-profile", "p", "--json")
    (trial,) = json.loads(plan.stdout)["trials"]
    assert json.loads(plan.stdout)["models"][0]["model_build"] == ONE
    assert (trial["news"], trial["run_fingerprint"]) == (
        "same",
        json.loads(line)["run_fingerprint"],
    )

    ollama(endpoint, llama__latest=TWO)
    shown = preview(work.load(), work.root / "runs")
    assert [news.reasons for news in shown.changes.trials] == [("model_build",)]


def test_a_run_goes_on_with_the_same_weights(work, endpoint):
    begin(work)

    done = run(work, "run", "--resume", "r", "--json")

    assert (done.returncode, json.loads(done.stdout)["success"]) == (0, 1), done.stderr
    assert Kept(work.root / "runs" / "r").events("build_unknown") == []


def test_a_run_does_not_go_on_with_other_weights(work, endpoint):
    begin(work)
    ollama(endpoint, llama__latest=TWO)

    done = run(work, "run", "--resume", "r")

    assert (done.returncode, endpoint.requests) == (2, [])
    assert f"the weights of model `m` ({ONE[:12]}, now {TWO[:12]}) changed" in done.stderr
    assert "--reuse` starts a new run and takes over what is still the same" in done.stderr


def test_a_run_goes_on_when_nobody_says_which_weights_there_are_and_the_log_says_so(work, endpoint):
    begin(work)
    endpoint.look = lambda wire, _: wire.answer({}, status=404)

    done = run(work, "run", "--resume", "r", "--json")

    assert json.loads(done.stdout)["success"] == 1
    (event,) = Kept(work.root / "runs" / "r").events("build_unknown")
    assert event["model_id"] == "m"
    assert f"cannot be checked (planned with {ONE[:12]})" in event["detail"]
    assert f"warning: {event['detail']}" in done.stderr


def with_cli(project, executable):
    fields = {"model_id": "m", "provider": "claude_code_cli", "executable": executable}
    project.case()
    project.suite(models=[fields | {"model_name": "x", "base_url": "http://127.0.0.1:9"}])


def test_a_run_does_not_go_on_with_another_cli(project, cli, tmp_path):
    cli("claude", "echo 2.1.1")
    with_cli(project, "claude")
    begin(project)
    cli("claude", "echo 2.2.0")

    done = run(project, "run", "--resume", "r")

    assert done.returncode == 2
    assert "`claude` of model `m` (2.1.1, now 2.2.0) changed since it was planned" in done.stderr


def test_what_a_run_folder_names_by_path_is_not_run(project, cli, tmp_path):
    path = cli("claude", f"echo >> {tmp_path}/calls; echo 2.1.1")
    with_cli(project, str(path))
    begin(project)
    (tmp_path / "calls").unlink()

    done = run(project, "run", "--resume", "r")

    assert done.returncode == 2
    assert f"runs `{path}`, and a run folder, which may be somebody else's" in done.stderr
    assert not (tmp_path / "calls").exists()


def test_models_that_are_narrowed_away_are_not_asked(project, endpoint, cli, tmp_path):
    cli("claude", f"echo >> {tmp_path}/calls; echo 2.1.1")
    project.case()
    project.suite(models=[
        {"model_id": "m", "provider": "openai_chat", "base_url": endpoint.base_url},
        {"model_id": "o", "provider": "ollama_openai", "base_url": endpoint.base_url},
        {"model_id": "c", "provider": "claude_code_cli", "model_name": "x",
         "base_url": "http://127.0.0.1:9"},
    ])  # fmt: skip

    run(project, "plan", "--suite", "s", "--run-profile", "p", "--model", "m")

    assert endpoint.looks == []
    assert not (tmp_path / "calls").exists()
