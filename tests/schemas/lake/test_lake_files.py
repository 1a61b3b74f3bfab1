"""Which files count: exact while files are moved, after a crash, and in an older layout."""

import json
import shutil
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from schemas.lake import Lake
from schemas.lake.footer import parts_of, read_lake_file
from schemas.lake.layout import (
    INTENT,
    TABLE_NAMES,
    Coverage,
    lake_of,
    live_files,
    live_paths,
    month_of,
)
from schemas.lake.log_coverage import covered_until
from schemas.lake.rows.tables import TABLES
from tests.schemas.lake.test_compact import NOW_MS, rows_of
from tests.support.interpreter import run_without
from tests.support.mirrored import files_of
from tests.support.paths import GOLDEN

OLD_LAKE = GOLDEN / "lake_layout_1" / "runs"
RUN_ID = "old-run-000001"
MONTH = "2025-11"


@pytest.fixture
def old_lake(tmp_path):
    """What the first layout left of a run that was resumed: one trial, two records."""
    shutil.copytree(OLD_LAKE, tmp_path / "runs")
    return tmp_path / "runs" / "lake"


@pytest.fixture
def folder(tmp_path):
    """Three files of one table and month, of no content."""
    folder = tmp_path / "lake" / "results" / f"month={MONTH}"
    folder.mkdir(parents=True)
    for name in ("a", "b", "c"):
        (folder / f"{name}.parquet").touch()
    return folder


def names(lake, table="results"):
    return [path.relative_to(lake).as_posix() for path in live_files(lake, table)]


def intend(lake, phase="moving", **facts):
    known = {
        "phase": phase, "token": "0123456789ab", "table": "results", "month": MONTH,
        "new": "together-0123456789ab.parquet", "replaced": ["a.parquet", "b.parquet"],
    }  # fmt: skip
    (lake / INTENT).parent.mkdir(exist_ok=True)
    (lake / INTENT).write_text(json.dumps(known | facts))
    trash = lake / "trash" / "0123456789ab"
    trash.mkdir(parents=True, exist_ok=True)
    return trash


def test_files_of_the_first_layout_are_read(old_lake):
    files = [read_lake_file(path) for path in files_of(old_lake, "results", RUN_ID)]

    assert [file.layout for file in files] == [1, 1]
    assert {part.run_id for file in files for part in file.parts} == {RUN_ID}
    covered = covered_until(part for file in files for part in file.parts)
    assert covered.end == (old_lake.parent / RUN_ID / "results.jsonl").stat().st_size
    assert covered.lines_after == 4
    for table, n_rows in {"results": 2, "outputs": 2, "events": 2, "plans": 1, "runs": 0}.items():
        assert len(rows_of(live_files(old_lake, table))) == n_rows
        assert sum(part.n_rows for _, part in parts_of(old_lake, table, RUN_ID)) == n_rows


def test_files_of_the_first_layout_are_compacted_into_that_of_today(old_lake):
    before = {
        table: sorted(map(str, rows_of(live_files(old_lake, table)))) for table in TABLE_NAMES
    }
    assert Lake(old_lake).compact(now_ms=NOW_MS).problems == []

    for table in ("results", "outputs", "events"):
        (path,) = live_files(old_lake, table)
        assert read_lake_file(path).layout == 2
        assert pq.ParquetFile(path).schema_arrow.equals(TABLES[table])
        rows = rows_of([path])
        assert [row.pop("supersedes") for row in rows if "supersedes" in row] in ([None, 2], [])
        for added in ("elapsed_ms", "tool_ms", "scores"):
            assert [row.pop(added) for row in rows if added in row] in ([None, None], [])
        assert sorted(map(str, rows)) == before[table]


def test_a_table_without_files_is_empty(tmp_path):
    for table in TABLE_NAMES:
        assert live_files(tmp_path / "lake", table) == []
    (tmp_path / "lake").mkdir()
    (tmp_path / "lake" / "results").write_text("no folder")
    assert live_files(tmp_path / "lake", "results") == []


def test_files_are_listed_by_month_and_name_and_nothing_else_is(folder):
    lake = folder.parents[1]
    other = folder.parent / "month=2024-02"
    other.mkdir()
    for path in (
        other / "z.parquet", folder / ".tmp-x", folder / ".hidden.parquet", folder / "notes.txt",
        folder.parent / "loose.parquet",
    ):  # fmt: skip
        path.touch()

    assert names(lake) == ["results/month=2024-02/z.parquet"] + [
        f"results/month={MONTH}/{name}.parquet" for name in "abc"
    ]
    assert list(live_paths(lake, "results")) == names(lake)


def test_replaced_files_count_wherever_they_lie_until_the_new_one_is_there(folder):
    lake = folder.parents[1]
    trash = intend(lake)
    everything = names(lake)
    assert len(everything) == 3, "nothing has moved yet"

    (folder / "a.parquet").rename(trash / "a.parquet")
    assert names(lake) == ["trash/0123456789ab/a.parquet", *everything[1:]]
    assert list(live_paths(lake, "results")) == everything
    (folder / "b.parquet").rename(trash / "b.parquet")
    assert [Path(name).name for name in names(lake)] == ["a.parquet", "b.parquet", "c.parquet"]

    (folder / "together-0123456789ab.parquet").touch()
    after = ["c.parquet", "together-0123456789ab.parquet"]
    assert [Path(name).name for name in names(lake)] == after
    intend(lake, "done", new=None, replaced=[])
    assert [Path(name).name for name in names(lake)] == after


def test_files_that_nothing_replaces_do_not_count_once_they_move(folder):
    lake = folder.parents[1]
    intend(lake, new=None)

    assert [Path(name).name for name in names(lake)] == ["c.parquet"]


def test_a_replaced_file_that_somebody_deleted_is_not_waited_for_for_ever(folder):
    lake = folder.parents[1]
    intend(lake)
    (folder / "b.parquet").unlink()

    assert [Path(name).name for name in names(lake)] == ["a.parquet", "c.parquet"]


@pytest.mark.parametrize("phase", ["writing", "done", "unheard of"])
def test_an_intent_that_moves_nothing_changes_nothing(folder, phase):
    lake = folder.parents[1]
    intend(lake, phase)

    assert len(names(lake)) == 3
    assert live_files(lake, "outputs") == []


@pytest.mark.parametrize(
    "content",
    [b"", b"{", b"null", b"[]", b'{"phase": "moving"}', b"\xff",
     b'{"phase": "moving", "token": 1, "table": "results", "month": "2025-11", "replaced": []}',
     b'{"phase": "moving", "token": "../..", "table": "results", "month": "2025-11",'
     b' "new": null, "replaced": ["a.parquet"]}',
     b'{"phase": "moving", "token": "t", "table": "results", "month": "2025-11",'
     b' "new": null, "replaced": ["../a.parquet"]}'],
)  # fmt: skip
def test_an_intent_that_is_not_ours_is_passed_over(folder, content):
    lake = folder.parents[1]
    intend(lake)
    (lake / INTENT).write_bytes(content)

    assert len(names(lake)) == 3
    Lake(lake).compact(now_ms=NOW_MS)
    assert len(names(lake)) == 3


def test_the_month_is_that_of_utc():
    assert month_of(1_764_547_199_999) == "2025-11"
    assert month_of(1_764_547_200_000) == "2025-12"
    assert lake_of(Path("runs")) == Path("runs/lake")


def test_looking_at_files_loads_neither_engines_nor_models():
    code = (
        "import schemas.lake as l\n"
        "assert {'results', 'evaluations', 'plans', 'runs'} < set(l.TABLE_NAMES)\n"
    )
    run_without(code, "pyarrow", "numpy", "pydantic", "msgspec", "duckdb")


def test_a_stretch_is_known_by_its_bytes_and_lines(old_lake):
    first, second = (part for _, part in parts_of(old_lake, "results", RUN_ID))
    stretches = sorted((first.coverage, second.coverage), key=lambda one: one.start)
    assert stretches[0] == Coverage(0, stretches[1].start, 0, 2, stretches[0].tail)
    assert len(stretches[0].tail) == 16
