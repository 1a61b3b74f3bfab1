"""`analyze compare` as people and programs read it: text, Markdown, JSON and the exit code."""

import json
import shlex

import pytest

from analyze.render.text import cells
from schemas.output.comparison import Comparison
from tests.support.analyze_cli import call, forked, process
from tests.support.compared_runs import Runs
from tests.support.histories import HOSTILE
from tests.support.interpreter import imported
from tests.support.two_nights import case_name, edited, night

pytestmark = pytest.mark.usefixtures("warm_engines")

STEADY = [3, 3, 2, 3, 0, 3, 1, 3, 3, 3] * 4
DROPPED = [1, 3, 0, 2, 0, 1, 1, 1, 3, 0] * 4


@pytest.fixture
def compare(tmp_path):
    """Return the command over the runs of this test."""
    return lambda *args, **more: call("compare", *args, "--runs", tmp_path / "runs", **more)


@pytest.fixture
def dropped(new_run):
    """Two nights with a real drop in between."""
    night(new_run, 0, STEADY)
    return night(new_run, 1, DROPPED)


def down(case, repetition, model_id):
    return {"failure_type": "http_503", "passed": None} if case >= 15 else {}


def test_what_happened_is_the_first_line_and_the_exit_code(compare, dropped):
    done = compare("previous", "latest")
    first, *_ = done.out.splitlines()

    assert done.code == 1
    assert first == "regressed: main 80.0 -> 40.0 (-40.0 points, 95 % -50.1 to -27.4, q <0.001)"
    assert "nothing that is known to change an answer differs" in done.out
    assert "packaged defaults" in done.out


def test_an_improvement_is_good_news(compare, dropped):
    done = compare("night_01", "night_00")

    assert done.out.startswith("improved: main 40.0 -> 80.0 (+40.0 points")
    assert done.code == 0


def test_an_outage_is_told_as_one_with_what_is_missing(compare, new_run):
    night(new_run, 0, STEADY)
    night(new_run, 1, STEADY, result=down)
    done = compare("night_00")
    first, second, *_ = done.out.splitlines()

    assert done.code == 3
    assert first == "not comparable: main"
    assert second.startswith("  candidate: only 37.5 % of the trials have a verdict")
    assert "100.0→37.5" in done.out
    assert "75 provider" in done.out
    assert "regressed" not in done.out


def test_one_comparable_model_is_enough_to_answer(compare, new_run):
    def one_down(case, repetition, model_id):
        return down(case, repetition, model_id) if model_id == "b" else {}

    night(new_run, 0, STEADY, models=("a", "b"))
    night(new_run, 1, STEADY, models=("a", "b"), result=one_down)
    done = compare("night_00")

    assert done.code == 0
    assert done.out.startswith("not comparable: b\n")


def test_an_edited_prompt_is_named_with_the_flag_that_takes_it_in(compare, new_run):
    night(new_run, 0, STEADY)
    night(new_run, 1, [0, 0, *STEADY[2:]], plan=edited(0, 1))
    done = compare("night_00")

    assert done.code == 0
    assert "case (what is asked or checked) differs in 2 of 40 cases" in done.out
    assert "--allow case takes them in" in done.out
    assert "case_000 (main), case_001 (main)" in done.out
    allowed = compare("night_00", "--allow", "settings", "--allow", "case")
    assert "differs in 2 of 40 cases, allowed" in allowed.out
    assert "left out" not in allowed.out


def test_cases_that_broke_come_first_with_commands_that_work(compare, dropped, tmp_path):
    done = compare("previous", "latest")
    runs = ("--runs", str(tmp_path / "runs"))
    (title,) = [n for n, line in enumerate(done.out.splitlines()) if line.startswith("change ")]
    first = done.out.splitlines()[title + 1].split()

    assert first[0] == "broke"
    assert "and 4 more: --by cell lists all" in done.out
    command = next(line for line in done.out.splitlines() if line.startswith("  analyze show"))
    words = shlex.split(command)
    assert words[1:5] == ["show", "night_00", first[1], "main"]
    assert words[5:] == list(runs)
    assert call(*words[1:]).code == 0


def test_every_cell_and_every_tag_on_request(compare, new_run):
    def tagged(case, repetition, model_id):
        return {"tags": ("math",) if case % 2 else ("code", "slow")}

    night(new_run, 0, STEADY, plan=tagged)
    night(new_run, 1, DROPPED, plan=tagged)
    cell, tag = compare("night_00", "--by", "cell"), compare("night_00", "--by", "tag")

    assert "more: --by cell" not in cell.out
    assert sum(line.startswith(("broke ", "worse ")) for line in cell.out.splitlines()) == 24
    lines = [line.split() for line in tag.out.splitlines()]
    (title,) = [n for n, words in enumerate(lines) if words[:1] == ["part"]]
    assert [words[:3] for words in lines[title + 1 : title + 4]] == [
        ["code", "main", "20"],
        ["math", "main", "20"],
        ["slow", "main", "20"],
    ]


@pytest.mark.parametrize("columns", [80, 120])
def test_text_fits_the_terminal(compare, new_run, columns):
    def one_down(case, repetition, model_id):
        return down(case, repetition, model_id) if model_id == "the-one-that-was-down" else {}

    models = ("a-model-with-a-long-name", "the-one-that-was-down")
    night(new_run, 0, STEADY, models=models)
    night(new_run, 1, DROPPED, models=models, plan=edited(3), result=one_down)
    done = compare("night_00", columns=columns)
    lines = [line for line in done.out.splitlines() if not line.startswith("  analyze show")]

    assert max(map(cells, lines)) <= columns
    assert done.code == 1


def test_markdown_says_the_same(compare, dropped):
    done = compare("night_00", "--format", "md")

    assert done.code == 1
    assert done.out.startswith("# Comparison\n\n- **regressed: main 80.0 → 40.0 (-40.0 points")
    assert "| model | cases | base% | cand% | points | 95 % | p | q | shows |" in done.out
    assert "| broke | " in done.out


def test_names_from_outside_are_text_in_every_form(compare, new_run):
    def serves(name):
        return lambda case, repetition, model_id: {"served_model": name}

    night(new_run, 0, STEADY, result=serves("plain"))
    night(new_run, 1, DROPPED, result=serves(f"<b>|*x*{HOSTILE}"))

    markdown = compare("night_00", "--format", "md").out
    assert "&lt;b&gt;\\|\\*x\\*" in markdown
    assert "<b>" not in markdown
    for form in ("table", "md", "json"):
        done = compare("night_00", "--format", form)
        assert "x*" in done.out or "x\\*" in done.out
        assert "\x1b" not in done.out
        assert "\u202e" not in done.out


def test_json_is_the_record_unrounded(compare, dropped):
    done = compare("night_00", "--json")
    found = Comparison.model_validate_json(done.out)

    assert done.code == 1
    assert json.loads(done.out)["groups"][0]["verdict"] == "regressed"
    assert found.groups[0].difference.difference == pytest.approx(-0.4, abs=1e-12)
    assert found.cases[0].case_id in {case_name(n) for n in range(40)}
    assert compare("night_00", "--format", "json").out == done.out


def test_without_a_model_on_both_sides_there_is_nothing_to_judge(compare, new_run):
    night(new_run, 0, STEADY, models=("a",))
    night(new_run, 1, STEADY, models=("b",))
    done = compare("night_00", "night_01")

    assert done.code == 3
    assert done.out.startswith("nothing to compare: no model is on both sides")
    assert "only in the base: a" in done.out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("nigth_00",), "did you mean `night_00`"),
        (("night_00", "--allow", "setings"), "did you mean `settings`"),
        (("night_01", "night_01"), "on both sides"),
        (("night_00", "--model", "mian"), "mian"),
        (("night_00", "--json", "--format", "md"), "exclude each other"),
        (("night_00", "--by", "case"), "'case' is not one of"),
    ],
)
def test_mistakes_are_usage_errors_that_name_a_way(compare, dropped, words, said):
    done = compare(*words)

    assert done.code == 2
    assert said in done.err


def test_runs_without_a_model_in_common_are_told_the_command_that_compares_two(new_run, compare):
    runs = Runs(new_run)
    runs.add("mon", 0, models=("m2", "m1"))
    runs.add("tue", 1, models=("n1", "n2"))

    done = compare("mon", "tue", columns=300)
    assert done.code == 3
    assert "nothing to compare: no model is on both sides" in done.out
    (line,) = [line for line in done.out.splitlines() if line.startswith("  analyze compare")]
    assert "--model m1 --against n1" in line
    assert shlex.join(shlex.split(line)[1:]) in compare("mon", "tue", "--format", "md").out.replace(
        "\\", ""
    )

    two = call(*shlex.split(line)[1:], "--json")
    assert [group["verdict"] for group in json.loads(two.out)["groups"]] != []
    assert json.loads(two.out)["next_command"] is None


def test_the_projects_own_thresholds_are_used_and_named(new_run, dropped, tmp_path):
    (tmp_path / "benchlake.yaml").write_text(
        "schema_version: 1\nthresholds:\n  pass_rate_margin: 0.6\n  alpha: 0.000000001\n"
    )
    done = forked("compare", "previous", "latest", cwd=tmp_path, COLUMNS="1000")

    assert done.code == 0
    assert done.out.startswith("inconclusive: main 80.0 -> 40.0")
    assert "margin 60.0 points" in done.out
    assert "benchlake.yaml" in done.out
    assert f"analyze show night_00 {case_name(2)} main\n" in done.out.replace(" && ", "\n")


def test_as_a_process_of_its_own_it_loads_no_more_than_it_needs(dropped, tmp_path):
    forked("sync", cwd=tmp_path)
    done = process("compare", "previous", "latest", cwd=tmp_path, PYTHONPROFILEIMPORTTIME="1")
    loaded = imported(done.err)

    assert done.code == 1
    assert "schemas.output.comparison" in loaded
    assert not loaded & {"numpy", "scipy", "polars", "altair", "pyarrow", "yaml", "pandas"}
