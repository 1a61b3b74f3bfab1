"""The one writer of the lake: idempotent, crash-safe, and honest about lines it cannot read."""

import io
import json
import multiprocessing
import os
from contextlib import closing
from pathlib import Path

import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

from schemas.errors import LogLost, SchemaError, UnknownVersion
from schemas.lake.footer import PREFIX, parts_of, read_lake_file
from schemas.lake.layout import live_files
from schemas.lake.mirror import log_mirror as mirror_module
from schemas.lake.mirror.run_mirror import RunMirror
from schemas.lake.transaction import MirrorBusy
from tests.schemas.run.test_round_trip import LINE
from tests.support.mirrored import files_of, mirror_run
from tests.support.run_rows import config

HASH = "0" * 64
SHARED = {"run_id": "r-1", "suite_id": "s", "model_id": "m", "runner_type": "llm_probe",
          "provider": "openai_chat", "thinking_level": None, "prompt_id": "P", "prompt_name": None,
          "case_hash": HASH, "run_fingerprint": HASH, "validator_type": None, "is_scorable": False,
          "expected_tools": [], "tags": [], "model": "m"}  # fmt: skip


def plan_line(number):
    parts = {"case": HASH, "settings": HASH, "endpoint": HASH, "harness": HASH}
    own = {"case_id": f"c{number}", "repetition": 1, "trial_no": number}
    return json.dumps(SHARED | own | {"fingerprint_parts": parts})


def result_line(number, **fields):
    own = {"run_id": "r-1", "case_id": f"c{number}", "raw_output": f"answer {number}"}
    planned = {name: SHARED[name] for name in ("provider", "model", "thinking_level")}
    return json.dumps(LINE | planned | own | fields)


def event_line(name):
    return json.dumps({"record_type": "event", "run_id": "r-1", "event": name, "at_ms": 5})


@pytest.fixture
def run_dir(tmp_path):
    folder = tmp_path / "runs" / "r-1"
    folder.mkdir(parents=True)
    made = config(run_id="r-1", started_at_ms=1_764_547_199_000, n_planned=9)
    (folder / "config.json").write_text(made.model_dump_json())
    (folder / "plan.jsonl").write_text("".join(plan_line(n) + "\n" for n in range(9)))
    return folder


@pytest.fixture
def lake(run_dir):
    return run_dir.parent / "lake"


def write(run_dir, *lines, end="\n"):
    with (run_dir / "results.jsonl").open("a") as log:
        log.write("\n".join(lines) + end)


def rows(lake, table="results"):
    files = live_files(lake, table)
    return ds.dataset(files).to_table().sort_by("record_no").to_pylist() if files else []


def test_mirroring_twice_changes_nothing(run_dir, lake):
    write(run_dir, result_line(0), event_line("e"), result_line(1))

    assert mirror_run(run_dir, lake) == []
    before = {path: path.read_bytes() for path in lake.rglob("*.parquet")}
    assert mirror_run(run_dir, lake) == []

    assert {path: path.read_bytes() for path in lake.rglob("*.parquet")} == before
    assert [(row["case_id"], row["record_no"]) for row in rows(lake)] == [("c0", 1), ("c1", 3)]
    assert [row["event"] for row in rows(lake, "events")] == ["e"]
    assert [row["raw_output"] for row in rows(lake, "outputs")] == ["answer 0", "answer 1"]


def test_what_is_new_goes_into_a_new_file_with_the_right_line_numbers(run_dir, lake):
    write(run_dir, result_line(0))
    mirror_run(run_dir, lake)
    write(run_dir, result_line(1), result_line(0))
    mirror_run(run_dir, lake)

    assert [(row["case_id"], row["record_no"]) for row in rows(lake)] == [
        ("c0", 1), ("c1", 2), ("c0", 3),
    ]  # fmt: skip
    coverages = [part.coverage for _, part in parts_of(lake, "results", "r-1")]
    ends = sorted((one.start, one.end) for one in coverages)
    assert ends[0][1] == ends[1][0], "byte ranges follow each other without a gap"
    assert ends[1][1] == (run_dir / "results.jsonl").stat().st_size


def test_the_month_is_that_of_the_runs_start_in_utc(run_dir, lake):
    write(run_dir, result_line(0))
    mirror_run(run_dir, lake)

    assert {path.parent.name for path in lake.rglob("*.parquet")} == {"month=2025-11"}


def test_a_torn_tail_waits_for_its_end(run_dir, lake):
    whole = result_line(1)
    write(run_dir, result_line(0), whole[:30], end="")
    assert mirror_run(run_dir, lake) == []
    assert [row["case_id"] for row in rows(lake)] == ["c0"]

    write(run_dir, whole[30:])
    mirror_run(run_dir, lake)
    assert [row["case_id"] for row in rows(lake)] == ["c0", "c1"]


def test_a_line_whose_end_comes_while_it_is_read_is_one_line(run_dir, lake, monkeypatch):
    write(run_dir, *(result_line(number) for number in range(3)))
    content = (run_dir / "results.jsonl").read_bytes()
    at = content.index(b"\n") + 40

    class Growing(io.RawIOBase):
        """A file that ends inside its second line until somebody has seen that end."""

        def __init__(self):
            self.size, self.at = at, 0

        def readable(self):
            return True

        def seekable(self):
            return True

        def seek(self, offset, whence=0):
            self.at = offset + (self.at if whence else 0)
            return self.at

        def tell(self):
            return self.at

        def readinto(self, buffer):
            found = content[self.at : self.size][: len(buffer)]
            if not found:
                self.size = len(content)
            self.at += len(found)
            buffer[: len(found)] = found
            return len(found)

    opened = mirror_module.open_own_file

    def growing(folder, name):
        return io.BufferedReader(Growing()) if name == "results.jsonl" else opened(folder, name)

    with closing(RunMirror(run_dir, lake)) as mirror:
        monkeypatch.setattr(mirror_module, "open_own_file", growing)
        mirror.step()
        monkeypatch.undo()
        assert (mirror.n_lines, mirror.problems) == (3, [])


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("{", "not a JSON object"),
        ("[1]", "not a JSON object"),
        ("null", "not a JSON object"),
        ("", "not a JSON object"),
        ('{"record_type": "sample"}', "record_type 'sample' is unknown"),
        (result_line(1, e2e_ms=1.5), "`e2e_ms`"),
        (result_line(1, model_id=None), "`model_id`"),
        (result_line(1, success=1), "`success`"),
        (result_line(1, tool_calls="ls"), "`tool_calls`"),
        (result_line(1, attempt_count=-1), "`attempt_count`"),
        (result_line(1, cost_usd=float("nan")), "not a JSON object"),
        (result_line(1, parsed_output=[float("inf")]), "not a JSON object"),
        (result_line(1).replace('"e2e_ms": 1,', '"e2e_ms": 1, "e2e_ms": 2,'), "the key 'e2e_ms'"),
        (result_line(1, parsed_output=1).replace(': 1, "tool', ': {"a":1,"a":1}, "tool'), "'a'"),
        (result_line(1, raw_output="\ud800"), "not a JSON object"),
    ],
)
def test_a_line_that_cannot_be_read_is_named_and_the_rest_is_kept(run_dir, lake, line, said):
    write(run_dir, result_line(0), line, result_line(2))

    (problem,) = mirror_run(run_dir, lake)

    assert f"{run_dir / 'results.jsonl'}:2: " in problem
    assert said in problem
    assert [(row["case_id"], row["record_no"]) for row in rows(lake)] == [("c0", 1), ("c2", 3)]


def test_fields_of_a_newer_version_are_passed_over(run_dir, lake):
    write(run_dir, result_line(0, brand_new={"a": 1}))

    assert mirror_run(run_dir, lake) == []
    assert len(rows(lake)) == 1


def test_a_long_integer_in_a_parsed_answer_stays_exact(run_dir, lake):
    value = {"id": 123456789012345678901234567890, "x": 0.1, "e": 1e-07}
    write(run_dir, result_line(0, parsed_output=value))

    assert mirror_run(run_dir, lake) == []
    (row,) = rows(lake, "outputs")
    assert json.loads(row["parsed_output"]) == value


def test_batches_are_sealed_while_the_run_goes_on(run_dir, lake, monkeypatch):
    monkeypatch.setattr(mirror_module, "MAX_BATCH_ROWS", 2)
    write(run_dir, *(result_line(number) for number in range(5)))
    follower = RunMirror(run_dir, lake)

    assert follower.step() == 5
    assert len(rows(lake)) == 4, "two full batches; the fifth row waits"
    follower.seal()
    follower.close()

    assert [row["record_no"] for row in rows(lake)] == [1, 2, 3, 4, 5]


def test_a_crash_between_the_files_of_a_batch_doubles_nothing(run_dir, lake):
    write(run_dir, result_line(0), event_line("e"))
    mirror_run(run_dir, lake)
    for path in live_files(lake, "results"):
        path.unlink()  # as if the crash came just before it was renamed

    mirror_run(run_dir, lake)

    assert len(rows(lake)) == len(rows(lake, "outputs")) == len(rows(lake, "events")) == 1


@pytest.mark.parametrize("table", ["results", "outputs"])
def test_a_file_that_somebody_deleted_is_made_again_and_nothing_is_doubled(
    run_dir, lake, monkeypatch, table
):
    monkeypatch.setattr(mirror_module, "MAX_BATCH_ROWS", 2)
    write(run_dir, *(result_line(number) for number in range(6)))
    mirror_run(run_dir, lake)
    live_files(lake, table)[1].unlink()

    mirror_run(run_dir, lake)

    for name in ("results", "outputs"):
        assert [row["record_no"] for row in rows(lake, name)] == [1, 2, 3, 4, 5, 6]


@pytest.mark.parametrize("fails_at", range(1, 7))
def test_a_full_disk_at_any_moment_leaves_nothing_and_nothing_is_doubled_later(
    run_dir, lake, monkeypatch, fails_at
):
    mirror_run(run_dir, lake)  # the plan
    write(run_dir, result_line(0), event_line("e"))
    calls = []

    def full_disk(path):
        calls.append(path)
        if len(calls) == fails_at:
            raise OSError(28, "No space left on device")

    follower = RunMirror(run_dir, lake)
    follower.step()
    with monkeypatch.context() as patch:
        patch.setattr("schemas.lake.writer.sync_path", full_disk)
        with pytest.raises(OSError, match="No space left"):
            follower.seal()

    left = {path.parent.parent.name for path in lake.rglob("*.parquet")}
    assert left == {"plans", "runs"}
    assert list(lake.rglob(".tmp-*")) == []
    write(run_dir, result_line(1))
    follower.step()
    follower.seal()
    follower.close()
    assert [row["record_no"] for row in rows(lake)] == [1, 3]
    assert [row["record_no"] for row in rows(lake, "outputs")] == [1, 3]
    assert len(rows(lake, "events")) == 1


def test_what_dead_writers_of_this_run_left_is_removed_and_that_of_others_is_not(run_dir, lake):
    folder = lake / "results" / "month=2025-11"
    folder.mkdir(parents=True)
    names = [".tmp-r-1-0123456789ab", ".tmp-r-1-x-0123456789ab", ".tmp-r-0123456789ab"]
    for name in names:
        (folder / name).write_bytes(b"half a file")

    mirror_run(run_dir, lake)

    assert sorted(path.name for path in lake.rglob(".tmp-*")) == sorted(names[1:])


def test_the_log_is_on_the_disk_before_parquet_covers_it(run_dir, lake, monkeypatch):
    mirror_run(run_dir, lake)
    write(run_dir, result_line(0))
    inode = (run_dir / "results.jsonl").stat().st_ino
    synced = []
    real = os.fsync

    def fsync(handle):
        synced.append(os.fstat(handle).st_ino)
        real(handle)

    monkeypatch.setattr(os, "fsync", fsync)
    mirror_run(run_dir, lake)

    assert synced[0] == inode
    assert len(rows(lake)) == 1


def take_back(run_dir, n_bytes):
    log = run_dir / "results.jsonl"
    log.write_bytes(log.read_bytes()[:-n_bytes])


@pytest.mark.parametrize("n_bytes", [1, 40, 2_000])
def test_a_run_does_not_go_on_with_a_log_that_is_shorter_than_the_lake(
    run_dir, lake, monkeypatch, n_bytes
):
    monkeypatch.setattr(mirror_module, "MAX_BATCH_ROWS", 2)
    write(run_dir, *(result_line(number) for number in range(6)))
    mirror_run(run_dir, lake)
    take_back(run_dir, n_bytes)
    before = {path: path.read_bytes() for path in lake.rglob("*.parquet")}

    with pytest.raises(LogLost, match=r"the lake holds 6 results \([0-9,]+ bytes\) of run `r-1`"):
        RunMirror(run_dir, lake, is_growing=True)

    assert {path: path.read_bytes() for path in lake.rglob("*.parquet")} == before


def test_a_log_that_only_became_shorter_takes_no_row_from_the_lake(run_dir, lake):
    write(run_dir, *(result_line(number) for number in range(3)))
    mirror_run(run_dir, lake)
    take_back(run_dir, 50)
    assert mirror_run(run_dir, lake) == []
    assert len(rows(lake)) == 3

    (run_dir / "results.jsonl").unlink()
    assert mirror_run(run_dir, lake) == []
    assert len(rows(lake)) == 3


@pytest.mark.parametrize("is_growing", [True, False])
@pytest.mark.parametrize("numbers", [(0, 4, 5, 6), (0, 4, 2)], ids=["longer", "as long"])
def test_other_lines_in_place_of_those_in_the_lake_take_no_row_from_it(
    run_dir, lake, is_growing, numbers
):
    write(run_dir, *(result_line(number) for number in range(3)))
    mirror_run(run_dir, lake)
    before = rows(lake)
    (run_dir / "results.jsonl").unlink()
    write(run_dir, *(result_line(number) for number in numbers))

    with pytest.raises(LogLost, match="with other lines in them, but the lake holds 3 results"):
        RunMirror(run_dir, lake, is_growing=is_growing)

    assert rows(lake) == before


def test_long_answers_are_sealed_by_their_size(run_dir, lake, monkeypatch):
    monkeypatch.setattr(mirror_module, "MAX_BATCH_BYTES", 20_000)
    write(run_dir, *(result_line(number, raw_output="x" * 9_000) for number in range(5)))

    follower = RunMirror(run_dir, lake)
    follower.step()
    follower.close()

    assert len(live_files(lake, "results")) == 2


def _hold(run_dir, lake, ready, done):
    follower = RunMirror(run_dir, lake)
    ready.set()
    done.wait()
    follower.close()


def test_one_process_at_a_time_mirrors_a_run(run_dir, lake):
    write(run_dir, result_line(0))
    context = multiprocessing.get_context("spawn")
    ready, done = context.Event(), context.Event()
    other = context.Process(target=_hold, args=(run_dir, lake, ready, done))
    other.start()
    assert ready.wait(30)

    with pytest.raises(MirrorBusy, match="another process"):
        mirror_run(run_dir, lake)

    with pytest.raises(MirrorBusy):
        RunMirror(run_dir, lake, wait_s=0.3)

    done.set()
    RunMirror(run_dir, lake, wait_s=30).close()
    other.join()
    assert mirror_run(run_dir, lake) == []


def test_files_of_a_newer_version_are_refused_by_name(run_dir, lake):
    write(run_dir, result_line(0))
    mirror_run(run_dir, lake)
    (path,) = live_files(lake, "results")
    table = pq.ParquetFile(path).read()
    facts = dict(table.schema.metadata) | {f"{PREFIX}schema_version".encode(): b"99"}
    pq.write_table(table.replace_schema_metadata(facts), path)

    with pytest.raises(UnknownVersion, match="schema_version 99"):
        read_lake_file(path)


@pytest.mark.parametrize("content", [b"", b"PAR1 no parquet", None])
def test_a_file_that_is_not_ours_is_named(tmp_path, content):
    path = Path(tmp_path / "x.parquet")
    if content is None:
        import pyarrow as pa

        pq.write_table(pa.table({"a": [1]}), path)
    else:
        path.write_bytes(content)

    with pytest.raises(SchemaError, match=r"x\.parquet"):
        read_lake_file(path)


def test_runs_whose_names_begin_alike_do_not_mix(run_dir, lake):
    write(run_dir, result_line(0))
    mirror_run(run_dir, lake)
    (path,) = live_files(lake, "results")
    other = path.with_name(path.name.replace("r-1-", "r-1-x-"))
    other.write_bytes(path.read_bytes())

    assert files_of(lake, "results", "r-1") == [path]
    assert files_of(lake, "results", "r") == []
