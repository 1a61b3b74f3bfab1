"""The manifest saves time and is never needed: whatever happens to it, counts stay right."""

import json
import time

import pytest

from schemas.base import SCHEMA_VERSION
from schemas.lake import Lake
from schemas.lake.footer import parts_of
from schemas.lake.layout import live_files
from schemas.lake.manifest import FILES, RUNS, Manifest, MirroredRun
from schemas.run import layout
from tests.schemas.lake.test_compact import NOW_MS, counts, seal
from tests.support.mirrored import files_of

SEEN = MirroredRun("a", 800, 5, ("line 3 is torn",), False)


@pytest.fixture
def lake(tmp_path):
    folder = tmp_path / "runs" / "lake"
    for run_id in ("a", "b"):
        seal(folder, run_id)
    return folder


def test_what_is_saved_is_loaded_again(lake):
    manifest = Manifest(lake)
    manifest.runs["a"] = SEEN
    manifest.runs["folder"] = MirroredRun("b", 1, 2, is_pruned=True)
    manifest.refresh()
    manifest.save()

    again = Manifest(lake)
    assert again.runs == manifest.runs
    assert again.names == manifest.names
    for run_id in ("a", "b"):
        assert again.parts_of("results", run_id) == parts_of(lake, "results", run_id)
    assert list(lake.rglob("manifest/.tmp-*")) == []


def test_what_others_saved_meanwhile_stays(lake):
    one, other = Manifest(lake), Manifest(lake)
    one.runs["a"] = SEEN
    one.runs["old"] = SEEN
    one.save()
    other.runs["b"] = MirroredRun("b", 1, 1)
    other.refresh()
    other.save()
    del one.runs["old"]
    one.save()

    again = Manifest(lake)
    assert again.runs == {"a": SEEN, "b": MirroredRun("b", 1, 1)}
    assert len(again.names) == 44


@pytest.mark.parametrize(
    "content",
    [None, b"", b"{", b"[]", b"null", b'{"version": 99, "runs": {"a": 1}, "files": {"b": 1}}',
     b'{"version": 1, "runs": {"a": 1, "b": [1, 2]}, "files": {"results/x/y.parquet": [1]}}',
     b'{"version": 1, "runs": [], "files": 7}', b"\xff\xfe\x00"],
)  # fmt: skip
def test_a_manifest_that_is_lost_torn_or_foreign_is_made_again(lake, content):
    Lake(lake).compact(now_ms=NOW_MS)
    seal(lake, "c")
    before = counts(lake)
    for name in (RUNS, FILES):
        path = lake / name
        path.unlink(missing_ok=True)
        if content is not None:
            path.write_bytes(content)

    manifest = Lake(lake)
    assert manifest.runs == {}
    assert manifest.refresh().problems == []
    assert manifest.parts_of("results", "a") == parts_of(lake, "results", "a")
    assert manifest.compact(now_ms=NOW_MS).problems == []
    assert counts(lake) == before
    assert Manifest(lake).names == manifest.names


def test_files_that_others_sealed_are_known_after_a_look(lake):
    manifest = Manifest(lake)
    manifest.refresh()
    seal(lake, "elsewhere")

    assert manifest.parts_of("results", "elsewhere") == []
    manifest.refresh()
    assert manifest.parts_of("results", "elsewhere") == parts_of(lake, "results", "elsewhere")


def test_runs_whose_files_somebody_deleted_are_not_complete_any_more(lake):
    manifest = Manifest(lake)
    manifest.runs = {"a": MirroredRun("a", 1, 1), "b": MirroredRun("b", 1, 1)}
    manifest.refresh()
    manifest.save()
    files_of(lake, "outputs", "b")[0].unlink()

    refreshed = Manifest(lake)
    refreshed.refresh()
    refreshed.save()
    assert {name: seen.is_complete for name, seen in Manifest(lake).runs.items()} == {
        "a": True, "b": False,
    }  # fmt: skip


def test_a_compaction_robs_nobody(lake):
    manifest = Manifest(lake)
    manifest.runs = {"a": MirroredRun("a", 1, 1)}
    manifest.refresh()
    manifest.save()
    Lake(lake).compact(now_ms=NOW_MS)

    manifest.refresh()
    assert manifest.runs["a"].is_complete
    assert manifest.names == Manifest(lake).names


def test_a_strange_file_is_damaged_and_the_rest_is_known(lake):
    path = live_files(lake, "events")[0].with_name("strange.parquet")
    path.write_bytes(b"no parquet")

    manifest = Manifest(lake)
    (damaged,) = manifest.refresh().damaged
    assert damaged.path == path
    assert damaged.found == "is no Parquet file, or the end of one is missing"
    assert len(manifest.names) == 44


def test_ten_thousand_runs_are_loaded_at_once(lake):
    manifest = Manifest(lake)
    manifest.runs = {f"run-{n:05d}": MirroredRun(f"run-{n:05d}", n, n) for n in range(10_000)}
    manifest.save()

    best = min(_seconds_to_load(lake) for _ in range(5))
    assert best < 0.5, "a few hundredths on a quiet machine"
    assert len(json.loads((lake / RUNS).read_bytes())["runs"]) == 10_000


def _seconds_to_load(lake):
    began = time.perf_counter()
    assert len(Manifest(lake).runs) == 10_000
    return time.perf_counter() - began


def test_a_newer_program_looks_at_refused_folders_again():
    assert layout.SCHEMA_VERSION == SCHEMA_VERSION
