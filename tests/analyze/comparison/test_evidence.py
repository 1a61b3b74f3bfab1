"""What a comparison reads: all of both sides, and files of other months stay closed."""

import subprocess
import sys

import pytest

from analyze.cli_startup import imported_meanwhile
from analyze.comparison.evidence.outcomes import read_causes, read_outcomes
from analyze.comparison.evidence.read import read_evidence
from analyze.comparison.evidence.run_sets import resolve_sides
from analyze.query.session import Session
from tests.support.compared_runs import Runs
from tests.support.paths import ROOT

pytestmark = pytest.mark.usefixtures("warm_engines")

COUNT = "select count(*) from trials"


@pytest.fixture(scope="module")
def months(shared_run):
    """Runs in three months; the second has a trial without a result."""
    runs = Runs(shared_run)
    runs.add("first", 0)
    runs.add("second", 40, result=lambda trial: None if trial.case_id == "a" else {})
    runs.add("third", 80)
    return runs


def test_runs_of_different_months_are_read_as_from_the_whole_lake(months):
    with Session(months.runs_dir) as session:
        evidence = read_evidence(session, *resolve_sides(session, "first", "second"))
    with Session(months.runs_dir) as session:
        rows = read_outcomes(session, ["first", "second"])
        causes = read_causes(session, ["second"])

    assert len(rows) == 4
    assert evidence.rows == rows
    assert evidence.causes == causes
    assert [dict(why) for why in causes.values()] == [{"missing": 1}]


def test_only_files_of_the_months_are_open_and_all_of_them_later(months):
    with Session(months.runs_dir) as session:
        (starts,) = session.rows(
            "select list(month order by month) from (select distinct "
            "strftime(make_timestamp(started_at_ms * 1000), '%Y-%m') as month from stg_runs)"
        )
        with session.only_months(starts[0][:1]):
            some = session.rows(COUNT)
        every = session.rows(COUNT)
        with session.only_months(starts[0][:1]):
            still_every = session.rows(COUNT)

    assert len(starts[0]) == 3
    assert some == [(2,)]
    assert every == still_every == [(5,)]


def test_a_run_whose_start_says_nothing_is_read_too(new_run):
    runs = Runs(new_run)
    runs.add("known", 0)
    runs.add("clock_at_zero", 40, started_at_ms=0)
    with Session(runs.runs_dir) as session:
        evidence = read_evidence(session, *resolve_sides(session, "known", "clock_at_zero"))

    assert [row.run_id for row in evidence.rows] == ["clock_at_zero"] * 2 + ["known"] * 2


def test_modules_are_there_when_the_block_ends():
    with imported_meanwhile("analyze.cli_startup", "colorsys"):
        pass

    assert "colorsys" in sys.modules


def test_a_module_that_fails_to_load_is_loaded_again_at_the_end(monkeypatch, tmp_path):
    seen = []
    monkeypatch.setattr("threading.excepthook", lambda args: seen.append(args.exc_type))
    monkeypatch.syspath_prepend(tmp_path)
    tried = tmp_path / "tried"
    (tmp_path / "fails_once.py").write_text(
        "from pathlib import Path\n"
        f"tried = Path({str(tried)!r})\n"
        "is_first = not tried.exists()\n"
        "tried.touch()\n"
        "if is_first: raise AttributeError('partially initialized')\n"
    )
    monkeypatch.delitem(sys.modules, "colorsys", raising=False)
    with imported_meanwhile("fails_once", "colorsys"):
        pass

    assert seen == []
    assert tried.exists()
    assert "colorsys" in sys.modules
    assert not sys.modules["fails_once"].is_first


def test_a_module_that_is_not_there_raises_when_the_block_ends_and_hides_no_other_error():
    is_done = False
    with (
        pytest.raises(ModuleNotFoundError, match="no_such_module"),
        imported_meanwhile("no_such_module", "colorsys"),
    ):
        is_done = True
    assert is_done
    with pytest.raises(ZeroDivisionError), imported_meanwhile("no_such_module"):
        _ = 1 / 0


SWALLOWED = """
import signal, threading
from analyze.cli_startup import imported_meanwhile
class Deaf:
    def __del__(self):
        signal.raise_signal(signal.SIGINT)
try:
    with imported_meanwhile("colorsys"):
        [one.join() for one in threading.enumerate() if one.name == "imports"]
        Deaf()
        print("goes on")
except KeyboardInterrupt:
    print("interrupted")
"""


def test_ctrl_c_that_met_deaf_code_comes_at_the_end_of_the_block_and_prints_nothing():
    done = subprocess.run(
        [sys.executable, "-c", SWALLOWED], capture_output=True, text=True, check=False, cwd=ROOT
    )
    assert (done.stdout, done.stderr) == ("goes on\ninterrupted\n", "")
