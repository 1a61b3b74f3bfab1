"""Our token counts against those of the server itself, over every transport at once."""

import json
import os
import re
import subprocess
import sys
import urllib.request

import pytest

from collect.config.embedded import PACKAGED_MODEL
from collect.local.model import serving
from collect.local.server import KEY_VARIABLE
from tests.support.real_claude import real_claude

COUNTERS = ("prompt_tokens_total", "prompt_tokens_cached_total", "tokens_predicted_total")

PROMPTS = [
    "Say yes.", "Name a colour.", "Write the word café once more.", "Omega means", "Say yes.",
    "1, 2, 3,",
]  # fmt: skip


def counters(local):
    """Return what the server counted since it started."""
    root = local.base_url.removesuffix("/v1")
    headers = {"Authorization": f"Bearer {local.api_key}"}
    request = urllib.request.Request(f"{root}/metrics", headers=headers)
    with urllib.request.urlopen(request, timeout=10) as response:
        text = response.read().decode()
    return {
        name: int(float(re.search(rf"^llamacpp:{name} (\S+)", text, re.MULTILINE)[1]))
        for name in COUNTERS
    }


def models_of(local, executable):
    """Return one model over each transport, half of them without streaming.

    All answer at temperature 0: a stream whose first character takes several tokens begins without
    its counts on this server.
    """
    root = local.base_url.removesuffix("/v1")
    shared = {
        "requested_model": PACKAGED_MODEL,
        "base_url": local.base_url,
        "api_key_env": KEY_VARIABLE,
        "warmup": 0,
    }
    plain = {"temperature": 0, "seed": 1}
    responses = {"provider": "openai_responses", "temperature": 0}
    messages = {"provider": "anthropic_messages", "base_url": root, "temperature": 0}
    claude = {"base_url": root, "executable": str(executable), "max_tokens": 32}
    claude["request_options"] = {"temperature": 0}
    return [
        {"model_id": "streamed", "provider": "ollama_openai", **shared, **plain},
        {"model_id": "whole", "provider": "openai_chat", "stream": False, **shared, **plain},
        {"model_id": "responses", **shared, **responses},
        {"model_id": "responses_whole", "stream": False, **shared, **responses},
        {"model_id": "messages", **shared, **messages},
        {"model_id": "messages_whole", "stream": False, **shared, **messages},
        {"model_id": "claude", "provider": "claude_code_cli", **shared, **claude},
    ]


@pytest.mark.agents
def test_token_sums_equal_the_servers_own_counters(weights, project):
    project.prompts(
        "list.json", [{"id": f"P{n}", "prompt": prompt} for n, prompt in enumerate(PROMPTS)]
    )
    project.profile(
        runner_defaults={"max_tokens": 8, "timeout_seconds": 120},
        execution_policy={"max_concurrency": 2},
    )
    with serving(weights) as local:
        project.suite(models=models_of(local, real_claude()), prompt_lists=["list.json"])
        before = counters(local)
        done = subprocess.run(
            [sys.executable, "-P", "-m", "collect", "run", "--suite", "s", "--run-profile", "p"],
            cwd=project.root,
            env=os.environ | {KEY_VARIABLE: local.api_key},
            capture_output=True,
            text=True,
            check=False,
        )
        after = counters(local)

    (results,) = project.root.glob("runs/*/results.jsonl")
    rows = [json.loads(line) for line in results.read_text().splitlines()]
    rows = [row for row in rows if row["record_type"] == "result"]
    assert len(rows) == 7 * len(PROMPTS), done.stderr
    assert {row["availability_status"] for row in rows} == {"ok"}, done.stderr
    sources = {row["token_source"] for row in rows}
    assert {"api", "model_usage"} <= sources <= {"api", "model_usage", "usage"}, "cut ones of a CLI"
    counted = {name: after[name] - before[name] for name in COUNTERS}
    names = ("model_id", "case_id", "token_source", "failure_type", "error_message", "raw_output")
    untold = [[row[name] for name in names] for row in rows if row["cached_input_tokens"] is None]
    assert untold == [], "each of them says what it took from the cache"
    cached = sum(row["cached_input_tokens"] for row in rows)
    assert counted == {
        "prompt_tokens_total": sum(row["input_tokens"] for row in rows) - cached,
        "prompt_tokens_cached_total": cached,
        "tokens_predicted_total": sum(row["output_tokens"] for row in rows),
    }
    assert cached > 0, "a prompt was asked twice: some of it came from the cache"
