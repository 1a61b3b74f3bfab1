"""Rates by tag, and models in the order of their results in every part of a report."""

import json
from collections import defaultdict

import pytest

from analyze.report.sections.answer import by_result
from analyze.report.sections.tags import MAX_ROWS, TAGS, tags_of
from analyze.stats.rates import case_rate
from schemas.output.report import TagRate
from tests.support.analyze_cli import call
from tests.support.made_report import made_report
from tests.support.report_context import open_context

pytestmark = [pytest.mark.peers, pytest.mark.usefixtures("warm_engines")]

CASE_TAGS = {"a": ("x", "all"), "b": ("x", "y", "all"), "c": ("y", "all"), "d": ("all",)}
PASSED = {("good", "a"): 3, ("good", "b"): 2, ("good", "c"): 3, ("good", "d"): 3}
N = 3


def tagged(run):
    """Write a run of two models with tags; the one that is named first is worse."""
    for model_id in ("bad", "good"):
        for case_id, tags in CASE_TAGS.items():
            for repetition in range(1, N + 1):
                trial = run.plan(case_id, repetition, model_id=model_id, tags=tags)
                passed = repetition <= PASSED.get((model_id, case_id), 1)
                run.result(trial, passed=passed, raw_output=f"{model_id} {case_id} {repetition}")
        run.result(run.plan("e", 1, model_id=model_id, tags=("all",)), failure_type="http_500")
    run.write()
    return run


def test_a_tag_has_the_rate_and_the_interval_of_its_cases_alone(run):
    run = tagged(run)
    with open_context(run.runs_dir, run.run_id) as context:
        found = {(one.tag, one.model_id): one for one in tags_of(context)}

    by_tag = defaultdict(list)
    for case_id, tags in CASE_TAGS.items():
        for tag in tags:
            by_tag[tag].append(case_id)
    assert set(found) == {(tag, model) for tag in "xy" for model in ("good", "bad")}
    for (tag, model), one in found.items():
        hits = [PASSED.get((model, case), 1) for case in by_tag[tag]]
        expected = case_rate(hits, [N] * len(hits), [None] * len(hits))
        assert one.passed_rate == pytest.approx(sum(hits) / (N * len(hits)))
        assert (one.n_cases, one.n_scored) == (len(hits), N * len(hits))
        assert one.passed_ci95 == expected.interval


def test_every_part_has_the_models_best_first(run):
    run = tagged(run)
    report = json.loads(call("report", run.runs_dir, "--format", "json").out)

    orders = [
        [one["model_id"] for one in report["answer"]],
        [one["model_id"] for one in report["summary"]["models"]],
        list(dict.fromkeys(one["model_id"] for one in report["matrix"]["cells"])),
        list(dict.fromkeys(one["model_id"] for one in report["tags"])),
        [one["model_id"] for one in report["frontier"]],
        [one["model_id"] for one in report["failures"]],
    ]
    assert orders == [["good", "bad"]] * len(orders)


def test_a_model_that_cannot_be_ranked_comes_last():
    summary = made_report().summary
    best = max(summary.models, key=lambda group: group.passed_rate)
    unsure = best.model_copy(update={"coverage": 0.01})
    models = tuple(unsure if one is best else one for one in summary.models)
    ordered = by_result(summary.model_copy(update={"models": models}), 0.9)

    assert ordered.models[-1].model_id == best.model_id
    assert {one.model_id for one in ordered.models} == {one.model_id for one in models}


def test_of_many_tags_the_rest_is_counted():
    report = made_report()
    many = tuple(
        TagRate(
            tag=f"t{n:03}", model_id="m", n_cases=1, n_scored=0, passed_rate=None, passed_ci95=None
        )
        for n in range(MAX_ROWS + 5)
    )
    table = TAGS.show(report.model_copy(update={"tags": many}))

    assert len(table.rows) == MAX_ROWS
    assert table.more == "5 more rows."
