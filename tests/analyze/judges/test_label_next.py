"""`analyze label-next`: a random case each, in an order that stays, never over a file."""

import csv
import io

import pytest

from analyze.judges.opinions import RunKey, TrialKey
from analyze.judges.sheet import next_trials
from tests.analyze.judges.test_agreement import said
from tests.support.analyze_cli import call


def judged(n_cases, n_repetitions=2, models=("m",)):
    return [
        said(5, f"c{case}", by=RunKey("strict", "", ""),
             trial=TrialKey("r", model, f"c{case}", repetition))
        for case in range(n_cases)
        for model in models
        for repetition in range(1, n_repetitions + 1)
    ]  # fmt: skip


def test_each_case_comes_once_before_any_comes_twice():
    found = next_trials(judged(30), (), 40)

    assert len({one.case_id for one in found[:30]}) == 30
    assert len(set(found)) == 40
    assert [one.case_id for one in found[:30]] != [f"c{n}" for n in range(30)], "no order of names"


def test_a_longer_sheet_begins_as_a_shorter_one_and_labels_are_gone_on_with():
    opinions = judged(30, models=("m", "n"))
    whole = next_trials(opinions, (), 120)

    assert len(whole) == 120
    assert next_trials(opinions, (), 10) == whole[:10]
    assert next_trials(list(reversed(opinions)), (), 10) == whole[:10]
    assert next_trials(opinions, set(whole[:30]), 30) == whole[30:60]


def test_the_first_cases_are_a_random_sample():
    """Over many suites of other names each place of a suite is about as often among the first."""
    counts = [0] * 10
    for suite in range(400):
        opinions = [
            said(5, f"s{suite}_{case}", trial=TrialKey("r", "m", f"s{suite}_{case}", 1))
            for case in range(10)
        ]
        for one in next_trials(opinions, (), 3):
            counts[int(one.case_id.split("_")[1])] += 1
    assert min(counts) > 120 - 4 * 9.2
    assert max(counts) < 120 + 4 * 9.2


@pytest.fixture
def run(new_run):
    made = new_run()
    for number in range(5):
        trial = made.plan(f"c{number}", model_id="m")
        made.result(trial, passed=None, objective_pass=None, raw_output=f"=1+{number}\nmore")
        made.judged(trial, 7)
    made.result(made.plan("unjudged", model_id="m"), passed=None, objective_pass=None)
    made.write()
    return made


def test_the_sheet_is_what_judges_reads(run, tmp_path):
    done = call("label-next", "run-1", "--runs", run.runs_dir, "--n", "3")

    rows = list(csv.DictReader(io.StringIO(done.out)))
    assert len(rows) == 3
    assert {row["case_id"] for row in rows} <= {f"c{n}" for n in range(5)}
    assert all(row["answer"].startswith("'=1+") for row in rows), "no formula of a spreadsheet"
    assert "7" not in {row["label"] for row in rows}
    path = tmp_path / "labels.csv"
    path.write_text(done.out.replace(",1,,,", ",1,ann,8,"))
    held = call("judges", "run-1", "--runs", run.runs_dir, "--labels", path)
    assert held.code == 0, held.err
    assert "labels of 3 trials" in held.out

    rest = call("label-next", "run-1", "--runs", run.runs_dir, "--labels", path)
    others = {row["case_id"] for row in csv.DictReader(io.StringIO(rest.out))}
    assert len(others) == 2
    assert others.isdisjoint(row["case_id"] for row in rows)


def test_a_sheet_that_is_there_is_never_written_over(run, tmp_path):
    path = tmp_path / "labels.csv"
    asked = ("label-next", "run-1", "--runs", run.runs_dir, "-o", path)
    first = call(*asked)
    assert (first.code, "5 trials to label" in first.err) == (0, True)
    path.write_text("filled in")

    assert call(*asked).code == 2
    assert path.read_text() == "filled in"


def test_one_model_can_be_asked_for_and_without_judges_it_says_what_to_do(run):
    none = call("label-next", "run-1", "--runs", run.runs_dir, "--model", "other")
    assert none.code == 2
    assert "collect evaluate RUN --evaluation-profile ID" in none.err
    assert call("label-next", "run-1", "--runs", run.runs_dir, "--model", "m").code == 0
