"""`analyze runs`: the list of every run, on terminals of any width."""

import json

import pytest

from analyze.render.text import cells
from tests.support import histories
from tests.support.analyze_cli import call, process

pytestmark = pytest.mark.usefixtures("warm_engines")

START = 1_763_762_400_000


@pytest.fixture(scope="module")
def history(shared_run):
    runs = histories.everything(shared_run, START)
    return runs["clean"].runs_dir


def listed(history, *args):
    done = call("runs", "--runs", history, "--json", *args)
    assert done.code == 0
    return {run["run_id"]: run for run in json.loads(done.out)}


def test_runs_stand_newest_first(history):
    assert list(listed(history)) == [
        "20251103_100000", "20251102_090000", "20251101_080000", "20251025_080000",
        "20251020_elsewhere", "20250101_000000",
    ]  # fmt: skip


@pytest.mark.parametrize("columns", [80, 100, 200])
def test_list_fits_the_terminal_and_cuts_no_run_id(history, columns):
    done = call("runs", "--runs", history, columns=columns)

    assert max(map(cells, done.out.splitlines())) <= columns
    assert all(run_id in done.out for run_id in listed(history))


def test_missing_and_failed_trials_are_seen(history):
    run = listed(history)["20251102_090000"]

    assert (run["n_total"], run["n_planned"], run["n_missing"], run["n_failed"]) == (10, 12, 2, 8)
    for columns in (80, 100, 200):
        text = call("runs", "--runs", history, columns=columns).out
        assert "2 missing, 8 failed" in text
        assert "10/12" in text


def test_cost_says_of_how_many_trials_it_is_known(history):
    text = call("runs", "--runs", history, columns=200).out

    assert "0.0600 (6/10)" in text
    assert listed(history)["20251103_100000"]["cost_usd"] is None


def test_a_run_without_anything_to_judge_by_has_no_rate(history):
    run = listed(history)["20251103_100000"]

    assert (run["n_scorable"], run["passed_rate"], run["coverage"]) == (0, None, None)
    assert run["passed_ci95"] is None


def test_runs_of_other_tools_and_other_machines_are_marked(history):
    runs = listed(history)
    text = call("runs", "--runs", history, columns=200).out

    assert [name for name, run in runs.items() if run["is_imported"]] == ["20250101_000000"]
    assert [name for name, run in runs.items() if not run["has_folder"]] == ["20251020_elsewhere"]
    assert text.count("imported") == 2  # its suite and its mark
    assert text.count("in the lake only") == 1


def test_interval_takes_a_case_as_one_draw_however_many_models_were_asked(history):
    interval = listed(history)["20251101_080000"]["passed_ci95"]

    assert (interval["n_cases"], interval["n_trials"]) == (30, 240)


def test_list_can_be_narrowed(history):
    assert set(listed(history, "--suite", "imported")) == {"20250101_000000"}
    assert set(listed(history, "--model", "local")) == {"20251102_090000"}
    assert set(listed(history, "--model", "acme/good", "--limit", "1")) == {"20251101_080000"}
    text = call("runs", "--runs", history, "--limit", "2").out
    assert text.endswith("and 4 older: --limit 0 lists all\n")


@pytest.mark.parametrize(
    ("option", "name", "near"),
    [("--suite", "smok", "smoke"), ("--model", "loca", "local"), ("--label", "x", "")],
)
def test_an_unknown_name_is_a_usage_error(history, option, name, near):
    done = call("runs", "--runs", history, option, name)

    assert done.code == 2
    assert f"`{name}`" in done.err
    assert near in done.err


def test_hostile_names_are_text(history):
    done = call("runs", "--runs", history, "--model", histories.HOSTILE)
    page = call("show", "latest", "--runs", history)

    assert done.code == 0
    assert "bad\\x1b[31m\\u202emodel" in page.out
    assert "\x1b" not in page.out + done.out


def test_as_a_process_on_a_pipe_every_run_is_one_whole_line(history):
    done = process("runs", cwd=history.parent, COLUMNS="")

    assert (done.code, done.err) == (0, "")
    lines = done.out.splitlines()
    assert len([line for line in lines if not line.startswith("   ")]) == 7
    assert len([line for line in lines if ": passed% " in line]) == 6
    assert "…" not in done.out


def test_without_runs_there_is_an_empty_list(tmp_path):
    (tmp_path / "runs").mkdir()

    assert call("runs", "--runs", tmp_path / "runs").out == "no runs\n"
    assert json.loads(call("runs", "--runs", tmp_path / "runs", "--json").out) == []
