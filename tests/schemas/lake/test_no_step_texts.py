"""A lake without the texts of steps, and runs whose texts were taken out of one."""

from contextlib import closing

import pyarrow.parquet as pq
import pytest

from analyze.lake.sync import sync
from schemas.lake import Lake, live_files
from schemas.lake.mirror import load_group
from schemas.lake.mirror.run_mirror import RunMirror
from tests.support.analyze_cli import call
from tests.support.mirrored import mirror_run
from tests.support.run_builder import RunBuilder


def run_ids(lake, table):
    return {
        run_id
        for path in live_files(lake, table)
        for run_id in pq.read_table(path, columns=["run_id"])["run_id"].to_pylist()
    }


@pytest.fixture
def new(tmp_path):
    """Return what makes a run with traces."""

    def made(run_id, n=1):
        run = RunBuilder(tmp_path / "runs", run_id)
        for number in range(n):
            run.traced(run.plan(f"c{number}"))
        run.write()
        return run

    return made


def test_a_lake_that_takes_no_texts_has_hashes_of_all(new):
    run = new("r1")
    done = call("sync", "--no-text", "--runs", run.runs_dir)
    new("r2")
    mirror_run(run.runs_dir / "r2", run.lake)
    new("r3")
    sync(run.runs_dir)

    assert done.code == 0
    assert done.out.endswith("texts of steps stay out of this lake from now on\n")
    assert run_ids(run.lake, "steps") == {"r1", "r2", "r3"}
    assert live_files(run.lake, "step_texts") == []
    assert call("steps", "r1", "--json", "--runs", run.runs_dir).code == 0


def test_texts_come_again_for_new_runs_where_they_are_asked_for(new):
    run = new("r1")
    call("sync", "--no-text", "--runs", run.runs_dir)
    new("r2")
    again = call("sync", "--text", "--runs", run.runs_dir)

    assert "come into this lake" in again.out
    assert run_ids(run.lake, "steps") == {"r1", "r2"}
    assert run_ids(run.lake, "step_texts") == {"r2"}


def test_texts_of_a_run_go_alone_and_stay_out(new, monkeypatch):
    run, _ = new("r1"), new("r2")
    sync(run.runs_dir)
    done = call("sync", "--prune", "--no-text", "r1", "--runs", run.runs_dir)
    steps = run_ids(run.lake, "steps")
    again = sync(run.runs_dir)
    monkeypatch.setattr(load_group, "STEPS_VERSION", load_group.STEPS_VERSION + 1)
    monkeypatch.setattr("schemas.lake.manifest.STEPS_VERSION", load_group.STEPS_VERSION)
    later = sync(run.runs_dir)

    assert "texts of steps removed" in done.out
    assert again.n_rows == 0
    assert later.n_runs == 2, "both are read again"
    assert steps == run_ids(run.lake, "steps") == {"r1", "r2"}
    assert run_ids(run.lake, "step_texts") == {"r2"}


def test_a_run_that_goes_on_stays_without_texts(new):
    run = new("r1")
    sync(run.runs_dir)
    with Lake.open(run.lake) as lake:
        assert lake.prune(["r1"], texts_alone=True) > 0
    (file,) = live_files(run.lake, "steps")
    n_before = pq.read_table(file).num_rows
    run.traced(run.plan("later"))
    run.write()
    with closing(RunMirror(run.path, run.lake)) as following:
        following.step()
        following.seal()
    sync(run.runs_dir)

    rows = sum(pq.read_table(path).num_rows for path in live_files(run.lake, "steps"))
    assert rows == 2 * n_before > 0
    assert live_files(run.lake, "step_texts") == []


def test_results_that_are_lost_are_read_again_without_texts(new):
    run = new("r1")
    sync(run.runs_dir)
    call("sync", "--prune", "--no-text", "r1", "--runs", run.runs_dir)
    (path,) = live_files(run.lake, "outputs")
    path.unlink()
    sync(run.runs_dir)

    assert run_ids(run.lake, "outputs") == run_ids(run.lake, "steps") == {"r1"}
    assert live_files(run.lake, "step_texts") == []


def test_what_cannot_be_meant_is_refused(new):
    run = new("r1")

    done = call("sync", "--prune", "--text", "r1", "--runs", run.runs_dir)

    assert done.code == 2
    assert "--no-text takes them alone" in done.err
