"""Charts of real runs: what they show, that text stays text, and what the command refuses."""

import json
import re
import shutil
from pathlib import Path
from typing import get_args

import polars as pl
import pytest
import vl_convert

from analyze.charts.drawn import CHARTS
from analyze.charts.frontier import frontier
from analyze.charts.leaderboard import leaderboard
from analyze.charts.matrix import matrix
from analyze.commands.chart import Name
from tests.analyze_cli import call

ROOT = Path(__file__).parents[2]
HOSTILE = '<script>alert(1)</script>"]{{7*7}}\u202e'


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    runs = tmp_path_factory.mktemp("charts") / "runs"
    shutil.copytree(ROOT / "data" / "samples" / "runs", runs, ignore=shutil.ignore_patterns("lake"))
    return runs


@pytest.fixture
def draw(runs, tmp_path, monkeypatch):
    """Draw a chart by the command and return the picture's text."""
    monkeypatch.chdir(tmp_path)

    def command(name, run="night_10_setting", *options):
        done = call("chart", name, run, "-o", "chart.svg", "--force", "--runs", runs, *options)
        assert done.err == ""
        assert done.out == "chart.svg\n"
        return (tmp_path / "chart.svg").read_text(encoding="utf-8")

    return command


def said(picture):
    """Return the texts of an SVG."""
    return re.findall(r"<text[^>]*>([^<]*)</text>", picture)


def svg_of(chart):
    return vl_convert.vegalite_to_svg(json.loads(chart.to_json()))


def test_the_command_knows_every_chart():
    assert set(get_args(Name)) == set(CHARTS)


@pytest.mark.parametrize("name", [name for name in CHARTS if name != "comparison"])
def test_a_chart_names_every_model_of_the_run(draw, name):
    texts = said(draw(name, "night_07_outage" if name == "failures" else "night_10_setting"))

    assert {"careful", "playful"} <= set(texts)


def test_the_leaderboard_has_the_best_model_first_and_its_rate(draw):
    texts = said(draw("leaderboard"))

    assert texts.index("careful") < texts.index("playful")
    assert {"88%", "83%"} <= set(texts)


def test_the_matrix_counts_repetitions_and_begins_with_the_hardest_case(draw):
    texts = said(draw("matrix"))

    assert texts.count("0/3") == 2
    assert texts.count("2/3") == 1
    assert texts.index("search_file") < texts.index("list_files") < texts.index("exact_word")


def test_the_bounds_of_tiers_are_those_of_the_run(draw, runs):
    path = runs / "night_03_prompt" / "config.json"
    config = json.loads(path.read_text())
    config["thresholds"]["tier_1_from"] = 0.93
    path.write_text(json.dumps(config))

    assert any("tier 1 from 93%" in text for text in said(draw("tiers", "night_03_prompt")))
    assert any("tier 1 from 80%" in text for text in said(draw("tiers", "night_01")))


def test_a_comparison_says_its_verdict(draw):
    texts = said(draw("comparison", "night_02", "--baseline", "night_01"))

    assert {"inconclusive", "unchanged"} & set(texts)


def test_the_baseline_is_the_one_that_is_named(runs, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    asked = ("chart", "comparison", "night_02", "-o", "c.svg", "--runs", runs, "--baseline")

    assert "nosuch" in call(*asked, "nosuch").err
    assert "can be compared with the baseline" in call(*asked, "older_tool").err


def test_a_lake_is_drawn_as_it_is_when_asked(tmp_path, monkeypatch, runs):
    monkeypatch.chdir(tmp_path)
    shutil.copytree(runs / "night_01", tmp_path / "runs" / "night_01")

    assert call("chart", "tiers", "-o", "t.svg", "--no-sync").code == 2
    assert call("chart", "tiers", "-o", "t.svg").code == 0


def test_a_picture_can_be_pixels(runs, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    assert call("chart", "tiers", "night_01", "-o", "t.PNG", "--runs", runs).code == 0
    assert (tmp_path / "t.PNG").read_bytes().startswith(b"\x89PNG")


def test_names_are_only_text():
    models = pl.DataFrame(
        {
            "model_id": [HOSTILE, "plain"], "passed_rate": [0.5, 0.4],
            "passed_ci95_low": [0.3, None], "passed_ci95_high": [0.7, None],
            "passed_ci95_n_trials": [9, None], "passed_ci95_n_cases": [9, None],
        }
    )  # fmt: skip
    picture = svg_of(leaderboard(models))

    assert "<script" not in picture
    assert any("alert(1)" in text for text in said(picture))


def test_a_cell_without_a_verdict_is_no_rate():
    cells = pl.DataFrame(
        {
            "case_id": ["a", "b"], "model_id": ["m", "m"], "n_planned": [2, 2],
            "n_scored": [0, 2], "n_passed": [0, 1], "passed_rate": [None, 0.5],
        }
    )  # fmt: skip
    texts = said(svg_of(matrix(cells)))

    assert {"–", "1/2"} <= set(texts)


def test_a_suite_too_long_for_a_picture_shows_its_hardest_cases():
    n = 6_000
    cells = pl.DataFrame(
        {
            "case_id": [f"case-{i}" for i in range(n)], "model_id": ["m"] * n, "n_planned": [1] * n,
            "n_scored": [1] * n, "n_passed": [int(i != 77) for i in range(n)],
            "passed_rate": [float(i != 77) for i in range(n)],
        }
    )  # fmt: skip
    texts = said(svg_of(matrix(cells)))

    assert texts.count("0/1") == 1
    assert texts.count("1/1") == 119
    assert any("120 of 6,000 cases" in text for text in texts)


def test_a_free_model_is_drawn_too():
    models = pl.DataFrame(
        {
            "model_id": ["free", "paid"], "cost_usd_per_scored": [0.0, 0.01],
            "passed_rate": [0.5, 0.9], "passed_ci95_low": [0.3, 0.8],
            "passed_ci95_high": [0.7, 0.95], "e2e_ms_mean": [100.0, None],
            "is_on_frontier": [True, True],
        }
    )  # fmt: skip
    texts = said(svg_of(frontier(models)))

    assert {"free", "paid", "USD per trial with a verdict, linear scale"} <= set(texts)
    assert svg_of(frontier(models)).count('aria-roledescription="point"') == 2


def test_the_example_of_the_page_draws(runs):
    (code,) = re.findall(
        r"```python\n(.*?)```", (ROOT / "docs" / "charts.md").read_text(), re.DOTALL
    )
    names = {}

    exec(code.replace("data/samples", str(runs)), names)

    assert "careful" in said(svg_of(names["best"]))
    assert "search_file" in said(svg_of(names["cases"]))


def test_what_cannot_be_drawn_is_one_sentence(runs, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    none = call("chart", "frontier", "older_tool", "-o", "a.svg", "--runs", runs)
    assert (none.code, none.out) == (1, "")
    assert "no trial of it has a verdict and a known cost" in none.err

    kind = call("chart", "tiers", "-o", "a.pdf", "--runs", runs)
    assert kind.code == 2
    assert "ends in .svg or .png" in kind.err

    (tmp_path / "there.svg").write_text("mine")
    there = call("chart", "tiers", "night_01", "-o", "there.svg", "--runs", runs)
    assert there.code == 2
    assert "--force" in there.err
    assert (tmp_path / "there.svg").read_text() == "mine"

    (tmp_path / "link.svg").symlink_to("there.svg")
    assert call("chart", "tiers", "-o", "link.svg", "--force", "--runs", runs).code == 2
    assert sorted(path.name for path in tmp_path.iterdir()) == ["link.svg", "there.svg"]
