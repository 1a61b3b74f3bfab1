"""Rows of named runs leave the lake, whole or not at all, and nobody else's go with them."""

from collections import Counter

import pyarrow.parquet as pq
import pytest

from schemas.errors import LogLost
from schemas.lake import Lake
from schemas.lake.footer import parts_of
from schemas.lake.layout import TABLE_NAMES, Coverage, live_files
from schemas.lake.recover import prune, remove_cut_batches, remove_part
from schemas.lake.transaction import LakeBusy, lake_lock
from tests.schemas.lake.test_compact import NOW_MS, as_layout_1, counts, globbed, n_files, seal
from tests.support.mirrored import files_of


@pytest.fixture
def lake(tmp_path):
    folder = tmp_path / "runs" / "lake"
    for run_id in ("a", "a-b-000001", "b"):
        seal(folder, run_id)
    return folder


@pytest.mark.parametrize("is_compact", [False, True])
def test_all_rows_of_the_named_runs_go_and_no_others(lake, is_compact):
    if is_compact:
        Lake(lake).compact(now_ms=NOW_MS)
    before = counts(lake)

    assert prune(lake, ["a", "b", "never-made"]) == 2 * (
        3 + 1 + 6 + 6 + 6 + 6 + 2 + 2 + 2 + 2 + 2 + 2
    )

    after = {table: Counter({"a-b-000001": before[table]["a-b-000001"]}) for table in TABLE_NAMES}
    assert counts(lake) == globbed(lake) == after
    for table in TABLE_NAMES:
        assert files_of(lake, table, "a") == []
        assert len(parts_of(lake, table, "a-b-000001")) == (1 if table in {"plans", "runs"} else 2)
    assert prune(lake, ["a"]) == 0


def test_the_last_run_of_a_file_takes_the_file_along(lake):
    Lake(lake).compact(now_ms=NOW_MS)
    prune(lake, ["a", "b", "a-b-000001"])

    assert n_files(lake) == dict.fromkeys(TABLE_NAMES, 0)
    assert len(list(lake.glob("trash/*/*.parquet"))) == 66 + 12, "readers may still hold them"


def test_what_a_record_supersedes_is_kept_where_a_file_is_rewritten(lake):
    seal(lake, "c", batches=3, n_cases=2)
    for path in files_of(lake, "results", "c"):
        as_layout_1(path)
    Lake(lake).compact(now_ms=NOW_MS)
    prune(lake, ["a"])

    (path,) = live_files(lake, "results")
    rows = pq.ParquetFile(path).read().to_pylist()
    assert sum(row["supersedes"] is not None for row in rows if row["run_id"] == "c") == 7


def test_nothing_goes_while_another_process_rewrites_the_lake(lake, monkeypatch):
    Lake(lake).compact(now_ms=NOW_MS)
    monkeypatch.setattr("schemas.lake.recover.LOCK_WAIT_S", 0.1)
    before = counts(lake)
    file, part = parts_of(lake, "results", "a")[0]

    with lake_lock(lake):
        with pytest.raises(LakeBusy, match="another process"):
            prune(lake, ["a"])
        with pytest.raises(LakeBusy, match="another process"):
            remove_part(lake, "results", file, part)

    assert counts(lake) == before


def test_what_was_cut_off_of_a_batch_leaves_a_file_of_several_runs(lake, tmp_path):
    log = tmp_path / "results.jsonl"
    log.write_bytes((b"x" * 99 + b"\n") * 8)
    Lake(lake).compact(now_ms=NOW_MS)
    file, part = next(one for one in parts_of(lake, "results", "a") if one[1].coverage.start)
    remove_part(lake, "results", file, part)
    before = counts(lake)

    done = remove_cut_batches(lake, "a", log, is_growing=True)

    assert done == Coverage(0, 400, 0, 4)
    after = counts(lake)
    for table, n_rows in (("results", 0), ("outputs", 3), ("events", 1)):
        assert before[table] - after[table] == Counter({"a": n_rows} if n_rows else {})
        assert [part.coverage.end for _, part in parts_of(lake, table, "a")] == [400]
    assert globbed(lake) == after
    assert remove_cut_batches(lake, "a", log, is_growing=True) == done


@pytest.mark.parametrize("is_compact", [False, True])
def test_a_stretch_that_its_log_does_not_hold_stays(lake, tmp_path, is_compact):
    log = tmp_path / "results.jsonl"
    log.write_bytes((b"x" * 99 + b"\n") * 4)  # the second batch, bytes 400 to 800, is lost
    files_of(lake, "results", "a")[1].unlink()  # of it the text alone is left
    if is_compact:
        Lake(lake).compact(now_ms=NOW_MS)
    before = counts(lake)

    assert remove_cut_batches(lake, "a", log, is_growing=False).end == 400
    with pytest.raises(LogLost):
        remove_cut_batches(lake, "a", log, is_growing=True)

    assert counts(lake) == before


def test_a_log_that_is_only_shorter_takes_nothing_out_of_a_file_of_several_runs(lake, tmp_path):
    Lake(lake).compact(now_ms=NOW_MS)
    before = counts(lake)

    done = remove_cut_batches(lake, "a", tmp_path / "gone.jsonl", is_growing=False)

    assert done.end == 800
    assert counts(lake) == before


def test_leftovers_of_a_batch_go_and_the_rest_of_the_run_stays(lake, tmp_path):
    files_of(lake, "results", "a")[1].unlink()
    log = tmp_path / "results.jsonl"
    log.write_bytes((b"x" * 99 + b"\n") * 8)

    assert remove_cut_batches(lake, "a", log, is_growing=False).end == 400
    assert counts(lake)["outputs"] == {"a": 3, "b": 6, "a-b-000001": 6}


def test_a_file_that_was_moved_meanwhile_is_left_for_another_try(lake):
    file, part = parts_of(lake, "results", "a")[0]
    Lake(lake).compact(now_ms=NOW_MS)

    with pytest.raises(LakeBusy):
        remove_part(lake, "results", file, part)

    file, part = parts_of(lake, "results", "a")[0]
    remove_part(lake, "results", file, part)
    assert counts(lake)["results"]["a"] == 3
