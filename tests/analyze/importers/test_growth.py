"""An eval that went on since it was imported: its run goes on, and nothing that was read moves."""

import subprocess
import sys

import pytest

from analyze.importers.growth import grow
from analyze.importers.inspect import import_inspect
from analyze.lake.sync import sync
from analyze.query.session import open_session
from schemas.errors import ConfigError
from schemas.run.import_record import SOURCE_FOLDER, load_import_record
from schemas.run.layout import LOG
from tests.support.imported_rows import latest_of, results_of, trace_of
from tests.support.inspect_logs import header, member, members, sample, write_eval

RUNNING = {"_journal/start.json": header(), member("a"): sample("a")}
WHOLE = members(sample("a"), sample("b", value="I"))

KILLED = """
import os, sys
from pathlib import Path
from analyze.importers import growth
from analyze.importers.inspect import import_inspect
at, left = sys.argv[3], int(sys.argv[4])
def dying(original):
    def call(*args, **kwargs):
        global left
        left -= 1
        if left < 0:
            os.kill(os.getpid(), 9)
        return original(*args, **kwargs)
    return call
if at == "replace":
    Path.replace = dying(Path.replace)
elif at == "fsync":
    os.fsync = dying(os.fsync)
else:
    growth._opened_at = dying(growth._opened_at)
import_inspect(Path(sys.argv[1]), Path(sys.argv[2]))
"""


@pytest.fixture
def runs_dir(tmp_path):
    return tmp_path / "runs"


@pytest.fixture
def log(tmp_path):
    return tmp_path / "log.eval"


def imported(log, found, runs_dir):
    (written,) = import_inspect(write_eval(log, found), runs_dir)
    return written


def assert_whole(run_dir):
    rows = latest_of(run_dir)
    assert {key: one.passed for key, one in rows.items()} == {("a", 1): True, ("b", 1): False}
    assert all(trace_of(run_dir, one).trace for one in rows.values())
    record = load_import_record(run_dir)
    assert record.unfinished == ()
    assert {path.name for path in (run_dir / SOURCE_FOLDER).iterdir()} == set(record.files)


def test_what_is_new_is_appended_and_the_lake_follows(log, runs_dir):
    first = imported(log, RUNNING, runs_dir)
    assert (first.n_trials, first.n_unfinished) == (1, 1)
    sync(runs_dir)
    before = (first.run_dir / LOG).read_bytes()

    again = imported(log, WHOLE, runs_dir)

    assert (again.is_new, again.n_trials, again.n_unfinished) == (True, 2, 0)
    assert (first.run_dir / LOG).read_bytes().startswith(before)
    assert len(results_of(first.run_dir)) == 2
    assert_whole(first.run_dir)
    assert sync(runs_dir).problems == ()
    with open_session(runs_dir) as session:
        assert session.rows("select case_id, passed from trials order by 1") == [
            ("a", True), ("b", False),
        ]  # fmt: skip
    assert imported(log, WHOLE, runs_dir).is_new is False


def test_a_trial_that_changed_is_a_newer_line(log, runs_dir):
    first = imported(log, WHOLE, runs_dir)

    imported(log, members(sample("a"), sample("b", value="C")), runs_dir)

    assert [(one.case_id, one.passed) for one in results_of(first.run_dir)] == [
        ("a", True), ("b", False), ("b", True),
    ]  # fmt: skip


def test_a_source_that_lacks_a_trial_is_refused_and_nothing_changes(log, runs_dir):
    first = imported(log, WHOLE, runs_dir)
    before = {path: path.read_bytes() for path in first.run_dir.rglob("*") if path.is_file()}

    with pytest.raises(
        ConfigError, match=r"has 1 trial that the newer source lacks, .*b/1 for one"
    ):
        imported(log, RUNNING, runs_dir)

    after = {path: path.read_bytes() for path in first.run_dir.rglob("*") if path.is_file()}
    assert after == before


def test_torn_ends_of_a_killed_import_are_cut_off(log, runs_dir):
    first = imported(log, RUNNING, runs_dir)
    (traces,) = (first.run_dir / "artifacts").iterdir()
    with traces.open("ab") as file:
        file.write(traces.read_bytes()[:40])
    with (first.run_dir / LOG).open("ab") as file:
        file.write(b'{"record_type":"res')

    imported(log, WHOLE, runs_dir)

    assert len(results_of(first.run_dir)) == 2
    assert_whole(first.run_dir)


@pytest.mark.parametrize(
    ("at", "after"),
    [("open", 0), ("open", 1), ("fsync", 5), ("fsync", 9), ("replace", 0), ("replace", 1)],
)
def test_the_next_import_mends_what_a_killed_one_left(log, runs_dir, at, after):
    first = imported(log, RUNNING, runs_dir)
    write_eval(log, WHOLE)
    command = [sys.executable, "-c", KILLED, str(log), str(runs_dir), at, str(after)]
    done = subprocess.run(command, capture_output=True, timeout=60, check=False)
    assert done.returncode in {-9, 0}, done.stderr
    assert latest_of(first.run_dir)["a", 1].passed is True

    imported(log, WHOLE, runs_dir)

    assert len(results_of(first.run_dir)) == 2
    assert_whole(first.run_dir)


def test_two_folders_of_the_same_state_have_nothing_to_append(log, runs_dir, tmp_path):
    first = imported(log, WHOLE, runs_dir)
    other = imported(log, WHOLE, tmp_path / "others")

    assert grow(first.run_dir, other.run_dir, "") == 0
