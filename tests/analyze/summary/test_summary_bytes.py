"""summary.json is a function of the data: not of row order, threads, files or the clock."""

import json
import random
import shutil

import pyarrow.parquet as pq
import pytest

from analyze.query.session import Session
from analyze.summary.summarize import summarize_run, summary_json, summary_of, write_files
from schemas.lake import Lake
from schemas.lake.layout import Coverage, live_files, month_of
from schemas.lake.writer import LakeWriter
from schemas.output.summary import GroupSummary, RunSummary
from tests.support.mirrored import files_of, table_of

FAILURES = (None, None, None, "timeout", "http_429", "empty_response")


@pytest.fixture(scope="module")
def mirrored(shared_run):
    """A run of 240 trials with uneven numbers, some of them tried again, in the lake."""
    run = shared_run()
    dice = random.Random(11)
    for n in range(240):
        level = None if n % 2 else "low"
        trial = run.plan(
            f"c{n // 2 % 30}",
            1 + n // 60,
            model_id=f"m{n % 2}",
            thinking_level=level,
            expected_tools=("free",) if n % 3 else (),
        )
        run.result(
            trial,
            failure_type=dice.choice(FAILURES),
            e2e_ms=dice.randrange(10, 90_000),
            cost_usd=dice.random() / 7,
            tool_use_success=dice.random() < 0.7,
            raw_output=dice.choice("abc"),
        )
    for trial in (*run.trials[::7], *run.trials[::21]):
        run.result(trial, e2e_ms=dice.randrange(10, 90_000), cost_usd=dice.random() / 7)
    run.mirror()
    return run


@pytest.fixture(scope="module")
def expected(mirrored):
    """The summary of the run from its own lake."""
    return summary_json(summarize_run(mirrored.path, mirrored.lake))


def relaid(run, lake, files, seed):
    """Return another lake with the same rows in another order, spread over several files."""
    writer = LakeWriter(lake, run.run_id, month_of(run.started_at_ms))
    tables = {}
    for table in ("runs", "plans", "results", "outputs"):
        (path,) = files_of(run.lake, table, run.run_id)
        tables[table] = pq.ParquetFile(path).read().to_pylist()
        random.Random(seed).shuffle(tables[table])
    for n in range(files):
        batch = {name: table_of(name, rows[n::files]) for name, rows in tables.items()}
        writer.seal_batch(batch, Coverage(n, n + 1, n, n + 1))
    return lake


@pytest.mark.parametrize("files", [1, 7, 30])
def test_bytes_do_not_depend_on_order_threads_or_files(mirrored, expected, tmp_path, files):
    lake = relaid(mirrored, tmp_path / "other", files, seed=files)

    for threads in (1, 2, 8):
        said = summary_json(summarize_run(mirrored.path, lake, threads=threads))
        assert said == expected, threads


def test_bytes_are_the_same_after_a_compaction(mirrored, expected, tmp_path):
    lake = relaid(mirrored, tmp_path / "other", 15, seed=3)
    before = len(live_files(lake, "results"))

    Lake(lake).compact(now_ms=mirrored.started_at_ms + 400 * 86_400_000)

    assert len(live_files(lake, "results")) == 1 < before
    for threads in (1, 8):
        assert summary_json(summarize_run(mirrored.path, lake, threads=threads)) == expected


def test_bytes_are_the_same_beside_other_runs_and_without_the_folder(mirrored, expected, new_run):
    runs_dir = new_run().runs_dir
    shutil.copytree(mirrored.runs_dir, runs_dir)
    for n in range(3):
        other = new_run(f"other-{n}", mirrored.started_at_ms + n)
        other.result(other.plan(model_id=f"m{n}"))
        other.mirror()

    with Session(runs_dir) as session:
        assert (
            summary_json(summary_of(session, mirrored.run_id, runs_dir / mirrored.run_id))
            == expected
        )
        # no snapshots were taken, so nothing is missing without the folder
        assert summary_json(summary_of(session, mirrored.run_id, None)) == expected


def test_files_are_whole_and_the_same_when_written_again(mirrored):
    paths = write_files(mirrored.path, summarize_run(mirrored.path, mirrored.lake))
    first = [path.read_bytes() for path in paths]
    again = write_files(mirrored.path, summarize_run(mirrored.path, mirrored.lake))

    assert paths == (mirrored.path / "summary.json", mirrored.path / "summary.md")
    assert [path.read_bytes() for path in again] == first
    assert all(text.endswith(b"\n") and not text.endswith(b"\n\n") for text in first)
    assert list(mirrored.path.glob(".tmp-*")) == []


def test_file_has_the_fields_of_the_declaration_in_their_order(mirrored):
    text = write_files(mirrored.path, summarize_run(mirrored.path, mirrored.lake))[0].read_text(
        encoding="utf-8"
    )
    document = json.loads(text)

    assert list(document) == list(RunSummary.model_fields)
    assert list(document["models"][0]) == list(GroupSummary.model_fields)
    assert text.startswith('{\n  "schema_version": 2,\n  "generated_at": "')
    assert RunSummary.model_validate_json(text) == summarize_run(mirrored.path, mirrored.lake)
