"""`analyze label`: names for runs."""

import json

import pytest

from tests.support import histories
from tests.support.analyze_cli import call, forked

pytestmark = pytest.mark.usefixtures("warm_engines")


@pytest.fixture
def runs(run):
    run.result(run.plan())
    run.write()
    return run.runs_dir


def labels(runs, run_id="run-1"):
    listed = json.loads(call("runs", "--runs", runs, "--json").out)
    return next(row["labels"] for row in listed if row["run_id"] == run_id)


def test_labels_are_given_once_and_taken_away(runs):
    assert call("label", "latest", "base", "week 1", "base", "--runs", runs).out == (
        "run-1: base, week 1\n"
    )
    call("label", "run-1", "base", "best", "--runs", runs)
    assert labels(runs) == ["base", "week 1", "best"]

    call("label", "label:best", "base", "week 1", "--remove", "--runs", runs)
    assert labels(runs) == ["best"]
    assert call("label", "run-1", "best", "--remove", "--runs", runs).out == "run-1: no labels\n"


def test_labels_stand_in_the_folder_too(runs):
    call("label", "run-1", "base", "--runs", runs)

    assert json.loads((runs / "run-1" / "config.json").read_text())["labels"] == ["base"]


def test_a_label_can_be_asked_for(runs):
    call("label", "run-1", "base", "--runs", runs)

    assert "label" in call("runs", "--runs", runs, "--label", "base", columns=200).out
    assert call("show", "label:base", "--runs", runs).code == 0


def test_a_run_in_the_lake_only_can_be_labelled(run):
    run.result(run.plan())
    run.write()
    histories.lake_only(run)

    assert call("label", "run-1", "theirs", "--runs", run.runs_dir).code == 0
    assert labels(run.runs_dir) == ["theirs"]


@pytest.mark.parametrize("name", ["", "  ", "a\x1b[2J", "two\nlines"])
def test_what_no_label_can_be_is_a_usage_error(runs, name):
    done = call("label", "run-1", name, "--runs", runs)

    assert done.code == 2
    assert "\x1b" not in done.err
    assert labels(runs) == []


def test_taking_away_what_is_not_there_names_the_nearest(runs):
    call("label", "run-1", "nightly", "--runs", runs)
    done = call("label", "run-1", "nightli", "--remove", "--runs", runs)

    assert done.code == 2
    assert "did you mean `nightly`?" in done.err


def test_as_a_process_of_its_own(runs):
    done = forked("label", "latest", "base", cwd=runs.parent)

    assert (done.code, done.out) == (0, "run-1: base\n")
