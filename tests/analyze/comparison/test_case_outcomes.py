"""int_case_outcomes says what the views behind the summary say, over real folders."""

import shutil
from typing import get_args

import pytest

from analyze.comparison.evidence.outcomes import COLUMNS, METRICS, cause_of
from analyze.contracts.models import CaseOutcomesRow
from analyze.lake.sync import sync
from analyze.query.session import open_session
from schemas.output.comparison import RatioMetric
from tests.support.compared_runs import Runs
from tests.support.paths import SAMPLES

pytestmark = pytest.mark.usefixtures("warm_engines")


SAME = {
    "verdicts": """
        select * from int_case_outcomes as one
        full join int_case_passes as other using (run_id, model_id, case_id)
        where (one.n_planned, one.n_scorable, one.n_scored, one.n_passed, one.n_independent,
                one.n_independent_passed, one.n_answers >= 2,
                one.n_answers >= 2 and one.n_failed_answers = 0 and one.first_hash = one.last_hash)
            is distinct from
            (other.n_planned, other.n_scorable, other.n_scored, other.n_passed,
                other.n_independent, other.n_independent_passed, other.is_repeated,
                other.is_identical)
    """,
    "cells": """
        select * from int_case_outcomes as one
        full join cells as other using (run_id, suite_id, model_id, case_id)
        where (one.case_hash, one.n_total, one.n_reused)
                is distinct from (other.case_hash, other.n_total, other.n_reused)
            or one.n_e2e_ms > other.n_first_attempt or one.e2e_ms > other.e2e_ms_total
            or one.ttft_ms > other.ttft_ms_total
            or coalesce(one.input_tokens, 0) <> coalesce(other.input_tokens, 0)
            or coalesce(one.cost_nano_usd, 0) <> coalesce(other.cost_nano_usd, 0)
    """,
    "time-outs": """
        select run_id, model_id from model_summary
        full join (
            select run_id, model_id, sum(n_timeout) as summed from int_case_outcomes group by all
        ) as cases using (run_id, model_id)
        where n_timeout is distinct from summed
    """,
    "logarithms": """
        select * from int_case_outcomes
        where (n_e2e_ms = 0) <> (ln_e2e_ms is null)
            or abs(exp(ln_e2e_ms / 1e12 / n_e2e_ms) * n_e2e_ms) > e2e_ms * (1 + 1e-9)
    """,
}
"""Queries that are to return no row: where this view and an older one say something else."""


@pytest.fixture(scope="module")
def samples(tmp_path_factory):
    if not SAMPLES.is_dir():
        pytest.skip("data/samples/runs is not there")
    runs_dir = tmp_path_factory.mktemp("samples") / "runs"
    shutil.copytree(SAMPLES, runs_dir, ignore=shutil.ignore_patterns("lake", "artifacts"))
    with open_session(runs_dir, progress=lambda _: None) as session:
        yield session


@pytest.mark.parametrize("what", SAME)
def test_outcomes_of_the_samples_agree_with_the_views_behind_the_summary(what, samples):
    assert samples.rows(SAME[what]) == []
    assert samples.rows("select count(*) from int_case_outcomes")[0][0] > 0


@pytest.mark.parametrize("what", SAME)
def test_outcomes_of_a_troubled_run_agree_with_them_too(what, new_run):
    runs = Runs(new_run)
    by_repetition = {
        1: {"passed": True, "e2e_ms": 7, "cost_usd": 0.25},
        2: {"failure_type": "timeout", "passed": False},
        3: {"passed": False, "attempt_count": 3, "e2e_ms": 10_000},
        4: {"passed": True, "reused_from_run_id": "zero", "cost_usd": 1.0},
        5: {"failure_type": "http_500", "input_tokens": 0},
        6: None,
    }
    runs.add(
        "one", 0, models=("m1", "m2=model-m1"), repetitions=tuple(by_repetition),
        result=lambda trial: by_repetition[trial.repetition],
    )  # fmt: skip
    runs.add("two", 1)
    sync(runs.runs_dir)

    with open_session(runs.runs_dir) as session:
        assert session.rows(SAME[what]) == []


def test_columns_and_metrics_are_those_declared():
    assert set(COLUMNS) == set(CaseOutcomesRow.model_fields)
    assert get_args(RatioMetric) == METRICS


@pytest.mark.parametrize(
    ("failure_type", "cause"),
    [
        ("timeout", "provider"),
        ("http_503", "provider"),
        (None, "unknown"),
        ("of_a_later_version", "unknown"),
    ],
)
def test_a_cause_is_that_of_the_table_of_failures(failure_type, cause):
    assert cause_of(failure_type) == cause
