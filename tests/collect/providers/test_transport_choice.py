"""Which transport carries a request: ours, or httpx for proxies of the environment."""

import asyncio

import pytest

from collect.http_client import WireTransport
from collect.providers.base import Request
from collect.providers.openai_chat import ChatCompletions
from schemas.errors import ConfigError
from tests.collect.execute.test_run import Quiet, run_in
from tests.support.forked_mirror import no_mirrors
from tests.support.wire_model import model

NAMES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY")


@pytest.fixture(autouse=True)
def no_proxies(monkeypatch):
    for name in NAMES:
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)


def ask(base_url, is_loopback):
    async def go():
        provider = ChatCompletions(model(base_url, is_loopback=is_loopback), None)
        try:
            prepared = provider.prepare(Request(({"role": "user", "content": "hi"},), 5.0, True))
            return await provider.ask(prepared)
        finally:
            await provider.aclose()

    return asyncio.run(go())


@pytest.mark.parametrize("name", ["http_proxy", "all_proxy"])
def test_a_proxy_of_the_environment_carries_requests_to_other_hosts(endpoint, monkeypatch, name):
    monkeypatch.setenv(name, f"http://127.0.0.1:{endpoint.port}")

    reply = ask("http://models.invalid/v1", is_loopback=False)

    assert (reply.failure_type, reply.text) == (None, "Hello there.")
    (request,) = endpoint.requests
    assert request.line == "POST http://models.invalid/v1/chat/completions HTTP/1.1"
    assert 0 <= reply.ttft_ms <= reply.e2e_ms


def test_a_host_that_no_proxy_names_is_asked_itself(endpoint, monkeypatch):
    monkeypatch.setenv("http_proxy", f"http://127.0.0.1:{endpoint.port}")
    monkeypatch.setenv("no_proxy", "models.invalid")

    reply = ask("http://models.invalid/v1", is_loopback=False)

    assert (reply.failure_type, endpoint.requests) == ("connection_error", [])


def test_a_proxy_that_is_gone_is_a_connection_error(free_port, monkeypatch):
    monkeypatch.setenv("http_proxy", f"http://127.0.0.1:{free_port}")

    reply = ask("http://models.invalid/v1", is_loopback=False)

    assert (reply.failure_type, reply.accepted) == ("connection_error", False)


def test_a_proxy_that_is_none_is_refused_before_the_first_request(monkeypatch):
    monkeypatch.setenv("http_proxy", "gopher://127.0.0.1:1")

    with pytest.raises(ConfigError, match="proxy"):
        ask("http://models.invalid/v1", is_loopback=False)


@pytest.mark.parametrize("base_url", ["ftp://models.invalid/v1", "models.invalid/v1"])
def test_an_address_that_cannot_be_asked_is_refused(base_url):
    with pytest.raises(ConfigError, match="cannot be asked"):
        ask(base_url, is_loopback=False)


@pytest.mark.parametrize(("transport", "failures"), [("builtin", 1), ("httpx", 0)])
def test_the_run_profile_chooses_the_transport(
    project, endpoint, tmp_path, monkeypatch, transport, failures
):
    async def broken(*_):
        message = "not this one"
        raise ZeroDivisionError(message)

    monkeypatch.setattr(WireTransport, "post", broken)
    project.case()
    project.model(provider="openai_chat", base_url=endpoint.base_url)
    project.profile(runner_defaults={"transport": transport})

    report = run_in(tmp_path / "runs" / "r", project.load(), Quiet(), mirrors=no_mirrors)

    assert report.present - report.success == failures
