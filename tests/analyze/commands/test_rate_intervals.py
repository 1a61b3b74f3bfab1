"""Intervals of rates as the commands tell them: no worse run looks surer, and of what they are."""

import json

import polars as pl
import pytest

from analyze.charts.leaderboard import leaderboard, tiers
from schemas.base import Interval
from tests.support.analyze_cli import call
from tests.support.two_nights import night

pytestmark = pytest.mark.usefixtures("warm_engines")


def output_of(command, tmp_path, *args):
    done = call(*command.split(), *args, "--runs", tmp_path / "runs")
    assert done.code in {0, 1}, done.err
    return done.out


def interval_of(tmp_path, run_id):
    (model,) = json.loads(output_of(f"summarize {run_id} --json", tmp_path))["models"]
    return model["passed_ci95"]


@pytest.mark.parametrize(("cases", "reps"), [(5, 20), (20, 5), (10, 10), (4, 25)])
def test_wrong_3_a_hundred_of_a_hundred_is_no_less_sure_than_ninety_nine(
    new_run, tmp_path, cases, reps
):
    """It was 56.6 to 100 % against 94.5 to 99.8 %, so the worse model was recommended."""
    night(new_run, 0, [reps] * (cases - 1) + [reps - 1], reps=reps)
    night(new_run, 1, [reps] * cases, reps=reps)

    one_failed, all_passed = (interval_of(tmp_path, f"night_0{number}") for number in (0, 1))

    assert (one_failed["n_trials"], all_passed["n_trials"]) == (100, 100)
    assert all_passed["low"] >= one_failed["low"]
    assert all_passed["high"] >= one_failed["high"]


def test_wrong_3_both_sides_of_a_comparison_agree_with_that(new_run, tmp_path):
    night(new_run, 0, [20] * 4 + [19], reps=20)
    night(new_run, 1, [20] * 5, reps=20)

    (group,) = json.loads(output_of("compare previous latest --format json", tmp_path))["groups"]

    base, candidate = group["base"]["ci95"], group["candidate"]["ci95"]
    assert candidate["low"] >= base["low"] == pytest.approx(0.6688, abs=5e-5)
    assert (candidate["low"], candidate["high"]) == pytest.approx((0.6774, 1), abs=5e-5)
    assert base["method"] == "wilson_shrunk"


def test_wrong_3_no_pass_more_lowers_the_interval_of_a_run(new_run, tmp_path):
    """Passes of five cases asked four times, one more each night."""
    for passes in range(21):
        night(new_run, passes, [min(max(passes - 4 * case, 0), 4) for case in range(5)], reps=4)

    runs = json.loads(output_of("runs --json --limit 0", tmp_path))

    lows = [run["passed_ci95"]["low"] for run in sorted(runs, key=lambda run: run["run_id"])]
    assert len(lows) == 21
    assert lows == sorted(lows)


@pytest.fixture
def uneven(new_run):
    """A smoke case that was asked 36 times and passes, and three that fail more often."""
    cases = {"smoke": [True] * 36, "a": [False], "b": [True, False], "c": [True]}
    return new_run("uneven").night(cases)


@pytest.mark.parametrize(
    "command",
    ["runs", "show uneven", "route --min-quality 0.9"],
)
def test_where_cases_weigh_unequally_both_rates_stand_there(uneven, tmp_path, command):
    text = " ".join(output_of(command, tmp_path).split())

    assert "95.0" in text  # 38 of 40
    assert "case mean 62.5" in text


@pytest.mark.usefixtures("no_library")
@pytest.mark.parametrize(("form", "least"), [("md", 1), ("html", 2)])
def test_a_report_says_of_what_its_intervals_are(uneven, tmp_path, form, least):
    """On the page the first screen and the leaderboard say it."""
    target = tmp_path / f"report.{form}"

    done = call("report", tmp_path / "runs", "--run", "uneven", "--output", target)

    assert done.code == 0, done.err
    assert target.read_text(encoding="utf-8").count("case mean 62.5") >= least


@pytest.mark.parametrize("chart", [leaderboard, tiers])
def test_a_chart_has_ticks_where_a_mean_is_another_than_the_rate(chart):
    interval = {"low": [0.2], "high": [0.9], "estimate": [0.6], "n_trials": [40]}
    models = pl.DataFrame(
        {"model_id": ["m"], "passed_rate": [0.95], "tool_use_rate": [0.95], "tool_use_n": [40]}
        | {f"{of}_ci95_{key}": value for of in ("passed", "tool_use")
           for key, value in interval.items()}
    )  # fmt: skip
    same = models.with_columns(passed_ci95_estimate=0.9505, tool_use_ci95_estimate=None)

    other, plain = (json.dumps(chart(frame).to_dict()) for frame in (models, same))

    for said in ("ticks their case means", '"tick"'):
        assert said in other
        assert said not in plain


def test_a_comparison_says_which_rate_its_interval_is_of(new_run, tmp_path):
    for number, passed in enumerate((30, 36)):
        smoke = [repetition < passed for repetition in range(36)]
        cases = {"smoke": smoke, "a": [False, False], "b": [True, False]}
        new_run(f"night_{number}", day=number).night(cases)

    text = " ".join(output_of("compare previous latest", tmp_path).split())

    assert "of all trials 77.5 -> 92.5 passed; the rates above are means over cases" in text


def test_equal_numbers_of_trials_leave_one_rate(new_run, tmp_path):
    night(new_run, 0, [3, 2, 1, 3, 3])

    for command in ("runs", "show night_00", "route --min-quality 0.9"):
        assert "case mean" not in output_of(command, tmp_path)


def test_a_summary_of_before_is_still_read_and_a_later_one_refused(uneven, tmp_path):
    document = json.loads(output_of("summarize uneven --json", tmp_path))
    path = tmp_path / "summary.json"
    assert document["schema_version"] == 2

    for version, code in ((1, 0), (2, 0), (3, 1)):
        before = json.loads(json.dumps(document))
        before["schema_version"] = version
        if version == 1:
            for model in before["models"]:
                interval = model["passed_ci95"]
                del interval["estimate"], interval["n_clusters"]
                interval["method"] = "wilson_clustered"
        path.write_text(json.dumps(before))
        assert (call("validate", path).code == 0) is (code == 0)


def test_an_interval_of_before_has_no_estimate():
    stored = {"low": 0.5, "high": 0.9, "method": "wilson_clustered", "n_cases": 5, "n_trials": 9,
              "n_eff": 6.1}  # fmt: skip

    interval = Interval.model_validate(stored)

    assert (interval.estimate, interval.n_clusters) == (None, None)
