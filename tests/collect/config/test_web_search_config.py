"""Where `web_search` may ask, and what is said when a case offers it and nobody says where."""

from dataclasses import replace
from pathlib import Path

import pytest

from collect.commands.validate import validate_paths
from collect.config import load_inputs
from collect.config.cases import load_case
from collect.config.tools.web_search import (
    LINES,
    answer_problem,
    offers_search,
    search_url,
    web_search_problems,
)
from schemas.config.project import LoadedProject, load_project_file
from schemas.errors import ConfigError

URL = "https://search.example.org/search"
OFFER = {"llm_probe": {"tools": ["exec_shell", "web_search"]}}


def offering(project, **fields):
    """Return a case that offers the tool, as if its trials could be made."""
    messages = [{"role": "user", "content": "x"}]
    path = project.case(input={"messages": messages, "context": OFFER}, **fields)
    return replace(load_case(path).case, unavailable=None, unbuilt=())


def configured(project, url=URL, **fields):
    search = {"web_search": {"url": url}}
    project.write("benchlake.yaml", {"schema_version": 1, "tools": search} | fields)
    return load_project_file(project.root)


def problems(loaded, *cases, hosts=()):
    return web_search_problems(loaded, frozenset((*loaded.allowed_hosts, *hosts)), cases)


# ---- a case offers it


def test_a_case_without_the_tool_needs_no_address(project):
    case = load_case(project.case()).case

    assert not offers_search(case)
    assert problems(LoadedProject(), case) == []


def test_a_project_without_a_file_is_told_what_to_write(project):
    case = offering(project)

    (problem,) = problems(load_project_file(project.root), case)

    assert problem.path == case.folder / "test.yaml"
    assert problem.key == "input.context.llm_probe.tools"
    assert problem.line == 12
    assert problem.what == "`web_search` is offered, and no benchlake.yaml says where to search"
    assert (
        problem.advice == f"add to benchlake.yaml beside `configs`: schema_version: 1, and {LINES}"
    )


def test_a_file_without_the_tool_is_told_which_line_is_missing(project):
    project.write("benchlake.yaml", {"schema_version": 1})

    (problem,) = problems(load_project_file(project.root), offering(project))

    assert "benchlake.yaml does not say where to search" in problem.what
    assert problem.advice == f"add to benchlake.yaml: {LINES}"


def test_the_lines_that_are_shown_are_enough(project):
    project.write("benchlake.yaml", f"schema_version: 1\n{LINES}\n")

    assert problems(load_project_file(project.root), offering(project)) == []


def test_every_case_is_named(project):
    cases = [offering(project, case_id="one"), load_case(project.case("two")).case]
    cases.append(replace(offering(project, case_id="one"), folder=None, case_id="three"))

    first, second = problems(LoadedProject(), *cases)

    assert first.path.parent.name == "one"
    assert second.what.startswith("case `three`: ")


def test_a_case_whose_trials_are_not_made_searches_nothing(project):
    case = replace(offering(project), unavailable="not part of this version")

    assert problems(LoadedProject(), case) == []


def test_a_tool_of_another_runner_is_not_offered(project):
    assert not offers_search(replace(offering(project), runner_type="openclaw"))


# ---- where it may ask


@pytest.mark.parametrize(
    "url",
    ["http://127.0.0.1:8888/search", "http://localhost/search", "http://[::1]:8080/search"],
)
def test_this_machine_is_always_allowed(project, url):
    assert problems(configured(project, url), offering(project)) == []


def test_another_host_is_allowed_by_name(project):
    case = offering(project)

    (problem,) = problems(configured(project), case)

    assert problem.path == project.root / "benchlake.yaml"
    assert (problem.key, problem.line) == ("tools.web_search.url", 4)
    assert problem.what == "`search.example.org` may not be asked yet"
    assert problem.found == f"`{URL}`"
    assert "--allow-host search.example.org" in problem.advice
    assert problems(configured(project), case, hosts=["search.example.org"]) == []
    assert problems(configured(project, allowed_hosts=["Search.Example.org"]), case) == []
    assert problems(configured(project, allowed_hosts=["example.org"]), case) != []


def test_a_host_that_nobody_would_ask_needs_no_leave(project):
    assert problems(configured(project), load_case(project.case()).case) == []


@pytest.mark.parametrize(
    ("url", "what"),
    [
        ("http://search.example.org/search", "is asked over https only"),
        ("ftp://search.example.org/", "is not an http(s) URL"),
        ("search.example.org", "is not an http(s) URL"),
        ("https://me@search.example.org/", "holds a user name or password"),
        ("https://search.example.org/search?token=abc", "must end with its path"),
        ("https://search.example.org/Zq3xK9vTb2LmN8pRw7Yc/search", "looks like a key"),
    ],
)
def test_an_address_that_cannot_be_is_refused_whoever_asks(project, url, what):
    loaded = configured(project, url, allowed_hosts=["search.example.org"])

    (problem,) = problems(loaded)

    assert what in problem.what
    assert problem.key == "tools.web_search.url"
    if "key" in what or "password" in what or "path" in what:
        assert "me@" not in str(problem)
        assert "abc" not in str(problem)
        assert "Zq3" not in str(problem)


# ---- through the doors


def test_plan_and_run_refuse_an_address_that_cannot_be(project):
    project.case()
    configured(project, "http://search.example.org/search")

    with pytest.raises(ConfigError, match=r"tools\.web_search\.url.*over https only"):
        load_inputs("s", "p", working_dir=project.root)


def test_validate_names_it_once(project):
    project.case()
    configured(project, "http://search.example.org/search")

    found = validate_paths([Path()], project.root).problems

    assert ["over https only" in problem.what for problem in found] == [True]


def test_a_broken_file_says_nothing_of_what_it_does_not_configure(project):
    offering(project)
    project.write("benchlake.yaml", {"schema_version": 2})

    with pytest.raises(ConfigError) as caught:
        load_inputs("s", "p", working_dir=project.root)

    assert [problem.key for problem in caught.value.problems] == ["schema_version"]


# ---- what is asked and answered


def test_a_query_stays_one_parameter():
    url = search_url("https://h.example/search", "a&format=html#x y+z")

    assert url == "https://h.example/search?q=a%26format%3Dhtml%23x%20y%2Bz&format=json"


@pytest.mark.parametrize(
    ("status", "data", "problem"),
    [
        (200, {"results": []}, None),
        (200, {"results": [{}], "unresponsive_engines": [["a", "b"]]}, None),
        (200, {"results": [], "unresponsive_engines": [["a", "b"]]}, "a (b)"),
        (200, None, "no JSON"),
        (200, {}, "no JSON"),
        (301, {"results": []}, "no redirect is followed"),
        (403, None, "`search.formats`"),
        (429, None, "`server.limiter`"),
        (500, {"results": []}, "HTTP 500"),
    ],
)
def test_an_answer_is_a_list_of_results_or_says_why_not(status, data, problem):
    said = answer_problem(status, data)

    assert said is problem if problem is None else problem in said
