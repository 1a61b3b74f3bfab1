"""A history that is read once and cut is the one that is read with the same bounds."""

from dataclasses import fields
from datetime import date
from pathlib import Path

import numpy as np
import pytest

from analyze.gate.decide import Question, decide
from analyze.query.session import open_session
from analyze.query.thresholds import limits_in_force
from analyze.regressions import series as series_module
from analyze.regressions.detect import runs_since_shift
from analyze.regressions.open_shifts import find_open_shifts
from analyze.regressions.series import Histories, read_history
from analyze.report.build import build_report
from schemas.config.project import Thresholds
from schemas.output.regressions import GateRules
from tests.support.nights import Nights

pytestmark = [pytest.mark.peers, pytest.mark.usefixtures("warm_engines")]

METRICS = ("passed_rate", "e2e_ms", "ttft_ms", "cost_usd")


@pytest.fixture(scope="module")
def nights(tmp_path_factory):
    """Two models that drop, shards, a part of the suite, and a suite beside it."""
    made = Nights(tmp_path_factory.mktemp("nights") / "runs", n_cases=8, repetitions=1)
    made.add(7, rates={"m": 1.0, "other": 1.0}, cost_usd=0.001)
    for shard in ("b", "a"):
        made.add(1, rates={"m": 0.5, "late": 1.0}, run_id=f"shard-{shard}", run_group="g")
    made.add(1, rates={"m": 0.0}, only=2)
    made.add(2, rates={"m": 1.0}, suite_id="else")
    made.add(6, rates={"m": 0.0, "other": 0.5, "late": 1.0}, cost_usd=0.002)
    return made


@pytest.fixture(scope="module")
def session(nights):
    with open_session(nights.runs_dir) as session:
        yield session


@pytest.fixture
def reads(monkeypatch):
    """The points of each time that cells are read."""
    found = []
    read = series_module.read_cell_rows

    def counted(session, points, *args, **options):
        found.append(points)
        return read(session, points, *args, **options)

    monkeypatch.setattr(series_module, "read_cell_rows", counted)
    return found


def run_ids(session):
    rows = session.rows(
        "select run_id from stg_runs where suite_id = 'smoke' order by started_at_ms"
    )
    return [run_id for (run_id,) in rows]


def same(one, two):
    if isinstance(one, np.ndarray):
        return np.array_equal(one, two)
    if isinstance(one, dict):
        return one.keys() == two.keys() and all(same(one[key], two[key]) for key in one)
    if isinstance(one, tuple) and one and isinstance(one[0], np.ndarray):
        return all(same(a, b) for a, b in zip(one, two, strict=True))
    return one == two


@pytest.mark.parametrize("last", [None, 0, 4])
@pytest.mark.parametrize("before", [None, "shard-a", "night-011", "nowhere"])
def test_a_cut_history_is_the_one_that_is_read_with_the_same_bounds(session, before, last):
    whole = read_history(session, METRICS, suite="smoke")
    cut = whole.cut(before=before, last=last)
    read = read_history(session, METRICS, suite="smoke", before=before, last=last)

    assert cut.points == read.points
    assert cut.n_series == read.n_series
    pairs = list(zip(cut.series(), read.series(), strict=True))
    assert len(pairs) == read.n_series
    for one, two in pairs:
        for field in fields(one):
            assert same(getattr(one, field.name), getattr(two, field.name)), field.name


@pytest.mark.parametrize("last", [3, 120])
def test_what_stands_at_each_run_is_the_same_in_a_shared_history(session, last):
    histories, n_open = Histories(session, METRICS), 0
    for run_id in run_ids(session):
        asked = {"limits": Thresholds(), "last": last}
        alone = find_open_shifts(session, [run_id], **asked)
        shared = find_open_shifts(session, [run_id], **asked, histories=histories)
        assert shared == alone
        n_open += len(alone.shifts)
    assert (n_open > 0) == (last > 3)


@pytest.mark.parametrize("model_id", ["m", "late", "nobody"])
def test_the_runs_since_a_shift_are_the_same_in_a_shared_history(session, model_id):
    histories = Histories(session, METRICS)
    for run_id in run_ids(session)[::-3]:
        asked = (session, "smoke", model_id, run_id, METRICS[:2])
        assert runs_since_shift(*asked, histories=histories) == runs_since_shift(*asked)


def test_a_report_reads_the_history_of_its_suite_once(session, reads):
    newest = run_ids(session)[-1]
    report = build_report(session, newest, baseline=None, limits=limits_in_force(Path()))

    assert [len(points) for points in reads] == [15]
    assert report.shifts.shifts
    assert report.open_shifts


@pytest.mark.parametrize(
    ("baseline", "model", "n_points"),
    [("history", None, [15]), ("previous", None, [15]), ("history", "other", [15, 14])],
)
def test_a_gate_reads_it_once_for_all_models_and_metrics(session, reads, baseline, model, n_points):
    rules = GateRules(
        metrics=("passed_rate", "ttft_ms"), max_drop=0.0, min_coverage=0.9, prove=False
    )
    question = Question(rules, limits_in_force(Path()), baseline=baseline, model=model)
    decide(session, question, date(2026, 1, 1))

    assert [len(points) for points in reads] == n_points
