"""What a golden exchange consists of: what is asked, what is sent, what comes back.

`<provider>/<scenario>.request.json` holds what a provider is asked for and the request that it
sends for it, `.response.http` the bytes that came back, `.reply.json` what they mean.
"""

import asyncio
import dataclasses
import json
from pathlib import Path

from collect.config.endpoints import PROVIDERS
from collect.http_client.pool import CompletionQueue
from collect.providers import provider_of
from collect.providers.base import Request
from tests.support.wire_model import model

FOLDER = Path(__file__).parent
KEY, HOST = "KEY", "HOST"
"""What stands in the files for a key and for an address."""

TIMES = ("e2e_ms", "ttft_ms")


def ask(provider, asked, base_url, key):
    """Ask a provider for one thing and return its reply."""
    settings = asked["request"]
    request = Request(**settings | {"messages": tuple(settings["messages"])})

    async def go():
        url = base_url.removesuffix("/v1") if PROVIDERS[provider].is_anthropic else base_url
        asking = provider_of(
            model(url, **asked["model"] | {"provider": provider}), key, CompletionQueue()
        )
        try:
            return await asking.ask(asking.prepare(request))
        finally:
            await asking.aclose()

    return asyncio.run(go())


def reply_document(reply):
    """Return a reply as JSON; of a measured time only that it is one, and no empty `echo`."""
    fields = json.loads(json.dumps(dataclasses.asdict(reply)))
    if not fields["echo"]:
        del fields["echo"]
    for name in TIMES:
        if fields[name] is not None:
            assert type(fields[name]) is int
            fields[name] = "measured"
    return fields


def sent(raw):
    """Return a request as it went over the wire, with neither key nor address."""
    head, _, body = raw.partition(b"\r\n\r\n")
    line, *lines = head.decode().split("\r\n")
    method, path, _ = line.split(" ")
    headers = dict(line.split(": ", 1) for line in lines)
    hidden = {"Authorization": f"Bearer {KEY}", "x-api-key": KEY, "Host": HOST}
    headers |= {name: value for name, value in hidden.items() if name in headers}
    return {"method": method, "path": path, "headers": headers, "body": json.loads(body)}


def dumped(data):
    return json.dumps(data, indent=1, ensure_ascii=False) + "\n"
