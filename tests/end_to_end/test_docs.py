"""The documentation says what the program does: commands, options, YAML, links, versions."""

import re
import shutil
import subprocess
import sys
from importlib.metadata import requires

import pytest
import yaml

from analyze.commands import COMMANDS as ANALYZE
from collect.cli import app as COLLECT
from collect.config.agents import load_agent_file
from collect.config.cases import load_case
from collect.config.evaluation import load_evaluation_profile
from collect.config.tools.web_search import place_problems
from schemas.config.project import load_project_file
from schemas.config.run_profile import RunProfile
from schemas.config.suite import Suite
from schemas.io.validation import parse
from schemas.io.yaml import read_yaml
from tests.support.paths import ROOT

pytestmark = pytest.mark.docs

PAGES = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    ROOT / "configs" / "README.md",
    *sorted((ROOT / "docs").rglob("*.md")),
]


def name_of(command):
    return command.name or command.callback.__name__


COMMANDS = {
    "collect": tuple(name_of(command) for command in COLLECT.registered_commands),
    "analyze": ANALYZE.names,
}
SAID = re.compile(r"\b(collect|analyze) ([a-z]+(?:-[a-z]+)*)((?: [^\n`|]*)?)")


def text_of(page):
    return page.read_text(encoding="utf-8")


@pytest.fixture(scope="session")
def help_of():
    """Return the help text of a command."""

    def command(*words):
        done = subprocess.run(
            [sys.executable, "-P", "-m", *words, "--help"],
            capture_output=True,
            text=True,
            check=True,
        )
        return done.stdout

    return {
        (program, name): command(program, name)
        for program, names in COMMANDS.items()
        for name in names
    }


def test_every_command_is_documented():
    page = text_of(ROOT / "docs" / "commands.md")
    for program, names in COMMANDS.items():
        for name in names:
            assert f"`{program} {name}" in page


def test_every_option_of_every_command_is_documented(help_of):
    page = text_of(ROOT / "docs" / "commands.md")
    for (program, name), text in help_of.items():
        row_of = re.compile(rf"\| `{program} {name}[ `]")
        (line,) = filter(row_of.match, page.splitlines())
        options = set(re.findall(r"--[a-z-]+", text.partition("\nOptions:")[2])) - {"--help"}
        assert options == set(re.findall(r"--[a-z-]+", line)), f"{program} {name}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_command_that_a_page_shows_exists(page, help_of):
    for program, name, rest in SAID.findall("\n".join(re.findall(r"[`$] ?(.*)", text_of(page)))):
        if (program, name) not in help_of:
            continue
        for option in re.findall(r"--[a-z-]+", rest):
            assert option in help_of[program, name], f"{page.name}: {program} {name} {option}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_leads_somewhere(page):
    for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", text_of(page)):
        assert (page.parent / target).exists(), f"{page.name}: {target}"


def yaml_blocks():
    text = text_of(ROOT / "docs" / "configuration.md")
    return {
        yaml.safe_load(block).get("title", "benchlake.yaml"): block
        for block in re.findall(r"```yaml\n(.*?)```", text, re.DOTALL)
    }


@pytest.mark.parametrize("title", yaml_blocks())
def test_every_yaml_block_loads_as_written(title, tmp_path):
    block = yaml_blocks()[title]
    data = yaml.safe_load(block)
    if "case_id" in data:
        path = tmp_path / data["case_id"] / "test.yaml"
        path.parent.mkdir()
        path.write_text(block)
        assert load_case(path).problems == ()
    elif "agent_id" in data:
        path = tmp_path / data["agent_id"] / "agent.yaml"
        (path.parent / "workspace").mkdir(parents=True)
        path.write_text(block)
        assert load_agent_file(path).agent.title == title
    elif "evaluation_profile_id" in data:
        path = tmp_path / f"{data['evaluation_profile_id']}.yaml"
        path.write_text(block)
        loaded = load_evaluation_profile(str(path), tmp_path)
        assert (loaded.profile.title, loaded.warnings) == (title, ())
    elif title == "benchlake.yaml":
        (tmp_path / title).write_text(block)
        project = load_project_file(tmp_path)
        assert place_problems(project, frozenset(project.allowed_hosts)) == []
    else:
        path = tmp_path / "file.yaml"
        path.write_text(block)
        assert parse(Suite if "suite_id" in data else RunProfile, read_yaml(path)).title == title


def test_the_error_shown_in_the_readme_is_what_is_printed(tmp_path):
    subprocess.run([sys.executable, "-P", "-m", "collect", "init", tmp_path / "p"], check=True)
    case = tmp_path / "p" / "configs" / "cases" / "basics" / "exact_word" / "test.yaml"
    case.write_text(case.read_text().replace("type: exact", "type: exakt"))

    done = subprocess.run(
        [sys.executable, "-P", "-m", "collect", "plan", "--suite", "starter",
         "--run-profile", "demo"],
        cwd=tmp_path / "p", capture_output=True, text=True, check=False,
    )  # fmt: skip

    (shown,) = re.findall(
        r"^error: configs/(\S+): (.*)$", text_of(ROOT / "README.md"), re.MULTILINE
    )
    where, what = shown
    assert done.stderr.startswith(f"error: configs/{where}: ")
    for part in what.split("…"):
        assert part in done.stderr


def test_the_constraints_satisfy_what_the_project_asks_for():
    pins = dict(
        line.split("==")
        for line in text_of(ROOT / "constraints.txt").splitlines()
        if "==" in line and not line.startswith("#")
    )
    names = {name.lower() for name in pins}
    for requirement in requires("benchlake"):
        name = re.match(r"[A-Za-z0-9_-]+", requirement).group().lower()
        assert name in names, f"{name} has no pin in constraints.txt"
    assert not re.search(r"https?:|--(?:extra-)?index", text_of(ROOT / "constraints.txt"))


@pytest.fixture(scope="module")
def samples_root(tmp_path_factory):
    """Return a folder with a copy of the samples where the pages look for them."""
    folder = tmp_path_factory.mktemp("pages")
    shutil.copytree(
        ROOT / "data" / "samples" / "runs",
        folder / "data" / "samples" / "runs",
        ignore=shutil.ignore_patterns("lake"),
    )
    return folder


def names_of_the_python_of(page):
    """Run the Python of a page and return what it defined."""
    (block,) = re.findall(r"```python\n(.*?)```", text_of(ROOT / "docs" / page), re.DOTALL)
    names = {}
    exec(block, names)
    return names


def test_the_python_of_the_lakes_page_runs(samples_root, monkeypatch, capsys):
    monkeypatch.chdir(samples_root)

    names = names_of_the_python_of("lake.md")

    assert set(names["slow"]["run_id"]) == {"night_05_crowded"}
    assert {"broke", "fixed"} >= set(names["flips"]["direction"])
    assert 0 < names["passed"] <= 1
    assert "What is the capital of France?" in capsys.readouterr().out


def test_the_python_of_the_pages_of_charts_and_of_the_report_runs(samples_root, monkeypatch):
    monkeypatch.chdir(samples_root)

    drawn, reported = names_of_the_python_of("charts.md"), names_of_the_python_of("run-report.md")

    assert "careful" in str(drawn["best"].to_dict()["datasets"])
    assert "search_file" in str(drawn["cases"].to_dict()["datasets"])
    assert reported["report"].baseline[0].run_id == "night_09_reused"
    assert set(reported["models"]["model_id"]) == {"careful", "playful"}
