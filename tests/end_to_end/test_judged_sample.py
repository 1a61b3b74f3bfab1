"""The committed judged run and its labels: free of the machine, whole, and as told."""

import csv
import json
import runpy
import shutil

import pytest

from tests.support.analyze_cli import call
from tests.support.paths import ROOT

JUDGED = ROOT / "data" / "judged"


@pytest.fixture
def runs(tmp_path):
    shutil.copytree(JUDGED / "runs", tmp_path / "runs", ignore=shutil.ignore_patterns("lake"))
    return tmp_path / "runs"


def test_nothing_of_the_machine_that_made_it_is_in_it():
    leaks = runpy.run_path(str(ROOT / "data" / "samples" / "scrub.py"))["leaks"]

    assert leaks(JUDGED / "runs") == []
    files = [
        path for path in JUDGED.rglob("*") if path.is_file() and "__pycache__" not in path.parts
    ]
    assert sum(path.stat().st_size for path in files) < 400_000


def test_every_answer_has_a_label_and_every_label_an_answer(runs):
    done = call("sql", "--runs", runs, "--format", "json",
                "select case_id, repetition, status from results order by all")  # fmt: skip
    trials = {(row["case_id"], row["repetition"]) for row in json.loads(done.out)}
    with (JUDGED / "labels.csv").open(newline="") as file:
        labelled = {(row["case_id"], int(row["repetition"])) for row in csv.DictReader(file)}

    assert labelled == trials
    assert len(trials) == 36


def test_the_labels_show_what_the_judge_is_worth(runs):
    path = JUDGED / "labels.csv"
    done = call("judges", "judged", "--runs", runs, "--labels", path, "--json")

    (one,) = json.loads(done.out)["calibration"]
    assert one["n_labels"] >= 30
    assert one["youden_low"] < 0, "no better than a constant answer, as far as is shown"
    assert one["label_ci95"]["low"] < one["label_rate"] < one["label_ci95"]["high"]
