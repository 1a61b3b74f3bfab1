"""benchlake.yaml: where it is found, what it sets, and every mistake in it with its line."""

import hashlib
import re
from datetime import date
from pathlib import Path

import pytest

from schemas.config import prices as prices_module
from schemas.config.prices import packaged_prices
from schemas.config.project import (
    LoadedProject,
    ProjectFile,
    Thresholds,
    find_project_file,
    load_project_file,
)
from schemas.errors import ConfigError
from schemas.io.validation import parse
from schemas.io.yaml import read_yaml
from tests.support.paths import ROOT

TEXT = """\
schema_version: 1
thresholds:
  pass_rate_margin: 0.03
  tier_1_from: 0.9
prices:
  - model: team/model
    valid_from: 2026-05-01
    input_usd_per_million: 1
    output_usd_per_million: 2.5
allowed_hosts: [LLM.example.org, 10.0.0.7, llm.example.org]
"""


def problems(project, text):
    project.write("benchlake.yaml", text)
    with pytest.raises(ConfigError) as caught:
        load_project_file(project.root)
    return {(problem.key, problem.line): problem for problem in caught.value.problems}


def test_without_a_file_everything_is_the_default(project):
    assert load_project_file(project.root) == LoadedProject()
    assert LoadedProject().thresholds == Thresholds(
        pass_rate_margin=0.05,
        min_coverage=0.95,
        timeout_warning_share=0.05,
        alpha=0.05,
        power=0.8,
        tier_1_from=0.8,
        tier_2_from=0.5,
    )


def test_what_the_file_sets_and_what_it_leaves(project):
    path = project.write("benchlake.yaml", TEXT)

    loaded = load_project_file(project.root)

    assert loaded.path == path
    assert loaded.sha256 == hashlib.sha256(path.read_bytes()).hexdigest()
    assert loaded.thresholds == Thresholds(pass_rate_margin=0.03, tier_1_from=0.9)
    assert loaded.allowed_hosts == ("10.0.0.7", "llm.example.org")
    assert loaded.prices.find("team/model", date(2026, 5, 1)).output_usd_per_million == 2.5
    assert loaded.prices.find("gpt-4o", date(2026, 5, 1)).input_usd_per_million == 2.5


def test_loading_does_not_read_the_packaged_prices(project, monkeypatch):
    project.write("benchlake.yaml", TEXT)
    monkeypatch.setattr(prices_module, "files", lambda _: pytest.fail("read"))
    packaged_prices.cache_clear()

    assert load_project_file(project.root).prices.find("team/model", date(2026, 5, 1))


def test_the_nearest_file_upward_counts(project):
    outer = project.write("benchlake.yaml", TEXT)
    inner = project.write("deep/benchlake.yaml", "schema_version: 1\n")
    (project.root / "deep" / "er").mkdir()
    (project.root / "other").mkdir()

    assert find_project_file(project.root / "deep" / "er") == inner
    assert find_project_file(project.root / "other") == outer


def test_nothing_is_looked_for_above_a_repository(project):
    (project.root.parent / "benchlake.yaml").write_text(TEXT)
    (project.root / "sub").mkdir()

    assert find_project_file(project.root / "sub") is None


def test_a_relative_working_directory_is_looked_upward_from_too(project, monkeypatch):
    path = project.write("benchlake.yaml", TEXT)
    (project.root / "sub").mkdir()
    monkeypatch.chdir(project.root / "sub")

    assert find_project_file(Path()) == path


@pytest.mark.parametrize("kind", ["folder", "broken link"])
def test_what_is_no_file_is_reported_rather_than_passed_over(project, kind):
    path = project.root / "benchlake.yaml"
    path.mkdir() if kind == "folder" else path.symlink_to("nowhere.yaml")

    with pytest.raises(ConfigError, match=r"benchlake\.yaml"):
        load_project_file(project.root)


def test_every_problem_is_told_with_its_line(project):
    found = problems(
        project,
        "schema_version: 1\n"
        "thresholds:\n"
        "  pass_rate_margn: 0.1\n"
        "  alpha: 5\n"
        "prices:\n"
        "  - {model: a, valid_from: yesterday, input_usd_per_million: -1}\n"
        "allowed_hosts: ['https://a.example/v1']\n"
        "price: []\n",
    )

    assert found["thresholds.pass_rate_margn", 3].nearest == "pass_rate_margin"
    assert found["price", 8].nearest == "prices"
    assert "host name alone" in found["allowed_hosts[0]", 7].what
    assert found.keys() >= {
        ("thresholds.alpha", 4),
        ("prices[0].valid_from", 6),
        ("prices[0].input_usd_per_million", 6),
        ("prices[0].output_usd_per_million", 6),
    }


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "mapping"),
        ("thresholds: {}\n", "schema_version"),
        ("schema_version: 1\nthresholds: {tier_2_from: 0.9}\n", "tier_2_from"),
        ("schema_version: 1\nthresholds: {min_coverage: 1.2}\n", "min_coverage"),
        ("schema_version: 1\nallowed_hosts: ['*.example.org']\n", "host name alone"),
        ("schema_version: 1\nallowed_hosts: ['a.example:8000']\n", "host name alone"),
    ],
)
def test_what_contradicts_itself_is_refused(project, text, said):
    found = problems(project, text)

    assert any(said in str(problem) for problem in found.values())


def test_two_prices_of_one_model_and_day_are_refused(project):
    one = "{model: a, valid_from: 2026-01-01, input_usd_per_million: 1, output_usd_per_million: 1}"
    found = problems(project, f"schema_version: 1\nprices: [{one}, {one}]\n")

    assert "2 prices of `a` begin on 2026-01-01" in str(found["prices", 2])


def test_the_packaged_prices_are_written_as_a_user_would_write_them():
    source = read_yaml(prices_module.files("schemas").joinpath("defaults/prices.yaml"))

    assert parse(ProjectFile, source).prices == packaged_prices()


def test_the_file_shown_in_the_documentation_loads_as_written(project):
    page = (ROOT / "docs" / "planning.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"```yaml\n(.*?)```", page, re.DOTALL)
    project.write("benchlake.yaml", block)

    loaded = load_project_file(project.root)

    assert loaded.thresholds.pass_rate_margin == 0.03
    assert loaded.allowed_hosts == ("llm.example.org",)
    for name, default in Thresholds():
        (row,) = [line for line in page.splitlines() if f"`{name}`" in line and "|" in line]
        assert ("none" if default is None else f"{default:.2f}") in row
