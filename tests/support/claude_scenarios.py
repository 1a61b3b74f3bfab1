"""The calls of the Claude Code CLI that goldens were recorded of, and what is left out of them."""

import json
import re

from collect.config.endpoints import OAUTH_TOKEN
from collect.providers.base import Request
from tests.support import paths

GOLDEN = paths.GOLDEN / "claude_code_cli"

SYSTEM = {"role": "system", "content": "You answer in one short sentence."}
PARIS = {"role": "user", "content": "What is the capital of France?"}
AGAIN = {"role": "user", "content": "Name the country too."}

SCENARIOS = {
    "plain": ((PARIS,), 64, {}),
    "settings": (
        (SYSTEM, PARIS, AGAIN),
        64,
        {"thinking_level": "low", "request_options": {"temperature": 0}},
    ),
    "truncated": ((SYSTEM, PARIS), 3, {"request_options": {"temperature": 0}}),
    "subscription": ((SYSTEM, PARIS), 64, {"api_key_env": OAUTH_TOKEN}),
}
"""By name: messages, max_tokens, fields of the model."""

HEADERS = (
    *("content-type", "user-agent", "x-app", "anthropic-version", "anthropic-beta"),
    *("x-api-key", "authorization"),
)
"""Those that decide who is asked, by whom, for what."""


def request_of(name):
    messages, max_tokens, _ = SCENARIOS[name]
    return Request(messages, 60.0, stream=True, max_tokens=max_tokens)


def normal_request(request, key):
    """Return a request as a golden has it: without key, date and ids."""
    headers = {name: request.headers[name] for name in HEADERS if name in request.headers}
    body = request.body | {"metadata": {"user_id": "<ids>"}}
    text = json.dumps({"line": request.line, "headers": headers, "body": body})
    text = re.sub(r"Today's date is \d{4}-\d\d-\d\d", "Today's date is <date>", text)
    return json.loads(text.replace(key, "<key>"))


def normal_line(line, home):
    """Return a line of the CLI as a golden has it: without ids and its home."""
    text = line.decode().replace(home, "<home>")
    text = re.sub(r'"(session_id|uuid)":"[^"]*"', r'"\1":"<id>"', text)
    return re.sub(r"projects/[\w-]+/", "projects/<home>/", text)
