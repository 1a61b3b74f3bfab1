"""Which run a text means."""

from pathlib import Path

import pytest

from analyze.query.run_ref import resolve_run, runs_dir_of
from analyze.query.session import Session
from schemas.errors import EXIT_USAGE, ConfigError, RunNotFound


@pytest.fixture
def lake(new_run):
    """Three runs of two suites, in another order than their names, in the lake."""

    def add(run_id, day, suite="smoke"):
        run = new_run(run_id, day=day)
        run.result(run.plan(suite_id=suite))
        return run.mirror()

    runs = [add("b", 0), add("c", 1, "other"), add("a", 2)]
    with Session(runs[0].runs_dir) as session:
        yield session


def test_a_run_id_means_itself(lake):
    assert resolve_run(lake, "b") == "b"


def test_latest_is_the_run_that_started_last_and_previous_the_one_of_its_suite_before(lake):
    assert resolve_run(lake, "latest") == "a"
    assert resolve_run(lake, "previous") == "b"


def test_previous_of_a_suite_with_one_run_is_a_usage_error(new_run):
    run = new_run("only")
    run.result(run.plan())
    run.mirror()

    with Session(run.runs_dir) as session, pytest.raises(ConfigError, match="no previous") as error:
        resolve_run(session, "previous")

    assert error.value.exit_code == EXIT_USAGE


def test_a_path_means_the_run_in_it(lake, monkeypatch):
    assert resolve_run(lake, str(lake.runs_dir / "c")) == "c"
    monkeypatch.chdir(lake.runs_dir / "c")
    assert resolve_run(lake, ".") == "c"


def test_a_path_opens_the_folder_of_runs_around_it_and_an_id_the_one_given(lake, monkeypatch):
    elsewhere = lake.runs_dir.parent / "elsewhere"

    assert runs_dir_of(elsewhere, str(lake.runs_dir / "c")) == lake.runs_dir.resolve()
    assert runs_dir_of(elsewhere, "latest") == elsewhere
    monkeypatch.chdir(lake.runs_dir)
    assert runs_dir_of(lake.runs_dir, "c") == lake.runs_dir
    monkeypatch.chdir(lake.runs_dir / "c")
    assert runs_dir_of(elsewhere, ".") == lake.runs_dir.resolve()


def test_a_typo_is_a_usage_error_that_names_the_nearest(new_run):
    run = new_run("20251101_080000")
    run.result(run.plan())
    run.mirror()

    with Session(run.runs_dir) as session, pytest.raises(RunNotFound, match="20251101_080000"):
        resolve_run(session, "20251101_08000")


@pytest.mark.parametrize("text", ["latest", "previous", "x", "label:x"])
def test_without_runs_the_way_to_the_first_one_is_named(tmp_path, text):
    with Session(tmp_path) as session, pytest.raises(RunNotFound, match="collect demo"):
        resolve_run(session, text)


def test_a_label_means_the_newest_run_with_it(new_run):
    from analyze.lake.labels import label

    runs = [new_run(name, day=n) for n, name in enumerate(("one", "two", "three"))]
    for run in runs:
        run.result(run.plan())
        run.mirror()
    label(runs[0].runs_dir, "one", ("base", "week 1"))
    label(runs[0].runs_dir, "two", ("base",))

    with Session(runs[0].runs_dir) as session:
        assert resolve_run(session, "label:base") == "two"
        assert resolve_run(session, "label:week 1") == "one"
        with pytest.raises(RunNotFound, match="did you mean `label:base`"):
            resolve_run(session, "label:bas")
        with pytest.raises(RunNotFound, match="there are 3"):
            resolve_run(session, "label:quite another")


def test_a_folder_that_is_not_in_the_lake_is_said_to_be_there(lake):
    folder = lake.runs_dir / "new"
    folder.mkdir()
    (folder / "results.jsonl").write_text("")

    with pytest.raises(ConfigError, match="nothing of it is in the lake"):
        resolve_run(lake, "new")


def test_a_link_among_the_runs_is_a_run_there(lake, tmp_path, monkeypatch):
    (lake.runs_dir / "a").rename(tmp_path / "kept")
    (lake.runs_dir / "a").symlink_to(tmp_path / "kept")
    (lake.runs_dir / "newest").symlink_to("b")
    monkeypatch.chdir(lake.runs_dir.parent)
    runs_dir = Path(lake.runs_dir.name)

    for name, run_id in (("a", "a"), ("newest", "b")):
        assert runs_dir_of(runs_dir, str(runs_dir / name)).samefile(runs_dir)
        assert resolve_run(lake, str(runs_dir / name)) == run_id
