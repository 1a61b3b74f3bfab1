"""A session: the lake open for reading, while files are moved under it."""

import pytest

from analyze.contracts.models import ModelSummaryRow
from analyze.query.session import Session, open_session
from schemas.errors import AnalyzeError, ViewError
from schemas.lake import live_files


@pytest.fixture
def lake(run):
    for n in range(3):
        run.result(run.plan(f"c{n}"), passed=n > 0)
    run.mirror()
    return run


def move_away_and_back(lake, session, monkeypatch):
    """Let the files of `results` bear other names from the second listing on."""
    session.rows("select count(*) from raw_results")
    for path in live_files(lake.lake, "results"):
        path.rename(path.with_name(f"z{path.name}"))


def test_rows_read_and_arrow_give_the_same(lake):
    with Session(lake.runs_dir) as session:
        (row,) = session.read(ModelSummaryRow, "run_id = ?", [lake.run_id])
        assert session.rows("select n_passed, n_total from model_summary") == [(2, 3)]
        assert (row.n_passed, row.n_total) == (2, 3)
        table = session.arrow("select n_passed from model_summary where run_id = ?", ["run-1"])
        assert table.to_pylist() == [{"n_passed": 2}]
        assert session.read(ModelSummaryRow, "run_id = ?", ["other"]) == []


def test_the_connection_has_every_view(lake):
    with Session(lake.runs_dir) as session:
        names = {name for (name,) in session.connection.execute("show tables").fetchall()}

    assert {"model_summary", "trials", "raw_results", "raw_thresholds"} <= names


def test_a_file_that_was_moved_is_found_again(lake, monkeypatch):
    with Session(lake.runs_dir) as session:
        move_away_and_back(lake, session, monkeypatch)

        assert session.rows("select count(*) from raw_results") == [(3,)]
        assert session.rows("select n_total from model_summary") == [(3,)]
        assert session.arrow("select count(*) as n from trials").to_pylist() == [{"n": 3}]


def test_files_that_never_stay_are_an_error_in_the_end(lake, monkeypatch):
    monkeypatch.setattr("analyze.lake.repair.PAUSE_S", 0)
    gone = lake.lake / "results" / "month=2025-11" / "gone.parquet"
    monkeypatch.setattr("analyze.lake.raw_tables.live_files", lambda *_: [gone])

    with Session(lake.runs_dir) as session, pytest.raises(AnalyzeError, match="over and over"):
        session.rows("select count(*) from raw_results")


def test_a_mistake_in_a_query_is_no_moved_file(lake):
    with Session(lake.runs_dir) as session, pytest.raises(ViewError, match="nope"):
        session.rows("select nope from raw_results")


def test_opening_brings_in_what_is_new(run):
    run.result(run.plan())
    run.write()

    with open_session(run.runs_dir) as session:
        assert session.rows("select count(*) from trials") == [(1,)]


def test_without_a_sync_the_lake_is_read_as_it_is(run):
    run.result(run.plan())
    run.write()

    with open_session(run.runs_dir, sync=False) as session:
        assert session.rows("select count(*) from trials") == [(0,)]


def test_problems_are_told_in_one_line(run):
    run.result(run.plan())
    run.lines.insert(0, b"{broken\n")
    run.write()
    lines = []

    with open_session(run.runs_dir, progress=lines.append) as session:
        assert session.rows("select count(*) from trials") == [(1,)]

    (line,) = lines
    assert line.startswith("warning: ")
    assert "results.jsonl:1" in line


def test_a_folder_that_is_not_there_is_told(tmp_path):
    lines = []

    with open_session(tmp_path / "nowhere", progress=lines.append) as session:
        assert session.rows("select count(*) from model_summary") == [(0,)]

    assert len(lines) == 1
    assert "there is no folder" in lines[0]
    assert not (tmp_path / "nowhere").exists()


def test_what_does_not_fit_into_memory_goes_to_disk_and_is_gone_at_the_end(
    new_run, monkeypatch, tmp_path
):
    run = new_run()
    run.result(run.plan())
    run.write()
    (place := tmp_path / "temporary").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(place))
    monkeypatch.setattr("analyze.query.session.MEMORY_MB", 60)
    with open_session(run.runs_dir) as session:
        rows = session.rows(
            "select i from (select range as i, md5(cast(range as varchar)) as text "
            "from range(1_000_000) order by text) offset 999_999"
        )
        assert len(rows) == 1
        assert [folder.name.partition("-")[0] for folder in place.iterdir()] == ["benchlake"]

    assert list(place.iterdir()) == []
