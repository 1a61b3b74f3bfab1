"""Files of the lake replaced by others: what is on the disk when, and what a crash leaves."""

import json

import pytest

from schemas.lake import Lake
from schemas.lake.footer import parts_of
from schemas.lake.layout import INTENT, TABLE_NAMES, TRASH, Coverage, Intent, live_files
from schemas.lake.recover import remove_cut_batches
from schemas.lake.transaction import lake_lock, swap
from tests.schemas.lake.test_compact import (
    MONTH,
    NOW_MS,
    as_layout_1,
    counts,
    everything,
    globbed,
    rows_of,
    seal,
)
from tests.support.synced_files import Synced


@pytest.fixture
def lake(tmp_path):
    folder = tmp_path / "runs" / "lake"
    for run_id in ("a", "b"):
        seal(folder, run_id)
    return folder


def test_a_new_file_is_on_the_disk_before_it_has_its_name_and_the_old_ones_are_gone_after(
    lake, monkeypatch
):
    old = [path.name for path in live_files(lake, "results")]
    synced = Synced(monkeypatch)

    with lake_lock(lake):
        new = swap(lake, "results", MONTH, old, lambda path: path.write_bytes(b"new rows"))

    named = {step[2]: place for place, step in enumerate(synced.steps) if step[0] == "name"}
    moved = [named[name] for name in old]
    assert len(moved) == len(old)
    assert min(synced.whole(new)) < min(moved), "nothing goes before the new one is safe"
    trash = next((lake / TRASH).iterdir())
    assert max(moved) < min(synced.holding(trash, old[0])) < synced.named(new)
    assert synced.named(new) < max(synced.holding(new.parent, new.name))


def test_a_swap_of_a_file_that_went_away_puts_back_those_that_are_in_the_trash(lake):
    before = everything(lake)
    old = [path.name for path in live_files(lake, "results")]

    with lake_lock(lake):
        done = swap(lake, "results", MONTH, [*old, "gone.parquet"], lambda path: path.touch())

    assert done is None
    assert everything(lake) == before
    assert globbed(lake) == counts(lake)
    assert list(lake.rglob(".tmp-*")) == list((lake / TRASH).iterdir()) == []


@pytest.mark.parametrize("n_moved", [1, 2, 4])
def test_a_swap_that_was_cut_off_without_its_new_file_is_undone_from_the_trash(lake, n_moved):
    before = everything(lake)
    old = live_files(lake, "results")
    intent = Intent("0123456789ab", "results", MONTH, "new.parquet", tuple(one.name for one in old))
    (lake / INTENT).parent.mkdir(exist_ok=True)
    (lake / INTENT).write_text(json.dumps({"phase": "moving", **vars(intent)}))
    intent.trash(lake).mkdir(parents=True)
    for path in old[:n_moved]:
        path.rename(intent.trash(lake) / path.name)
    assert everything(lake) == before, "readers look in the trash meanwhile"

    with lake_lock(lake):
        assert globbed(lake) == counts(lake)

    assert everything(lake) == before
    assert sorted(lake.glob("results/*/*.parquet")) == sorted(old)


def test_the_records_of_one_run_replace_none_of_another_where_files_are_rewritten(lake):
    """Both asked the same trials; their files do not say which record supersedes which."""
    for run_id in ("a", "b"):
        for file, _ in parts_of(lake, "results", run_id):
            as_layout_1(file.path)
    Lake(lake).compact(now_ms=NOW_MS)

    rows = rows_of(live_files(lake, "results"))
    assert len(rows) == 12
    assert {row["run_id"]: row["supersedes"] for row in rows if row["record_no"] <= 3} == {
        "a": None,
        "b": None,
    }
    assert [row["supersedes"] for row in rows] == [None] * 12


def test_a_stretch_that_is_there_twice_is_kept_once(lake, tmp_path):
    log = tmp_path / "results.jsonl"
    log.write_bytes((b"x" * 99 + b"\n") * 8)
    exact = counts(lake)
    for table in ("results", "outputs", "events"):
        file, _ = parts_of(lake, table, "a")[0]
        again = file.path.with_name("a-0123456789ab-000009.parquet")
        again.write_bytes(file.path.read_bytes())
    assert counts(lake)["results"]["a"] == 9

    assert remove_cut_batches(lake, "a", log, is_growing=True) == Coverage(0, 800, 0, 8)

    assert counts(lake) == globbed(lake) == exact
    assert {table: len(parts_of(lake, table, "a")) for table in TABLE_NAMES} == {
        "results": 2, "outputs": 2, "events": 2, "plans": 1, "runs": 1, "evaluations": 2,
        "judge_iterations": 2, "judgements": 2, "pair_iterations": 2, "preferences": 2,
        "steps": 2, "step_texts": 2,
    }  # fmt: skip
