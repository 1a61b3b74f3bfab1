"""Steps in the lake: made of traces beside the results, kept, merged, pruned and made again."""

import resource
from contextlib import closing

import pyarrow.parquet as pq
import pytest
import zstandard

from analyze.lake.sync import sync
from schemas.lake import Lake, live_files
from schemas.lake.manifest import MirroredRun
from schemas.lake.mirror import log_mirror
from schemas.lake.mirror.run_mirror import RunMirror
from schemas.lake.rows import step_rows
from tests.support.run_builder import RunBuilder
from tests.support.run_rows import trace


def events_of(answer="Done.", calls=1):
    """Return a reply with calls, their results, and a reply with a text."""
    said = [("message", {"role": "user", "content": "Do it."})]
    reply = ("runner", {"name": "provider_reply", "detail": {"e2e_ms": 300}})
    said += [reply]
    for number in range(calls):
        call = {"call_id": f"c{number}", "tool_name": "exec_shell"}
        said += [
            ("tool_call", call | {"raw_arguments": f'{{"command": "ls {number}"}}'}),
            ("tool_result", {"call_id": f"c{number}", "status": "success", "output": {"n": 1}}),
        ]
    return [*said, reply, ("message", {"role": "assistant", "content": answer})]


def traced(run, trial, *events, **fields):
    """Give a trial a result with a trace."""
    own = trace(run.run_id, trial.model_id, trial.case_id, trial.repetition, *events)
    (path,) = run.write_traces(own)
    run.result(trial, artifact_path=path, **({"tool_ms": 5} | fields))


@pytest.fixture
def run(tmp_path):
    run = RunBuilder(tmp_path / "runs")
    for number in range(4):
        traced(run, run.plan(f"c{number}"), *events_of(f"answer {number}"))
    run.write()
    return run


def rows_of(lake, table):
    found = [pq.read_table(path, partitioning=None) for path in live_files(lake, table)]
    rows = [row for one in found for row in one.to_pylist()]
    return sorted(rows, key=lambda row: (row["run_id"], row["record_no"], row["step_no"]))


def both(lake):
    return rows_of(lake, "steps"), rows_of(lake, "step_texts")


def test_the_mirror_and_a_sync_make_the_same_steps(run, tmp_path):
    other = RunBuilder(tmp_path / "other")
    for number in range(4):
        traced(other, other.plan(f"c{number}"), *events_of(f"answer {number}"))
    other.write()

    run.mirror()
    sync(other.runs_dir)

    steps, texts = both(run.lake)
    assert (steps, texts) == both(other.lake)
    assert [row["kind"] for row in steps[:5]] == [
        "message", "message", "tool_call", "tool_result", "message",
    ]  # fmt: skip
    assert [row["text"] for row in texts if row["step_no"] == 5] == [
        f"answer {number}" for number in range(4)
    ]


def test_a_trial_without_tools_has_no_steps_and_no_file(tmp_path):
    run = RunBuilder(tmp_path / "runs")
    traced(run, run.plan(), ("message", {"role": "user", "content": "Say."}), tool_ms=None)
    run.mirror()

    assert both(run.lake) == ([], [])
    assert not (run.lake / "steps").exists()


@pytest.mark.parametrize(
    "fields",
    [{"tool_ms": 0}, {"tool_call_source": "api"}, {"runner_type": "openclaw"}],
    ids=str,
)
def test_trials_with_tools_and_those_of_agents_have_steps(tmp_path, fields):
    run = RunBuilder(tmp_path / "runs")
    traced(run, run.plan(), *events_of(), **({"tool_ms": None} | fields))
    run.mirror()

    assert len(both(run.lake)[0]) == 5


def test_a_trial_that_was_made_again_has_steps_of_both_records(run):
    run.mirror()
    traced(run, run.trials[1], *events_of("again"))
    run.mirror()

    steps, _ = both(run.lake)
    found = {(row["record_no"], row["attempt"]) for row in steps if row["case_id"] == "c1"}
    assert found == {(2, 1), (5, 2)}


@pytest.mark.peers
def test_a_trace_of_millions_of_values_is_none_of_ours(run):
    """A few kilobytes of a frame: as objects they would take a gigabyte."""
    (path,) = (run.path / "artifacts").iterdir()
    bomb = b'{"trace":[' + b"[]," * 4_000_001 + b"1]}"
    path.write_bytes(zstandard.ZstdCompressor().compress(bomb))
    assert path.stat().st_size < 10_000
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

    run.mirror()

    assert both(run.lake)[0] == []
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert grown < 120_000, "KB"


@pytest.mark.parametrize("harm", ["gone", "torn", "other", "link", "beyond"])
def test_a_trace_that_cannot_be_read_costs_its_steps_alone(run, harm):
    (path,) = (run.path / "artifacts").iterdir()
    if harm == "gone":
        path.unlink()
    elif harm == "torn":
        path.write_bytes(path.read_bytes()[:-20])
    elif harm == "other":
        path.write_bytes(b"no trace at all" * 100)
    elif harm == "link":
        path.rename(path.with_suffix(".elsewhere"))
        path.symlink_to(path.with_suffix(".elsewhere"))
    else:
        line = run.lines[-1]
        run.lines[-1] = line.replace(b"zst#", b"zst#9999999")
    run.mirror()

    results = [row for path in live_files(run.lake, "results") for row in pq.read_table(path)[0]]
    assert len(results) == 4
    assert len(both(run.lake)[0]) == {"torn": 15, "beyond": 15}.get(harm, 0)


def test_runs_of_before_there_were_steps_get_them_by_a_sync(run, monkeypatch):
    """As an earlier benchlake left it: the same rows without steps, and nothing said of them."""
    with monkeypatch.context() as patch:
        patch.setattr("schemas.lake.rows.lines.StepRows.read", lambda *_: {})
        sync(run.runs_dir)
    with Lake.open(run.lake) as lake:
        lake.runs = {
            name: MirroredRun(*seen[:8], steps_version=0) for name, seen in lake.runs.items()
        }
        lake.save()
    assert both(run.lake) == ([], [])

    sync(run.runs_dir)
    steps, texts = both(run.lake)
    assert (len(steps), len(texts)) == (20, 16)
    before = {path: path.stat().st_mtime_ns for path in run.lake.rglob("*.parquet")}
    sync(run.runs_dir)
    assert before == {path: path.stat().st_mtime_ns for path in run.lake.rglob("*.parquet")}


def test_a_run_of_before_without_tools_is_not_read_again(tmp_path):
    run = RunBuilder(tmp_path / "runs").night(["a", "b"])
    sync(run.runs_dir)
    with Lake.open(run.lake) as lake:
        lake.runs = {
            name: MirroredRun(*seen[:8], steps_version=0) for name, seen in lake.runs.items()
        }
        lake.save()
    before = {path: path.stat().st_ino for path in run.lake.rglob("*.parquet")}

    assert sync(run.runs_dir).n_runs == 0
    assert before == {path: path.stat().st_ino for path in run.lake.rglob("*.parquet")}
    assert not any(seen.is_behind for seen in Lake(run.lake).runs.values())


def test_a_manifest_that_is_lost_makes_no_steps_twice(run):
    sync(run.runs_dir)
    found = both(run.lake)
    for path in (run.lake / "manifest").glob("*.json"):
        path.unlink()

    sync(run.runs_dir)

    assert both(run.lake) == found


def test_steps_go_with_their_run_and_live_in_merged_files(run):
    other = RunBuilder(run.runs_dir, "run-2", day=-60)
    traced(other, other.plan(), *events_of("other"))
    other.write()
    third = RunBuilder(run.runs_dir, "run-3", day=-61)
    traced(third, third.plan(), *events_of("third"))
    third.write()
    sync(run.runs_dir)
    steps, texts = both(run.lake)
    with Lake.open(run.lake) as lake:
        lake.compact()
        assert (steps, texts) == both(run.lake)
        lake.prune(["run-1", "run-2"])

    steps, texts = both(run.lake)
    assert {row["run_id"] for row in [*steps, *texts]} == {"run-3"}


def test_a_damaged_file_of_steps_is_made_again(run):
    sync(run.runs_dir)
    found = both(run.lake)
    (path,) = live_files(run.lake, "steps")
    path.write_bytes(b"PAR1 no")

    sync(run.runs_dir)

    assert both(run.lake) == found


def test_batches_end_where_traces_are_long(run, monkeypatch):
    """Rows and text are sealed before many long traces are held at once."""
    monkeypatch.setattr(log_mirror, "FIRST_LINES", 1)
    monkeypatch.setattr(log_mirror, "MAX_DERIVED_BYTES", 100)
    monkeypatch.setattr(log_mirror, "MAX_BATCH_BYTES", 4_000)
    with closing(RunMirror(run.path, run.lake)) as mirror:
        mirror.step()
        mirror.seal()

    assert len(live_files(run.lake, "steps")) > 1
    assert len(both(run.lake)[0]) == 20


def test_many_steps_become_columns_before_all_are_there(run, tmp_path, monkeypatch):
    run.mirror()
    monkeypatch.setattr(step_rows, "MAX_PART", 3)
    again = tmp_path / "again"
    with closing(RunMirror(run.path, again)) as mirror:
        mirror.step()
        mirror.seal()

    assert both(again) == both(run.lake)


def test_a_run_of_many_models_needs_few_open_files(tmp_path, monkeypatch):
    run = RunBuilder(tmp_path / "runs")
    for number in range(2 * 8):
        traced(run, run.plan(f"c{number // 8}", model_id=f"m{number % 8}"), *events_of())
    handles = []
    opened = step_rows.open_own_file

    def counted(*args):
        assert sum(not one.closed for one in handles) <= 3
        handles.append(opened(*args))
        return handles[-1]

    monkeypatch.setattr(step_rows, "MAX_OPEN", 3)
    monkeypatch.setattr(step_rows, "open_own_file", counted)
    run.mirror()

    assert len(both(run.lake)[0]) == 16 * 5
    assert all(one.closed for one in handles)
