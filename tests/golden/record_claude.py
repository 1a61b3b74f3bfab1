"""Records what the real Claude Code CLI asks of the embedded model, and what it writes then.

Run `python -m tests.golden.record_claude` in the repository after `make claude weights`; look at
the difference before you commit it.
"""

import asyncio
import dataclasses
import json
from http.client import HTTPConnection
from urllib.parse import urlsplit

from collect.config.embedded import PACKAGED_MODEL
from collect.local.model import serving
from collect.local.weights import find_weights
from collect.providers.base import Reply
from collect.providers.claude_code.parse import ClaudeAnswer
from collect.providers.claude_code.process import Exit
from collect.providers.claude_code.provider import ClaudeCode
from tests.support.claude_scenarios import (
    GOLDEN,
    SCENARIOS,
    normal_line,
    normal_request,
    request_of,
)
from tests.support.endpoint import Endpoint
from tests.support.messages_wire import Messages
from tests.support.real_claude import COMMAND
from tests.support.wire_model import model


def passing_on(local):
    """Return a script that hands each request to the embedded model and its answer back."""

    def script(wire, request):
        to = HTTPConnection(urlsplit(local.base_url).netloc)
        names = ("content-type", "x-api-key", "authorization", "anthropic-version")
        headers = {name: request.headers[name] for name in names if name in request.headers}
        to.request("POST", request.line.split()[1], json.dumps(request.body), headers)
        answer = to.getresponse()
        wire.answer(answer.read(), answer.status, answer.getheader("Content-Type"))

    return script


def replay(lines):
    """Return what recorded lines come to, each a moment after the one before; defaults left out."""
    answer = ClaudeAnswer(60.0)
    for line in lines:
        answer.add(line.encode())
    reply = dataclasses.asdict(answer.reply(Exit(0), is_own_host=False))
    nothing = dataclasses.asdict(Reply())
    return {name: value for name, value in reply.items() if value != nothing[name]}


def record(name, local):
    endpoint = Endpoint()
    endpoint.script = messages = Messages(passing_on(local))
    fields = {"model": PACKAGED_MODEL, "provider": "claude_code_cli", "executable": str(COMMAND)}
    to = model(f"http://127.0.0.1:{endpoint.port}", **fields | SCENARIOS[name][2])
    lines = []
    add = ClaudeAnswer.add
    ClaudeAnswer.add = lambda self, line: [lines.append(line), add(self, line)][1]
    try:
        asyncio.run(_asked(ClaudeCode(to, local.api_key), request_of(name)))
    finally:
        ClaudeAnswer.add = add
        endpoint.close()
    home = json.loads(lines[0])["cwd"]
    stdout = [normal_line(line, home) for line in lines]
    asked = [normal_request(request, local.api_key) for request in messages.posts]
    keep(f"{name}.request.json", asked)
    (GOLDEN / f"{name}.stdout.jsonl").write_text("\n".join(stdout) + "\n")
    keep(f"{name}.reply.json", replay(stdout))


async def _asked(provider, request):
    await provider.ask(provider.prepare(request))
    await provider.aclose()


def keep(name, value):
    (GOLDEN / name).write_text(json.dumps(value, indent=2) + "\n")


if __name__ == "__main__":
    with serving(find_weights()) as local:
        for name in SCENARIOS:
            record(name, local)
