"""A damaged file of the lake is named, set aside and made again; every command goes on."""

import json
import os
import shutil
import threading
import time

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from analyze.api import open_history
from analyze.lake import repair
from analyze.lake import sync as sync_module
from analyze.lake.sync import sync
from analyze.query.session import Session, open_session
from schemas.lake import TABLE_NAMES, lake_of, live_files
from schemas.lake.manifest import CHECKSUMS, FILES, RUNS
from tests.support.analyze_cli import call
from tests.support.run_builder import RunBuilder

pytestmark = pytest.mark.peers

N_TRIALS = 30

EVERYTHING = "select {} from raw_runs".format(
    ", ".join(f"(select count(*) from raw_{table}) as {table}" for table in TABLE_NAMES)
)


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Two runs of one month in one file a table, and a third that its collector mirrored."""
    runs_dir = tmp_path_factory.mktemp("made") / "runs"
    for run_id in ("night_01", "night_02"):
        write(runs_dir, run_id)
    sync(runs_dir)
    return runs_dir


def write(runs_dir, run_id):
    run = RunBuilder(runs_dir, run_id)
    for number in range(N_TRIALS):
        said = f"{run_id} {number} " + os.urandom(20).hex()
        run.traced(run.plan(f"c{number}"), raw_output=said)
    for trial in run.trials:
        run.evaluation(trial, checks=[{"check_id": "a"}])
        run.judged(trial, 4, "refusal", 9, threshold=5)
        run.compared(trial, "this", "tie", outcome="tied")
    run.event("warmup_failed", model_id="m1", detail="cold")
    run.write()


@pytest.fixture
def runs_dir(made, tmp_path):
    return shutil.copytree(made, tmp_path / "runs")


def counts(runs_dir, *options):
    """Return what `analyze sql` counts in each table, and what it said beside that."""
    done = call("sql", EVERYTHING, "--runs", runs_dir, "--json", *options)
    assert done.code == 0
    return json.loads(done.out)[0], done.err


WHOLE = {
    "results": 60,
    "outputs": 60,
    "events": 2,
    "plans": 60,
    "runs": 2,
    "evaluations": 60,
    "judge_iterations": 180,
    "judgements": 60,
    "pair_iterations": 120,
    "preferences": 60,
    "steps": 60 * 8,
    "step_texts": 60 * 6,
}


def one_file(runs_dir, table):
    (path,) = live_files(lake_of(runs_dir), table)
    return path


def cut_off(path):
    os.truncate(path, path.stat().st_size // 2)


def emptied(path):
    os.truncate(path, 0)


def flipped_in_footer(path):
    content = bytearray(path.read_bytes())
    content[-40] ^= 0xFF
    path.write_bytes(content)


def flipped_in_page(path):
    content = bytearray(path.read_bytes())
    content[60:90] = bytes(byte ^ 0xFF for byte in content[60:90])
    path.write_bytes(content)


def foreign(path):
    pq.write_table(pa.table({"a": [1]}), path)


def text(path):
    path.write_text("run_id,case_id\n")


def folder(path):
    path.unlink()
    path.mkdir()
    (path / "notes.txt").write_text("mine")


def pipe(path):
    path.unlink()
    os.mkfifo(path)


def dangling(path):
    path.unlink()
    path.symlink_to("/nowhere/at/all")


KINDS = {
    cut_off: "is no Parquet file, or the end of one is missing",
    emptied: "is empty",
    flipped_in_footer: "",
    flipped_in_page: "is not as it was sealed",
    foreign: "was not written by benchlake",
    text: "is no Parquet file",
    folder: "is no regular file",
    pipe: "is no regular file",
    dangling: "is no regular file",
}


@pytest.mark.parametrize(
    ("damage", "table"),
    [
        *((damage, "results") for damage in KINDS),
        *((cut_off, table) for table in TABLE_NAMES[1:]),
        (folder, "plans"),
        (pipe, "runs"),
    ],
    ids=lambda value: getattr(value, "__name__", value),
)
def test_a_damaged_file_is_named_and_kept_and_its_rows_come_back(runs_dir, damage, table):
    path = one_file(runs_dir, table)
    damage(path)

    found, said = counts(runs_dir)

    assert found == WHOLE
    assert said.startswith(f"warning: {path}: {KINDS[damage]}")
    assert f"rows of {table} of runs `night_01`, `night_02` are made again" in said
    assert said.count("\n") == 1
    assert not os.path.lexists(path)
    (note,) = (lake_of(runs_dir) / "quarantine").glob("*.json")
    kept = note.with_suffix("")
    assert os.path.lexists(kept)
    assert kept.name in said
    assert f"-{table}-night_01-and-1-more-" in kept.name
    assert json.loads(note.read_bytes())["rows"].keys() == {"night_01", "night_02"}
    assert counts(runs_dir) == (WHOLE, ""), "told once"


def damage_unseen(path, change=flipped_in_page):
    """Change a file as a disk does: neither its size nor its time says so."""
    before = path.stat()
    change(path)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert path.stat().st_size == before.st_size


def fail_to_read(path):
    """Damage every page so that the engine notices; what the file says of itself stays."""
    content = bytearray(path.read_bytes())
    end = len(content) - 8 - int.from_bytes(content[-8:-4], "little")
    content[4:end] = b"\xff" * (end - 4)
    path.write_bytes(content)


@pytest.mark.parametrize("command", ["sql", "runs", "history", "open"])
def test_a_page_that_only_a_reader_finds_is_set_aside_and_the_question_asked_again(
    runs_dir, command, tmp_path, capsys
):
    path = one_file(runs_dir, "results")
    damage_unseen(path, fail_to_read)

    if command == "sql":
        done = call("sql", "select sum(e2e_ms) as ms from results", "--runs", runs_dir, "--json")
        assert json.loads(done.out) == [{"ms": 400 * 60}]
        said = done.err
    elif command == "history":
        with open_history(runs_dir) as history:
            assert history.results.collect().height == 60
        said = capsys.readouterr().err
    elif command == "runs":
        done = call("runs", "--runs", runs_dir)
        assert "night_01" in done.out
        said = done.err
    else:
        cut_off(path)
        done = call("open", "--db", tmp_path / "a.duckdb", "--runs", runs_dir)
        with duckdb.connect(tmp_path / "a.duckdb", read_only=True) as connection:
            assert connection.execute("select count(*) from results").fetchall() == [(60,)]
        said = done.err

    assert f"{path}: " in said
    assert "are made again" in said
    assert counts(runs_dir) == (WHOLE, "")


@pytest.mark.parametrize("how", ["--no-sync", "read-only"])
def test_a_reader_that_may_not_write_goes_on_and_says_what_is_missing(runs_dir, how, monkeypatch):
    path = one_file(runs_dir, "results")
    cut_off(path)
    if how == "read-only":

        def refuse(*_, **__):
            raise PermissionError(13, "Permission denied", str(path))

        monkeypatch.setattr("schemas.lake.locked", refuse)
    options = ("--no-sync",) if how == "--no-sync" else ()

    found, said = counts(runs_dir, *options)

    assert found == WHOLE | {"results": 0}
    assert f"{path}: is no Parquet file" in said
    assert "it is left out (60 rows of results)" in said
    assert f"`analyze sync --runs {runs_dir}`" in said
    assert path.exists(), "nothing was written"
    assert not (lake_of(runs_dir) / "quarantine").exists()


def test_rows_without_a_folder_are_said_to_be_lost_and_nothing_else_goes(runs_dir):
    shutil.rmtree(runs_dir / "night_01")
    cut_off(one_file(runs_dir, "results"))

    done = call("sync", "--runs", runs_dir)

    assert done.code == 1
    assert "30 rows of results of run `night_02` are made again from the folder" in done.out
    assert "30 rows of results of run `night_01` are lost, since there is no folder" in done.out
    found, said = counts(runs_dir)
    assert (found, said) == (WHOLE | {"results": 30}, "")


def test_a_file_that_was_only_copied_is_taken_as_it_is(runs_dir):
    for path in lake_of(runs_dir).rglob("*.parquet"):
        os.utime(path)

    assert counts(runs_dir) == (WHOLE, "")
    assert not (lake_of(runs_dir) / "quarantine").exists()


@pytest.mark.parametrize("content", [b"", b'{"version": 1, "fi', b'{"version": 9, "files": {}}'])
@pytest.mark.parametrize("name", [FILES, RUNS, CHECKSUMS])
def test_a_damaged_manifest_is_made_again(runs_dir, name, content):
    (lake_of(runs_dir) / name).write_bytes(content)
    cut_off(one_file(runs_dir, "outputs"))

    assert counts(runs_dir)[0] == WHOLE
    assert sync(runs_dir).problems == ()


def test_two_commands_set_the_same_file_aside_once(runs_dir):
    damage_unseen(one_file(runs_dir, "results"), fail_to_read)
    lines, answers = [], []

    def ask():
        with open_session(runs_dir, progress=lines.append) as session:
            answers.append(session.rows("select count(*), sum(e2e_ms) from results"))

    threads = [threading.Thread(target=ask) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert answers == [[(60, 24_000)]] * 2
    assert len(list((lake_of(runs_dir) / "quarantine").glob("*.json"))) == 1
    assert len(lines) == 1


@pytest.mark.parametrize("repairs", [True, False])
def test_a_question_waits_for_rows_that_another_command_makes_again(runs_dir, monkeypatch, repairs):
    """A file is moved before its rows are made again: who lists files in between finds too few."""
    damage_unseen(one_file(runs_dir, "results"), fail_to_read)
    is_aside, make_again = threading.Event(), sync_module._bring_once

    def slowly(*arguments):
        is_aside.set()
        time.sleep(0.5)
        return make_again(*arguments)

    monkeypatch.setattr(sync_module, "_bring_once", slowly)
    lines = []
    with Session(runs_dir, repairs=repairs, progress=lines.append) as session:
        repairing = threading.Thread(
            target=repair.settle, args=(lake_of(runs_dir),), kwargs={"writes": True}
        )
        repairing.start()
        assert is_aside.wait(30)
        assert session.rows("select count(*), sum(e2e_ms) from results") == [(60, 24_000)]
        repairing.join()
    assert lines == []


def test_deleted_events_come_back_with_the_rest_of_their_log(runs_dir):
    one_file(runs_dir, "events").unlink()

    assert counts(runs_dir) == (WHOLE, "")


@pytest.mark.parametrize(
    "arguments", [("label", "night_01", "good"), ("sync", "--prune", "night_01")]
)
def test_commands_that_change_the_lake_go_on_too(runs_dir, arguments):
    damage_unseen(one_file(runs_dir, "runs"), fail_to_read)

    done = call(*arguments, "--runs", runs_dir)

    assert done.code == 0
    assert "are made again" in done.err


def test_a_mistake_in_a_query_sets_nothing_aside(runs_dir):
    done = call("sql", "select cast('x' as int) from results", "--runs", runs_dir)

    assert (done.code, done.err) == (2, "the query failed: Could not convert string 'x' to INT32")
    assert not (lake_of(runs_dir) / "quarantine").exists()


def test_what_a_session_lacks_memory_for_is_not_damaged(runs_dir, monkeypatch):
    monkeypatch.setattr("schemas.lake.quarantine.read_lake_file", raise_memory_error)
    cut_off(one_file(runs_dir, "results"))
    with Session(runs_dir, repairs=True) as session:
        assert not session._settle()


def raise_memory_error(_):
    raise MemoryError
