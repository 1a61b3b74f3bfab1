"""Links, pipes, folders and second names in a run's folder or in the lake: refused by name."""

import contextlib
import os
import shutil
import socket

import pytest

from analyze.lake.sync import sync
from collect.plan.changes import newest_first
from collect.run_folder.log import RunLog
from schemas.errors import ConfigError, NotOwnFile
from schemas.io.own_files import make_own_folder, open_own, read_own
from schemas.lake import live_files
from schemas.run.layout import refuse_name
from tests.collect.run_folder.test_lost_log import Lost
from tests.support.kept_run import collect
from tests.support.mirrored import mirror_run

PLACES = (
    "results.jsonl", "plan.jsonl", "config.json", "cases.jsonl.zst", "inventory.json",
    "artifacts/m.jsonl.zst", ".run.lock", ".mirror.lock", "run.log",
)  # fmt: skip
KINDS = ("link", "dangling link", "pipe", "socket", "folder")
WRITTEN = ("results.jsonl", "artifacts/m.jsonl.zst", ".run.lock", "run.log")


@pytest.fixture
def lost(tmp_path):
    return Lost(tmp_path / "runs")


def put(path, kind, outside):
    """Put something else in a file's place; what was there lies outside."""
    if path.exists():
        shutil.move(path, outside)
    else:
        outside.write_bytes(b"not ours\n")
    if kind == "link":
        path.symlink_to(outside)
    elif kind == "dangling link":
        path.symlink_to(outside.with_name("nowhere"))
    elif kind == "pipe":
        os.mkfifo(path)
    elif kind == "socket":
        with socket.socket(socket.AF_UNIX) as one, contextlib.chdir(path.parent):
            one.bind(path.name)
    else:
        path.mkdir()


@pytest.mark.parametrize("place", PLACES)
def test_what_is_no_file_of_the_run_is_refused_by_name_and_nothing_is_touched(
    lost, tmp_path, place
):
    for kind in KINDS:
        run = Lost(tmp_path / kind, "r")
        path, outside = run.dir / place, tmp_path / f"outside-{kind}"
        put(path, kind, outside)
        content = outside.read_bytes()
        with pytest.raises(NotOwnFile) as error:
            RunLog.reopen(run.dir)

        assert str(error.value).startswith(f"{path}: is ")
        words = {"link": "a symbolic link", "dangling link": "a symbolic link"}
        assert words.get(kind, f"no regular file but a {kind}") in str(error.value)
        assert error.value.exit_code == 2
        assert outside.read_bytes() == content
        assert not outside.with_name("nowhere").exists()


@pytest.mark.parametrize("place", WRITTEN)
def test_a_file_that_is_written_to_has_no_second_name(lost, tmp_path, place):
    path, outside = lost.dir / place, tmp_path / "backup"
    path.touch()
    os.link(path, outside)
    content = outside.read_bytes()

    with pytest.raises(NotOwnFile, match=r"has 2 names \(hard links\).*`cp -p .* parts it"):
        RunLog.reopen(lost.dir)
    assert outside.read_bytes() == content

    shutil.copy2(path, f"{path}.own")
    shutil.move(f"{path}.own", path)
    RunLog.reopen(lost.dir).close()


@pytest.mark.parametrize("inside", ["artifacts", "lake/results", "lake/manifest", "lake/trash"])
def test_a_folder_that_is_a_link_is_refused(lost, tmp_path, inside):
    root = lost.runs_dir if inside.startswith("lake") else lost.dir
    path, outside = root / inside, tmp_path / "outside"
    outside.mkdir()
    if path.exists():
        shutil.rmtree(outside)
        shutil.move(path, outside)
    path.symlink_to(outside)
    before = sorted(outside.rglob("*"))

    with pytest.raises(NotOwnFile, match=f"{inside}: is a symbolic link"):
        RunLog.reopen(lost.dir)
    if inside != "artifacts":
        with pytest.raises(NotOwnFile, match=f"{inside}: is a symbolic link"):
            mirror_run(lost.dir, lost.lake)

    assert sorted(outside.rglob("*")) == before


def test_a_link_among_the_files_of_the_lake_is_never_read_and_is_set_aside(lost, tmp_path):
    before = lost.rows()
    (path,) = live_files(lost.lake, "results")
    outside = tmp_path / "foreign.parquet"
    shutil.move(path, outside)
    path.symlink_to(outside)
    content = outside.read_bytes()

    assert live_files(lost.lake, "results") == []
    synced = sync(lost.runs_dir)

    (said,) = synced.set_aside
    assert said.startswith(f"{path}: is no regular file; it is kept as ")
    assert outside.read_bytes() == content
    assert lost.rows() == before
    assert not any(one.is_symlink() for one in live_files(lost.lake, "results"))


def test_links_that_the_user_made_to_the_runs_a_run_or_the_lake_are_fine(lost, tmp_path):
    shutil.move(lost.lake, tmp_path / "big disk")
    lost.lake.symlink_to(tmp_path / "big disk")
    (tmp_path / "r").symlink_to(lost.dir)
    (tmp_path / "other runs").symlink_to(lost.runs_dir)

    RunLog.reopen(tmp_path / "other runs" / "r").close()
    RunLog.reopen(tmp_path / "r").close()
    assert mirror_run(tmp_path / "other runs" / "r", tmp_path / "other runs" / "lake") == []


def test_a_file_is_truncated_only_once_it_is_known_to_be_ours(tmp_path):
    (tmp_path / "a").write_bytes(b"precious")
    os.link(tmp_path / "a", tmp_path / "b")

    with pytest.raises(NotOwnFile):
        open_own(tmp_path, "b", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    assert (tmp_path / "a").read_bytes() == b"precious"
    assert read_own(tmp_path, "b") == b"precious", "reading changes no other name"
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(NotOwnFile, match="is no folder"):
        make_own_folder(tmp_path, "file/inner")


def test_a_pipe_in_another_run_holds_nobody_up(lost):
    other = Lost(lost.runs_dir, "other")
    (other.dir / "config.json").unlink()
    os.mkfifo(other.dir / "config.json")

    assert list(newest_first(lost.runs_dir)) == [lost.dir]


@pytest.mark.parametrize("name", ["latest", "previous", "all", "label:x", "last:3", "7d"])
def test_a_name_that_commands_read_as_a_choice_is_refused(name):
    reads = "--since reads it as a duration" if name == "7d" else "commands read it as a choice"
    with pytest.raises(ConfigError, match=f"`{name}` cannot be a run's name: {reads}"):
        refuse_name(name)
    refuse_name(f"{name.replace(':', '-')}-1")


def test_such_a_name_is_refused_before_anything_is_asked_or_made(project, endpoint):
    project.case()
    project.model(base_url=endpoint.base_url)

    done = collect(project.root, "run", "--suite", "s", "--run-profile", "p", "--run-id", "latest")

    assert (done.returncode, done.stdout) == (2, "")
    assert "`latest` cannot be a run's name" in done.stderr
    assert endpoint.requests == []
    assert not (project.root / "runs").exists()


def test_an_older_run_by_such_a_name_is_reached_by_its_path(new_named):
    from analyze.query.run_ref import resolve_run
    from analyze.query.session import Session

    with Session(new_named.runs_dir) as session:
        assert resolve_run(session, "latest") == "newer"
        assert resolve_run(session, str(new_named.dir)) == "latest"


@pytest.fixture
def new_named(tmp_path):
    """A run called `latest`, and one that began after it."""
    from tests.support.run_rows import config

    named, newer = (Lost(tmp_path / "runs", run_id) for run_id in ("latest", "newer"))
    shutil.rmtree(named.lake)
    later = config(run_id="newer", n_planned=6, started_at_ms=2).model_dump_json()
    (newer.dir / "config.json").write_text(later)
    for run in (named, newer):
        mirror_run(run.dir, run.lake)
    return named
