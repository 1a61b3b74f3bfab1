"""Checks by model, which models no other one beats, and columns that hold nothing."""

import re

import pytest

from analyze.report.html.page import render_html
from analyze.report.sections import failures
from analyze.report.sections.cost_frontier import frontier_lines
from analyze.report.sections.failures import checks_of
from analyze.report.table import Cell, Column, filled
from tests.support.made_report import Size, made_report
from tests.support.report_context import open_context
from tests.support.run_rows import check

pytestmark = [pytest.mark.peers, pytest.mark.usefixtures("warm_engines")]

OUTCOMES = {"a": ("passed", "failed"), "b": ("failed", "error"), "c": ("passed", "passed")}


def test_checks_are_counted_by_model_those_that_failed_most_first(run):
    for case_id, outcomes in OUTCOMES.items():
        found = tuple(
            check(f"check-{n}", outcome, message="because") for n, outcome in enumerate(outcomes)
        )
        counts = {f"checks_{what}": 0 for what in ("passed", "failed", "errored")}
        for outcome in outcomes:
            counts["checks_errored" if outcome == "error" else f"checks_{outcome}"] += 1
        run.result(run.plan(case_id), passed=False, checks=found, **counts)
    run.write()
    with open_context(run.runs_dir, run.run_id) as context:
        counted = checks_of(context)

    assert [
        (one.check_id, one.n_cases, one.n_trials, one.n_passed, one.n_failed, one.n_errors)
        for one in counted
    ] == [("check-1", 3, 3, 1, 1, 1), ("check-0", 3, 3, 2, 1, 0)]
    assert {(one.model_id, one.kind) for one in counted} == {("m1", "contains")}


def test_of_many_checks_the_table_says_which_ones_are_there():
    report = made_report()
    (one, *_) = report.checks
    many = tuple(
        one.model_copy(update={"check_id": f"check-{n}"}) for n in range(failures.MAX_CHECKS)
    )

    assert failures.checks(report.model_copy(update={"checks": many})).more == (
        "The 200 that failed most."
    )
    assert failures.checks(report).more == ""


def test_a_run_without_checks_has_no_such_section(run):
    run.night(["a"], True)
    with open_context(run.runs_dir, run.run_id) as context:
        assert checks_of(context) == ()


def test_models_that_no_other_one_beats_are_named():
    report = made_report()
    points = tuple(
        one.model_copy(update={"is_on_frontier": n in {0, 2}, "is_on_time_frontier": n == 1})
        for n, one in enumerate(report.frontier)
    )
    names = [one.model_id for one in points]

    assert frontier_lines(points) == [
        f"Best for its cost: {names[0]}, {names[2]}; none is cheaper and as good.",
        f"Best for its time: {names[1]}; none is quicker and as good.",
    ]
    assert frontier_lines(points[:1]) == []
    assert frontier_lines(points)[0] in render_html(
        report.model_copy(update={"frontier": points}), {}
    )


def test_a_column_in_which_no_row_has_anything_is_left_out():
    columns = [Column("a", "a"), Column("b", "b"), Column("c", "c")]
    rows = [[Cell("x"), Cell(""), Cell("")], [Cell("y"), Cell(""), Cell("0")]]
    kept, cells = filled(columns, rows)

    assert [one.title for one in kept] == ["a", "c"]
    assert [[cell.text for cell in row] for row in cells] == [["x", ""], ["y", "0"]]


def test_the_page_leaves_such_columns_out_of_every_table():
    report = made_report(Size(n_cases=4))
    models = tuple(
        one.model_copy(update={"objective_pass_rate": None}) for one in report.summary.models
    )
    summary = report.summary.model_copy(update={"models": models})
    html = render_html(report.model_copy(update={"summary": summary}), {})
    board = re.search(r'id="t-leaderboard".*?</table>', html, re.DOTALL)[0]

    assert 'data-column="objective_pass_rate"' not in board
    assert 'data-column="passed_rate"' in board
