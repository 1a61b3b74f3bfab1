"""The faults of the wire over the other providers: all at once, over one server.

Each over both transports, at the same time: what takes longest is waited for once.
"""

import asyncio

import pytest

from collect.providers.anthropic_messages import AnthropicMessages
from collect.providers.base import Reply, Request
from collect.providers.claude_code.proxy import Proxy, with_the_wire
from collect.providers.http import carrier_of
from collect.providers.openai_responses import OpenAIResponses
from collect.providers.openrouter import OpenRouter
from tests.collect.http_client.test_wire_faults import ENDED_BY_THE_CLOCK, FAULTS
from tests.end_to_end.test_faults import LastWire
from tests.support.wire_model import HTTPX, model

pytestmark = pytest.mark.peers

TRANSPORTS = {"ours": {}, "httpx": HTTPX}

OF_CHAT = {
    "duplicate chunks", "wrong content type", "Connection: close", "chunked with trailers",
    "HTTP/1.0", "gzip", "empty answer", "truncated event", "invalid UTF-8",
    "error event among others",
}  # fmt: skip
"""What they come to depends on the API, or is an answer of the chat API."""


def faulty(endpoint, text_of):
    """Let the endpoint do to each request what its text names."""

    def script(wire, request):
        FAULTS[text_of(request)][0](LastWire(wire.sock), request)

    endpoint.script = script


def limit_of(name):
    """Seconds: until all that it has to say has come, with 70 others at once on a busy machine."""
    return 4 if name in ENDED_BY_THE_CLOCK else 20


async def asked(provider, names):
    """Return what came of each fault, all asked at once, and of a request afterwards."""

    async def one(name):
        request = Request(({"role": "user", "content": name},), limit_of(name), stream=True)
        return await provider.ask(provider.prepare(request))

    try:
        return dict(zip(names, await asyncio.gather(*map(one, names)), strict=True))
    finally:
        await provider.aclose()


def over_both(ask):
    """Return what `ask(settings)` comes to over each transport: (transport, fault) to reply."""

    async def go():
        return await asyncio.gather(*map(ask, TRANSPORTS.values()))

    found = zip(TRANSPORTS, asyncio.run(go()), strict=True)
    return {(way, name): reply for way, replies in found for name, reply in replies.items()}


def test_openrouter_meets_the_faults_as_the_chat_api_does(endpoint):
    faulty(endpoint, lambda request: request.body["messages"][0]["content"])

    def ask(settings):
        facts = model(endpoint.base_url, settings=settings, max_concurrency=64)
        return asked(OpenRouter(facts, None), FAULTS)

    replies = over_both(ask)

    assert len(replies) == 2 * len(FAULTS)
    for (way, name), reply in replies.items():
        _, failure_type, text = FAULTS[name]
        possible = {text, ""} if name == "reset in the answer" else {text}  # the kernel drops it
        assert reply.failure_type == failure_type, (way, name)
        assert reply.text in possible, (way, name)


def test_the_responses_api_meets_the_faults_that_no_api_owns(endpoint):
    faulty(endpoint, lambda request: request.body["input"][0]["content"])
    names = [name for name in FAULTS if name not in OF_CHAT]

    def ask(settings):
        facts = model(endpoint.base_url, settings=settings, max_concurrency=64)
        return asked(OpenAIResponses(facts, None), names)

    replies = over_both(ask)

    assert len(replies) == 2 * len(names)
    for (way, name), reply in replies.items():
        assert reply.failure_type == FAULTS[name][1], (way, name)


def test_the_messages_api_meets_the_faults_that_no_api_owns(endpoint):
    faulty(endpoint, lambda request: request.body["messages"][0]["content"])
    names = [name for name in FAULTS if name not in OF_CHAT]

    def ask(settings):
        facts = model(endpoint.base_url.removesuffix("/v1"), settings=settings, max_concurrency=64)
        return asked(AnthropicMessages(facts, None), names)

    replies = over_both(ask)

    assert len(replies) == 2 * len(names)
    for (way, name), reply in replies.items():
        assert reply.failure_type == FAULTS[name][1], (way, name)


def test_the_door_of_a_command_tells_the_faults_of_the_wire(endpoint):
    """What a command would make of them is not asked: only what passed counts."""
    faulty(endpoint, lambda request: request.body["name"])
    names = [name for name in FAULTS if name not in OF_CHAT]

    async def one(proxy, name):
        url = await proxy.url()
        with proxy.call(limit_of(name)) as call:
            port = int(url.rpartition(":")[2])
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            body = b'{"name": "%s"}' % name.encode()
            head = f"POST /v1/messages HTTP/1.1\r\nx-api-key: {call.password}\r\n"
            writer.write(f"{head}content-length: {len(body)}\r\n\r\n".encode() + body)
            writer.write_eof()
            await reader.read()
            writer.close()
            return with_the_wire(Reply(text="as the command says"), call)

    async def ask(settings):
        root = endpoint.base_url.removesuffix("/v1")
        facts = model(root, settings=settings, max_concurrency=64)
        proxy = Proxy(root, "/v1/messages", {}, carrier_of(facts, None))
        try:
            replies = await asyncio.gather(*(one(proxy, name) for name in names))
            return dict(zip(names, replies, strict=True))
        finally:
            await proxy.aclose()

    replies = over_both(ask)

    assert len(replies) == 2 * len(names)
    for (way, name), reply in replies.items():
        assert reply.failure_type == FAULTS[name][1], (way, name)
