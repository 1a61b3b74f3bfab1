"""The recipes that stand whole in docs/dev/extending.md, carried out in a copy of the code."""

import json
import os
import re
import shutil
import subprocess
import sys

import pytest
from pydantic import TypeAdapter, ValidationError

from analyze.charts.registry import CHARTS
from analyze.cli import SECTIONS
from schemas.config.validators import Validator
from tests.support.paths import ROOT

pytestmark = pytest.mark.docs

PAGE = ROOT / "docs" / "dev" / "extending.md"
PACKAGES = ("analyze", "collect", "schemas")
RUNS = ("night_01", "night_07_outage")

SECTION = re.compile(r"^## (.+)\n((?:(?!## ).*\n)*)", re.MULTILINE)
BLOCK = re.compile(r"^```(diff|python)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
FILE = re.compile(r"(?:`|\*\*)((?:analyze|collect|schemas)/[\w/]+\.py)(?:`|\*\*)")
"""A file that is there in backticks, a new one in bold."""

STARTS = {"type": "starts_with", "value": "Yes"}

CARRIED_OUT = f"""
import asyncio, json
from pydantic import TypeAdapter
from typer.testing import CliRunner
from analyze.cli import app_for
from collect.checks import judge
from schemas.config.validators import Validator

def call(*words):
    done = CliRunner().invoke(app_for(words), words, catch_exceptions=False)
    return done.exit_code, done.stdout

validator = TypeAdapter(Validator).validate_python({STARTS!r})
answers = ("Yes, it is.", "No.")
print(json.dumps({{
    "verdicts": [asyncio.run(judge(validator, one)).objective_pass for one in answers],
    "chart": call("chart", "coverage", "night_01", "--output", "coverage.svg"),
    "command": call("failures", "night_07_outage"),
    "help": call("--help")[1],
}}))
"""


def steps():
    """Return each file with what a recipe does to it: its path, `diff` or `python`, the block."""
    found = []
    for _, section in SECTION.findall(PAGE.read_text(encoding="utf-8")):
        for block in BLOCK.finditer(section):
            (*_, path) = FILE.findall(section[: block.start()])
            found.append((path, *block.groups()))
    return found


def changed(text, diff):
    """Return a text with a diff done to the one place that it fits."""
    lines = diff.splitlines(keepends=True)
    before = "".join(line[1:] or line for line in lines if line[0] != "+")
    after = "".join(line[1:] or line for line in lines if line[0] != "-")
    assert text.count(before) == 1, f"fits {text.count(before)} places:\n{before}"
    return text.replace(before, after)


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """Return a folder with the code as the recipes leave it, and two runs of the samples."""
    place = tmp_path_factory.mktemp("recipes")
    for name in PACKAGES:
        shutil.copytree(ROOT / name, place / name)
    shutil.copy(ROOT / "pyproject.toml", place)
    for name in RUNS:
        shutil.copytree(ROOT / "data" / "samples" / "runs" / name, place / "runs" / name)
    for path, kind, block in steps():
        target = place / path
        text = block if kind == "python" else changed(target.read_text(encoding="utf-8"), block)
        assert target.exists() == (kind == "diff"), path
        target.write_text(text, encoding="utf-8")
    return place


def test_the_recipes_work_as_they_stand(place):
    env = os.environ | {"PYTHONPATH": str(place), "COLUMNS": "100"}
    done = subprocess.run(
        [sys.executable, "-P", "-c", CARRIED_OUT],
        cwd=place, env=env, capture_output=True, text=True, check=False,
    )  # fmt: skip

    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["verdicts"] == [True, False]
    assert found["chart"] == [0, "coverage.svg\n"]
    words = re.findall(r">([^<>]+)</text>", (place / "coverage.svg").read_text(encoding="utf-8"))
    assert {
        "Coverage",
        "trials with a verdict",
        "SmolLM2 135M, greedy",
        "SmolLM2 135M, sampled",
    } <= set(words)
    code, table = found["command"]
    assert code == 0
    assert table.split()[:3] == ["model", "reason", "trials"]
    assert "connection_error" in table
    assert re.search(r"^ +failures +Count the trials of a run", found["help"], re.MULTILINE)


def test_the_recipes_are_in_the_house_style(place):
    files = sorted({str(place / path) for path, *_ in steps()})
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
    assert not any("failures" in names for names in SECTIONS.values())


def test_a_diff_that_fits_nowhere_or_twice_is_refused():
    assert changed("a\nb\nc\n", " a\n+x\n b\n") == "a\nx\nb\nc\n"
    for text in ("b\n", "a\nb\na\nb\n"):
        with pytest.raises(AssertionError, match="places"):
            changed(text, " a\n+x\n b\n")
