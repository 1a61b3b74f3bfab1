"""`collect doctor` asks servers: what is wrong with each, and no key anywhere in the output."""

import json
import os
import subprocess
import sys

import pytest

from collect.config.embedded import PACKAGED_MODEL
from collect.doctor import http_get
from collect.local.model import serving
from tests.support.endpoint import Endpoint

KEY = "Qx7hasnoshapethatanyoneknows42"
OPENAI = {"object": "list", "data": [{"id": "r", "object": "model", "owned_by": "someone"}]}


@pytest.fixture
def seen(doctor, endpoint):
    """Look at one model on the scripted endpoint."""

    def look_at(script=None, path="/v1", **fields):
        if script is not None:
            endpoint.script = endpoint.look = script
        base_url = endpoint.base_url.removesuffix("/v1") + path
        doctor.project.model(**{"base_url": base_url} | fields)
        return doctor.look()

    return look_at


def pages(answers):
    """Return a script that answers by path, else 404."""

    def script(wire, request):
        path = request.line.split()[1]
        if path in answers:
            wire.answer(answers[path])
        else:
            wire.answer({"error": {"message": "File Not Found"}}, status=404)

    return script


# ---- what can be wrong with an address


def web_page(wire, request):
    wire.answer(b"<!doctype html><title>Hi</title>", content_type="text/html")


def not_http(wire, request):
    wire.send(b"SSH-2.0-OpenSSH_9.2\r\n")
    wire.close()


@pytest.mark.parametrize(
    ("script", "state", "says", "advice"),
    [
        (pages({"/v1/models": OPENAI}), "ok", "a server answers in", None),
        (web_page, "fail", "with a web page, not with a list", "most end in /v1"),
        (not_http, "fail", "does not speak HTTP", "port and scheme"),
        (pages({}), "warn", "has no list of models: HTTP 404", "check `base_url`"),
        (pages({"/v1/models": {"ok": True}}), "fail", "not with a list of models", "base_url"),
        (lambda wire, request: wire.close(), "fail", "does not speak HTTP", "base_url"),
        (
            lambda wire, request: wire.answer({"error": "loading"}, status=503),
            "fail", "HTTP 503, `loading`", "wait until the server is up",
        ),
        (
            lambda wire, request: wire.answer({}, status=429),
            "warn", "HTTP 429", "wait",
        ),
        (
            lambda wire, request: wire.answer({}, status=401),
            "fail", "wants a key: HTTP 401", "api_key_env",
        ),
    ],
)  # fmt: skip
def test_what_an_address_says_is_told_apart(seen, script, state, says, advice):
    check = seen(script).one("endpoints")

    assert (check["state"], says in check["found"]) == (state, True), check
    assert advice is None or advice in check["advice"]


def test_nobody_there(doctor, free_port):
    doctor.project.model(base_url=f"http://127.0.0.1:{free_port}/v1")

    found = doctor.look()

    assert "connection refused" in found.one("endpoints")["found"]
    assert found.one("models")["state"] == "skip"


def test_no_such_host(doctor):
    doctor.project.model(base_url="http://no-such-host.invalid/v1")

    assert "no such host" in doctor.look().one("endpoints")["found"]


def test_no_tls_where_the_address_promises_it(seen, endpoint):
    check = seen(base_url=endpoint.base_url.replace("http:", "https:")).one("endpoints")

    assert check["found"].startswith("no TLS: ")
    assert "http://" in check["advice"]


def test_a_server_that_never_answers_costs_its_limit_and_no_more(seen, monkeypatch):
    monkeypatch.setattr(http_get, "GET_TIMEOUT_S", 0.3)

    found = seen(lambda wire, request: wire.sleep(5))

    assert found.one("endpoints")["found"].startswith("no answer within 0 s")
    assert found.one("models")["state"] == "skip"


def test_a_list_without_end_is_not_read_to_its_end(seen, monkeypatch):
    monkeypatch.setattr(http_get, "MAX_BODY_BYTES", 10_000)

    assert (
        "does not end" in seen(lambda wire, _: wire.answer(b"x" * 20_000)).one("endpoints")["found"]
    )


@pytest.mark.parametrize("page", [web_page, pages({})])
def test_a_forgotten_v1_is_found(seen, page):
    def script(wire, request):
        (pages({"/v1/models": OPENAI}) if request.line.startswith("GET /v1/models ") else page)(
            wire, request
        )

    check = seen(script, path="").one("endpoints")

    assert check["state"] == "fail"
    assert check["advice"].startswith("write `base_url: http://127.0.0.1:")
    assert check["advice"].endswith("/v1`")


def test_an_address_that_goes_on_to_the_question_is_cut(seen):
    check = seen(pages({}), path="/v1/chat/completions").one("endpoints")

    assert check["advice"].endswith("/v1`")


def test_a_redirect_is_told_and_not_followed(seen, monkeypatch):
    other = Endpoint()
    to = f"Location: http://localhost:{other.port}/v1/models"
    monkeypatch.setenv("OPENAI_API_KEY", KEY)

    check = seen(
        lambda wire, request: wire.answer({}, status=302, headers=(to,)), provider="openai_chat"
    ).one("endpoints")
    other.close()

    assert (check["state"], f"localhost:{other.port}" in check["found"]) == ("fail", True)
    assert other.requests == []


# ---- keys


def test_the_key_is_sent_as_a_run_would_send_it(seen, endpoint, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("TEAM_TOKEN", f" {KEY}2\n")
    script = pages({"/v1/models": OPENAI, "/models": OPENAI})

    def headers(**fields):
        endpoint.requests.clear()
        seen(script, **fields)
        return [request.headers for request in endpoint.requests]

    assert {one.get("authorization") for one in headers()} == {None}
    assert {one.get("authorization") for one in headers(provider="openai_chat")} == {
        f"Bearer {KEY}"
    }
    team = headers(api_key_env="TEAM_TOKEN")
    assert {one.get("authorization") for one in team} == {f"Bearer {KEY}2"}
    claude = headers(provider="claude_code_cli", api_key_env="TEAM_TOKEN", path="")
    assert {one.get("x-api-key") for one in claude} == {f"{KEY}2"}
    assert {one.get("authorization") for one in claude} == {None}


@pytest.mark.parametrize(
    ("value", "state", "says"),
    [
        (None, "ok", "not set; m asked on this machine may do without"),
        (KEY, "ok", "set; sent to 127.0.0.1 (m)"),
        ("two words", "fail", "characters that no key has"),
        ('"sk-quoted-1234567"', "warn", "in quotes"),
        ("your-key-here", "warn", "stands in for a key"),
    ],
)
def test_a_key_is_judged_by_its_looks(seen, monkeypatch, value, state, says):
    if value is not None:
        monkeypatch.setenv("OPENAI_API_KEY", value)

    found = seen(pages({"/v1/models": OPENAI}), provider="openai_chat")

    check = found.one("keys", "OPENAI_API_KEY")
    assert (check["state"], says in check["found"]) == (state, True), check
    assert value is None or value not in found.text


@pytest.mark.parametrize(
    ("provider", "variable", "value", "says"),
    [
        ("openai_chat", "OPENAI_API_KEY", None, "is not set, and m cannot be asked"),
        ("openai_chat", "OPENAI_API_KEY", "sk-or-v1-0123456789", "looks like a key of OpenRouter"),
        ("openrouter", "OPENROUTER_API_KEY", "sk-0123456789", "does not begin with `sk-or-`"),
        ("claude_code_cli", "ANTHROPIC_API_KEY", "sk-0123456789", "does not begin with `sk-ant-`"),
        ("openai_responses", "OPENAI_API_KEY", "sk-1234", "shorter than any key"),
    ],
)
def test_a_key_of_another_service_is_noticed(doctor, monkeypatch, provider, variable, value, says):
    """The proxy is a port nobody listens on: nothing leaves this machine."""
    monkeypatch.setenv("HTTPS_PROXY", "http://127.0.0.1:9")
    if value is not None:
        monkeypatch.setenv(variable, value)
    doctor.project.model(provider=provider)

    found = doctor.look()

    assert says in found.one("keys", variable)["found"]
    assert found.one("endpoints")["state"] == "fail"


@pytest.mark.parametrize("proxy", ["gopher://127.0.0.1:9", "http://[", "http://127.0.0.1:9"])
def test_a_proxy_that_does_not_help_is_named(doctor, monkeypatch, proxy):
    monkeypatch.setenv("HTTPS_PROXY", proxy)
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    doctor.project.model(provider="openai_chat")

    check = doctor.look().one("endpoints")

    assert check["found"].startswith("the proxy that the environment names does not help: ")


def test_a_wrong_key_is_told_from_a_missing_one(seen, monkeypatch):
    def script(wire, request):
        wire.answer({"error": {"message": "Incorrect API key"}}, status=401)

    missing = seen(script, provider="openai_chat").one("endpoints")
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    wrong = seen(script, provider="openai_chat").one("endpoints")

    assert "wants a key: HTTP 401" in missing["found"]
    assert "not with this key: HTTP 401, `Incorrect API key`" in wrong["found"]
    assert wrong["advice"] == "put the right key into OPENAI_API_KEY"


def gives_away(wire, request):
    """Give the key away in every way a server has."""
    key, path = request.headers.get("authorization", ""), request.line.split()[1]
    bare = key.removeprefix("Bearer ")
    headers = (f"Server: {bare}", f"X-Key: {bare}", f"Date: {bare}")
    if path.startswith("/list"):
        rows = [{"id": f"{name}{bare}", "owned_by": bare} for name in ("r", "", "x/")]
        wire.answer({"data": rows, bare: bare, "version": bare}, headers=headers)
    elif path.startswith("/page"):
        wire.answer(f"<p>{key}</p>".encode(), 500, "text/html", headers=headers)
    elif path.startswith("/words"):
        wire.answer({"error": {"message": f"{'x' * 180}{bare} Authorization: {key}"}}, status=401)
    elif path.startswith("/redirect"):
        wire.answer({}, status=307, headers=(f"Location: http://evil.invalid/{bare}?k={key}",))
    else:
        wire.send(f"HTTP/1.1 {bare}\r\n\r\n".encode())
        wire.close()


@pytest.mark.parametrize("form", [(), ("--json",)])
def test_no_key_is_ever_printed(project, endpoint, form):
    project.case()
    endpoint.script = gives_away
    root = endpoint.base_url.removesuffix("/v1")
    paths = ("list", "page", "words", "redirect", "line")
    project.suite(
        models=[
            {
                "model_id": path,
                "provider": provider,
                "base_url": f"{root}/{path}/v1",
                "api_key_env": "LEAKED_API_KEY",
                "requested_model": "r",
            }
            for path, provider in zip(paths, ("openai_chat", "openrouter") * 3, strict=False)
        ]
    )

    done = subprocess.run(
        [sys.executable, "-P", "-m", "collect", "doctor", "--suite", "s", *form],
        cwd=project.root,
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"LEAKED_API_KEY": KEY},
    )

    assert done.returncode == 1, done.stderr
    assert any(KEY in str(request.headers) for request in endpoint.requests)
    said = done.stdout + done.stderr
    pieces = {KEY[start : start + 8] for start in range(len(KEY) - 7)}
    assert not [piece for piece in pieces if piece in said]
    assert "[redacted]" in said


def test_what_a_server_says_cannot_obey_a_terminal(doctor, seen, endpoint):
    rows = {"data": [{"id": "my-model\x1b[2J\u202e", "owned_by": "vllm"}]}
    seen(pages({"/v1/models": rows}), requested_model="my-model")

    _, text = doctor.text()

    assert "did you mean" in text
    assert "\x1b" not in text
    assert "\u202e" not in text


# ---- models


OLLAMA = {
    "/api/version": {"version": "0.9.1"},
    "/v1/models": {
        "data": [
            {"id": "llama3.2:3b", "owned_by": "library"},
            {"id": "gemma3:latest", "owned_by": "library"},
        ]
    },
}


@pytest.mark.parametrize(
    ("name", "state", "says"),
    [
        ("llama3.2:3b", "ok", "is there"),
        ("gemma3", "ok", "as `gemma3:latest`"),
        ("llama3.2", "fail", "ollama pull llama3.2; did you mean `llama3.2:3b`?"),
        ("gema3", "fail", "did you mean `gemma3:latest`?"),
        ("qwen3:8b", "fail", "ollama pull qwen3:8b"),
    ],
)
def test_ollama_has_a_model_by_its_name_or_its_latest(seen, name, state, says):
    found = seen(pages(OLLAMA), requested_model=name)

    check = found.one("models")
    assert (check["state"], says in f"{check['found']} {check['advice']}") == (state, True), check
    assert found.one("endpoints")["found"].startswith("Ollama 0.9.1 answers in ")


@pytest.mark.parametrize("data", [[], None])
def test_an_ollama_without_models_says_what_to_pull(seen, data):
    answers = OLLAMA | {"/v1/models": {"data": data}, "/api/tags": {"models": []}}

    check = seen(pages(answers), requested_model="gemma3").one("models")

    assert (check["state"], check["advice"]) == ("fail", "ollama pull gemma3")


@pytest.mark.parametrize(
    ("owner", "kind", "state"),
    [
        ("vllm", "vLLM", "fail"),
        ("organization_owner", "LM Studio", "warn"),
        ("system", "OpenAI", "fail"),
        ("llamacpp", "llama.cpp", "warn"),
        ("nobody", None, "warn"),
    ],
)
def test_a_missing_name_is_as_bad_as_the_server_takes_it(seen, owner, kind, state):
    rows = {"data": [{"id": "my-model", "owned_by": owner}]}

    found = seen(pages({"/v1/models": rows}), requested_model="my-modle")

    assert found.one("endpoints")["details"]["server"] == kind
    check = found.one("models")
    assert (check["state"], check["details"]["near"]) == (state, ["my-model"])
    assert "my-model" in check["advice"]


def openrouter(wire, request):
    rows = [
        {"id": "openai/gpt-oss-20b", "supported_parameters": ["max_tokens", "temperature"]},
        {"id": "openai/gpt-5", "supported_parameters": ["seed"]},
    ]
    path = request.line.split()[1]
    if path == "/v1/key":
        good = request.headers.get("authorization") == f"Bearer {KEY}"
        about = {"data": {"label": KEY[:12], "limit_remaining": 1.5}}
        wire.answer(about if good else {"error": "no"}, status=200 if good else 401)
    else:
        pages({"/v1/models": {"data": rows}})(wire, request)


def test_openrouter_says_what_a_model_ignores_and_who_serves_it(seen, monkeypatch):
    monkeypatch.setenv("OPENROUTER_API_KEY", KEY)

    found = seen(
        openrouter,
        provider="openrouter",
        requested_model="openai/gpt-oss-20b",
        temperature=0,
        seed=7,
        thinking_level="low",
        request_options={"top_k": 5, "provider": {"order": ["a", "b"]}},
    )

    there, unpinned, ignored = found.all("models")
    assert there["state"] == "ok"
    assert "OpenRouter chooses who serves" in unpinned["found"]
    assert ignored["details"]["ignored"] == ["seed", "top_k", "reasoning"]
    check = found.one("endpoints")
    assert check["found"].endswith("2 models, takes the key, 1.50 USD left")


def test_openrouter_shows_its_models_to_anyone_and_its_key_page_does_not(seen, monkeypatch):
    monkeypatch.setenv("OPENROUTER_API_KEY", "sk-or-wrong-0123456789")

    found = seen(openrouter, provider="openrouter", requested_model="gpt-oss")

    assert "not with this key: HTTP 401" in found.one("endpoints")["found"]
    assert found.all("models")[0]["advice"] == "did you mean `openai/gpt-oss-20b`?"


def test_anthropic_names_without_a_date_mean_the_newest(seen, monkeypatch):
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    rows = {"data": [{"id": "claude-x-4-20250514"}, {"id": "claude-x-4-20250929"}]}
    script = pages({"/v1/models": rows})

    def check(name):
        return seen(script, path="", provider="claude_code_cli", requested_model=name).one("models")

    assert check("claude-x-4")["found"].endswith("is there, as `claude-x-4-20250929`")
    assert "the CLI chooses" in check("sonnet")["found"]
    assert check("claude-y")["state"] == "warn"


# ---- a real server


@pytest.fixture(scope="module")
def local(weights):
    """The embedded model."""
    with serving(weights) as model:
        yield model


def test_the_embedded_model_is_known_for_what_it_is(doctor, local, monkeypatch):
    monkeypatch.setenv("LOCAL_API_KEY", local.api_key)
    fields = {"provider": "openai_chat", "base_url": local.base_url, "api_key_env": "LOCAL_API_KEY"}
    names = (PACKAGED_MODEL, "another")
    doctor.project.suite(
        models=[
            {"model_id": f"m{n}", "requested_model": name} | fields for n, name in enumerate(names)
        ]
    )

    right = doctor.look()
    monkeypatch.setenv("LOCAL_API_KEY", "not-the-key-of-this-server")
    wrong = doctor.look()

    assert right.one("endpoints")["details"]["server"] == "llama.cpp"
    assert "takes the key" in right.one("endpoints")["found"]
    assert right.states("models") == {"m0": "ok", "m1": "warn"}
    assert f"answers every name with `{PACKAGED_MODEL}`" in right.one("models", "m1")["found"]
    assert "not with this key: HTTP 401" in wrong.one("endpoints")["found"]
    assert json.loads(right.text)["schema_version"] == 1


@pytest.mark.parametrize(
    "header",
    ["Date: Sun, 22 Nov 2026 05:00:00 +999999999999999999999", "Date: " + "9" * 20, "Date: never"],
)
def test_a_date_that_is_none_ends_no_look(seen, header):
    found = seen(lambda wire, request: wire.answer(OPENAI, headers=(header,)))

    assert found.all("clock", "wall clock")


def test_a_redirect_to_nowhere_is_said(seen):
    found = seen(
        lambda wire, request: wire.answer({}, status=302, headers=("Location: http://[b",))
    )

    assert any("sends every request elsewhere" in one["found"] for one in found.all("endpoints"))
