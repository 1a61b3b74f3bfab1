"""Finding runs, bringing them into the lake, and reading a lake that cannot be written."""

import errno
import fcntl

import pytest

from analyze import history
from analyze.history import bring_into_lake, find_run, open_lake
from analyze.summarize import summarize_run
from schemas.errors import AnalyzeError, RunNotFound, SchemaError, UnknownVersion, ViewError
from schemas.lake import live_files
from schemas.mirror import mirror_run


def test_run_is_found_by_id_and_by_path(run):
    run.plan()
    path = run.write()

    assert find_run(run.runs_dir, "run-1") == path
    assert find_run(run.runs_dir / "elsewhere", str(path)) == path.resolve()


def test_latest_is_by_start_not_by_name(new_run):
    older, newer = new_run("zz", 1_000), new_run("aa", 2_000)
    for run in (older, newer):
        run.plan()
        run.write()
    broken = older.runs_dir / "zzz"
    broken.mkdir()
    (broken / "config.json").write_text("{")

    assert find_run(older.runs_dir, "latest") == newer.path


@pytest.mark.parametrize(
    ("name", "hint"), [("run-2", "did you mean `run-1`"), ("qqqqqq", "there are 1")]
)
def test_unknown_run_names_what_is_near(run, name, hint):
    run.plan()
    run.write()

    with pytest.raises(RunNotFound, match=hint):
        find_run(run.runs_dir, name)


@pytest.mark.parametrize("name", ["latest", "run-1", "a/b"])
def test_no_runs_at_all_says_how_to_make_one(tmp_path, name):
    with pytest.raises(RunNotFound, match="collect demo"):
        find_run(tmp_path / "none", name)


def test_a_broken_line_and_a_torn_tail_are_reported_every_time(run):
    run.result(run.plan("c1"))
    run.lines.append(b"{not json\n")
    run.event("paused")
    run.lines.append(b'{"record_type": "note"}\n')
    run.result(run.plan("c2"))
    run.lines.append(run.lines[0][:40])
    run.plan("c3")
    run.write()

    first = bring_into_lake(run.path, run.lake)
    again = bring_into_lake(run.path, run.lake)

    assert ["results.jsonl:2: not a JSON object" in first[0], ":4: " in first[1]] == [True, True]
    assert "the last 40 bytes" in first[2]
    assert [problem.split(": ")[0] for problem in again[:2]] == [
        problem.split(": ")[0] for problem in first[:2]
    ]
    assert (len(first), len(again)) == (3, 3)
    assert summarize_run(run.path, run.lake).models[0].n_total == 2


def test_nothing_to_report_is_an_empty_list(run):
    run.result(run.plan())
    run.write()

    assert bring_into_lake(run.path, run.lake) == []
    assert bring_into_lake(run.path, run.lake) == []


def test_run_that_another_process_mirrors_is_read_as_far_as_it_is_sealed(run):
    run.result(run.plan("c1"))
    run.plan("c2")
    run.write()
    mirror_run(run.path, run.lake)
    run.result(run.trials[1])
    run.write()

    with (run.path / ".mirror.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        problems = bring_into_lake(run.path, run.lake)

    assert "another process" in problems[0]
    assert "not mirrored yet" in problems[1]
    assert summarize_run(run.path, run.lake).models[0].n_total == 1


@pytest.mark.parametrize("number", [errno.EROFS, errno.EACCES])
def test_read_only_lake_is_read_and_said_to_be(run, monkeypatch, number):
    run.result(run.plan("c1"))
    run.write()
    mirror_run(run.path, run.lake)

    def refuse(*_):
        raise OSError(number, "no writing here")

    monkeypatch.setattr(history, "mirror_run", refuse)

    (problem,) = bring_into_lake(run.path, run.lake)
    assert "no writing here" in problem
    assert summarize_run(run.path, run.lake).models[0].n_total == 1


def test_full_disk_is_no_read_only_lake(run, monkeypatch):
    run.plan()
    run.write()

    def refuse(*_):
        raise OSError(errno.ENOSPC, "full")

    monkeypatch.setattr(history, "mirror_run", refuse)

    with pytest.raises(AnalyzeError, match="full; nothing of the run itself is lost"):
        bring_into_lake(run.path, run.lake)


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("config.json", None, "cannot be read"),
        ("config.json", "{}", "`run_id`: Field required"),
        ("plan.jsonl", None, "no complete run"),
        ("plan.jsonl", "{}\n", "plan.jsonl: `run_id`"),
    ],
)
def test_incomplete_folder_names_the_file(run, name, text, message):
    run.plan()
    run.write()
    (run.path / name).unlink()
    if text is not None:
        (run.path / name).write_text(text)

    with pytest.raises(SchemaError, match=message):
        bring_into_lake(run.path, run.lake)


def test_raw_tables_exist_without_a_lake(tmp_path):
    connection = open_lake(tmp_path / "it's nowhere")

    for table in history.RAW_TABLES:
        assert connection.execute(f"from raw_{table}").fetchall() == []
    connection.close()


def test_quotes_in_the_path_of_a_lake_do_no_harm(new_run, tmp_path):
    run = new_run("o'neill")
    run.runs_dir = tmp_path / "it's"
    run.result(run.plan())

    assert run.group().n_total == 1


def test_run_ids_that_begin_alike_stay_apart(new_run):
    for name in ("2026", "2026-a"):
        run = new_run(name)
        run.result(run.plan())
        run.write()
        mirror_run(run.path, run.lake)

    assert summarize_run(run.runs_dir / "2026", run.lake).models[0].n_total == 1
    connection = open_lake(run.lake)
    rows = connection.execute("select run_id from raw_results order by run_id").fetchall()
    connection.close()
    assert rows == [("2026",), ("2026-a",)]


def test_newer_files_are_refused_by_name(run, monkeypatch):
    run.result(run.plan())
    run.write()
    with monkeypatch.context() as later:
        later.setattr("schemas.lake.SCHEMA_VERSION", 2)
        mirror_run(run.path, run.lake)

    with pytest.raises(UnknownVersion, match="schema_version 2"):
        open_lake(run.lake, run.run_id)


def test_a_file_that_cannot_be_read_names_the_table(run, monkeypatch):
    run.result(run.plan())
    run.write()
    mirror_run(run.path, run.lake)
    (path,) = live_files(run.lake, "results")
    monkeypatch.setattr(history, "read_lake_file", lambda _: None)
    path.write_bytes(b"PAR1 no PAR1")

    with pytest.raises(ViewError, match="view `raw_results`"):
        open_lake(run.lake)
