"""Runs of the real lm-evaluation-harness: its numbers are what follows from our rows."""

import json
import math

import pytest

from analyze.importers import IMPORTERS, ImportRequest
from analyze.importers.detect import format_of
from analyze.show.trace_file import read_trace
from schemas.run.import_record import load_import_record
from schemas.run.result import parse_line
from tests.support.analyze_cli import call
from tests.support.endpoint import Endpoint
from tests.support.own_sample import figures
from tests.support.real_lm_eval import evaluate, real_lm_eval, words_of, write_tasks

pytestmark = pytest.mark.peers


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Results of all tasks by completions, of those that generate by chat, of `own_sample`."""
    real_lm_eval()
    folder = tmp_path_factory.mktemp("lm_eval")
    tasks, endpoint = write_tasks(folder / "tasks"), Endpoint()
    try:
        by_text = words_of(tasks, endpoint, folder / "completions", "pooled")
        by_chat = words_of(tasks, endpoint, folder / "chat", "plain", chat=True)
        sums = words_of(tasks, endpoint, folder / "sums", "own_sums", chat=True)
        evaluate(folder, endpoint, by_text, by_chat, sums)
        yield {
            kind: next((folder / kind).rglob("results_*.json"))
            for kind in ("completions", "chat", "sums")
        }
    finally:
        endpoint.close()


def imported(path, runs_dir):
    (written,) = IMPORTERS["lm-eval"].run(ImportRequest(path, runs_dir))
    log = (written.run_dir / "results.jsonl").read_bytes()
    return written, [parse_line(line) for line in log.splitlines(keepends=True)]


def values_of(lines, task, name):
    """Return the scores of a task by one metric and filter."""
    return [
        score.value
        for line in lines
        if line.prompt_id.startswith(f"{task}/")
        for score in line.scores
        if score.name == name
    ]


def stderr_of(values):
    mean = sum(values) / len(values)
    spread = sum((one - mean) ** 2 for one in values) / (len(values) - 1)
    return math.sqrt(spread / len(values))


@pytest.mark.parametrize("kind", ["completions", "chat"])
def test_each_number_is_the_mean_of_our_rows_to_the_last_digit(made, tmp_path, kind):
    written, lines = imported(made[kind], tmp_path / "runs")
    document = json.loads(made[kind].read_text())
    record = load_import_record(written.run_dir)
    headlines = {(one.tag, one.name): one for one in record.headlines}

    n_checked = 0
    for task in document["n-samples"]:
        for key, value in document["results"][task].items():
            if "," not in key or "_stderr" in key:
                continue
            values = values_of(lines, task, key)
            headline = headlines[task, key]
            assert len(values) == document["n-samples"][task]["effective"]
            assert sum(values) / len(values) == value == headline.value
            error = document["results"][task][key.replace(",", "_stderr,")]
            assert headline.stderr == error == pytest.approx(stderr_of(values), rel=1e-12)
            assert headline.metric == "mean"
            n_checked += 1

    assert n_checked == (4 if kind == "chat" else 6)
    assert format_of(made[kind]) == "lm-eval"


def test_the_verdict_is_the_first_number_and_its_rate_the_same(made, tmp_path):
    written, lines = imported(made["completions"], tmp_path / "runs")
    results = json.loads(made["completions"].read_text())["results"]

    assert load_import_record(written.run_dir).leftover["verdicts"] == {
        "sums": "exact_match,strict", "few_sums": "exact_match,strict", "capitals": "acc,none",
    }  # fmt: skip
    for task, key in (("sums", "exact_match,strict"), ("capitals", "acc,none")):
        passed = [one.passed for one in lines if one.prompt_id.startswith(f"{task}/")]
        assert sum(passed) / len(passed) == results[task][key]
    assert 0 < results["sums"]["exact_match,strict"] < results["sums"]["exact_match,loose"] < 1


def test_groups_are_pooled_or_means_of_tasks_as_their_configuration_says(made, tmp_path):
    headlines = {}
    for kind in ("completions", "chat"):
        written, lines = imported(made[kind], tmp_path / kind)
        record = load_import_record(written.run_dir)
        headlines |= {(one.tag, one.name): one.value for one in record.headlines}
        assert record.suite_id == ("pooled" if kind == "completions" else "plain")

    tasks = [values_of(lines, task, "exact_match,strict") for task in ("sums", "few_sums")]
    pooled = [value for values in tasks for value in values]
    means = [sum(values) / len(values) for values in tasks]
    name = "exact_match,strict"
    assert headlines["pooled", name] == pytest.approx(sum(pooled) / len(pooled), rel=1e-12)
    assert headlines["plain", name] == pytest.approx(sum(means) / len(means), rel=1e-12)
    assert headlines["pooled", name] != pytest.approx(headlines["plain", name], rel=1e-3)
    assert {tag for one in lines for tag in one.tags} == {"sums", "few_sums", "plain"}


def test_a_look_says_each_mean_again(made):
    for kind in ("completions", "chat"):
        done = call("look", made[kind], "--format", "json")

        found = json.loads(done.out)["headlines"]
        means = [one for one in found if one["metric"] in {"mean", "mean weighted by size"}]
        assert len(means) > len(found) / 2
        for one in means:
            assert one["own_value"] == pytest.approx(one["value"], rel=1e-12), one
            assert one["n_scored"] == one["n_trials"] > 0


def test_traces_have_the_prompt_every_repeat_and_every_choice(made, tmp_path):
    written, lines = imported(made["completions"], tmp_path / "a")
    _, chat = imported(made["chat"], tmp_path / "b")
    found = {one.prompt_id: one for one in lines}

    assert (len(lines), written.n_unfinished) == (7 + 2 + 5, 0)
    sums = read_trace(written.run_dir, found["sums/1"].artifact_path)
    said = [getattr(one, "role", None) for one in sums.trace]
    assert said == ["user", "assistant", "assistant", "assistant", None]
    assert sums.trace[0].content == "Q: 1+1\nA:"
    assert sums.request["until"] == ["\n"]
    choices = read_trace(written.run_dir, found["capitals/0"].artifact_path).trace[1:4]
    assert [one.detail["choice"] for one in choices] == [" Paris", " Rome", " Madrid"]
    likeliest = max(choices, key=lambda one: one.detail["logprob"])
    assert found["capitals/0"].raw_output == likeliest.detail["choice"]
    trace = read_trace(next((tmp_path / "b").iterdir()), chat[0].artifact_path).trace
    assert (trace[0].role, trace[0].content) == ("user", "Q: 0+0\nA:")


def test_its_page_says_what_is_behind_a_headline(made):
    assert len(figures(made["sums"], "coming-from-lm-eval.md")) == 2
