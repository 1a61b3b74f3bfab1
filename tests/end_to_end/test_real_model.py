"""The embedded model through the whole line: real weights, real HTTP, real numbers."""

import importlib.util
import json
import os
import subprocess
import sys

import psutil
import pytest

from collect.local.model import LocalModel
from collect.local.weights import find_weights
from schemas.base import slugify
from schemas.summary import RunSummary

COLLECT = [sys.executable, "-P", "-m", "collect"]


@pytest.fixture(scope="session")
def weights():
    """The embedded model; in CI it must be there, elsewhere its absence skips the tests."""
    path = find_weights()
    if path is None or importlib.util.find_spec("xllamacpp") is None:
        reason = "the embedded model is not installed: make weights"
        (pytest.fail if os.environ.get("CI") == "true" else pytest.skip)(reason)
    return path


def servers():
    return {
        process.pid
        for process in psutil.process_iter(["cmdline"])
        if any("collect/local/server.py" in part for part in process.info["cmdline"] or [])
    }


def test_the_demo_runs_a_benchmark_and_cleans_up(weights, tmp_path):
    before = servers()

    done = subprocess.run(
        [*COLLECT, "demo"], cwd=tmp_path, capture_output=True, text=True, check=False
    )

    assert done.returncode == 0, done.stderr
    last = done.stdout.rstrip().splitlines()[-1]
    assert last.endswith("summary.md")
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
    assert len({line["validator_type"] for line in lines}) == 9, "all nine validators"
    assert servers() <= before, "the model's server is gone"
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert files
    inventory = json.loads((run_dir / "inventory.json").read_text())
    assert "BENCHLAKE_LOCAL_API_KEY" in inventory["keys_present"]


def test_the_key_of_the_server_is_in_no_file_of_a_run(weights, project, tmp_path, monkeypatch):
    project.case()
    with LocalModel(model_file=weights) as local:
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

    done = subprocess.run(
        [*COLLECT, "demo", "--model-file", str(other), "--json"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )

    report = json.loads(done.stdout)
    config = json.loads((tmp_path / report["run_dir"] / "config.json").read_text())
    assert config["models"][0]["model_id"] == slugify("My Model v2") == "my_model_v2"
    assert config["models"][0]["model"] == "My Model v2"
    assert report["present"] == 48
