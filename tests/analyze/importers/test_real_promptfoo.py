"""Evaluations of the real promptfoo: its counts are those of our rows, from any of its outputs."""

import shutil

import pytest

from analyze.importers import IMPORTERS, ImportRequest
from analyze.importers.detect import format_of
from schemas.run.import_record import load_import_record
from schemas.run.result import parse_line
from tests.support.endpoint import Endpoint
from tests.support.own_sample import REPEATS, figures
from tests.support.real_promptfoo import SUMS, evaluate, node_folder

pytestmark = pytest.mark.peers

SOURCES = ("out.json", "out.jsonl", "home/promptfoo.db")


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A folder with the output of an evaluation, of the same once more, and what each said."""
    node_folder()
    folder, endpoint = tmp_path_factory.mktemp("promptfoo"), Endpoint()
    try:
        first = evaluate(endpoint, folder)
        for name in ("out.json", "out.jsonl"):
            shutil.copy(folder / name, folder / f"first-{name}")
        n_asked = len(endpoint.requests)
        second = evaluate(endpoint, folder)
        assert len(endpoint.requests) - n_asked == n_down(second)
        yield folder, first, second
    finally:
        endpoint.close()


def n_down(document):
    """Errors are asked again; all else is in its cache."""
    return document["results"]["stats"]["errors"]


def imported(path, runs_dir):
    found = []
    for written in IMPORTERS["promptfoo"].run(ImportRequest(path, runs_dir)):
        log = (written.run_dir / "results.jsonl").read_bytes()
        found.append((written, [parse_line(line) for line in log.splitlines(keepends=True)]))
    return found


def counts_of(lines):
    """Return what promptfoo counts; a row without a verdict is told by its checks."""
    passed = sum(one.passed is True or (one.success and not one.checks) for one in lines)
    errors = sum(not one.success for one in lines)
    return passed, len(lines) - passed - errors, errors


def score_of(lines):
    return sum(one.scores[0].value or 0 for one in lines)


@pytest.mark.parametrize("name", ["first-out.json", "first-out.jsonl", "home/promptfoo.db"])
def test_counts_and_scores_of_each_column_are_promptfoos(made, tmp_path, name):
    folder, document, _ = made
    written, lines = imported(folder / name, tmp_path / "runs")[0]
    headlines = load_import_record(written.run_dir).headlines
    prompts = document["results"]["prompts"]
    model_ids = list(dict.fromkeys(one.model_id for one in headlines))

    assert (len(prompts), len(model_ids), len(lines)) == (2, 2, 32)
    for prompt, model_id in zip(prompts, model_ids, strict=True):
        mine = [one for one in lines if one.model_id == model_id]
        metrics = prompt["metrics"]
        theirs = [metrics[f"test{name}Count"] for name in ("Pass", "Fail", "Error")]
        assert model_id.endswith(prompt["id"][:8])
        assert list(counts_of(mine)) == theirs
        assert score_of(mine) == pytest.approx(metrics["score"], rel=1e-12)
        shown = {(one.name, one.metric): one.value for one in headlines if one.model_id == model_id}
        assert shown["pass", "pass rate"] == theirs[0] / sum(theirs)
        assert [shown["pass", f"test{name}Count"] for name in ("Pass", "Fail", "Error")] == theirs
        assert shown["score", "sum"] == pytest.approx(metrics["score"], rel=1e-12)
    stats = document["results"]["stats"]
    assert counts_of(lines) == (stats["successes"], stats["failures"], stats["errors"])
    assert format_of(folder / name) == "promptfoo"


def test_what_has_no_verdict_is_told_apart_from_what_failed(made, tmp_path):
    ((_, lines),) = imported(made[0] / "first-out.json", tmp_path / "runs")

    outcomes = {
        (
            one.prompt_name,
            one.passed,
            one.failure_type,
            tuple(check.outcome for check in one.checks),
        )
        for one in lines
    }
    assert outcomes == {
        ("equal", True, None, ("passed", "passed")), ("bye", False, None, ("failed",)),
        ("long", True, None, ("passed",)), ("js", None, None, ("error",)),
        ("down", None, "http_400", ()), ("one", None, None, ()), ("two", None, None, ()),
        ("rubric", None, None, ("error",)),
    }  # fmt: skip
    long = next(one for one in lines if one.prompt_name == "long")
    assert [(one.name, one.value) for one in long.scores] == [("score", 0.4)]
    assert (long.input_tokens, long.output_tokens, long.finish_reason) == (7, 3, "stop")


def test_every_output_of_an_evaluation_makes_the_same_rows(made, tmp_path):
    folder = made[0]
    of_json, of_lines, of_base = (
        imported(folder / name, tmp_path / name.replace("/", "_"))[-1][1] for name in SOURCES
    )

    def facts(lines):
        kept = ("model_id", "case_id", "repetition", "passed", "failure_type", "raw_output",
                "scores", "checks", "reused_from_run_id", "input_tokens")  # fmt: skip
        return sorted(str([getattr(one, name) for name in kept]) for one in lines)

    assert facts(of_json) == facts(of_lines) == facts(of_base)


def test_repeats_are_repetitions_and_a_second_evaluation_is_from_the_cache(made, tmp_path):
    (_, first), (_, second) = imported(made[0] / "home/promptfoo.db", tmp_path / "runs")

    assert {one.case_id for one in first} == {one.case_id for one in second}
    assert [one.repetition for one in first].count(1) == len(first) / 2
    assert {one.reused_from_run_id for one in first} == {None}
    assert {one.reused_from_run_id for one in second if one.success} == {"promptfoo-cache"}
    assert {one.reused_from_run_id for one in second if not one.success} == {None}
    assert all(one.e2e_ms is not None for one in first if one.success)


def test_the_key_that_its_database_has_in_plain_text_is_in_no_run(made, tmp_path):
    assert b"sk-abcdefghijklmnop" in (made[0] / "home/promptfoo.db").read_bytes()
    imported(made[0] / "home/promptfoo.db", tmp_path / "runs")

    files = [one for one in (tmp_path / "runs").rglob("*") if one.is_file()]
    assert len(files) > 6
    assert not any(b"sk-abcdefghijklmnop" in one.read_bytes() for one in files)


def test_its_page_says_what_is_behind_a_headline(tmp_path):
    node_folder()
    endpoint = Endpoint()
    try:
        evaluate(endpoint, tmp_path, repeat=REPEATS, prompts=("Say {{word}}",), tests=SUMS)
    finally:
        endpoint.close()
    assert len(figures(tmp_path / "out.json", "coming-from-promptfoo.md")) == 1
