"""Past runs are read by a query of their own: what it counts is what int_case_outcomes counts."""

import math

import pytest

from analyze.comparison.evidence.outcomes import METRICS, Answers, read_outcomes
from analyze.comparison.evidence.past_runs import (
    FIRST_LOG,
    PastCell,
    Plan,
    merge_shards,
    past_nights,
    read_cells,
)
from analyze.comparison.pairing import own_trials
from analyze.comparison.planned import read_model_runs
from analyze.query.session import open_session
from analyze.stats.power.assumptions import ObservedCase
from tests.analyze.comparison.test_compared_independently import Nights
from tests.support.interpreter import run_without

pytestmark = pytest.mark.usefixtures("warm_engines")

LEAST_COVERAGE = "analyze.comparison.evidence.past_runs.MIN_COVERAGE"


def test_the_metrics_of_a_cell_are_in_their_order():
    assert PastCell._fields[FIRST_LOG : FIRST_LOG + len(METRICS)] == METRICS


@pytest.mark.parametrize("seed", [3, 8, 21])
def test_cells_are_those_of_the_outcomes(seed, tmp_path):
    nights = Nights(seed, tmp_path / "runs")
    run_ids = sorted(path.parent.name for path in nights.runs_dir.glob("*/config.json"))
    with open_session(nights.runs_dir) as session:
        outcomes = read_outcomes(session, run_ids)
        models = {row.key.model_id for row in outcomes}
        cells = read_cells(session, [[run_id] for run_id in run_ids], models)
        assert cells == read_cells(session, [[run_id] for run_id in run_ids])
        runs = read_model_runs(session, [[run_id] for run_id in run_ids])
    by_key = {(one.run_id, one.model_id, one.suite_id, one.case_id): one for one in cells}
    assert len(by_key) == len(cells) == len(outcomes) > 0
    for row in outcomes:
        cell = by_key[row.run_id, row.key.model_id, *row.case]
        counts, own = row.counts, own_trials(row)
        assert cell[4:FIRST_LOG] == (
            row.case_hash,
            row.cluster,
            counts.n_scorable,
            counts.n_scored,
            own.n_passed,
            own.n_scored,
            counts.n_independent_passed,
            counts.n_independent,
            *row.answers,
        )
        logs = cell[FIRST_LOG : FIRST_LOG + len(METRICS)]
        for log, measured in zip(logs, row.measured, strict=True):
            wanted = measured.ln_mean
            assert log is wanted is None or math.isclose(log, wanted, rel_tol=1e-14)
        run = runs[run_ids.index(row.run_id)][row.key.model_id]
        seen = run.observed.cases[row.case.case_id]
        assert seen == _seen(row.case_hash, counts, row.answers)
        assert seen.own == (own.n_passed, own.n_scored)
        assert (row.case.case_id in run.clusters) == (counts.n_scorable > 0)


def _seen(case_hash, counts, answers):
    return ObservedCase(
        case_hash,
        counts.n_independent,
        counts.n_independent_passed,
        answers.is_repeated,
        answers.is_identical,
    )


def test_shards_are_one_night_in_any_order(tmp_path, monkeypatch):
    monkeypatch.setattr(LEAST_COVERAGE, 0.0)
    nights = Nights(5, tmp_path / "runs")
    run_ids = sorted(path.parent.name for path in nights.runs_dir.glob("*/config.json"))
    with open_session(nights.runs_dir) as session:
        rows = read_outcomes(session, run_ids)
        models = {row.key.model_id for row in rows}
        one, other = (
            past_nights(
                read_cells(session, [ids], models),
                [Plan("smoke", tuple(ids), (None,), is_before=True)],
            )
            for ids in (run_ids, run_ids[::-1])
        )
        (seen,) = read_model_runs(session, [run_ids])
    assert one == other
    for model_id, past in one.items():
        for case, (cell,) in past.cases.items():
            same = [row for row in rows if (row.key.model_id, row.case) == (model_id, case)]
            assert cell.scored == sum(own_trials(row).n_scored for row in same)
            n, total = (sum(row.measured[0][at] for row in same) for at in (0, 1))
            assert cell.e2e_ms == (total / 1e12 / n if n else None) or math.isclose(
                cell.e2e_ms, total / 1e12 / n, rel_tol=1e-14
            )
    for model_id, run in seen.items():
        for case_id, case in run.observed.cases.items():
            same = [row for row in rows if (row.key.model_id, row.case[1]) == (model_id, case_id)]
            hashes = [h for row in same for h in row.answers[2:] if h is not None]
            answers = Answers(
                sum(row.answers.n for row in same),
                sum(row.answers.n_failed for row in same),
                min(hashes, default=None),
                max(hashes, default=None),
            )
            assert case[1:] == (
                sum(row.counts.n_independent for row in same),
                sum(row.counts.n_independent_passed for row in same),
                answers.is_repeated,
                answers.is_identical,
            )


def test_a_shard_without_any_result_of_a_case_adds_none():
    ms = 7_000_000_000_000
    came = PastCell(
        "a", "m", "s", "c", "h", None, 2, 2, 1, 2, 1, 2, 2, 0, "x", "y",
        7.0, None, None, None, None, [1, ms, *[0, None] * 4],
    )  # fmt: skip
    missing = came._replace(
        run_id="b", n_scored=0, passed=0, scored=0, n_independent=0, n_independent_passed=0,
        n_answers=0, first_hash=None, last_hash=None, e2e_ms=None, sums=None,
    )  # fmt: skip
    wanted = came._replace(n_scorable=4, sums=[1, ms, *[0] * 8])
    assert merge_shards(came, missing) == wanted
    assert merge_shards(missing, came) == wanted._replace(run_id="b")


def test_a_model_string_names_its_cells_too(tmp_path):
    nights = Nights(8, tmp_path / "runs")
    run_ids = sorted(path.parent.name for path in nights.runs_dir.glob("*/config.json"))
    with open_session(nights.runs_dir) as session:
        every = read_cells(session, [run_ids])
        called = {row.key.model_id: row.key.model for row in read_outcomes(session, run_ids)}
        for name in set(called.values()):
            wanted = [cell for cell in every if called[cell.model_id] == name]
            assert read_cells(session, [run_ids], [name]) == wanted != []
        assert read_cells(session, []) == []


def test_the_engine_reads_before_the_records_are_there():
    run_without("import analyze.comparison.evidence.read", "pydantic", "numpy")
