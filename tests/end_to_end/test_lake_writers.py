"""Several collectors fill one lake at the same time, and whoever reads it counts right."""

import asyncio
import json
import threading
import time

import duckdb
import pytest

from collect.execute.mirror_process import MirrorChild
from schemas.lake import lake_of, live_files
from tests.schemas.lake.test_mirror import event_line, plan_line, result_line
from tests.support.kept_run import seal_often
from tests.support.run_rows import config

pytestmark = pytest.mark.peers

N_RUNS = 4
N_LINES = 200


@pytest.fixture
def runs_dir(tmp_path, monkeypatch):
    """Folders of four runs before their first trial; their mirrors seal every 20 rows."""
    monkeypatch.setenv("PYTHONPATH", seal_often(tmp_path))
    for number in range(N_RUNS):
        folder = tmp_path / "runs" / f"r-{number}"
        folder.mkdir(parents=True)
        started_at_ms = 1_764_547_199_000 + number * 3_000
        made = config(run_id=folder.name, started_at_ms=started_at_ms, n_planned=N_LINES)
        (folder / "config.json").write_text(made.model_dump_json())
        plan = [json.loads(plan_line(n)) | {"run_id": folder.name} for n in range(N_LINES)]
        (folder / "plan.jsonl").write_text("".join(json.dumps(line) + "\n" for line in plan))
        (folder / "results.jsonl").touch()
    return tmp_path / "runs"


class Readers:
    """Threads that count the rows of the glob again and again, as any client would."""

    def __init__(self, lake):
        self.glob = f"{lake}/{{}}/month=*/*.parquet"
        self.counts = []
        self.problems = []
        self._stop = threading.Event()
        self._threads = [threading.Thread(target=self._read) for _ in range(2)]

    def __enter__(self):
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_):
        self._stop.set()
        for thread in self._threads:
            thread.join()

    def _read(self):
        with duckdb.connect(config={"threads": 1}) as connection:
            seen = {}
            while not self._stop.is_set():
                try:
                    rows = self.count(connection)
                except duckdb.IOException as exc:
                    if "No files found" not in str(exc):
                        self.problems.append(str(exc))
                except duckdb.Error as exc:
                    self.problems.append(str(exc))
                else:
                    self._judge(seen, rows)
                time.sleep(0.02)

    def count(self, connection):
        return connection.execute(
            "select run_id, count(*), count(distinct record_no), max(record_no) "
            f"from read_parquet('{self.glob.format('results')}') group by run_id"
        ).fetchall()

    def _judge(self, seen, rows):
        for run_id, n_rows, n_lines, last_line in rows:
            if not n_rows == n_lines == last_line >= seen.get(run_id, 0):
                self.problems.append((run_id, n_rows, n_lines, last_line, seen.get(run_id)))
            seen[run_id] = n_rows
        self.counts.append(sum(seen.values()))


async def one_run(run_dir):
    """Append results for some seconds while a mirror of its own follows."""
    child = await MirrorChild.start(run_dir)
    for number in range(N_LINES):
        line = json.loads(result_line(number)) | {"run_id": run_dir.name}
        with (run_dir / "results.jsonl").open("a") as log:
            log.write(json.dumps(line) + "\n")
        await asyncio.sleep(0.01)
    with (run_dir / "results.jsonl").open("a") as log:
        log.write(event_line("end").replace("r-1", run_dir.name) + "\n")
    return await child.finish()


async def all_runs(runs_dir):
    return await asyncio.gather(*(one_run(folder) for folder in sorted(runs_dir.glob("r-*"))))


def test_four_collectors_fill_one_lake_and_every_count_in_between_is_right(runs_dir):
    lake = lake_of(runs_dir)
    with Readers(lake) as readers:
        assert asyncio.run(all_runs(runs_dir)) == [None] * N_RUNS

    assert readers.problems == []
    assert len(set(readers.counts)) > 5, "the lake was read while it grew"
    with duckdb.connect() as connection:
        assert sorted(readers.count(connection)) == [
            (f"r-{number}", N_LINES, N_LINES, N_LINES) for number in range(N_RUNS)
        ]
    for table, n_files in {"plans": N_RUNS, "outputs": None, "events": N_RUNS}.items():
        files = live_files(lake, table)
        assert n_files in {None, len(files)}
    assert {path.parent.name for path in lake.rglob("*.parquet")} == {
        "month=2025-11", "month=2025-12",
    }  # fmt: skip
    assert list(lake.rglob(".tmp-*")) == []
