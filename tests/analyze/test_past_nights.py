"""Past nights are read by a query of their own: what it counts is what int_case_outcomes counts."""

import math

import pytest

from analyze.compare.night_runs import FIRST_LOG, PastCell, Plan, read_past_nights
from analyze.compare.outcomes import METRICS, read_outcomes
from analyze.compare.paired import own_trials
from analyze.session import open_session
from tests.analyze.test_compared_independently import Nights

LEAST_COVERAGE = "analyze.compare.night_runs.LEAST_COVERAGE"


def test_the_metrics_of_a_cell_are_in_their_order():
    assert PastCell._fields[FIRST_LOG : FIRST_LOG + len(METRICS)] == METRICS


@pytest.mark.parametrize("seed", [3, 8, 21])
def test_cells_are_those_of_the_outcomes(seed, tmp_path, monkeypatch):
    monkeypatch.setattr(LEAST_COVERAGE, 0.0)
    nights = Nights(seed, tmp_path / "runs")
    run_ids = sorted(path.parent.name for path in nights.runs_dir.glob("*/config.json"))
    with open_session(nights.runs_dir) as session:
        outcomes = read_outcomes(session, run_ids)
        models = {row.key.model_id for row in outcomes}
        n_cells = 0
        for run_id in run_ids:
            plan = Plan("smoke", (run_id,), (None,), is_before=True)
            past = read_past_nights(session, [plan], models)
            for row in (one for one in outcomes if one.run_id == run_id):
                (cell,) = past[row.key.model_id].cases[row.case]
                n_cells += 1
                assert cell[:5] == (
                    row.case_hash,
                    row.counts.n_scorable,
                    row.counts.n_scored,
                    own_trials(row).n_passed,
                    own_trials(row).n_scored,
                )
                logs = cell[FIRST_LOG : FIRST_LOG + len(METRICS)]
                for log, measured in zip(logs, row.measured, strict=True):
                    wanted = measured.ln_mean
                    assert log is wanted is None or math.isclose(log, wanted, rel_tol=1e-14)
    assert n_cells == len(outcomes) > 0


def test_shards_are_one_night_in_any_order(tmp_path, monkeypatch):
    monkeypatch.setattr(LEAST_COVERAGE, 0.0)
    nights = Nights(5, tmp_path / "runs")
    run_ids = sorted(path.parent.name for path in nights.runs_dir.glob("*/config.json"))
    with open_session(nights.runs_dir) as session:
        rows = read_outcomes(session, run_ids)
        models = {row.key.model_id for row in rows}
        one, other = (
            read_past_nights(session, [Plan("smoke", tuple(ids), (None,), is_before=True)], models)
            for ids in (run_ids, run_ids[::-1])
        )
    assert one == other
    for model_id, past in one.items():
        for case, (cell,) in past.cases.items():
            same = [row for row in rows if (row.key.model_id, row.case) == (model_id, case)]
            assert cell.scored == sum(own_trials(row).n_scored for row in same)
            n, total = (sum(row.measured[0][at] for row in same) for at in (0, 1))
            assert cell.e2e_ms == (total / 1e12 / n if n else None) or math.isclose(
                cell.e2e_ms, total / 1e12 / n, rel_tol=1e-14
            )
