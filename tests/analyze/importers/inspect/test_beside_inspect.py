"""Beside the real Inspect: the same numbers to the last digit, sample by sample and as a whole."""

import json
import statistics
from collections import defaultdict
from pathlib import Path

import numpy
import pytest

from analyze.importers.inspect import import_inspect
from schemas.run.import_record import load_import_record
from tests.support.analyze_cli import call
from tests.support.imported_rows import latest_of
from tests.support.own_sample import figures
from tests.support.real_inspect import evaluated, evaluated_sums

pytestmark = pytest.mark.peers

REDUCERS = {"mean": statistics.mean, "max": max}
METRICS = {
    "accuracy": lambda values: sum(values) / len(values),
    "mean": lambda v: numpy.mean(v).item(),
}


@pytest.fixture(scope="module")
def both(tmp_path_factory):
    """What Inspect says of each log, and what our import made of it."""
    folder = tmp_path_factory.mktemp("inspect")
    logs = evaluated(folder)
    assert len(logs) == 20
    pairs = []
    for log in logs:
        (written,) = import_inspect(Path(log["path"]), folder / "runs" / log["kind"])
        pairs.append((log, written))
    return pairs


def test_every_sample_has_the_same_ids_scores_tokens_and_end(both):
    n_errors = n_limits = 0
    for log, written in both:
        rows = {
            f"{one.prompt_id}/{one.repetition}": one for one in latest_of(written.run_dir).values()
        }
        assert rows.keys() == log["samples"].keys() == log["frame"].keys()
        assert (written.run_dir.name, written.findings) == (f"{log['task']}_{log['eval_id']}", ())
        for key, theirs in log["samples"].items():
            ours, frame = rows[key], log["frame"][key]
            assert {one.name: one.value for one in ours.scores} == theirs["scores"]
            used = theirs["usage"].values()
            n_output = sum(one["output_tokens"] for one in used)
            assert (ours.output_tokens or 0) == n_output
            assert (ours.input_tokens or 0) + n_output == sum(one["total_tokens"] for one in used)
            assert (ours.input_tokens or 0) + n_output == (frame["total_tokens"] or 0)
            assert ours.raw_output == theirs["answer"]
            assert ours.model == log["model"]
            assert ours.ended_at_ms >= ours.started_at_ms
            if theirs["error"]:
                assert (ours.failure_type, ours.error_message) == ("exception", theirs["error"])
                assert ours.passed is None
            elif theirs["limit"]:
                assert (theirs["limit"], ours.failure_type) == ("message", "max_turns_exceeded")
            else:
                assert ours.failure_type is None
            n_errors += bool(theirs["error"])
            n_limits += bool(theirs["limit"])
    assert n_errors >= 8
    assert n_limits >= 8


def test_headlines_are_the_numbers_of_the_log(both):
    for log, written in both:
        ours = load_import_record(written.run_dir).headlines
        theirs = [
            value
            for score in log["scores"]
            for name, value in score["metrics"].items()
            if name != "stderr"
        ]
        assert [one.value for one in ours] == theirs
        name, metric, value = log["headline"]
        assert ours[0].name.rpartition("/")[2] == name
        assert (ours[0].metric.partition("/")[0], ours[0].value) == (metric, value)


def column_of(score):
    name, scorer = score["name"], score["scorer"]
    return name if name == scorer else f"{scorer}/{name}"


def values_by_case(rows, column):
    """The numbers of a score by case, in the tool's order, on which a sum's last digit depends."""
    found = defaultdict(list)
    for row in sorted(rows, key=lambda one: (one.prompt_id, one.repetition)):
        scores = {one.name: one.value for one in row.scores}
        if scores.get(column) is not None:
            found[row.case_id].append(scores[column])
    return found.values()


def reduced(values, score, config):
    """Values as the tool reduces them: by the mean unless it says otherwise, which it may."""
    if score["reducer"] is None and config.get("epochs_reducer") is not None:
        return [value for case in values for value in case]
    return [REDUCERS[score["reducer"] or "mean"](case) for case in values]


def test_the_numbers_follow_from_our_rows_to_the_last_digit(both):
    n_compared = 0
    for log, written in both:
        rows = latest_of(written.run_dir).values()
        config = load_import_record(written.run_dir).leftover["config"]
        for score in log["scores"]:
            values = reduced(values_by_case(rows, column_of(score)), score, config)
            for metric, value in score["metrics"].items():
                if metric in METRICS:
                    assert METRICS[metric](values) == value, (log["task"], score, metric)
                    n_compared += 1
    assert n_compared >= 30


def test_a_look_says_each_mean_again(both):
    seen = {}
    for log, _ in both:
        if log["task"] not in seen:
            done = call("look", log["path"], "--format", "json")
            seen[log["task"]] = json.loads(done.out)["headlines"]

    means = [one for found in seen.values() for one in found if one["own_value"] is not None]
    assert len(means) >= len(seen) - 1
    for one in means:
        assert one["metric"] in {"accuracy", "mean"}
        assert one["own_value"] == pytest.approx(one["value"], rel=1e-12, abs=0), one
    assert all(one["metric"].endswith("/unreduced") for one in seen["unreduced"])


def test_a_log_without_a_reducer_is_told_from_one_with_the_mean(both):
    differ = 0
    for log, written in both:
        if log["task"] != "unreduced":
            continue
        (score,) = log["scores"]
        assert load_import_record(written.run_dir).leftover["config"]["epochs_reducer"] == []
        cases = values_by_case(latest_of(written.run_dir).values(), "match")
        mean = METRICS["accuracy"](reduced(cases, score, {}))
        differ += mean != score["metrics"]["accuracy"]
    assert differ >= 3


def test_its_page_says_what_is_behind_a_headline(tmp_path):
    assert len(figures(evaluated_sums(tmp_path), "coming-from-inspect.md")) == 1
