"""`tools:` of benchlake.yaml: what may be written, what is left out, and what is refused."""

import pytest

from schemas.config.project import LoadedProject, load_project_file
from schemas.config.tools import WebSearchSettings
from schemas.errors import ConfigError
from tests.support.paths import ROOT

URL = "https://search.example.org/search"


def written(project, **fields):
    tools = {"web_search": {"url": URL} | fields}
    project.write("benchlake.yaml", {"schema_version": 1, "tools": tools})
    return load_project_file(project.root)


def refused(project, **fields):
    with pytest.raises(ConfigError) as caught:
        written(project, **fields)
    (problem,) = caught.value.problems
    return problem


def test_without_tools_nothing_is_searched(project):
    project.write("benchlake.yaml", {"schema_version": 1})

    assert load_project_file(project.root).web_search is None
    assert LoadedProject().web_search is None


def test_what_is_left_out_has_a_default(project):
    settings = written(project).web_search

    assert settings == WebSearchSettings(url=URL)
    assert (settings.max_results, settings.timeout_seconds, settings.blocked) == (5, 10.0, ())


def test_what_is_written_is_taken(project):
    fields = {"max_results": 20, "timeout_seconds": 2.5, "blocked": [" Some-Benchmark ", "h.co"]}

    settings = written(project, **fields).web_search

    assert (settings.max_results, settings.timeout_seconds) == (20, 2.5)
    assert settings.blocked == ("Some-Benchmark", "h.co")


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("max_results", 0),
        ("max_results", 21),
        ("max_results", "5"),
        ("max_results", True),
        ("timeout_seconds", 0),
        ("timeout_seconds", 121),
        ("url", ""),
        ("url", 7),
        ("blocked", "some-benchmark"),
    ],
)
def test_a_value_that_cannot_be_is_named_with_its_line(project, field, value):
    problem = refused(project, **{field: value})

    assert problem.key == f"tools.web_search.{field}"
    assert problem.line is not None


@pytest.mark.parametrize("term", ["", "-", "c++", "…", "x" * 201])
def test_a_blocked_word_that_would_block_everything_or_nothing_is_refused(project, term):
    assert refused(project, blocked=["fine", term]).key == "tools.web_search.blocked[1]"


def test_a_misspelt_tool_is_named_with_the_nearest(project):
    project.write("benchlake.yaml", {"schema_version": 1, "tools": {"websearch": {"url": URL}}})

    with pytest.raises(ConfigError, match=r"tools\.websearch.*did you mean `web_search`"):
        load_project_file(project.root)


@pytest.mark.parametrize(
    "url",
    [
        "https://me:hunter2hunter2@search.example.org/search",
        "https://search.example.org/search?key=sk-" + "a1" * 20,
    ],
)
def test_a_key_in_the_address_is_refused_and_not_repeated(project, url):
    problem = refused(project, url=url)

    assert "holds a key or a password" in problem.what
    assert "hunter2" not in str(problem)
    assert "a1a1" not in str(problem)


def test_the_defaults_are_those_of_the_page():
    page = (ROOT / "docs" / "configuration.md").read_text(encoding="utf-8")
    (most,) = [line for line in page.splitlines() if line.startswith("| `max_results`")]
    (limit,) = [line for line in page.splitlines() if line.startswith("| `timeout_seconds` | Wall")]

    assert most.endswith(f"1 to 20, {WebSearchSettings(url=URL).max_results} if left out |")
    assert limit.endswith(f"{WebSearchSettings(url=URL).timeout_seconds:g} if left out |")
