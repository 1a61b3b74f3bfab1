"""The embedded model through the whole line: real weights, real HTTP, real numbers."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from collect.commands.demo import _served_inputs
from collect.commands.init import starter_configs
from collect.config import load_inputs
from collect.local.model import serving
from schemas.base import slugify
from schemas.config.validators import VALIDATORS
from schemas.output.summary import RunSummary
from schemas.run.config import EmbeddedServer
from tests.support.processes import servers_of
from tests.support.real_claude import real_claude

COLLECT = [sys.executable, "-P", "-m", "collect"]


def with_claude():
    """Return our environment with the real Claude Code CLI on PATH."""
    return os.environ | {"PATH": f"{Path(real_claude()).parent}{os.pathsep}{os.environ['PATH']}"}


def assert_three_transports(last):
    """Check the demo's other run: the same model through every transport that works here.

    The Claude Code CLI tells the model today's date. Should an answer begin with a character of
    several tokens on some day, llama.cpp leaves the beginning of its message out, which is a
    failure of the server's that we rightly report.
    """
    (first,) = {path.parent for path in last.parents[1].glob("*/summary.md")} - {last.parent}
    summary = RunSummary.model_validate_json((first / "summary.json").read_bytes())
    providers = {group.model_id: group.provider for group in summary.models}
    assert providers == {
        "via_chat": "ollama_openai",
        "via_responses": "openai_responses",
        "via_claude_code": "claude_code_cli",
    }
    assert {group.n_planned for group in summary.models} == {8}
    failures = {name for group in summary.models for name in group.failures}
    assert failures <= {"output_truncated", "invalid_response"}
    n_ok = {group.model_id: group.n_ok for group in summary.models}
    assert (n_ok["via_chat"], n_ok["via_responses"]) == (8, 8)
    assert n_ok["via_claude_code"] >= 6
    config = json.loads((first / "config.json").read_text())
    versions = {model["model_id"]: model["harness_version"] for model in config["models"]}
    assert versions.pop("via_claude_code").startswith("2.")
    assert set(versions.values()) == {None}
    return sum(n_ok.values())


@pytest.mark.agents
def test_the_demo_runs_a_benchmark_and_cleans_up(weights, tmp_path):
    done = subprocess.run(
        [*COLLECT, "demo"],
        cwd=tmp_path,
        env=with_claude(),
        capture_output=True,
        text=True,
        check=False,
    )

    n_ok = assert_three_transports(tmp_path / done.stdout.split()[-1])
    assert done.returncode == (0 if n_ok == 24 else 1), done.stderr
    last = done.stdout.rstrip().splitlines()[-1]
    assert last.endswith("report.html")
    run_dir = (tmp_path / last).parent
    summary = RunSummary.model_validate_json((run_dir / "summary.json").read_bytes())
    (group,) = summary.models
    assert (group.n_planned, group.n_total, group.repetitions) == (48, 48, 2)
    assert group.n_ok >= 40
    assert 0 < group.passed_rate < 1, "some pass, some fail"
    assert group.tool_use.n == 16
    assert group.latency_ms.p50 > 0
    assert group.ttft_ms.p50 <= group.latency_ms.p50
    assert group.tokens.n_known >= 40
    assert group.repetitions_identical is False, "each repetition has a seed of its own"
    lines = [json.loads(line) for line in (run_dir / "results.jsonl").read_text().splitlines()]
    lines = [line for line in lines if line["record_type"] == "result"]
    assert {line["validator_type"] for line in lines} == set(VALIDATORS.own)
    assert servers_of(tmp_path) == [], "the model's server is gone"
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert files
    inventory = json.loads((run_dir / "inventory.json").read_text())
    assert "BENCHLAKE_LOCAL_API_KEY" in inventory["keys_present"]


def test_the_key_of_the_server_is_in_no_file_of_a_run(weights, project, tmp_path, monkeypatch):
    project.case()
    with serving(weights) as local:
        monkeypatch.setenv("OWN_API_KEY", local.api_key)
        project.model(
            base_url=local.base_url, api_key_env="OWN_API_KEY", max_tokens=4, requested_model="m"
        )
        done = subprocess.run(
            [*COLLECT, "run", "--suite", "s", "--run-profile", "p"],
            cwd=project.root,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        for path in project.root.rglob("*"):
            if path.is_file():
                assert local.api_key.encode() not in path.read_bytes(), path
        assert local.api_key not in done.stdout + done.stderr


def test_another_gguf_gets_its_own_name(weights, tmp_path):
    other = tmp_path / "My Model v2.gguf"
    other.symlink_to(weights)
    served = EmbeddedServer(model_file=str(other), context_tokens=64, threads=1)

    with starter_configs() as folder:
        (model,) = _served_inputs(load_inputs("starter", "demo", working_dir=folder), served).models
        others = _served_inputs(
            load_inputs("transports", "once", working_dir=folder), served
        ).models

    assert model.model_id == slugify("My Model v2") == "my_model_v2"
    assert (model.model, model.label) == ("My Model v2", "My Model v2")
    assert model.embedded == served
    assert {one.model for one in others} == {"My Model v2"}
    assert {one.model_id for one in others} <= {"via_chat", "via_responses", "via_claude_code"}
