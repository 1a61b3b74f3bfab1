"""The mirror child dies at any moment, meets locks and full disks, and Parquet equals JSONL."""

import asyncio
import collections
import json
import os
import random
import signal
import subprocess
import sys
import time
from itertools import pairwise
from pathlib import Path

import psutil
import pyarrow.parquet as pq
import pytest
import uvloop

from collect.execute import mirror_process as child_module
from collect.execute.mirror_process import MIRROR_MODULE, MirrorChild, mirror_command
from schemas.lake import lake_of, live_files
from schemas.lake.footer import parts_of
from schemas.lake.mirror.run_mirror import RunMirror
from tests.schemas.lake.test_mirror import plan_line, result_line
from tests.support.disk import mounted_disk
from tests.support.kept_run import seal_often
from tests.support.mirrored import mirror_run
from tests.support.processes import mirrors_of
from tests.support.run_rows import config

N_PLANNED = 200
LOOPS = pytest.mark.parametrize(
    "loop_factory", [asyncio.new_event_loop, uvloop.new_event_loop], ids=["asyncio", "uvloop"]
)


@pytest.fixture
def small_disk(tmp_path):
    with mounted_disk(tmp_path / "disk") as disk:
        yield disk.folder


@pytest.fixture
def run_dir(tmp_path):
    return make_run(tmp_path / "runs" / "r-1")


def make_run(folder):
    folder.mkdir(parents=True)
    made = config(run_id="r-1", started_at_ms=1_764_547_199_000, n_planned=N_PLANNED)
    (folder / "config.json").write_text(made.model_dump_json())
    (folder / "plan.jsonl").write_text("".join(plan_line(n) + "\n" for n in range(N_PLANNED)))
    (folder / "results.jsonl").touch()
    return folder


def append(run_dir, *numbers):
    with (run_dir / "results.jsonl").open("a") as log:
        log.writelines(result_line(number) + "\n" for number in numbers)


def wait_for(condition, seconds=30):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "waited too long"
        time.sleep(0.02)


async def until(condition, seconds=30):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "waited too long"
        await asyncio.sleep(0.01)


def lake_rows(run_dir, table="results"):
    files = live_files(lake_of(run_dir.parent), table)
    rows = [row for path in files for row in pq.ParquetFile(path).read().to_pylist()]
    return sorted(rows, key=lambda row: row["record_no"])


def assert_parquet_equals_jsonl(run_dir):
    lines = [json.loads(line) for line in (run_dir / "results.jsonl").read_text().splitlines()]
    rows, texts = lake_rows(run_dir), lake_rows(run_dir, "outputs")
    assert [row["record_no"] for row in rows] == list(range(1, len(lines) + 1))
    assert [row["case_id"] for row in rows] == [line["case_id"] for line in lines]
    assert [row["raw_output"] for row in texts] == [line["raw_output"] for line in lines]
    lake = lake_of(run_dir.parent)
    covered = [part.coverage for _, part in parts_of(lake, "results", run_dir.name)]
    covered.sort(key=lambda coverage: coverage.start)
    assert all(one.end == two.start for one, two in pairwise(covered))
    assert list(lake.rglob(".tmp-*")) == []
    plans = [pq.ParquetFile(path).metadata.num_rows for path in live_files(lake, "plans")]
    assert plans == [N_PLANNED]


def summary_of(run_dir):
    (group,) = json.loads((run_dir / "summary.json").read_text())["models"]
    return group["n_planned"], group["n_total"]


@LOOPS
def test_a_child_follows_to_the_end_and_sums_up(run_dir, loop_factory):
    notes = []

    async def run():
        child = await MirrorChild.start(run_dir, notes.append)
        append(run_dir, *range(5))
        return await child.finish(), child.pid

    with asyncio.Runner(loop_factory=loop_factory) as runner:
        assert runner.run(run()) == (None, None)

    assert notes == []
    assert_parquet_equals_jsonl(run_dir)
    assert summary_of(run_dir) == (N_PLANNED, 5)
    assert (run_dir / "run.log").read_text() == ""


@pytest.mark.peers
@pytest.mark.parametrize(
    ("loop_factory", "n_kills"),
    [(asyncio.new_event_loop, 2), (uvloop.new_event_loop, 9)],
    ids=["asyncio", "uvloop"],
)
def test_a_child_killed_at_any_moment_is_started_again_and_every_line_is_there_once(
    run_dir, tmp_path, monkeypatch, loop_factory, n_kills
):
    """Eleven kills of both; while importing, mirroring, sealing, waiting, as the dice fall.

    Most are of the loop that runs use; that the other one starts a child again needs fewer.
    """
    seed = int(os.environ.get("KILL_SEED", random.randrange(10**6)))
    sys.stdout.write(f"KILL_SEED={seed}\n")
    dice = random.Random(seed)
    monkeypatch.setattr(child_module, "PAUSE_S", 0.001)
    monkeypatch.setattr(child_module, "MAX_EARLY_DEATHS", 10**6)
    monkeypatch.setattr(child_module, "STEADY_S", 0.0)
    monkeypatch.setenv("PYTHONPATH", seal_often(tmp_path, rows=3))
    notes = []

    async def run():
        child = await MirrorChild.start(run_dir, notes.append)
        numbers = iter(range(N_PLANNED))

        async def write():
            for number in numbers:
                append(run_dir, number)
                await asyncio.sleep(0.06)

        writing = asyncio.create_task(write())
        killed = 0
        while killed < n_kills:
            await until(lambda: child.pid is not None)
            await asyncio.sleep(dice.choice([dice.uniform(0, 0.5), dice.uniform(0.4, 1.0)]))
            if child.pid is not None:
                os.kill(child.pid, signal.SIGKILL)
                killed += 1
                seen = len(notes)
                await until(lambda seen=seen: len(notes) > seen)
        writing.cancel()
        append(run_dir, *numbers)
        return await child.finish()

    with asyncio.Runner(loop_factory=loop_factory) as runner:
        assert runner.run(run()) is None, (run_dir / "run.log").read_text()

    assert collections.Counter(notes) == {
        "the mirror was killed (SIGKILL); it is started again": n_kills
    }
    assert_parquet_equals_jsonl(run_dir)
    assert len(live_files(lake_of(run_dir.parent), "results")) > n_kills / 2
    assert summary_of(run_dir) == (N_PLANNED, N_PLANNED)
    assert mirrors_of(run_dir) == []


def test_a_child_that_always_dies_is_given_up_until_the_end(run_dir, monkeypatch):
    monkeypatch.setattr(child_module, "PAUSE_S", 0.001)
    monkeypatch.setattr(child_module, "MAX_EARLY_DEATHS", 2)
    config = (run_dir / "config.json").read_text()
    notes = []

    async def run(mended):
        child = await MirrorChild.start(run_dir, notes.append)
        for _ in range(3):
            seen = len(notes)
            os.kill(child.pid, signal.SIGKILL)
            await until(lambda seen=seen: len(notes) > seen)
            await until(lambda: child.pid is not None or len(notes) == 3)
        append(run_dir, 0)
        (run_dir / "config.json").write_text(config if mended else "{}")
        return await child.finish()

    trouble = asyncio.run(run(mended=False))
    assert notes[-1] == (
        "the mirror was killed (SIGKILL), 3 times in a row; it is run once more at the end"
    )
    assert trouble == f"the mirror ended with code 1; see {run_dir / 'run.log'}"
    said = (run_dir / "run.log").read_text()
    assert "Traceback" not in said
    assert "RunConfig" in said

    notes.clear()
    (run_dir / "config.json").write_text(config)
    (run_dir / "results.jsonl").write_bytes(b"")
    assert asyncio.run(run(mended=True)) is None
    assert_parquet_equals_jsonl(run_dir)


def test_a_child_waits_for_the_child_of_a_killed_collector(run_dir):
    append(run_dir, 0)
    other = RunMirror(run_dir, lake_of(run_dir.parent))  # as if that one were sealing

    async def run():
        child = await MirrorChild.start(run_dir)
        await asyncio.sleep(1.5)
        assert child.pid is not None
        other.step()
        other.seal()
        other.close()
        append(run_dir, 1)
        return await child.finish()

    assert asyncio.run(run()) is None
    assert_parquet_equals_jsonl(run_dir)
    assert summary_of(run_dir) == (N_PLANNED, 2)


def test_when_the_collector_is_killed_the_child_seals_sums_up_and_goes(run_dir):
    code = (
        "import asyncio, sys, pathlib; from collect.execute.mirror_process import MirrorChild\n"
        "async def run():\n"
        "    await MirrorChild.start(pathlib.Path(sys.argv[1]))\n"
        "    print('ready', flush=True)\n"
        "    await asyncio.sleep(60)\n"
        "asyncio.run(run())\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code, str(run_dir)], stdout=subprocess.PIPE
    ) as collector:
        collector.stdout.readline()
        append(run_dir, *range(7))
        (child,) = mirrors_of(run_dir)
        collector.kill()
        collector.wait()
    wait_for(lambda: not child.is_running() or child.status() == psutil.STATUS_ZOMBIE)

    assert_parquet_equals_jsonl(run_dir)
    assert summary_of(run_dir) == (N_PLANNED, 7)


def test_a_strange_file_in_the_lake_is_named_and_set_aside_by_the_child(run_dir):
    strange = lake_of(run_dir.parent) / "results" / "month=2025-11" / "r-1-abc-000001.parquet"
    strange.parent.mkdir(parents=True)
    strange.write_bytes(b"no parquet")
    append(run_dir, *range(3))
    said = run_dir / "run.log"

    with (
        said.open("wb") as log,
        subprocess.Popen(mirror_command(run_dir), stdin=subprocess.PIPE, stderr=log) as child,
    ):
        wait_for(lambda: said.stat().st_size)
        child.stdin.close()
        assert child.wait(30) == 0, said.read_text()

    (line,) = said.read_text().splitlines()
    assert f"{strange}: is no Parquet file" in line
    (kept,) = (lake_of(run_dir.parent) / "quarantine").glob("*r-1-abc-000001.parquet")
    assert kept.name in line
    assert kept.read_bytes() == b"no parquet"
    assert_parquet_equals_jsonl(run_dir)


@pytest.mark.peers
def test_on_a_full_disk_nothing_is_corrupt_and_the_child_tries_again(small_disk):
    run_dir = make_run(small_disk / "runs" / "r-1")
    append(run_dir, *range(200))
    filler = small_disk / "filler"
    fill(filler)

    with subprocess.Popen(mirror_command(run_dir), stdin=subprocess.PIPE) as child:
        wait_for(lambda: not live_files(lake_of(run_dir.parent), "plans"))
        time.sleep(2)
        assert child.poll() is None, "it goes on"
        assert list(small_disk.rglob("*.parquet")) == []
        filler.unlink()
        wait_for(lambda: live_files(lake_of(run_dir.parent), "plans"))
        child.stdin.close()
        assert child.wait(30) == 0

    assert_parquet_equals_jsonl(run_dir)
    assert summary_of(run_dir) == (N_PLANNED, 200)


def test_a_disk_that_stays_full_is_one_sentence_and_later_all_is_there(small_disk):
    run_dir = make_run(small_disk / "runs" / "r-1")
    mirror_run(run_dir, lake_of(run_dir.parent))  # the plan is there
    append(run_dir, *range(200))
    filler = small_disk / "filler"
    fill(filler)

    done = subprocess.run(
        mirror_command(run_dir),
        stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False,
    )  # fmt: skip

    assert done.returncode == 1
    assert done.stderr.startswith("mirror: No space left on device: ")
    assert done.stderr.endswith(f"; `analyze summarize {run_dir}` tries again\n")
    assert done.stderr.count("\n") == 1
    assert list(small_disk.rglob(".tmp-*")) == []
    assert lake_rows(run_dir) == lake_rows(run_dir, "outputs") == []
    filler.unlink()
    assert mirror_run(run_dir, lake_of(run_dir.parent)) == []
    assert_parquet_equals_jsonl(run_dir)


def test_a_child_leaves_pandas_alone_wherever_it_is_installed(run_dir, tmp_path):
    loaded, package = tmp_path / "loaded", tmp_path / "path" / "pandas"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text(f"open({str(loaded)!r}, 'w')\n__version__ = '3.1.1'\n")
    append(run_dir, *range(5))
    path = os.pathsep.join([str(package.parent), *filter(None, sys.path)])

    done = subprocess.run(
        mirror_command(run_dir),
        stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False,
        env=os.environ | {"PYTHONPATH": path},
    )  # fmt: skip

    assert (done.returncode, done.stderr) == (0, "")
    assert not loaded.exists()
    assert_parquet_equals_jsonl(run_dir)
    assert summary_of(run_dir) == (N_PLANNED, 5)


def test_a_file_that_may_not_grow_stands_for_a_full_disk_where_none_can_be_mounted(run_dir):
    append(run_dir, *range(200))
    code = (
        "import resource, signal, sys; signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        f"from {MIRROR_MODULE} import main\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (9_000, 9_000)); sys.exit(main())"
    )

    done = subprocess.run(
        [sys.executable, "-c", code, str(run_dir)],
        stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False,
    )  # fmt: skip

    assert done.returncode == 1
    assert done.stderr.startswith("mirror: File too large: ")
    assert done.stderr.count("\n") == 1
    assert list(lake_of(run_dir.parent).rglob("*.parquet")) == []
    assert list(lake_of(run_dir.parent).rglob(".tmp-*")) == []
    assert mirror_run(run_dir, lake_of(run_dir.parent)) == []
    assert_parquet_equals_jsonl(run_dir)


def fill(path: Path) -> None:
    """Write until nothing more fits."""
    with path.open("wb", buffering=0) as file:
        for size in (65_536, 4_096, 512):
            try:
                while True:
                    file.write(b"\0" * size)
            except OSError:
                continue
