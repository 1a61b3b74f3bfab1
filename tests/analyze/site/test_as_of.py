"""The lake as of a run says what a lake says that holds no later run: in every view and report."""

import json
import shutil
from pathlib import Path

import pytest

from analyze.query.as_of import HELD_VIEWS, AsOfSession
from analyze.query.catalog import EVERYTHING, NAMES
from analyze.query.session import open_session, sync_new_runs
from analyze.query.thresholds import limits_in_force
from analyze.report.build import build_report
from schemas.run.layout import run_folders
from tests.support.nights import Nights
from tests.support.paths import ROOT, SAMPLES

pytestmark = pytest.mark.usefixtures("no_library", "warm_engines")

JUDGED = ROOT / "data" / "judged" / "runs"


@pytest.fixture(scope="module")
def fallen(tmp_path_factory):
    """Return two suites whose nights take turns; one model fell, and came back."""
    made = Nights(tmp_path_factory.mktemp("fallen") / "runs", n_cases=8, repetitions=2)
    for rate in (0.9, 0.9, 0.9, 0.2, 0.2, 0.2):
        made.add(rates={"careful": 0.9, "fallen": rate}, clusters=2, lost=0.05)
        made.add(rates={"careful": 0.8}, suite_id="other", parts={"harness": f"rate {rate}"})
    sync_new_runs(made.runs_dir)
    return made.runs_dir


def runs_up_to(runs_dir, run_id, target):
    """Copy a run and those of its suite that began before, without their lake."""
    with open_session(runs_dir) as session:
        kept = session.rows(
            "select other.run_id from runs as this inner join runs as other using (suite_id) "
            "where this.run_id = ? and other.run_no <= this.run_no",
            [run_id],
        )
    for (one,) in kept:
        shutil.copytree(runs_dir / one, target / one)
    return target


def rows_of(session, view):
    """Return the rows of a view, in an order that does not depend on where they lie."""
    return sorted(map(repr, session.rows(f'select * from "{view}"')))


def said(session, run_id):
    """Return a report as JSON, without the folder that its commands name."""
    report = build_report(session, run_id, baseline=None, limits=limits_in_force(Path("/")))
    return json.loads(report.model_dump_json().replace(str(session.runs_dir), "runs"))


@pytest.mark.parametrize("history", ["samples", "judged", "fallen"])
def test_views_and_reports_as_of_each_run(history, tmp_path, request):
    if history == "fallen":
        runs_dir = request.getfixturevalue("fallen")
    else:
        runs_dir = tmp_path / "runs"
        source = SAMPLES if history == "samples" else JUDGED
        shutil.copytree(source, runs_dir, ignore=shutil.ignore_patterns("lake"))
    with open_session(runs_dir) as session:
        run_ids = [run_id for (run_id,) in session.rows("select run_id from stg_runs order by 1")]
    assert run_ids
    with AsOfSession(runs_dir) as held:
        for run_id in run_ids[::6]:
            target = runs_up_to(runs_dir, run_id, tmp_path / "until" / run_id)
            held.stand_at(run_id)
            with open_session(target) as alone:
                for view in NAMES:
                    assert rows_of(held, view) == rows_of(alone, view), (run_id, view)
                assert said(held, run_id) == said(alone, run_id), run_id


def test_rows_of_held_views_follow_from_their_run(fallen):
    """Else what is a table from the beginning would know of later runs."""
    assert set(HELD_VIEWS) <= NAMES.keys() <= EVERYTHING
    run_ids = [name for name, _ in run_folders(fallen)]
    with open_session(fallen) as session:
        for view in HELD_VIEWS:
            columns = session.arrow(f'select * from "{view}" limit 0').column_names
            assert "run_id" in columns, view
            found = session.rows(f'select distinct run_id from "{view}" order by 1')
            assert {run_id for (run_id,) in found} <= set(run_ids)


def test_texts_of_some_runs_alone(fallen):
    with AsOfSession(fallen, texts_of=["night-003"]) as held:
        held.stand_at("night-005")
        assert held.rows("select distinct run_id from outputs") == [("night-003",)]
        held.stand_at("night-001")
        assert held.rows("select count(*) from outputs") == [(0,)]


def test_run_that_the_lake_does_not_have_shows_nothing(fallen):
    with AsOfSession(fallen) as held:
        held.stand_at("nobody")
        assert held.rows("select run_id from runs") == []
        held.stand_at("night-002")
        assert held.rows("select run_id from runs") == [("night-002",)]


def test_lake_that_is_compacted_meanwhile_is_held_already(fallen, tmp_path):
    runs_dir = tmp_path / "runs"
    shutil.copytree(fallen, runs_dir)
    with AsOfSession(runs_dir) as held:
        held.stand_at("night-003")
        before = said(held, "night-003")
        shutil.rmtree(runs_dir / "lake")
        assert said(held, "night-003") == before
