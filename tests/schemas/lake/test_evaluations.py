"""evaluations.jsonl in the lake: followed as results are, and never at their cost."""

import os
import signal
from contextlib import closing

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from analyze.lake.sync import has_changes, problems_of, sync
from schemas.errors import DamagedFile
from schemas.lake import Lake, live_files, read_whole, set_aside
from schemas.lake.footer import parts_of
from schemas.lake.mirror.run_mirror import RunMirror
from schemas.lake.rewrite import fitted
from schemas.lake.rows.tables import TABLES
from schemas.lake.transaction import lock_run
from tests.support.mirrored import mirror_run
from tests.support.run_builder import RunBuilder

NOW_MS = 1_790_000_000_000
CHECKS = [{"check_id": "a"}, {"check_id": "b", "outcome": "failed", "dimensions": ("d",)}]


def made(tmp_path, run_id="run-1", n_trials=3):
    run = RunBuilder(tmp_path / "runs", run_id)
    run.night([f"c{n}" for n in range(n_trials)])
    for trial in run.trials:
        run.evaluation(trial, checks=CHECKS)
    run.write()
    return run


def rows(run):
    held = [pq.read_table(path) for path in live_files(run.lake, "evaluations")]
    found = [row for table in held for row in table.to_pylist() if row["run_id"] == run.run_id]
    return sorted(found, key=lambda row: row["record_no"])


def numbers(run):
    return [row["record_no"] for row in rows(run)]


def log_of(run):
    return run.path / "evaluations.jsonl"


def append(run, content):
    """Append as the one who evaluates does: the log of results is touched after it."""
    with log_of(run).open("ab") as file:
        file.write(content)
    touch(run)


def touch(run):
    facts = (run.path / "results.jsonl").stat()
    os.utime(run.path / "results.jsonl", ns=(facts.st_atime_ns, facts.st_mtime_ns + 1))


def test_both_ways_in_make_the_same_rows_and_twice_changes_nothing(tmp_path):
    mirrored, synced = made(tmp_path / "a"), made(tmp_path / "b")

    assert mirror_run(mirrored.path, mirrored.lake) == []
    assert sync(synced.runs_dir).n_rows == 6

    assert rows(mirrored) == rows(synced)
    assert [len(row["checks"]) for row in rows(synced)] == [2, 2, 2]
    before = {path: path.read_bytes() for path in synced.lake.rglob("*.parquet")}
    touch(synced)
    assert sync(synced.runs_dir).n_rows == 0
    assert {path: path.read_bytes() for path in synced.lake.rglob("*.parquet")} == before


def test_a_touched_log_of_results_is_news_of_evaluations(tmp_path):
    run = made(tmp_path)
    sync(run.runs_dir)
    assert not has_changes(run.runs_dir)

    append(run, run.evaluations[0])

    assert has_changes(run.runs_dir)
    assert sync(run.runs_dir).n_rows == 1
    assert numbers(run) == [1, 2, 3, 4]
    assert not has_changes(run.runs_dir)


@pytest.mark.parametrize("is_bulk", [True, False])
def test_lines_that_do_not_belong_are_named_and_skipped(tmp_path, is_bulk):
    run = made(tmp_path)
    good = run.evaluations[0]
    if not is_bulk:
        sync(run.runs_dir)
    append(run, b"".join([
        good.replace(b'"run-1"', b'"other"'),
        good.replace(b'"c0"', b'"never"'),
        good.replace(b'"repetition":1', b'"repetition":1.5'),
        good.replace(b'{"record_type"', b'{"kind":"check","record_type"'),
        good.replace(b'"evaluation"', b'"result"'),
        b"[" * 100_000 + b"\n",
        b"\xff\n",
        good,
    ]))  # fmt: skip

    problems = sync(run.runs_dir).problems

    assert numbers(run) == [1, 2, 3, 11]
    named = [one.partition("evaluations.jsonl:")[2] for one in problems]
    assert [int(one.partition(":")[0]) for one in named] == list(range(4, 11))
    assert all(one.endswith("; the line was skipped") for one in problems)
    assert "belongs to another run, 'other'" in problems[0]
    assert "trial m1 / never / 1 is not in the plan" in problems[1]
    assert "`repetition`" in problems[2]
    assert "'kind' stands there twice" in problems[3]
    assert problems_of(run.runs_dir, run.path) == list(problems)
    append(run, good)
    assert sync(run.runs_dir).problems == (), "told once"
    assert problems_of(run.runs_dir, run.path) == list(problems), "known for ever"


def test_a_torn_line_waits_for_its_end(tmp_path):
    run = made(tmp_path)
    sync(run.runs_dir)
    line = run.evaluations[0]
    append(run, line[:50])
    sync(run.runs_dir)
    assert numbers(run) == [1, 2, 3]
    assert "its end is a torn line" in problems_of(run.runs_dir, run.path)[0]

    append(run, line[50:])
    sync(run.runs_dir)
    assert numbers(run) == [1, 2, 3, 4]
    assert problems_of(run.runs_dir, run.path) == []


def test_a_growing_run_is_followed_in_both_logs(tmp_path):
    run = made(tmp_path)
    with closing(RunMirror(run.path, run.lake, is_growing=True)) as mirror:
        assert mirror.step() == 6
        mirror.seal()
        with log_of(run).open("ab") as file:
            file.write(run.evaluations[1])
        assert mirror.step() == 1
        mirror.seal()

    assert numbers(run) == [1, 2, 3, 4]
    assert len(parts_of(run.lake, "evaluations", run.run_id)) == 2
    assert len(parts_of(run.lake, "results", run.run_id)) == 1


@pytest.mark.parametrize("how", ["deleted", "shorter", "replaced", "longer"])
@pytest.mark.parametrize("is_growing", [True, False])
def test_a_log_that_is_another_one_keeps_the_lakes_rows_and_is_told_once(tmp_path, how, is_growing):
    run = made(tmp_path)
    sync(run.runs_dir)
    before, whole = rows(run), log_of(run).read_bytes()
    other = whole.replace(b'"outcome":"passed"', b'"outcome":"failed"')
    contents = {"shorter": whole[:100], "replaced": other, "longer": other * 2}
    if how == "deleted":
        log_of(run).unlink()
    else:
        log_of(run).write_bytes(contents[how])
    with (run.path / "results.jsonl").open("ab") as file:
        file.write(run.lines[0])

    if is_growing:
        with closing(RunMirror(run.path, run.lake, is_growing=True)) as mirror:
            assert mirror.step() == 1, "results come in"
            mirror.seal()
            assert mirror.problems == []
    problems = sync(run.runs_dir).problems

    (one,) = problems
    assert f"{log_of(run)}: " in one
    assert "the lake holds 3 evaluations" in one
    assert "`collect restore run-1" in one
    assert rows(run) == before
    assert sum(part.n_rows for _, part in parts_of(run.lake, "results", run.run_id)) == 4
    touch(run)
    again = sync(run.runs_dir)
    assert (again.problems, again.known_problems) == ((), problems)
    log_of(run).write_bytes(whole)
    touch(run)
    assert sync(run.runs_dir).known_problems == ()
    assert rows(run) == before


def test_pruned_rows_stay_out_until_the_run_is_named(tmp_path):
    run, other = made(tmp_path), made(tmp_path, "run-2")
    sync(run.runs_dir)

    with Lake.open(run.lake) as lake:
        assert lake.prune([run.run_id]) == 3 * 4 + 1
    touch(run)
    sync(run.runs_dir)
    assert (numbers(run), numbers(other)) == ([], [1, 2, 3])

    sync(run.runs_dir, only=[run.path])
    assert (numbers(run), numbers(other)) == ([1, 2, 3], [1, 2, 3])


def test_many_runs_are_put_together_but_not_one_that_is_followed(tmp_path):
    runs = [made(tmp_path, f"run-{n}", 1) for n in range(4)]
    for run in runs:
        mirror_run(run.path, run.lake)
        append(run, run.evaluations[0] * 2)
        mirror_run(run.path, run.lake)
    before = [rows(run) for run in runs]
    handle = lock_run(runs[3].path, runs[3].lake)

    Lake(runs[0].lake).compact(now_ms=NOW_MS)
    assert len(live_files(runs[0].lake, "evaluations")) == 1 + 2
    os.close(handle)
    Lake(runs[0].lake).compact(now_ms=NOW_MS)

    assert len(live_files(runs[0].lake, "evaluations")) == 1
    assert [rows(run) for run in runs] == before
    append(runs[1], runs[1].evaluations[0])
    sync(runs[1].runs_dir)
    assert numbers(runs[1]) == [1, 2, 3, 4]


@pytest.mark.parametrize("is_damaged", [True, False])
@pytest.mark.parametrize("place", [0, 1])
def test_a_file_that_is_gone_is_read_again_and_results_are_left_alone(tmp_path, is_damaged, place):
    run = made(tmp_path)
    mirror_run(run.path, run.lake)
    append(run, run.evaluations[0])
    mirror_run(run.path, run.lake)
    sync(run.runs_dir)
    before = rows(run)
    results = live_files(run.lake, "results")
    held = sorted(
        parts_of(run.lake, "evaluations", run.run_id), key=lambda one: one[1].coverage.start
    )
    path = held[min(place, len(held) - 1)][0].path
    if is_damaged:
        os.truncate(path, 10)
        lake = Lake(run.lake)
        assert len(set_aside(lake, [DamagedFile(path, "is cut off")])) == 1
        lake.save()
    else:
        path.unlink()

    assert has_changes(run.runs_dir)
    sync(run.runs_dir)

    assert rows(run) == before
    assert live_files(run.lake, "results") == results
    assert not has_changes(run.runs_dir)


def test_results_that_are_read_again_take_no_evaluations_that_their_log_lost(tmp_path):
    run = made(tmp_path)
    sync(run.runs_dir)
    before = rows(run)
    log_of(run).unlink()
    for path in live_files(run.lake, "events") + live_files(run.lake, "outputs"):
        path.unlink()

    sync(run.runs_dir)

    assert rows(run) == before
    assert sum(part.n_rows for _, part in parts_of(run.lake, "outputs", run.run_id)) == 3


@pytest.mark.parametrize("step", range(1, 16))
def test_killed_at_any_rename_nothing_is_lost_or_twice(tmp_path, step):
    run = made(tmp_path)
    expected = made(tmp_path / "whole")
    sync(expected.runs_dir)
    child = os.fork()
    if not child:
        left = step
        rename = os.rename

        def counted(*arguments, **options):
            nonlocal left
            left -= 1
            if not left:
                os.kill(os.getpid(), signal.SIGKILL)
            return rename(*arguments, **options)

        os.rename = counted
        try:
            sync(run.runs_dir)
        finally:
            os._exit(0)
    os.waitpid(child, 0)

    sync(run.runs_dir)

    assert rows(run) == rows(expected)
    assert sum(part.n_rows for _, part in parts_of(run.lake, "results", run.run_id)) == 3
    assert sync(run.runs_dir).n_rows == 0


def test_a_lake_without_the_table_gets_it(tmp_path):
    run = made(tmp_path)
    log_of(run).rename(tmp_path / "later")
    sync(run.runs_dir)
    assert not (run.lake / "evaluations").exists()

    (tmp_path / "later").rename(log_of(run))
    touch(run)
    assert sync(run.runs_dir).n_rows == 3
    assert numbers(run) == [1, 2, 3]


def test_an_imported_run_has_none(tmp_path):
    run = made(tmp_path)
    whole = read_whole(run.path, imported=True)

    assert "evaluations" not in whole.tables


def test_checks_of_older_files_have_the_fields_of_today(tmp_path):
    older = ("check_id", "kind", "outcome", "message")
    declared = TABLES["results"].field("checks").type.value_type
    kind = pa.list_(pa.struct([declared.field(name) for name in older]))
    run = RunBuilder(tmp_path / "runs")
    check = {"check_id": "a", "kind": "contains", "outcome": "passed"}
    run.night(["c0", "c1"], {"checks": (check,)})
    mirror_run(run.path, run.lake)
    (path,) = live_files(run.lake, "results")
    whole = pq.read_table(path)
    old = [
        [{name: one[name] for name in older} for one in row] for row in whole["checks"].to_pylist()
    ]
    place = whole.schema.get_field_index("checks")
    table = whole.set_column(place, pa.field("checks", kind, nullable=False), pa.array(old, kind))
    pq.write_table(table, path)

    found = fitted(pq.read_table(path), "results", path)

    expected = dict(check, message=None, reason=None, dimensions=None, check_hash=None, detail=None)
    assert found["checks"].to_pylist() == [[expected], [expected]]
    assert found.schema.equals(TABLES["results"])
