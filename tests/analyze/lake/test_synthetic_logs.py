"""What the benchmarks of the lake measure is a history that is taken: a refused line costs less."""

import importlib

from analyze.lake.sync import sync
from tests.support.paths import ROOT


def test_every_line_of_a_made_history_comes_in(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "benchmarks")
    made = importlib.import_module("synthetic_lake")
    shape = made.Shape(2, 5, 10, 2)
    made.make_logs(tmp_path / "runs", shape)

    synced = sync(tmp_path / "runs")

    assert synced.problems == ()
    assert (synced.n_runs, synced.n_rows) == (2, shape.n_rows)
