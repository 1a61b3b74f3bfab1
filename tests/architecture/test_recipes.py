"""The recipes of docs/dev/extending.md, all carried out in one copy of the code, and used."""

import csv
import json
import os
import re
import shutil
import subprocess
import sys

import pytest
from pydantic import TypeAdapter, ValidationError

from analyze.charts import CHARTS
from analyze.commands import COMMANDS
from schemas.config.validators import Validator
from tests.support.endpoint import Endpoint
from tests.support.paths import ROOT
from tests.support.project import Project
from tests.support.tool_endpoint import ToolModel

pytestmark = pytest.mark.docs

PAGE = ROOT / "docs" / "dev" / "extending.md"
PACKAGES = ("analyze", "collect", "schemas")
RUNS = ("night_01", "night_07_outage")

SECTION = re.compile(r"^## (.+)\n((?:(?!## ).*\n)*)", re.MULTILINE)
COST = re.compile(r"\n(No|\d) new files?, (\d) edited\.\n")
BLOCK = re.compile(r"^```(diff|python|sql)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
NEW_FILE = re.compile(r"\*\*((?:analyze|collect|schemas)/[\w/.]+)\*\*")
OF_FILE = re.compile(r"^--- (\S+)\n", re.MULTILINE)
BETWEEN = "@@\n"

STARTS = {"type": "starts_with", "value": "Yes"}
SHORT = {"check_id": "short", "declarative": {"kind": "final_response_within", "characters": 11}}

TAP = "1..2\nok 1 - a\nnot ok 2 - b\n"

TYPED = (
    ("make", "schemas"),
    ("collect", "run", "--suite", "s", "--run-profile", "p", "--run-id", "asked"),
    ("analyze", "sql", "--format", "csv", "select case_id, passed, checks_failed, violation, "
     "wall_ms >= e2e_ms as whole from results where run_id = 'asked' order by case_id"),
    ("analyze", "sql", "--format", "csv", "select count(*) as n, count(wall_ms) as n_whole "
     "from results where run_id = 'night_01'"),
    ("analyze", "sql", "--format", "csv", "select case_id, e2e_ms_max >= 0 as took "
     "from case_times where run_id = 'asked' order by case_id"),
    ("analyze", "report", "--run", "asked", "--baseline", "none", "--output", "page.html"),
    ("analyze", "import", "tap", "night.tap"),
    ("analyze", "sql", "--format", "csv",
     "select case_id, passed from results where run_id = 'night' order by case_id"),
    ("analyze", "export", "tap", "night", "--output", "again.tap"),
    ("analyze", "chart", "coverage", "night_01", "--output", "coverage.svg"),
    ("analyze", "failures", "night_07_outage"),
    ("analyze", "--help"),
)  # fmt: skip
"""What somebody types who has followed every recipe, each in its turn."""

CARRIED_OUT = """
import json, sys
from typer.testing import CliRunner

def call(command, *words):
    if command == "make":
        from schemas.publish import main
        return main([]), "", ""
    if command == "collect":
        from collect.cli import app
    else:
        from analyze.cli import app_for
        app = app_for(words)
    done = CliRunner().invoke(app, words, catch_exceptions=False)
    return done.exit_code, done.stdout, done.stderr

print(json.dumps([call(*words) for words in json.loads(sys.argv[1])]))
"""


def parts_of(kind, block, before):
    """Return the files of a block: path, whether it is new, and what it holds or each change."""
    if kind != "diff":
        return [(NEW_FILE.findall(before)[-1], True, [block])]
    _, *parts = OF_FILE.split(block)
    return [
        (path, False, hunks.split(BETWEEN))
        for path, hunks in zip(parts[::2], parts[1::2], strict=True)
    ]


def recipes():
    """Return each recipe's text by its title, with the files that it makes or changes."""
    found = {}
    for title, text in SECTION.findall(PAGE.read_text(encoding="utf-8")):
        blocks = BLOCK.finditer(text)
        found[title] = (text, [p for b in blocks for p in parts_of(*b.groups(), text[: b.start()])])
    return found


def changed(text, hunk):
    """Return a text with a change done to the one place that it fits."""
    lines = hunk.splitlines(keepends=True)
    before = "".join(line[1:] or line for line in lines if line[0] != "+")
    after = "".join(line[1:] or line for line in lines if line[0] != "-")
    assert text.count(before) == 1, f"fits {text.count(before)} places:\n{before}"
    return text.replace(before, after)


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """Return a folder with the code as the recipes leave it, and two runs of the samples."""
    place = tmp_path_factory.mktemp("recipes")
    for name in PACKAGES:
        shutil.copytree(ROOT / name, place / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", place)
    for name in RUNS:
        shutil.copytree(ROOT / "data" / "samples" / "runs" / name, place / "runs" / name)
    for _, files in recipes().values():
        for path, is_new, hunks in files:
            target = place / path
            assert target.exists() != is_new, path
            text = hunks[0] if is_new else target.read_text(encoding="utf-8")
            for hunk in () if is_new else hunks:
                text = changed(text, hunk)
            target.write_text(text, encoding="utf-8")
    return place


@pytest.fixture(scope="module")
def typed(place):
    """Return what each command of `TYPED` said, and the requests that the run made."""
    endpoint = Endpoint()
    endpoint.script = ToolModel([("word_count", {"text": "it is so"})], text="Yes, it is.")
    (place / "night.tap").write_text(TAP, encoding="utf-8")
    project = Project(place)
    model = {"model_id": "m", "provider": "mistral_chat", "requested_model": "small"}
    project.suite(models=[model | {"base_url": endpoint.base_url}])
    project.profile(runner_defaults={"seed": 7})
    project.case("begins", validator=STARTS, deterministic_checks=[SHORT])
    project.case("long", validator=STARTS | {"value": "No"}, deterministic_checks=[
        {"check_id": "short", "declarative": SHORT["declarative"] | {"characters": 10}},
    ])  # fmt: skip
    project.case("twice", validator=STARTS, runner={"type": "self_check"})
    counting = {"llm_probe": {"tools": ["word_count"]}}
    messages = [{"role": "user", "content": "Count."}]
    project.case("counted", validator=STARTS, input={"messages": messages, "context": counting})
    done = subprocess.run(
        [sys.executable, "-P", "-c", CARRIED_OUT, json.dumps(TYPED)],
        cwd=place, env=os.environ | {"PYTHONPATH": str(place), "COLUMNS": "100"},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    endpoint.close()
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    for words, (code, _, stderr) in zip(TYPED, said, strict=True):
        assert code == 0, (words, stderr)
    return [stdout for _, stdout, _ in said], endpoint.requests


def rows(text):
    return list(csv.reader(text.splitlines()))[1:]


def test_a_provider_a_runner_a_tool_a_validator_and_a_check_judge_a_run(typed):
    (_, ran, answered, *_), requests = typed

    assert "4 of 4 trials, 3 passed" in ran
    assert [request.body["random_seed"] for request in requests] == [7] * 6
    assert sorted(len(request.body["messages"]) for request in requests) == [1, 1, 1, 1, 3, 3]
    (result,) = [
        json.loads(message["content"])
        for request in requests
        for message in request.body["messages"]
        if message["role"] == "tool"
    ]
    assert result == {"status": "success", "output": {"words": 3}}
    assert not any({"seed", "stream_options"} & request.body.keys() for request in requests)
    assert [row[:4] for row in rows(answered)] == [
        ["begins", "true", "0", ""],
        ["counted", "true", "0", ""],
        ["long", "false", "1", "other_beginning want='No'"],
        ["twice", "true", "0", ""],
    ]


def test_a_column_is_in_the_log_the_lake_and_a_view(place, typed):
    _, _, answered, before, *_ = typed[0]
    log = (place / "runs" / "asked" / "results.jsonl").read_text(encoding="utf-8")
    lines = [json.loads(line) for line in log.splitlines()]

    assert [row[4] for row in rows(answered)] == ["true"] * 4
    assert all(one["wall_ms"] >= 0 for one in lines if one["record_type"] == "result")
    assert [n for n, n_whole in rows(before) if n != "0" and n_whole == "0"], "null of older rows"


def test_a_mart_can_be_asked(typed):
    assert [row[0] for row in rows(typed[0][4])] == ["begins", "counted", "long", "twice"]
    assert {row[1] for row in rows(typed[0][4])} == {"true"}


def test_a_section_stands_in_the_page(place, typed):
    page = (place / "page.html").read_text(encoding="utf-8")
    section = page.partition('<section id="endings"')[2].partition("</section>")[0]

    assert typed[0][5] == "page.html\n"
    assert '<a href="#endings">Why answers ended</a>' in page.partition("<main")[0]
    assert re.sub(r"<[^>]+>", " ", section).split()[-3:] == ["m", "stop", "4"]
    assert "As the server said it" in section, "the meaning of its column"


def test_a_format_is_read_and_written(place, typed):
    _, answered, written = typed[0][6:9]

    assert rows(answered) == [["a", "true"], ["b", "false"]]
    assert written == "again.tap\n"
    assert (place / "again.tap").read_text(encoding="utf-8") == TAP


def test_a_chart_is_drawn(place, typed):
    words = re.findall(r">([^<>]+)</text>", (place / "coverage.svg").read_text(encoding="utf-8"))

    assert typed[0][9] == "coverage.svg\n"
    assert {
        "Coverage",
        "trials with a verdict",
        "SmolLM2 135M, greedy",
        "SmolLM2 135M, sampled",
    } <= set(words)


def test_a_command_answers_and_is_in_the_help(typed):
    table, usage = typed[0][10:]

    assert table.split()[:3] == ["model", "reason", "trials"]
    assert "connection_error" in table
    assert re.search(r"^ +failures +Count the trials of a run", usage, re.MULTILINE)


@pytest.mark.parametrize("title", recipes())
def test_a_recipe_costs_what_stands_at_its_head(title):
    text, files = recipes()[title]
    new, edited = COST.match(text).groups()

    assert len({path for path, is_new, _ in files if is_new}) == int(new.replace("No", "0"))
    assert len({path for path, is_new, _ in files if not is_new}) == int(edited)


def test_the_recipes_are_in_the_house_style(place):
    paths = {path for _, files in recipes().values() for path, *_ in files}
    files = sorted(str(place / path) for path in paths if path.endswith(".py"))
    for words in (("check",), ("format", "--check")):
        done = subprocess.run(
            [sys.executable, "-m", "ruff", *words, "--no-cache", *files],
            cwd=place, capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout + done.stderr


def test_what_the_recipes_add_is_not_there_without_them():
    with pytest.raises(ValidationError, match="starts_with"):
        TypeAdapter(Validator).validate_python(STARTS)
    assert "coverage" not in CHARTS
    assert "failures" not in COMMANDS


def test_a_diff_that_fits_nowhere_or_twice_is_refused():
    assert changed("a\nb\nc\n", " a\n+x\n b\n") == "a\nx\nb\nc\n"
    for text in ("b\n", "a\nb\na\nb\n"):
        with pytest.raises(AssertionError, match="places"):
            changed(text, " a\n+x\n b\n")
