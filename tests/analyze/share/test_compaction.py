"""A shared lake whose many files are written anew: others see what they saw."""

import io
import json
import os
import re
import shutil
import signal
from pathlib import Path

import deltalake
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from deltalake.exceptions import DeltaError

from analyze.query.catalog import NAMES
from analyze.query.session import open_session, sync_new_runs
from analyze.share import compaction, open_shared
from analyze.share.compaction import MIN_SMALL_FILES, CompactedMonth, compact_shared
from analyze.share.delta import UNHARMED
from analyze.share.shared_runs import PUSH, ROW, in_order
from tests.support.analyze_cli import call
from tests.support.paths import ROOT, SAMPLES
from tests.support.run_builder import RunBuilder

pytestmark = pytest.mark.peers

FEW = 3
N_RUNS = FEW + 1
NOW = 0
"""Hours for which what was replaced stays."""


@pytest.fixture(autouse=True)
def few_files(monkeypatch):
    """A month is written anew for fewer files, so that fewer runs are to be pushed."""
    assert MIN_SMALL_FILES > FEW
    monkeypatch.setattr(compaction, "MIN_SMALL_FILES", FEW)


@pytest.fixture
def url(tmp_path):
    return f"file://{tmp_path}/lake"


def history(runs, n=N_RUNS):
    """Make runs of two trials, an hour apart, and return their ids."""
    names = [f"run-{number:02d}" for number in range(n)]
    for number, name in enumerate(names):
        RunBuilder(runs, name, day=number - 5).night(["a", "b"]).mirror()
    return names


def push_each(runs, names, url):
    for name in names:
        assert call("push", name, url, "--runs", runs).code == 0


def files_of(url, table):
    return deltalake.DeltaTable(f"{url}/{table}").file_uris()


def rows_of(url, table):
    rows = deltalake.DeltaTable(f"{url}/{table}").to_pyarrow_table()
    return rows.sort_by([(PUSH, "ascending"), (ROW, "ascending")])


def views_of(runs, *, sync=True):
    with open_session(runs, sync=sync) as session:
        return {view: sorted(map(repr, session.rows(f'select * from "{view}"'))) for view in NAMES}


def relabel(runs, run_id, *words):
    assert call("label", run_id, *words, "--runs", runs).code == 0


def test_compacted_tables_have_the_same_rows_in_fewer_files(url, tmp_path):
    runs = tmp_path / "runs"
    names = history(runs)
    push_each(runs, names, url)
    before = {table: rows_of(url, table) for table in ("runs", "results", "outputs", "plans")}
    first = call("sync", "--lake", url, "--json")
    again = call("sync", "--lake", url)

    done = json.loads(first.out)
    assert (first.code, again.code) == (0, 0), (first, again)
    assert {one["table"] for one in done["months"]} >= set(before)
    assert all(one["n_files_before"] == N_RUNS for one in done["months"])
    assert again.out == f"{url}: nothing to do\n"
    for table, rows in before.items():
        assert len(files_of(url, table)) == 1
        assert rows_of(url, table) == rows
    pushed = call("push", url, "--runs", runs)
    assert pushed.out == f"{N_RUNS} runs there already\n"
    assert call("pull", url, "--runs", tmp_path / "other").code == 0
    assert views_of(tmp_path / "other") == views_of(runs)


def test_every_view_says_the_same_of_a_lake_that_was_compacted(url, tmp_path, monkeypatch):
    monkeypatch.setattr(compaction, "MIN_SMALL_FILES", 1)
    monkeypatch.setattr(compaction, "HELD_BYTES", 5_000)
    monkeypatch.setattr(compaction, "FIRST_ROWS", 3)
    runs = tmp_path / "runs"
    shutil.copytree(SAMPLES, runs)
    sync_new_runs(runs)
    call("push", url, "--runs", runs)
    done = compact_shared(open_shared(url))
    call("pull", url, "--runs", tmp_path / "other")

    assert {one.table for one in done.months} >= {"events", "outputs", "plans", "results", "runs"}
    assert views_of(tmp_path / "other") == views_of(runs)


def test_rows_of_replaced_pushes_go_and_the_rows_they_had_can_come_back(url, tmp_path):
    runs, other = tmp_path / "runs", tmp_path / "other"
    (name,) = history(runs, 1)
    relabel(runs, name, "one")
    for labels, words in [(["one"], []), (["one", "two"], ["two"]), (["one"], ["two", "--remove"]),
                          (["one", "two"], ["two"])]:  # fmt: skip
        if words:
            relabel(runs, name, *words)
        assert "1 run pushed" in call("push", url, "--runs", runs).out
        call("pull", url, "--runs", other)
        with open_session(other) as session:
            assert session.rows("select labels from runs") == [(labels,)]
    early = compact_shared(open_shared(url))
    n_before = rows_of(url, "results").num_rows
    done = compact_shared(open_shared(url), keep_hours=NOW)

    assert sum(one.n_rows_dropped for one in early.months) == 0
    assert (n_before, rows_of(url, "results").num_rows) == (8, 2)
    assert sum(one.n_rows_dropped for one in done.months if one.table == "results") == 6
    assert done.n_removed > 0
    assert compact_shared(open_shared(url), keep_hours=NOW).months == []
    relabel(runs, name, "two", "--remove")
    assert "1 run pushed again" in call("push", url, "--runs", runs).out
    call("pull", url, "--runs", other)
    fresh = call("pull", url, "--runs", tmp_path / "fresh")
    assert "1 run pulled" in fresh.out
    assert views_of(tmp_path / "fresh") == views_of(other)
    assert rows_of(url, "results").num_rows == 4


def test_a_push_that_was_replaced_meanwhile_takes_nothing_back(url, tmp_path, monkeypatch):
    """One stalls before its row of `runs`, and elsewhere the same push ends and is replaced."""
    runs = tmp_path / "runs"
    (name,) = history(runs, 1)
    relabel(runs, name, "one")
    shutil.copytree(runs, tmp_path / "copy")
    copy = tmp_path / "copy"
    add_runs = open_shared(url).__class__.add_runs

    def stalled(self, rows):
        monkeypatch.undo()
        call("push", url, "--runs", copy)
        relabel(copy, name, "two")
        call("push", url, "--runs", copy)
        compact_shared(open_shared(url), keep_hours=NOW)
        return add_runs(self, rows)

    monkeypatch.setattr(open_shared(url).__class__, "add_runs", stalled)
    call("push", url, "--runs", runs)
    pulled = call("pull", url, "--runs", tmp_path / "other")

    assert "1 run pulled" in pulled.out
    with open_session(tmp_path / "other") as session:
        assert session.rows("select labels from runs") == [(["one", "two"],)]
        assert session.rows("select count(*) from results") == [(2,)]


@pytest.mark.parametrize("n_first", [1, 99])
def test_a_month_that_others_push_to_meanwhile_is_written_when_they_are_done(
    url, tmp_path, monkeypatch, n_first
):
    runs = tmp_path / "runs"
    names = history(runs, N_RUNS + 7)
    push_each(runs, names[:N_RUNS], url)
    late = iter(names[N_RUNS:])
    batches = compaction._batches

    def raced(shared, table, *given):
        nonlocal n_first
        if table.table_uri.rstrip("/").endswith("/results") and n_first > 0:
            n_first -= 1
            push_each(runs, [next(late)], url)
        return batches(shared, table, *given)

    monkeypatch.setattr(compaction, "_batches", raced)
    done = compact_shared(open_shared(url))

    assert done.busy == (["results of 2025-11"] if n_first > 9 else [])
    assert ("results" in {one.table for one in done.months}) is (n_first == 0)
    rows = rows_of(url, "results")
    assert rows.num_rows == 2 * len(set(rows["run_id"].to_pylist()))
    assert call("push", url, "--runs", runs).code == 0
    assert call("pull", url, "--runs", tmp_path / "other").code == 0
    assert views_of(tmp_path / "other") == views_of(runs)


def torn(content):
    return content[:100]


def with_other_texts(content):
    """Return a file whose footer and pushes are as they were, and whose answers are not."""
    rows = pq.ParquetFile(io.BytesIO(content))
    place = rows.schema_arrow.names.index("raw_output")
    column = rows.metadata.row_group(0).column(place)
    begin = column.dictionary_page_offset or column.data_page_offset
    return content[:begin] + b"\xff" * 20 + content[begin + 20 :]


@pytest.mark.parametrize("damage", [torn, with_other_texts])
def test_a_damaged_file_is_told_and_its_month_stays_while_others_are_compacted(
    url, tmp_path, damage
):
    runs = tmp_path / "runs"
    names = history(runs)
    push_each(runs, names, url)
    path = Path(files_of(url, "outputs")[2].removeprefix("file://"))
    path.write_bytes(damage(path.read_bytes()))
    done = call("sync", "--lake", url)
    pulled = call("pull", url, "--runs", tmp_path / "other")

    assert done.code == 1
    assert re.search(r"damaged: outputs of 2025-11: file://\S+: cannot be used", done.out), done.out
    assert len(files_of(url, "outputs")) == N_RUNS
    assert all(len(files_of(url, table)) == 1 for table in ("results", "plans", "runs"))
    assert (pulled.code, pulled.out.split(" pulled")[0]) == (1, f"{N_RUNS - 1} runs")
    assert re.search(r"run `run-0\d`: file://", pulled.out)


@pytest.mark.parametrize(
    ("table_name", "ending"),
    [
        ("plans", f"2 in place of {2 * N_RUNS} files (results, outputs)"),
        ("results", "nothing was done"),
    ],
)
def test_what_ends_it_is_told_after_what_was_done(url, tmp_path, monkeypatch, table_name, ending):
    runs = tmp_path / "runs"
    push_each(runs, history(runs), url)
    write = compaction._write
    overloaded = "Generic S3 error: response error with status code: 503"

    def refused(table, *given):
        if f"/{table_name}" in table.table_uri:
            raise DeltaError(overloaded)
        write(table, *given)

    monkeypatch.setattr(compaction, "_write", refused)
    done = call("sync", "--lake", url)

    assert (done.code, done.err) == (1, f"error: {url}: is overloaded (503); {UNHARMED}\n")
    assert done.out == f"{url}: {ending}\n"
    as_json = json.loads(call("sync", "--lake", url, "--json").out)
    assert as_json["failed"] == done.err.removeprefix("error: ").rstrip()


def test_a_lost_answer_to_a_commit_is_no_lost_month(url, tmp_path, monkeypatch):
    runs = tmp_path / "runs"
    push_each(runs, history(runs), url)
    write = compaction._write

    cut = [DeltaError("error sending request")]

    def lost(*given):
        write(*given)
        if cut:
            raise cut.pop()

    monkeypatch.setattr(compaction, "_write", lost)
    done = compact_shared(open_shared(url))

    assert done.months[0] == CompactedMonth("results", "2025-11", N_RUNS, 1, 0)
    assert rows_of(url, "results").num_rows == 2 * N_RUNS


def test_interrupted_it_ends_with_the_month_that_is_written_and_goes_on(url, tmp_path, monkeypatch):
    runs = tmp_path / "runs"
    push_each(runs, history(runs), url)
    write = compaction._write

    def interrupted(*given):
        signal.raise_signal(signal.SIGINT)
        write(*given)

    before = signal.getsignal(signal.SIGINT)
    with monkeypatch.context() as once:
        once.setattr(compaction, "_write", interrupted)
        done = call("sync", "--lake", url)

    assert done.code == 130
    assert done.out == (
        f"{url}: 1 in place of {N_RUNS} files (results)\n"
        "interrupted; the same command again goes on\n"
    )
    assert signal.getsignal(signal.SIGINT) is before
    assert "(outputs, plans, runs)" in call("sync", "--lake", url).out


def test_long_texts_are_held_a_few_pushes_at_a_time(url, tmp_path, monkeypatch):
    runs = tmp_path / "runs"
    names = [f"run-{number:02d}" for number in range(N_RUNS * 2)]
    for number, name in enumerate(names):
        text = f"{number}" * 50_000
        RunBuilder(runs, name, day=number - 5).night(["a", "b"], {"raw_output": text}).mirror()
    call("push", url, "--runs", runs)
    held = []
    monkeypatch.setattr(compaction, "MIN_SMALL_FILES", 1)
    monkeypatch.setattr(compaction, "HELD_BYTES", 350_000)
    monkeypatch.setattr(compaction, "FIRST_ROWS", 1)
    monkeypatch.setattr(
        compaction, "in_order", lambda rows: held.append(rows.nbytes) or in_order(rows)
    )
    compact_shared(open_shared(url))
    call("pull", url, "--runs", tmp_path / "other")

    assert 100_000 < max(held) < 350_000
    assert views_of(tmp_path / "other") == views_of(runs)


def test_old_files_go_after_a_week_and_those_of_dead_writers_too(url, tmp_path):
    runs = tmp_path / "runs"
    push_each(runs, history(runs), url)
    folder = tmp_path / "lake" / "results" / "month=2025-11"
    dead = folder / "part-00000-dead-c000.snappy.parquet"
    shutil.copy(next(folder.glob("*.parquet")), dead)
    compact_shared(open_shared(url))
    n_kept = len([*folder.glob("*.parquet")])
    os.utime(dead, (0, 0))
    done = compact_shared(open_shared(url))

    assert n_kept == N_RUNS + 2
    assert done.n_removed == 1
    assert not dead.exists()
    assert compact_shared(open_shared(url), keep_hours=NOW).n_removed > N_RUNS
    assert len([*folder.glob("*.parquet")]) == 1
    version = deltalake.DeltaTable(f"{url}/results").version()
    assert compact_shared(open_shared(url), keep_hours=NOW).n_removed == 0
    assert deltalake.DeltaTable(f"{url}/results").version() == version
    assert call("pull", url, "--runs", tmp_path / "other").code == 0
    assert views_of(tmp_path / "other") == views_of(runs)


def test_rows_that_lie_in_another_order_are_put_in_theirs():
    rows = pa.table({
        PUSH: ["b", "a", "b", "a"], ROW: [1, 1, 0, 0], "text": ["4", None, "3", "1"],
        "tags": [["x"], [], None, ["y", None]],
    })  # fmt: skip
    both = pa.concat_tables([rows.slice(0, 3), rows.slice(3)])

    assert in_order(both).to_pylist() == sorted(
        rows.to_pylist(), key=lambda row: (row[PUSH], row[ROW])
    )
    assert in_order(both).schema == rows.schema
    assert in_order(rows.slice(3)) == rows.slice(3)
    assert in_order(rows.slice(0, 0)).num_rows == 0


def test_a_push_that_has_a_later_row_of_runs_again_counts_and_is_not_dropped(url, tmp_path):
    """As another writer might leave it: the name stands before and after that of another push."""
    runs = tmp_path / "runs"
    (name,) = history(runs, 1)
    call("push", url, "--runs", runs)
    relabel(runs, name, "one")
    call("push", url, "--runs", runs)
    table = deltalake.DeltaTable(f"{url}/runs")
    rows = table.to_pyarrow_table()
    first = rows.filter(pc.equal(rows["push_no"], 1))
    again = first.set_column(
        first.column_names.index("push_no"), "push_no", pa.array([3] * first.num_rows)
    )
    deltalake.write_deltalake(table, again, mode="append")
    compact_shared(open_shared(url), keep_hours=NOW)
    shared = open_shared(url)
    run = shared.runs()[name]

    assert run.push not in run.older
    assert shared.rows("results", [run.push], [run.month]).num_rows == 2


def test_what_the_page_shows_to_others_reads_a_compacted_lake(url, tmp_path, monkeypatch):
    runs = tmp_path / "runs"
    names = history(runs)
    push_each(runs, names, url)
    relabel(runs, names[0], "again")
    call("push", url, "--runs", runs)
    compact_shared(open_shared(url))
    page = (ROOT / "docs" / "sharing.md").read_text()
    code, _ = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    code = code.replace("s3://team/lake", url).replace("2026-11", "2025-11")
    shown = {}
    exec(
        code.replace("duckdb.sql", "found = duckdb.sql").replace("pl.scan", "scan = pl.scan"), shown
    )

    assert sorted(shown["found"].fetchall()) == [(name, 1.0) for name in names]
    assert shown["scan"].collect().height == 2 * (N_RUNS + 1)


@pytest.mark.parametrize("words", [["run-00"], ["--prune"], ["--no-text"], ["--runs", "there"]])
def test_a_shared_lake_is_compacted_whole(words, url):
    done = call("sync", *words, "--lake", url)

    assert done.code == 2
    assert "--lake is of a whole shared lake" in done.err


def test_where_there_is_no_lake_nothing_is_made(url, tmp_path):
    done = call("sync", "--lake", url)

    assert (done.code, done.out) == (
        0,
        f"no run in {url}: `analyze push RUN {url}` brings one there\n",
    )
    assert not (tmp_path / "lake").exists()
