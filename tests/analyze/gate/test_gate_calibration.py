"""`min_calibration`: a gate refuses verdicts of judges that people have not confirmed."""

import json

import pytest

from tests.support.analyze_cli import call
from tests.support.run_rows import sha

N = 60
ASKED = ("--evaluation-profile", "kind")


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A project that asks for a calibration; returns what writes another limit."""
    monkeypatch.chdir(tmp_path)

    def least(value):
        text = f"schema_version: 1\nthresholds: {{min_calibration: {value}}}\n"
        (tmp_path / "benchlake.yaml").write_text(text)

    least(0.5)
    return least


@pytest.fixture
def night(new_run):
    """Write a run of which the judge passes two cases of three."""

    def made(run_id, day, *, hashed="kind", served=None, case="as it is"):
        run = new_run(run_id, day=day)
        for number in range(N):
            trial = run.plan(f"c{number}", case_hash=sha(f"{number} {case}"))
            run.result(trial, passed=None, objective_pass=None)
            score = 8 if number % 3 else 2
            judged = {"evaluation_profile_id": "kind", "judge_hash": sha(hashed)}
            run.judged(trial, score, threshold=5, **judged)
            if served is not None:
                run.asked(trial, score, evaluation_profile_id="kind", served_model=served)
        run.write()
        return run

    return made


@pytest.fixture
def labels(tmp_path):
    def made(run_id="old", *, n=N, wrong=0, always=None):
        rows = []
        for number in range(n):
            word = always or ("pass" if bool(number % 3) != (number < wrong) else "fail")
            rows.append(f"{run_id},m1,c{number},{word}\n")
        path = tmp_path / "labels.csv"
        path.write_text("run_id,model_id,case_id,label\n" + "".join(rows))
        return path

    return made


@pytest.fixture
def runs(project, night):
    for day, run_id in enumerate(("old", "base", "new")):
        run = night(run_id, day)
    return run.runs_dir


def gate(runs, path=None, *more):
    labelled = () if path is None else ("--labels", path)
    done = call("gate", "--runs", runs, *ASKED, "--json", *labelled, *more)
    found = json.loads(done.out)
    (line,) = found["lines"]
    assert done.code == found["exit_code"]
    return found, line


def test_judges_that_people_confirm_are_let_through(runs, labels):
    found, _ = gate(runs, labels())

    assert (found["outcome"], found["exit_code"]) == ("passed", 0)
    (one,) = found["calibrations"]
    assert (one["evaluation_profile_id"], one["n_labelled"], one["n_labels"]) == ("kind", N, N)
    assert (one["sensitivity"], one["specificity"], one["youden"]) == (1, 1, 1)
    assert 0.5 < one["youden_low"] < 1
    assert one["problem"] is None
    text = " ".join(call("gate", "--runs", runs, *ASKED, "--labels", labels()).out.split())
    assert "judges of kind: they pass 100.0 % of what people pass and fail 100.0 %" in text


@pytest.mark.parametrize(
    ("made", "why"),
    [
        (None, "and no labels were given; --labels FILE names them"),
        ({"n": 29}, "and 29 labels are of what they judged: 30 are needed"),
        ({"wrong": 30}, "come to 0.00 with a lower limit of -0."),
        ({"always": "pass"}, "and people passed all or none of 60 trials"),
    ],
    ids=["no labels", "few", "wrong", "one-sided"],
)
def test_judges_that_people_do_not_confirm_are_refused(runs, labels, made, why):
    found, line = gate(runs, None if made is None else labels(**made))

    assert (found["outcome"], found["exit_code"]) == ("cannot_judge", 3)
    assert "the judges of kind are not calibrated: `min_calibration` is 0.5" in line["why"]
    assert why in line["why"]
    assert "; by these verdicts: no regression shown" in line["why"]


@pytest.mark.parametrize(
    "changed",
    [{"hashed": "sterner"}, {"served": "judge-2"}, {"case": "with another rubric"}],
    ids=["judge_hash", "served model", "rubric"],
)
def test_a_calibration_is_void_where_judge_model_or_rubric_changed(project, night, labels, changed):
    night("old", 0)
    night("base", 1, **changed)
    runs = night("new", 2, **changed).runs_dir

    found, line = gate(runs, labels())

    assert (found["outcome"], found["calibrations"][0]["n_labels"]) == ("cannot_judge", 0)
    assert "none of 60 labelled trials was judged by them" in line["why"]


def test_without_a_limit_labels_are_told_and_refuse_nothing(project, runs, labels):
    project("null")

    found, _ = gate(runs, labels(wrong=30))

    assert found["outcome"] == "passed"
    assert found["calibrations"][0]["youden"] == pytest.approx(0, abs=0.05)


def test_checks_without_a_judge_need_no_calibration(project, new_run):
    for day, run_id in enumerate(("base", "new")):
        run = new_run(run_id, day=day)
        for number in range(6):
            run.result(run.plan(f"c{number}"), passed=True)
        run.write()

    done = call("gate", "--runs", run.runs_dir, "--json")

    found = json.loads(done.out)
    assert (found["outcome"], found["calibrations"]) == ("passed", [])


def test_a_label_of_no_run_is_an_error_with_its_line(runs, labels):
    done = call("gate", "--runs", runs, *ASKED, "--labels", labels("older"))

    assert done.code == 2
    assert "labels.csv:2: `run_id`: is none of these runs; found `older`" in done.err
    assert "did you mean `old`?" in done.err


def test_a_metric_without_verdicts_is_not_refused(runs):
    done = call("gate", "--runs", runs, *ASKED, "--json", "--metric", "e2e_ms")

    (line,) = json.loads(done.out)["lines"]
    assert "min_calibration" not in line["why"]


def test_a_first_night_reads_the_labels_as_well(project, night, tmp_path):
    runs = night("only", 0).runs_dir

    missing = call("gate", "--runs", runs, *ASKED, "--labels", tmp_path / "none.csv")
    found = json.loads(call("gate", "--runs", runs, *ASKED, "--json").out)

    assert missing.code == 2
    assert "none.csv: cannot be read" in missing.err
    assert found["outcome"] == "cannot_judge"
    assert "no labels were given" in found["lines"][0]["why"]
