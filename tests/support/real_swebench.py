"""The real SWE-bench harness, and folders as it leaves them after an evaluation."""

import json
import os
import re
import subprocess
from dataclasses import dataclass
from itertools import cycle
from pathlib import Path

import pytest

from analyze.exporters.predictions import predictions_lines
from schemas.formats.swebench import Prediction
from tests.support.paths import TOOLS

INSTALLED = TOOLS / ".swebench"
PYTHON = TOOLS / "swebench/bin/python"

SCRIPT = """
import contextlib, json, os, sys
from swebench.harness.infra_failure import INFRA_FAILURE_SIGNATURES, TIER_ENVIRONMENT
from swebench.harness.reporting import make_run_report
from swebench.harness.utils import get_predictions_from_file
with contextlib.redirect_stdout(sys.stderr):
    names = []
    for job in json.load(sys.stdin):
        os.chdir(job["folder"])
        read = get_predictions_from_file("predictions.jsonl", "unused", "test")
        predictions = {one["instance_id"]: one for one in read}
        data_set = json.load(open("data_set.json"))
        names.append(make_run_report(predictions, data_set, job["run_id"]).name)
tiers = {reason: tier == TIER_ENVIRONMENT for reason, tier, _ in INFRA_FAILURE_SIGNATURES}
json.dump({"reports": names, "tiers": tiers}, sys.stdout)
"""

SAID = {
    "browser_launch_failed": "Failed to launch the browser process!",
    "display_unavailable": "Error: cannot open display: :99",
    "out_of_memory": "compiling\nKilled\nmake: stopped",
    "container_unavailable": "Error response from daemon: no such image",
    "network_unreachable": "Could not resolve host: mirror.invalid",
    "missing_module": "ModuleNotFoundError: No module named 'numpy'",
    "no_tests_collected": "collected 0 items",
    "tests_timed_out": "Timeout error: 1800 seconds exceeded.",
}
"""What logs say when there is such a failure."""

UNREADABLE = ("", "{", "{}", " \n")


def real_swebench():
    """Return the harness' Python; in CI its absence is a failure, elsewhere a reason to skip."""
    if not INSTALLED.exists():
        why = "needs the SWE-bench harness: make swebench"
        (pytest.fail if os.environ.get("CI") == "true" else pytest.skip)(why)
    return PYTHON


@dataclass(frozen=True)
class Evaluated:
    """A folder in which the harness has evaluated predictions, all but its report."""

    folder: Path
    model: str
    run_id: str

    @property
    def predictions(self):
        return self.folder / "predictions.jsonl"

    @property
    def logs(self):
        return self.folder / "logs"

    @property
    def report(self):
        return self.folder / f"{self.model.replace('/', '__')}.{self.run_id}.json"


def evaluated(folder, instances, *, outside=(), model="acme/coder", run_id="night.1", patches=None):
    """Write data set, predictions and logs of instances whose outcome is known.

    Args:
        folder: where they go.
        instances: of `analyze.exporters.swebench`.
        outside: ids of predictions that are not in the data set.
        model: its name in the predictions.
        run_id: of the evaluation.
        patches: predictions to write instead of made up ones.
    """
    where = Evaluated(folder, model, run_id)
    where.logs.mkdir(parents=True)
    ids = [one.instance_id for one in instances]
    (folder / "data_set.json").write_text(json.dumps([{"instance_id": one} for one in ids]))
    if patches is None:
        patches = made_up(instances, outside, model)
    where.predictions.write_text("".join(predictions_lines(patches)))
    unreadable = cycle(UNREADABLE)
    for number, one in enumerate(instances):
        logs = where.logs / "run_evaluation" / run_id / model.replace("/", "__") / one.instance_id
        if one.outcome in {"incomplete", "empty_patch"}:
            continue
        logs.mkdir(parents=True)
        if one.outcome == "unreadable":
            (logs / "report.json").write_text(next(unreadable))
        elif one.outcome != "error":
            report = {one.instance_id: {"resolved": one.outcome == "resolved"}}
            (logs / "report.json").write_text(json.dumps(report))
        said = SAID[one.failure_reason] if one.failure_reason else "1 failed, 3 passed"
        texts = [said, "an ordinary line"]
        names = ("test_output.txt", "run_instance.log")
        for name, text in zip(names, texts if number % 2 else texts[::-1], strict=True):
            (logs / name).write_text(text + "\n")
    return where


def made_up(instances, outside, model):
    """Return predictions that fit the outcomes; an empty patch is null or empty by turns."""
    empty = cycle((None, ""))
    for one in instances:
        if one.outcome != "incomplete":
            patch = next(empty) if one.outcome == "empty_patch" else f"--- a/{one.instance_id}\n"
            yield prediction(one.instance_id, model, patch)
    for instance_id in outside:
        yield prediction(instance_id, model, "--- a/elsewhere\n")


def prediction(instance_id, model, patch):
    return Prediction(instance_id=instance_id, model_name_or_path=model, model_patch=patch)


def write_reports(*folders):
    """Let the real harness write the report of each folder; returns what it says of reasons.

    Its process starts once for all of them, which takes seconds.
    """
    jobs = [{"folder": str(one.folder), "run_id": one.run_id} for one in folders]
    quiet = {name: value for name, value in os.environ.items() if not re.match("HF_|PYTHON", name)}
    done = subprocess.run(
        [real_swebench(), "-c", SCRIPT],
        input=json.dumps(jobs),
        capture_output=True,
        text=True,
        timeout=200,
        env=quiet | {"HF_HUB_OFFLINE": "1"},
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2_000:]
    document = json.loads(done.stdout)
    assert document["reports"] == [one.report.name for one in folders]
    return document["tiers"]
