"""Runs that go to a shared lake and come from it, on a disk that several machines see."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import deltalake
import pyarrow.parquet as pq
import pytest

from analyze.query.catalog import NAMES
from analyze.query.session import open_session, sync_new_runs
from schemas.lake import Join, join, lake_of
from schemas.run.layout import SCHEMA_VERSION
from tests.support.analyze_cli import call
from tests.support.histories import everything
from tests.support.nights import Nights
from tests.support.paths import ROOT, SAMPLES
from tests.support.run_builder import RunBuilder

pytestmark = pytest.mark.peers

JUDGED = ROOT / "data" / "judged" / "runs"


def url_of(folder):
    return f"file://{folder}/lake"


def push(runs_dir, folder, *args):
    return call("push", *args, url_of(folder), "--runs", runs_dir)


def pull(runs_dir, folder, *args):
    return call("pull", url_of(folder), "--runs", runs_dir, *args)


def rows_of(session, view):
    return sorted(map(repr, session.rows(f'select * from "{view}"')))


def nights(tmp_path, n=3, **given):
    made = Nights(tmp_path / "runs", n_cases=4, repetitions=2)
    made.add(n, rates={"main": 0.7, "small": 0.4}, lost=0.1, **given)
    return made


@pytest.mark.parametrize("history", ["samples", "judged", "made"])
def test_every_view_says_the_same_of_a_lake_that_was_pulled(history, tmp_path):
    runs = tmp_path / "runs"
    if history == "made":
        everything(lambda *given, **named: RunBuilder(runs, *given, **named), 1_760_000_000_000)
    else:
        shutil.copytree(SAMPLES if history == "samples" else JUDGED, runs)
        shutil.rmtree(runs / "lake", ignore_errors=True)
    sync_new_runs(runs)
    with open_session(runs) as session:
        session.rows("select 1")
    done, taken = push(runs, tmp_path), pull(tmp_path / "other", tmp_path)

    assert (done.code, taken.code) == (0, 0), (done, taken)
    with open_session(runs) as here, open_session(tmp_path / "other") as there:
        for view in NAMES:
            assert rows_of(here, view) == rows_of(there, view), view


def test_the_same_run_is_there_once_and_comes_once(tmp_path):
    made = nights(tmp_path)
    first, second = push(made.runs_dir, tmp_path), push(made.runs_dir, tmp_path)
    taken, again = pull(tmp_path / "b", tmp_path), pull(tmp_path / "b", tmp_path)

    assert "3 runs pushed to file://" in first.out
    assert second.out == "3 runs there already\n"
    assert "3 runs pulled from" in taken.out
    assert again.out == "3 runs here already\n"


def growing(tmp_path):
    """Return a run of four planned trials, of which two have a result."""
    run = RunBuilder(tmp_path / "runs", "grows")
    trials = [run.plan(f"c{n}") for n in range(4)]
    for trial in trials[:2]:
        run.result(trial, passed=True)
    run.write()
    return run


def test_a_run_that_grew_counts_with_all_it_has_and_an_older_copy_is_refused(tmp_path):
    run = growing(tmp_path)
    shutil.copytree(run.path, tmp_path / "copy" / "grows")
    push(run.runs_dir, tmp_path)
    pull(tmp_path / "b", tmp_path)
    for trial in run.trials[2:]:
        run.result(trial, passed=False)
    run.write()
    grown, taken = push(run.runs_dir, tmp_path), pull(tmp_path / "b", tmp_path)
    older = push(tmp_path / "copy", tmp_path)

    assert "1 run pushed again" in grown.out
    assert "1 run pulled" in taken.out
    with open_session(tmp_path / "b") as session:
        assert session.rows("select count(*), sum(passed::int) from results") == [(4, 2)]
    assert older.code == 1
    assert "grows: not pushed: the shared lake has 4 rows of its results, and this lake 2" in (
        older.out
    )


def test_labels_that_were_given_since_come_with_the_next_pull(tmp_path):
    made = nights(tmp_path, 1)
    push(made.runs_dir, tmp_path)
    pull(tmp_path / "b", tmp_path)
    call("label", "latest", "base", "--runs", made.runs_dir)
    push(made.runs_dir, tmp_path)
    pull(tmp_path / "b", tmp_path)

    with open_session(tmp_path / "b") as session:
        assert session.rows("select labels from runs") == [(["base"],)]
        assert session.rows("select count(*) from results") == [(16,)]


def test_a_run_whose_folder_is_here_stays_as_it_is_here(tmp_path):
    made = nights(tmp_path, 2)
    push(made.runs_dir, tmp_path)
    shutil.copytree(made.runs_dir / "night-001", tmp_path / "b" / "night-001")
    taken = pull(tmp_path / "b", tmp_path)

    assert "1 run pulled" in taken.out
    assert "1 run left: the folder is here" in taken.out


def test_a_folder_that_comes_after_its_rows_adds_none(tmp_path):
    made = nights(tmp_path, 1)
    push(made.runs_dir, tmp_path)
    pull(tmp_path / "b", tmp_path)
    shutil.copytree(made.runs_dir / "night-001", tmp_path / "b" / "night-001")

    with open_session(tmp_path / "b") as session:
        assert session.rows("select count(*) from results") == [(16,)]
        assert session.rows("select count(*) from planned_trials") == [(16,)]


def test_what_a_lake_lost_of_a_run_comes_again(tmp_path):
    made = nights(tmp_path)
    push(made.runs_dir, tmp_path)
    pull(tmp_path / "b", tmp_path)
    for path in lake_of(tmp_path / "b").glob("results/*/*.parquet"):
        path.unlink()
    taken = pull(tmp_path / "b", tmp_path)

    assert "3 runs pulled" in taken.out
    with open_session(tmp_path / "b") as session:
        assert session.rows("select count(*) from results") == [(48,)]
        assert session.rows("select count(*) from planned_trials") == [(48,)]


def test_a_lake_without_its_notes_knows_the_runs_by_their_rows(tmp_path):
    made = nights(tmp_path)
    push(made.runs_dir, tmp_path)
    pull(tmp_path / "b", tmp_path)
    (lake_of(tmp_path / "b") / "manifest" / "taken_in.json").write_text("{torn")

    assert pull(tmp_path / "b", tmp_path).out == "3 runs here already\n"


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        ("changed", "its results are not as they were pushed (16 of 16 rows)"),
        ("fewer", "its results are not as they were pushed (15 of 16 rows)"),
        ("torn", "not a parquet file.); nothing of it was read"),
    ],
)
def test_a_run_with_other_rows_than_were_pushed_is_refused_and_the_others_come(
    damage, said, tmp_path
):
    made = nights(tmp_path)
    for number in (1, 2, 3):  # each in a file of its own
        push(made.runs_dir, tmp_path, f"night-00{number}")
    table = deltalake.DeltaTable(tmp_path / "lake" / "results")
    if damage == "changed":
        table.update({"passed": "not passed"}, predicate="run_id = 'night-002' and passed")
    elif damage == "fewer":
        table.delete("run_id = 'night-002' and record_no = 1")
    else:
        for path in Path(tmp_path, "lake", "results").rglob("*.parquet"):
            if pq.read_table(path)["run_id"][0].as_py() == "night-002":
                path.write_bytes(path.read_bytes()[:-9])
    taken = pull(tmp_path / "b", tmp_path)

    assert taken.code == 1
    assert "2 runs pulled" in taken.out
    assert "run `night-002`: " in taken.out
    assert said in taken.out
    with open_session(tmp_path / "b") as session:
        assert session.rows("select distinct run_id from planned_trials order by all") == [
            ("night-001",), ("night-003",),
        ]  # fmt: skip


def test_a_run_of_a_newer_version_is_named_and_no_other_is_kept_out(tmp_path, monkeypatch):
    made = nights(tmp_path, 2)
    with monkeypatch.context() as newer:
        newer.setattr("analyze.share.push.SCHEMA_VERSION", 99)
        push(made.runs_dir, tmp_path, "night-002")
    push(made.runs_dir, tmp_path, "night-001")
    taken = pull(tmp_path / "b", tmp_path)

    assert taken.code == 1
    assert (
        f"run `night-002` has schema_version 99, this benchlake reads up to {SCHEMA_VERSION}"
        in (taken.out)
    )
    assert "1 run pulled" in taken.out


def test_some_runs_are_pulled_by_their_day_and_suite(tmp_path):
    made = nights(tmp_path)
    made.add(rates={"main": 1}, suite_id="other")
    push(made.runs_dir, tmp_path)
    with open_session(made.runs_dir) as session:
        query = "select strftime(started_at, '%Y-%m-%d') from runs where run_id = 'night-003'"
        ((day,),) = session.rows(query)
    late = pull(tmp_path / "late", tmp_path, "--since", day)
    other = pull(tmp_path / "other", tmp_path, "--suite", "other")
    none = pull(tmp_path / "none", tmp_path, "--suite", "no such")
    nowhere = pull(tmp_path / "none", tmp_path / "no lake")

    assert "2 runs pulled" in late.out
    assert "1 run pulled" in other.out
    said = f"none of 4 runs in {url_of(tmp_path)} is wanted; of these suites: other, smoke\n"
    assert none.out == said
    assert f"no run in {url_of(tmp_path / 'no lake')}: `analyze push RUN " in nowhere.out
    assert not (tmp_path / "none").exists()


def test_ids_that_were_joined_are_joined_there_as_well(tmp_path):
    made = nights(tmp_path)
    sync_new_runs(made.runs_dir)
    join(lake_of(made.runs_dir), "smoke", [Join("case-00", "case-99")], "person")
    push(made.runs_dir, tmp_path)
    pull(tmp_path / "b", tmp_path)

    with open_session(tmp_path / "b") as session:
        assert session.rows("select count(*) from results where case_id = 'case-99'") == [(12,)]


@pytest.mark.parametrize(
    ("url", "said"),
    [
        (
            "lake",
            "`lake` is no URL of a shared lake, which begins with file://, s3://, az://, gs://",
        ),
        ("s3://", "names no place; a URL is such as s3://bucket/lake"),
        ("file://host/lake", "names no place; a URL is such as file:///mnt/lake"),
        (
            "s3://AKIDNAME:hunter2secret@bucket/lake",
            "of a shared lake has no name, password or query; ",
        ),
        ("https://bucket/lake?sig=hunter2secret", "is no URL of a shared lake"),
    ],
)
def test_what_is_no_url_of_a_shared_lake_is_refused_without_its_secrets(url, said, tmp_path):
    done = call("pull", url, "--runs", tmp_path / "b")

    assert done.code == 2
    assert said in done.err
    assert "hunter2secret" not in done.err
    assert not (tmp_path / "b").exists()


@pytest.mark.parametrize(
    "words", [["pull"], ["push"], ["sync", "--lake"], ["runs", "--lake"]], ids=" ".join
)
def test_without_its_library_a_shared_lake_says_what_to_install(words, tmp_path):
    """In a process of its own: nothing that needs the library is loaded there."""
    code = "import sys; sys.modules['deltalake'] = None; from analyze.cli import process; process()"
    done = subprocess.run(
        [sys.executable, "-c", code, *words, url_of(tmp_path)],
        cwd=tmp_path, env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip

    assert (done.returncode, done.stderr) == (
        2, "error: a shared lake needs more packages: pip install 'benchlake[share]'\n",
    )  # fmt: skip


@pytest.mark.parametrize("url", ["s3://of-nobody/lake", "az://of-nobody/lake"])
def test_without_credentials_a_sentence_says_where_they_are_read(url, tmp_path, monkeypatch):
    for name in [name for name in os.environ if name.startswith(("AWS_", "AZURE_"))]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("HOME", str(tmp_path))
    done = call("pull", url, "--runs", tmp_path / "runs")

    assert (done.code, done.err) == (
        1, f"{url}: needs credentials, which are read from the environment: AWS_* or AZURE_*; "
        "nothing was read",
    )  # fmt: skip


def test_a_place_that_cannot_be_written_ends_in_a_sentence(tmp_path):
    made = nights(tmp_path, 1)
    (tmp_path / "lake").write_text("a file")
    done = push(made.runs_dir, tmp_path)

    assert done.code == 1
    assert done.err.startswith(f"file://{tmp_path}/lake: cannot be used (")


@pytest.fixture
def cached(tmp_path, monkeypatch):
    """Return the folder in which copies of shared lakes are kept."""
    monkeypatch.setenv("BENCHLAKE_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.mark.usefixtures("cached")
@pytest.mark.parametrize(
    "words",
    [
        ["compare", "previous", "--json"],
        ["gate", "--baseline", "previous", "--json"],
        ["regressions", "--json"],
        ["tiers", "--json"],
        ["sql", "select run_id, model_id, passed_rate from model_summary order by all", "--json"],
    ],
    ids=lambda words: words[0],
)
def test_a_command_says_of_a_shared_lake_what_it_says_of_a_local_one(words, tmp_path):
    made = nights(tmp_path, 4)
    push(made.runs_dir, tmp_path)
    local = call(*words, "--runs", made.runs_dir)
    shared = call(*words, "--lake", url_of(tmp_path))

    assert (shared.code, shared.err) == (local.code, local.err)
    assert shared.out.replace(f"--lake {url_of(tmp_path)}", "RUNS") == local.out.replace(
        f"--runs {made.runs_dir}", "RUNS"
    )


@pytest.mark.usefixtures("cached")
@pytest.mark.parametrize(
    "words",
    [
        ["report", "--format", "md"],
        ["report", "--run", "none", "--format", "md"],
        ["report", "-o", "page.html"],
        ["show", "latest"],
        ["show", "run-none"],
        ["gate", "--baseline", "label:none"],
        ["compare", "previous", "latest"],
        ["power"],
        ["route"],
    ],
    ids=" ".join,
)
def test_what_a_command_names_over_a_shared_lake_is_typed_with_its_url(
    words, tmp_path, monkeypatch
):
    made = nights(tmp_path, 1)
    push(made.runs_dir, tmp_path)
    monkeypatch.chdir(tmp_path)
    done = call(*words, "--lake", url_of(tmp_path))
    page = Path("page.html").read_text() if "page.html" in words else ""

    assert str(tmp_path / "cache") not in done.out + done.err + page
    assert (url_of(tmp_path) in page) is bool(page)


@pytest.mark.usefixtures("cached")
def test_a_shared_lake_is_asked_for_what_is_new_alone(tmp_path):
    made = nights(tmp_path, 2)
    push(made.runs_dir, tmp_path)
    call("runs", "--lake", url_of(tmp_path))
    for path in (tmp_path / "lake" / "results").rglob("*.parquet"):
        path.unlink()
    made.add(rates={"main": 1.0})
    push(made.runs_dir, tmp_path)
    done = call("sql", "select count(*) as n from results", "--lake", url_of(tmp_path), "--json")

    assert (done.err, json.loads(done.out)) == ("", [{"n": 2 * 16 + 8}])


@pytest.mark.usefixtures("cached")
def test_a_shared_lake_and_a_folder_of_runs_exclude_each_other(tmp_path):
    done = call("runs", "--lake", url_of(tmp_path), "--runs", tmp_path)

    assert done.code == 2
    assert "--lake and a folder of runs exclude each other" in done.err


@pytest.mark.usefixtures("cached")
def test_a_shared_lake_that_is_not_there_has_no_runs(tmp_path):
    done = call("runs", "--lake", url_of(tmp_path))

    assert done.out == call("runs", "--runs", tmp_path).out
    assert done.err == f"warning: there is no run in {url_of(tmp_path)}\n"


def test_a_pull_takes_nothing_that_this_lake_has_more_of(tmp_path):
    run = growing(tmp_path)
    push(run.runs_dir, tmp_path)
    for trial in run.trials[2:]:
        run.result(trial, passed=True)
    run.mirror()
    shutil.rmtree(run.path)
    taken = pull(run.runs_dir, tmp_path)

    assert taken.out == "1 run left: there is more of it here; push it\n"
    with open_session(run.runs_dir) as session:
        assert session.rows("select count(*) from results") == [(4,)]


def test_a_label_that_was_given_here_outlives_a_pull(tmp_path):
    made = nights(tmp_path, 1)
    push(made.runs_dir, tmp_path)
    pull(tmp_path / "b", tmp_path)
    call("label", "latest", "mine", "--runs", tmp_path / "b")
    pull(tmp_path / "b", tmp_path)

    with open_session(tmp_path / "b") as session:
        assert session.rows("select labels from runs") == [(["mine"],)]
