"""Recorded exchanges: what we send is what was sent, and what came back still means the same."""

import json

import pytest

from collect.config.endpoints import PROVIDERS
from tests.golden.exchange import FOLDER, HOST, KEY, ask, reply_document

RECORDED = sorted(
    path.relative_to(FOLDER).as_posix().removesuffix(".response.http")
    for path in FOLDER.glob("*/*.response.http")
    if path.parent.name != "claude_code_cli"
)
"""`<provider>/<scenario>`; what a command line tool says is kept in another form."""


def recorded(exchange):
    request = json.loads((FOLDER / f"{exchange}.request.json").read_text())
    reply = json.loads((FOLDER / f"{exchange}.reply.json").read_text())
    return request, (FOLDER / f"{exchange}.response.http").read_bytes(), reply


@pytest.mark.parametrize("exchange", RECORDED)
def test_a_provider_sends_and_reads_what_it_did_when_it_was_recorded(endpoint, exchange):
    request, response, reply = recorded(exchange)
    endpoint.script = lambda wire, _: wire.send(response)

    fresh = ask(exchange.partition("/")[0], request["asked"], endpoint.base_url, KEY)

    assert reply_document(fresh) == reply
    (got,) = endpoint.requests
    sent = request["sent"]
    assert got.line == f"{sent['method']} {sent['path']} HTTP/1.1"
    host = {"host": f"127.0.0.1:{endpoint.port}"}
    headers = {name.lower(): value for name, value in sent["headers"].items()}
    assert list(got.headers.items()) == list((headers | host).items())
    assert sent["headers"]["Host"] == HOST
    assert json.dumps(got.body) == json.dumps(sent["body"]), "the order of the fields as well"


def test_every_transport_over_http_has_recorded_exchanges():
    folders = {exchange.partition("/")[0] for exchange in RECORDED}

    assert PROVIDERS["ollama_openai"].opens == PROVIDERS["openai_chat"].opens, (
        "one recording serves both"
    )
    assert {"openai_chat", "openai_responses", "anthropic_messages"} <= folders


@pytest.mark.parametrize("exchange", RECORDED)
def test_no_key_and_no_path_of_a_machine_is_in_a_recording(exchange):
    request, response, reply = recorded(exchange)

    text = json.dumps([request, reply]) + response.decode()

    headers = request["sent"]["headers"]
    assert headers.get("x-api-key", headers.get("Authorization")) in {KEY, f"Bearer {KEY}"}
    assert "/home/" not in text
    assert "/root/" not in text
