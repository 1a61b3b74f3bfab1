"""A run as data frames of Inspect: of our own runs, and beside what the tool makes of its logs."""

import json
import math
import shutil
from datetime import datetime
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from analyze.importers.inspect import import_inspect
from tests.support.analyze_cli import call
from tests.support.paths import SAMPLES
from tests.support.real_inspect import evaluated

TEXTS = (
    "eval_id", "run_id", "task_id", "task_name", "task_display_name", "solver", "model",
    "model_generate_config", "model_roles", "dataset_name", "dataset_location",
    "dataset_sample_ids", "packages", "tags", "status", "epochs", "epochs_reducer",
    "dataset_samples", "message_limit", "token_limit", "time_limit", "total_samples",
    "completed_samples",
    "score_headline_name", "score_headline_score", "score_headline_metric",
)  # fmt: skip
"""Columns of an eval that are the tool's own to the letter."""

GRADES = {"C": 1.0, "I": 0.0}


def frames(folder):
    """Return the rows of both files."""
    return [pq.read_table(folder / f"{name}.parquet").to_pylist() for name in ("evals", "samples")]


@pytest.mark.usefixtures("warm_engines")
def test_a_run_of_ours_has_the_columns_and_its_verdicts(new_run, tmp_path, monkeypatch):
    run = new_run()
    for repetition in (1, 2):
        run.result(run.plan("a", repetition=repetition), passed=repetition == 1, input_tokens=9)
        run.result(run.plan("b", repetition=repetition), failure_type="http_503", passed=None)
    run.write()
    monkeypatch.chdir(tmp_path)

    done = call("export", "inspect", "run-1", "-o", "frames")

    assert (done.code, done.out) == (0, "frames/evals.parquet\nframes/samples.parquet\n"), done.err
    (one,), samples = frames(tmp_path / "frames")
    assert one["eval_id"] == samples[0]["eval_id"] == f"run-1/{one['model_id']}"
    assert (one["status"], one["total_samples"], one["completed_samples"]) == ("success", 4, 2)
    assert [row["retries"] for row in samples] == [0, 0, 0, 0]
    assert (one["score_headline_metric"], one["score_headline_value"]) == ("accuracy", 0.5)
    assert [(row["id"], row["epoch"], row["score_passed"]) for row in samples] == [
        ("a", 1, 1.0), ("a", 2, 0.0), ("b", 1, None), ("b", 2, None),
    ]  # fmt: skip
    assert json.loads(samples[0]["model_usage"])[one["model"]]["input_tokens"] == 9
    assert [row["error"] != "" for row in samples] == [False, False, True, True]


@pytest.mark.usefixtures("warm_engines")
def test_a_target_is_the_value_that_a_validator_names(tmp_path):
    runs = tmp_path / "runs"
    shutil.copytree(SAMPLES / "night_01", runs / "night_01")

    done = call("export", "inspect", "night_01", "--runs", runs, "-o", tmp_path / "frames")

    assert done.code == 0, done.err
    evals, samples = frames(tmp_path / "frames")
    assert [row["model_id"] for row in evals] == ["careful", "playful"]
    targets = {row["id"]: row["target"] for row in samples}
    assert (targets["exact_word"], targets["capital_of_france"]) == ("pong", "Paris,Paris.")
    assert targets["iso_date"] is None


@pytest.mark.usefixtures("warm_engines")
def test_its_own_place_is_the_working_directory_and_standard_output_is_none(
    new_run, tmp_path, monkeypatch
):
    run = new_run()
    run.result(run.plan("a"))
    run.write()
    monkeypatch.chdir(tmp_path)

    wrong = [call("export", "inspect", "run-1", "-o", out) for out in ("-", "one.parquet")]
    kept = call("export", "inspect", "run-1")

    assert [one.code for one in wrong] == [2, 2]
    assert "evals.parquet, samples.parquet come out; name a folder" in wrong[0].err
    assert "several files come out, which rely on each other; name a folder" in wrong[1].err
    assert kept.code == 0
    assert {one.name for one in tmp_path.glob("*.parquet")} == {"evals.parquet", "samples.parquet"}


@pytest.mark.usefixtures("warm_engines")
def test_a_report_holds_no_samples_and_the_run_is_asked_for(new_run, tmp_path):
    run = new_run()
    run.result(run.plan("a"))
    run.write()
    made = ("export", "report-v2", "run-1", "--runs", run.path.parent, "-o", tmp_path / "v2")
    assert call(*made).code == 0

    done = call("export", "inspect", tmp_path / "v2" / "report.json", "-o", tmp_path / "frames")

    assert done.code == 2
    assert "a report holds no samples; name the run that it is of" in done.err
    assert not (tmp_path / "frames").exists()


def near(value, other, tolerance):
    return value == other or math.isclose(value, other, abs_tol=tolerance)


@pytest.mark.peers
def test_frames_are_those_that_inspect_makes_of_its_logs(tmp_path):
    n_scores = n_errors = n_limits = 0
    for number, log in enumerate(evaluated(tmp_path)):
        runs, out = tmp_path / f"runs-{number}", tmp_path / f"out-{number}"
        (written,) = import_inspect(Path(log["path"]), runs)
        done = call("export", "inspect", written.run_dir.name, "--runs", runs, "-o", out)
        assert done.code == 0, done.err
        (ours,), samples = frames(out)
        theirs = log["eval_frame"]
        assert {name: ours[name] for name in TEXTS} == {name: theirs.get(name) for name in TEXTS}
        assert ours["created"] == datetime.fromtimestamp(
            theirs["created"] / 1000, tz=ours["created"].tzinfo
        )
        numbers = {name for name in theirs if name.startswith("score_")} - {*TEXTS}
        assert numbers - {"score_headline_value", "score_headline_stderr"}
        for name in numbers:
            assert near(ours[name], theirs[name], 1e-12), (log["task"], name)
        assert len(samples) == len(log["frame"])
        for row in samples:
            key = f"{row['id']}/{row['epoch']}"
            its, scores = log["frame"][key], log["samples"][key]["scores"]
            assert row["eval_id"] == its["eval_id"]
            assert {name: row[f"score_{name}"] for name in scores} == scores
            assert (row["total_tokens"] or 0) == its["total_tokens"]
            assert (row["error"], row["limit"]) == (its["error"], its["limit"])
            assert row["retries"] == its["retries"]
            assert near(
                row["total_time"], its["total_time"] or row["total_time"], 0.1
            )  # two clocks
            used = json.loads(its["model_usage"] or "{}")
            if used:
                (own,), (said,) = json.loads(row["model_usage"]).values(), used.values()
                assert own["output_tokens"] == said["output_tokens"]
                assert own["total_tokens"] == said["total_tokens"]
            n_scores += len(scores)
            n_errors += row["error"] != ""
            n_limits += row["limit"] is not None
    assert min(n_scores, n_errors, n_limits) >= 8
