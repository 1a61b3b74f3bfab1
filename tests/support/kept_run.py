"""What a run left behind, read back; and whether all of it fits together."""

import json
import os
import subprocess
import sys
import time
from itertools import pairwise

import psutil
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import zstandard

from collect.execute.mirror_process import mirror_command
from schemas.io.arrow import row_of
from schemas.lake import lake_of
from schemas.lake.footer import parts_of
from schemas.lake.rows.tables import TABLES
from schemas.run.result import TRIAL_KEY, Event, parse_line
from schemas.run.trace import REFERENCE, Artifact, whole_frame
from tests.support.forks import forks
from tests.support.mirrored import files_of, table_of
from tests.support.paths import ROOT

SEAL_OFTEN = """
import sys
if sys.orig_argv[1:-1] == {words}:
    import schemas.lake.mirror.log_mirror
    schemas.lake.mirror.log_mirror.MAX_BATCH_ROWS = {rows}
"""


class Kept:
    """A run's folder and its rows in the lake."""

    def __init__(self, run_dir):
        self.dir = run_dir

    def lines(self):
        """Return every line of results.jsonl; each of them must be whole."""
        raw = (self.dir / "results.jsonl").read_bytes()
        assert raw == b"" or raw.endswith(b"}\n"), "a torn line"
        return [json.loads(line) for line in raw.splitlines()]

    def results(self):
        return [line for line in self.lines() if line["record_type"] == "result"]

    def events(self, name=None):
        events = [line for line in self.lines() if line["record_type"] == "event"]
        return [event for event in events if name in (None, event["event"])]

    def counted(self):
        """Return each trial's latest record by trial: the one that counts."""
        return {trial_of(row): row for row in self.results()}

    def planned(self):
        plan = (self.dir / "plan.jsonl").read_text().splitlines()
        return [trial_of(json.loads(line)) for line in plan]

    def summary(self):
        (group,) = json.loads((self.dir / "summary.json").read_text())["models"]
        return group

    def artifact(self, row):
        """Return the trace a result points at."""
        name, offset = REFERENCE.fullmatch(row["artifact_path"]).groups()
        with (self.dir / name).open("rb") as file:
            frame = whole_frame(file, int(offset))
        assert frame is not None, f"{row['artifact_path']} is torn"
        return Artifact.model_validate_json(zstandard.decompress(frame))

    def lake_table(self, name):
        """Return a table of the run's rows in the lake, in the order of its lines."""
        files = files_of(lake_of(self.dir.parent), name, self.dir.name)
        if not files:
            return TABLES[name].empty_table()
        tables = [pq.ParquetFile(path).read().replace_schema_metadata() for path in files]
        table = pa.concat_tables(tables).filter(pc.field("run_id") == self.dir.name)
        return table.sort_by("record_no") if "record_no" in table.column_names else table


def trial_of(row):
    return row["model_id"], row["case_id"], row["repetition"]


def assert_fits_together(run_dir):
    """Check that lake, log, traces and summary say the same, and that nothing is half there."""
    kept = Kept(run_dir)
    kept.lines()
    assert_parquet_equals_jsonl(kept)
    for row in kept.results():
        if row["artifact_path"] is not None:
            artifact = kept.artifact(row)
            assert (artifact.case_id, artifact.repetition) == (row["case_id"], row["repetition"])
    assert list(run_dir.glob(".tmp-*")) == []
    group = kept.summary()
    assert (group["n_planned"], group["n_total"]) == (len(kept.planned()), len(kept.counted()))
    assert group["n_success"] == sum(row["success"] for row in kept.counted().values())
    return kept


def assert_parquet_equals_jsonl(kept):
    """Check the lake against the log, line for line and field for field."""
    lake = lake_of(kept.dir.parent)
    expected = {"results": [], "outputs": [], "events": []}
    last = {}  # record of each trial so far
    with (kept.dir / "results.jsonl").open("rb") as log:
        for number, line in enumerate(log, start=1):
            record = parse_line(line)
            row = row_of(record) | {"record_no": number}
            if not isinstance(record, Event):
                trial = tuple(row[name] for name in TRIAL_KEY)
                row["supersedes"], last[trial] = last.get(trial), number
            for table in ["events"] if isinstance(record, Event) else ["results", "outputs"]:
                expected[table].append(row)
    for name, rows in expected.items():
        was = table_of(name, rows)
        columns = [column for column in was.column_names if column != "output_hash"]
        found = kept.lake_table(name)
        assert found.select(columns).to_pylist() == was.select(columns).to_pylist(), name
    assert kept.lake_table("plans").num_rows == len(kept.planned())
    parts = [part for _, part in parts_of(lake, "results", kept.dir.name)]
    covered = sorted((part.coverage for part in parts), key=lambda one: one.start)
    assert all(one.end == two.start for one, two in pairwise(covered)), "a gap, or twice"
    assert covered[0].start == 0
    assert covered[-1].end == (kept.dir / "results.jsonl").stat().st_size
    assert [path for path in lake.rglob(".tmp-*") if kept.dir.name in path.name] == []


def collect(cwd, *arguments, **environment):
    """Run `collect ...` to its end, in a fork of a process that has imported it."""
    return forks("collect").run(cwd, [*map(str, arguments)], os.environ | environment)


def collect_log(cwd, *arguments, **environment):
    """The same without a mirror, where neither lake, summary nor a good end are looked at."""
    words, env = [*map(str, arguments)], os.environ | environment
    return forks("collect").run(cwd, words, env, has_mirror=False)


def begin(cwd, *arguments, **environment):
    """Start `collect ...` in a session of its own."""
    return subprocess.Popen(
        command(*arguments),
        cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        start_new_session=True, env=os.environ | environment,
    )  # fmt: skip


def command(*arguments):
    return [sys.executable, "-P", "-m", "collect", *map(str, arguments)]


def seal_often(folder, rows=20):
    """Return the PYTHONPATH with which mirrors seal as soon as there are some rows, not 5,000."""
    site = folder / "site"
    site.mkdir()
    words = [*mirror_command(folder)[1:-1]]
    (site / "sitecustomize.py").write_text(SEAL_OFTEN.format(words=words, rows=rows))
    return os.pathsep.join([str(site), str(ROOT)])


def connections_to(port):
    """Return the established connections of this machine to one of its ports."""
    return [
        connection
        for connection in psutil.net_connections(kind="tcp")
        if connection.raddr
        and connection.raddr.port == port
        and connection.status == psutil.CONN_ESTABLISHED
    ]


def wait_for(condition, seconds=60):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "waited too long"
        time.sleep(0.01)
