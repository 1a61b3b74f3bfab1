"""`collect doctor` asks where `web_search` would: does it answer, in JSON, and find anything?"""

import json

import pytest

from collect.doctor import http_get
from schemas.errors import ConfigError
from tests.support.endpoint import Endpoint

ROW = {"title": "T", "url": "https://example.org/", "content": "C"}
FOUND = {"query": "test", "results": [ROW, ROW, ROW], "unresponsive_engines": []}
FORBIDDEN = (b"<!doctype html><title>403 Forbidden</title>", 403)
KEY = "Qx7hasnoshapethatanyoneknows42"


@pytest.fixture
def searched():
    """A search endpoint beside that of the models."""
    server = Endpoint()
    server.script = lambda wire, request: wire.answer(FOUND)
    yield server
    server.close()


@pytest.fixture
def look(doctor, endpoint, searched):
    """Look at a project whose model is there, and which may search."""
    models = {"object": "list", "data": [{"id": "r", "owned_by": "vllm"}]}
    endpoint.script = lambda wire, request: wire.answer(models)
    doctor.project.model(base_url=endpoint.base_url)

    def looked(*, offers=False, url=None, hosts=(), suite="s", **fields):
        url = url or f"http://127.0.0.1:{searched.port}/search"
        tools = {"tools": {"web_search": {"url": url}}}
        doctor.project.write("benchlake.yaml", {"schema_version": 1} | tools | fields)
        if offers:
            messages = [{"role": "user", "content": "x"}]
            context = {"llm_probe": {"tools": ["web_search"]}}
            doctor.project.case("seeker", input={"messages": messages, "context": context})
        return doctor.look(suite, hosts=hosts)

    return looked


def of_search(seen):
    (check,) = [one for one in seen.all("endpoints") if "web_search" in one["found"]]
    return check


def test_nothing_is_asked_where_nothing_is_configured(doctor, endpoint, searched):
    doctor.project.model(base_url=endpoint.base_url)

    assert not any("web_search" in one["found"] for one in doctor.look().checks)
    assert searched.requests == []


@pytest.mark.parametrize("offers", [False, True])
def test_an_endpoint_that_finds_something_is_as_it_should_be(look, searched, offers):
    seen = look(offers=offers)

    check = of_search(seen)
    assert check["state"] == "ok"
    assert check["subject"] == f"http://127.0.0.1:{searched.port}/search"
    assert check["found"].startswith("web_search: answers in ")
    assert check["found"].endswith(" ms, 3 results for `test`")
    assert (check["details"]["results"], check["details"]["status"]) == (3, 200)
    (request,) = searched.requests
    assert request.line == "GET /search?q=test&format=json HTTP/1.1"


@pytest.mark.parametrize(("offers", "state"), [(False, "warn"), (True, "fail")])
@pytest.mark.parametrize(
    ("body", "status", "says"),
    [
        (*FORBIDDEN, "HTTP 403: SearXNG answers so until `search.formats` of its settings.yml"),
        ({}, 429, "HTTP 429: SearXNG answers so beyond a few searches an hour"),
        ({}, 500, "HTTP 500"),
        (b"<!doctype html>", 200, "no JSON with a list of `results`"),
        ({"results": [], "unresponsive_engines": [["google", "CAPTCHA"]]}, 200, "google (CAPTCHA)"),
    ],
)
def test_what_is_wrong_fails_only_where_a_case_searches(
    look, searched, offers, state, body, status, says
):
    searched.script = lambda wire, request: wire.answer(body, status=status)

    seen = look(offers=offers)

    check = of_search(seen)
    assert (check["state"], says in check["found"]) == (state, True), check
    assert check["found"].endswith("; offered by seeker" if offers else "; no case offers it")
    assert check["advice"].startswith("try it: curl -i 'http://127.0.0.1:")


def test_nobody_there(look, free_port):
    check = of_search(look(url=f"http://127.0.0.1:{free_port}/search"))

    assert (check["state"], "no answer that can be read: " in check["found"]) == ("warn", True)
    assert check["advice"].startswith("start the server, or correct `tools.web_search.url`")


def test_a_server_that_never_answers_costs_its_limit_and_no_more(look, searched, monkeypatch):
    monkeypatch.setattr(http_get, "GET_TIMEOUT_S", 0.4)
    searched.script = lambda wire, request: wire.sleep(5)

    assert "no answer that can be read: none within 0 s" in of_search(look())["found"]


def test_a_host_that_is_not_allowed_is_not_asked(look, searched, monkeypatch):
    monkeypatch.setenv("HTTPS_PROXY", f"http://127.0.0.1:{searched.port}")
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.delenv(name, raising=False)

    check = of_search(look(url="https://search.invalid/search"))

    assert (check["subject"], check["state"]) == ("search.invalid", "warn")
    assert "`search.invalid` may not be asked yet" in check["found"]
    assert "--allow-host search.invalid" in check["advice"]
    assert searched.requests == []


@pytest.mark.parametrize("way", ["flag", "file"])
def test_a_host_that_is_allowed_is_asked(look, searched, monkeypatch, way):
    monkeypatch.setenv("HTTPS_PROXY", f"http://127.0.0.1:{searched.port}")
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
    allowed = {"hosts": ["search.invalid"]}
    if way == "file":
        allowed = {"allowed_hosts": ["search.invalid"]}

    look(url="https://search.invalid/search", **allowed)

    assert searched.requests[0].line.startswith("CONNECT search.invalid:443 ")


def test_an_address_that_cannot_be_keeps_suites_from_loading(look, searched):
    with pytest.raises(ConfigError, match="over https only"):
        look(url="http://search.invalid/search")

    seen = look(url="http://search.invalid/search", suite=None)

    assert "over https only" in seen.one("suites")["found"]
    assert "over https only" in of_search(seen)["found"]
    assert seen.code == 1


def test_outside_of_suites_the_machine_is_looked_at(look, searched, doctor):
    doctor.project.suite_path.unlink()

    check = of_search(look(suite=None))

    assert check["state"] == "ok"


def test_no_key_is_sent_or_shown(look, searched, monkeypatch):
    monkeypatch.setenv("SEARXNG_API_KEY", KEY)

    seen = look(offers=True)

    (request,) = searched.requests
    assert "authorization" not in request.headers
    assert KEY not in json.dumps(request.headers) + request.line + seen.text
