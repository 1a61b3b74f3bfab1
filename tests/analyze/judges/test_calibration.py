"""`analyze judges --labels`: a file of labels, what is wrong in it, and what it says of judges."""

import json

import pytest

from schemas.run.judgement import JudgeRunScore
from tests.support.analyze_cli import call
from tests.support.run_rows import opinion, sha

HEADER = "run_id,model_id,case_id,repetition,annotator,label\n"


@pytest.fixture
def judged(new_run):
    """Return a run whose judge passes what it scores 5 and above."""

    def made(scores, **fields):
        run = new_run()
        for number, score in enumerate(scores):
            trial = run.plan(f"c{number}", model_id="m")
            run.result(trial, passed=None, objective_pass=None)
            run.judged(trial, score, threshold=5, judge_hash=sha("judges"), **fields)
        run.write()
        return run

    return made


@pytest.fixture
def labels(tmp_path):
    def made(rows, header="case_id,model_id,label\n"):
        path = tmp_path / "labels.csv"
        path.write_text(header + "".join(f"{row}\n" for row in rows))
        return path

    return made


def asked(run, path, *more):
    return call("judges", "run-1", "--runs", run.runs_dir, "--labels", path, *more)


def calibration(run, path):
    done = asked(run, path, "--json")
    assert done.code == 0, done.err
    found = json.loads(done.out)
    (one,) = found["calibration"]
    return found["labels"], one


def test_verdicts_are_held_against_labels(judged, labels):
    """People: 4 pass, 2 fail. The judge passes 3 of the 4 and 1 of the 2."""
    run = judged((9, 8, 5, 4, 7, 1, 6, 2))
    said = ("pass", "pass", "pass", "pass", "fail", "FAIL")
    flipped = labels([f"c{n},m,{word}" for n, word in enumerate(said)])

    of_file, one = calibration(run, flipped)

    assert of_file == {
        "path": str(flipped), "kind": "verdict", "n_trials": 6, "annotators": [""],
        "agreement": None, "n_shared": 0, "same": None, "kappa": None, "ac1": None,
        "pass_share": None,
    }  # fmt: skip
    counts = [one[f"n_{name}"] for name in ("pass_pass", "pass_fail", "fail_pass", "fail_fail")]
    assert counts == [3, 1, 1, 1]
    assert (one["sensitivity"], one["specificity"]) == (0.75, 0.5)
    assert one["sensitivity_ci95"]["low"] < 0.75 < one["sensitivity_ci95"]["high"]
    assert one["accuracy"] == one["constant_accuracy"] == pytest.approx(4 / 6)
    assert one["label_rate"] == pytest.approx(4 / 6)
    assert (one["judge_rate"], one["n_judged"]) == (5 / 8, 8)
    assert (one["ppi"], one["rogan_gladen"]) == (None, None), "fewer than 60 cases"
    assert (one["judge_hashes"], one["served_models"]) == ([sha("judges")], ["judge-1"])
    text = " ".join(asked(run, flipped).out.split())
    assert "strict against 6 labels: it passes 75.0 % (95 % " in text
    assert "where always the same answer is on 66.7 %" in text
    assert "corrected from labels of 60 cases on, here are 6" in text
    assert "fewer than 30 labels say little" in text


def test_scores_have_a_bias_and_an_error(judged, labels):
    run = judged((9, 8, 5, 4, 7, 1))
    path = labels([f"c{n},m,{score}" for n, score in enumerate((8, 8, 4, 2, 8, 0))])

    of_file, one = calibration(run, path)

    # judge minus people: 1 0 1 2 -1 1
    assert of_file["kind"] == "score"
    assert one["bias"]["mean"] == pytest.approx(4 / 6)
    assert one["bias"]["low"] < 4 / 6 < one["bias"]["high"]
    assert one["mean_absolute_error"] == pytest.approx(1)
    assert (one["n_pass_pass"], one["n_fail_pass"]) == (3, 1), "people at the same threshold"


def test_from_sixty_cases_on_a_rate_is_corrected_and_never_alone(judged, labels):
    run = judged([9 if n % 3 else 2 for n in range(120)])
    path = labels([f"c{n},m,{'pass' if n % 3 or n % 12 == 0 else 'fail'}" for n in range(60)])

    _, one = calibration(run, path)

    assert one["label_rate"] == pytest.approx(45 / 60)
    for name in ("ppi", "rogan_gladen"):
        assert one[name]["low"] < one[name]["estimate"] < one[name]["high"]
    assert one["ppi"]["high"] - one["ppi"]["low"] < (
        one["label_ci95"]["high"] - one["label_ci95"]["low"]
    )
    text = " ".join(asked(run, path).out.split())
    assert "75.0 % (95 % " in text
    assert "by the labels alone; the judge passes 66.7 % of 120 trials, corrected" in text


def test_several_annotators_have_an_agreement_and_the_majority_counts(judged, labels):
    run = judged((9, 8, 2))
    path = labels(
        ["c0,m,ann,pass", "c0,m,bob,pass", "c0,m,cid,fail", "c1,m,ann,pass", "c1,m,bob,fail",
         "c2,m,ann,fail", "c2,m,bob,fail"],
        "case_id,model_id,annotator,label\n",
    )  # fmt: skip

    of_file, one = calibration(run, path)

    assert of_file["annotators"] == ["ann", "bob", "cid"]
    assert of_file["agreement"] is not None
    assert (one["n_labels"], one["n_undecided"]) == (2, 1)
    assert (one["n_pass_pass"], one["n_fail_fail"]) == (1, 1)


def test_each_of_several_judge_runs_is_held_against_labels(new_run, labels):
    run = new_run()
    for number, (good, bad) in enumerate([(9, 2), (8, 9), (1, 8)]):
        trial = run.plan(f"c{number}", model_id="m")
        run.result(trial, passed=None, objective_pass=None)
        runs = tuple(
            JudgeRunScore(judge_run_id=name, judge_id=name, n_successful=1, n_failed=0, n_used=1,
                          opinion=opinion(score))
            for name, score in (("main", good), ("poor", bad))
        )  # fmt: skip
        run.judged(trial, good, threshold=5, judge_runs=runs)
        run.asked(trial, bad, judge_run_id="poor", judge_id="poor", served_model="poor-1")
    run.write()
    path = labels(["c0,m,pass", "c1,m,pass", "c2,m,fail"])

    found = json.loads(asked(run, path, "--json").out)["calibration"]

    assert {one["judge_run_id"]: one["accuracy"] for one in found} == {
        None: 1, "main": 1, "poor": pytest.approx(1 / 3),
    }  # fmt: skip
    assert {one["judge_run_id"]: one["served_models"] for one in found} == {
        None: ["judge-1", "poor-1"], "main": ["judge-1"], "poor": ["poor-1"],
    }  # fmt: skip


def test_labels_of_what_was_not_judged_are_counted_and_ways_to_judge_named(new_run, labels):
    run = new_run()
    for number, hashed in enumerate(("a", "b")):
        trial = run.plan(f"c{number}", model_id="m")
        run.result(trial, passed=None, objective_pass=None)
        run.judged(trial, 9, threshold=5, judge_hash=sha(hashed))
    run.result(run.plan("c2", model_id="m"), passed=None, objective_pass=None)
    run.write()
    path = labels([f"c{n},m,pass" for n in range(3)])

    _, one = calibration(run, path)

    assert (one["n_labels"], one["n_unjudged"]) == (2, 1)
    assert len(one["judge_hashes"]) == 2
    text = " ".join(asked(run, path).out.split())
    assert "strict: judged in 2 ways, and a calibration is of one" in text
    assert "1 labelled trial has no score" in text


@pytest.mark.parametrize(
    ("row", "says"),
    [
        (
            "run-1,m,c0,1,,passed",
            ":2: `label`: cannot be used; found `passed`; allowed: pass, fail",
        ),
        ("run-1,m,c0,1,,11", "found `11`"),
        ("run-1,m,c0,1,,nan", "found `nan`"),
        ("run-1,m,cO,1,,pass", "csv:2: `case_id`: is none of these runs; found `cO`; allowed: c0"),
        ("run-2,m,c0,1,,pass", "`run_id`: is none of these runs; found `run-2`; allowed: run-1"),
        ("run-1,n,c0,1,,pass", "`model_id`: is none of these runs; found `n`; allowed: m"),
        ("run-1,m,c0,2,,pass", "`repetition`: cannot be used; found `2`; allowed: 1"),
        ("run-1,m,c0,one,,pass", "`repetition`: cannot be used; found `one`"),
        ("run-1,m,c0,1,,", "holds no label"),
    ],
)
def test_what_is_wrong_in_a_file_is_named(judged, labels, row, says):
    done = asked(judged((9,)), labels([row], HEADER))

    assert done.code == 2
    assert says in " ".join(done.err.split())


def test_a_trial_labelled_twice_mixed_kinds_and_missing_columns_are_refused(judged, labels):
    run = judged((9, 8))
    twice = asked(run, labels(["c0,m,pass", "c0,m,fail"]))
    assert "labels a trial again that this annotator labelled" in twice.err
    mixed = asked(run, labels(["c0,m,pass", "c1,m,7"]))
    assert "verdicts and scores in one file" in mixed.err
    headless = asked(run, labels(["c0,pass"], "case_id,label\n"))
    assert "column model_id is missing" in headless.err
    assert asked(run, labels([]).with_name("none.csv")).code == 2
    assert asked(run, labels(["\x00"])).code == 2


def test_rows_that_are_not_filled_in_yet_are_passed_over(judged, labels):
    _, one = calibration(judged((9, 8)), labels(["c0,m,", "c1,m,pass", ""]))
    assert one["n_labels"] == 1


def test_one_model_of_several_is_calibrated_by_its_own_labels(new_run, labels):
    run = new_run()
    for model_id, right in (("good", True), ("odd", False)):
        for number in range(8):
            trial = run.plan(f"c{number}", model_id=model_id)
            run.result(trial, passed=None, objective_pass=None)
            score = 9 if (number % 2 == 0) == right else 2
            served = f"judge of {model_id}"
            run.asked(trial, score, served_model=served)
            run.judged(trial, score, threshold=5, judge_hash=sha("judges"))
            run.asked(trial, score, served_model=served)
    run.write()
    path = labels(
        [
            f"c{n},{model_id},{'pass' if n % 2 == 0 else 'fail'}"
            for model_id in ("good", "odd")
            for n in range(8)
        ]
    )

    def accuracy(*more):
        found = json.loads(asked(run, path, "--json", *more).out)
        (one,) = found["calibration"]
        return one["accuracy"], one["n_labels"], one["n_unjudged"], one["served_models"]

    both = ["judge of good", "judge of odd"]
    assert accuracy() == (0.5, 16, 0, both)
    assert accuracy("--model", "good") == (1, 8, 0, both[:1])
    assert accuracy("--model", "odd") == (0, 8, 0, both[1:])
    done = asked(run, labels(["c0,good,pass"]), "--model", "odd")
    assert done.code == 2
    assert "labels.csv: `--model`: holds no label of `odd`" in done.err
    done = asked(run, path, "--model", "god")
    assert done.code == 2
    assert "did you mean `good`?" in done.err


def test_annotators_who_give_verdicts_have_kappa_and_ac1(judged, labels):
    run = judged((9,) * 8)
    rows = [f"c{n},m,{name},pass" for n in range(7) for name in ("ann", "bob")]
    path = labels([*rows, "c7,m,ann,pass", "c7,m,bob,fail"], "case_id,model_id,annotator,label\n")

    of_file, _ = calibration(run, path)

    assert (of_file["n_shared"], of_file["same"], of_file["pass_share"]) == (8, 7 / 8, 15 / 16)
    assert of_file["kappa"] == pytest.approx(0)
    assert of_file["ac1"] == pytest.approx((7 / 8 - 15 / 128) / (1 - 15 / 128))
    text = " ".join(asked(run, path).out.split())
    assert "of 8 trials that several labelled they say the same on 87.5 %" in text
