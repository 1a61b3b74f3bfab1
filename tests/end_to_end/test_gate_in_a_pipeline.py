"""The nights of docs/recipes, as a shell runs it: real runs, a real gate, exit codes."""

import os
import re
import shutil
import subprocess
import sys

import pytest
import typer
import yaml
from junitparser import JUnitXml

import analyze.cli
import collect.cli
from analyze.gate.known_issues import read_known
from tests.support.paths import ROOT

pytestmark = pytest.mark.docs

GROUPS = {
    "collect": typer.main.get_command(collect.cli.app),
    "analyze": typer.main.get_command(analyze.cli.app_for([])),
}
RECIPES = ROOT / "docs" / "recipes"
SCRIPT = (RECIPES / "nightly.sh").read_text(encoding="utf-8")


@pytest.fixture
def nights(project, endpoint):
    """A suite `nightly` of six cases, asked three times."""
    project.write("configs/suites/nightly.yaml", {
        "schema_version": 1, "suite_id": "nightly", "title": "Nightly",
        "models": [{
            "model_id": "main", "provider": "ollama_openai", "warmup": 0,
            "requested_model": "real-m", "base_url": endpoint.base_url,
        }],
    })  # fmt: skip
    project.write("configs/run_profiles/nightly.yaml", {
        "schema_version": 1, "run_profile_id": "nightly", "title": "Nightly",
        "execution_policy": {"run_repetitions": 3}, "runner_defaults": {"retries": 0},
    })  # fmt: skip
    for n in range(6):
        project.case(f"case_{n}", validator={"type": "exact", "value": "Hello there."})
    return project


def night(project):
    """Run the script once; returns its exit code and what it printed."""
    done = shell(project, SCRIPT)
    return done.returncode, done.stdout + done.stderr


def shell(project, script, **env):
    names = {"collect", "analyze"}
    functions = "".join(f'{name}() {{ "{sys.executable}" -P -m {name} "$@"; }}\n' for name in names)
    return subprocess.run(
        ["sh", "-c", functions + script],
        cwd=project.root, env=os.environ | {"PYTHONPATH": str(ROOT)} | env, capture_output=True,
        text=True, check=False, timeout=120,
    )  # fmt: skip


def test_the_night_of_the_page_runs_as_it_stands(nights, endpoint, answers):
    first, text = night(nights)
    assert first == 3, text
    assert "before" in text

    same, text = night(nights)
    assert same == 0, text
    assert "no regression shown" in text

    endpoint.script = lambda wire, request: wire.stream(answers.stream_of("Something else."))
    worse, text = night(nights)
    assert worse == 1, text
    assert "says the same" in text
    report = JUnitXml.fromfile(str(nights.root / "gate.xml"))
    assert (report.tests, report.failures) == (7, 7)

    endpoint.script = lambda wire, request: wire.answer({"error": "down"}, status=500)
    outage, text = night(nights)
    assert outage == 3, text


def thrown_away(project, lake, run_id):
    """Run the steps of a workflow on a runner that has nothing; returns how each ended."""
    shutil.rmtree(project.root / "runs", ignore_errors=True)
    (project.root / "comment.md").unlink(missing_ok=True)
    (job,) = yaml.safe_load((RECIPES / "shared.yml").read_text(encoding="utf-8"))["jobs"].values()
    env = {"LAKE": lake, "RUN": run_id, "BENCHLAKE_CACHE": str(project.root / f"cache-{run_id}")}
    done = {}
    for step in job["steps"]:
        words = step.get("run", "").split()
        if words[:1] in (["collect"], ["analyze"]):
            one = shell(project, step["run"], **env)
            done[words[1]] = one.returncode, one.stdout + one.stderr
    return done


def test_runners_that_are_thrown_away_have_one_history(nights, endpoint, answers):
    lake = f"file://{nights.root}/team/lake"
    before = [thrown_away(nights, lake, f"run-{n}") for n in (1, 2)]
    endpoint.script = lambda wire, request: wire.stream(answers.stream_of("Something else."))
    worse = thrown_away(nights, lake, "run-3")

    assert [{name: code for name, (code, _) in done.items()} for done in before] == [
        {"run": 0, "report": 0, "gate": 3}, {"run": 0, "report": 0, "gate": 0},
    ], before  # fmt: skip
    assert worse["gate"][0] == 1, worse
    comment = (nights.root / "comment.md").read_text(encoding="utf-8")
    assert "main regressed by 100.0 points since run-2" in comment


def test_the_quarantine_of_the_page_is_read(tmp_path):
    path = tmp_path / "known.toml"
    page = (ROOT / "docs" / "gating.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"```toml\n(.*?)```", page, re.DOTALL)
    path.write_text(block)
    (entry,) = read_known(path).quarantined

    assert (entry.case_id, entry.author) == ("iso_date", "ana")


RAN = re.compile(r"\b(collect|analyze) ([a-z]+)((?: [^|\n]*)?)")


@pytest.mark.parametrize("recipe", sorted(path.name for path in RECIPES.iterdir()))
def test_a_recipe_runs_commands_and_options_that_there_are(recipe):
    text = (RECIPES / recipe).read_text(encoding="utf-8")
    if recipe.endswith(".yml"):
        (job,) = yaml.safe_load(text)["jobs"].values()
        text = "\n".join(step.get("run", "") for step in job["steps"])

    ran = RAN.findall("\n".join(line for line in text.splitlines() if not line.startswith("#")))
    assert {program for program, _, _ in ran} == {"collect", "analyze"}
    for program, name, rest in ran:
        options = {text for p in GROUPS[program].commands[name].params for text in p.opts}
        assert set(re.findall(r"--[a-z-]+", rest)) <= options, f"{recipe}: {program} {name}"
