"""Columns of a query as arrays."""

import numpy as np
import pytest

from analyze.query.session import open_session
from schemas.errors import ViewError
from tests.support.nights import Nights


@pytest.fixture
def session(tmp_path):
    Nights(tmp_path / "runs", n_cases=2, repetitions=1).add(2, rates={"m": 1.0})
    with open_session(tmp_path / "runs") as opened:
        yield opened


def test_columns_come_by_name_with_their_types_and_nulls_are_masked(session):
    columns = session.arrays(
        "select run_id, case_id, n_scored, cost_nano_usd from int_cell_counts "
        "where case_id = ? order by run_id",
        ["case-01"],
    )
    assert columns["run_id"].tolist() == ["night-001", "night-002"]
    assert columns["n_scored"].dtype == np.int64
    assert columns["n_scored"].tolist() == [1, 1]
    assert np.ma.getmaskarray(columns["cost_nano_usd"]).tolist() == [True, True]


def test_a_query_that_fails_gives_the_words_of_the_engine(session):
    with pytest.raises(ViewError, match="n_scord"):
        session.arrays("select n_scord from int_cell_counts")
