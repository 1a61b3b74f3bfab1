"""A log that was lost, shortened or replaced while the lake holds its rows: refused, restored."""

import json
import os
import shutil
from pathlib import Path

import orjson
import pyarrow.parquet as pq
import pytest

from collect.run_folder.log import RunLog
from collect.run_folder.restore import restore
from schemas.base import SCHEMA_VERSION
from schemas.errors import LogLost, NotResumable
from schemas.lake import TABLE_NAMES, Lake, live_files
from schemas.lake.footer import parts_of
from schemas.lake.log_coverage import STEP_TABLES
from schemas.lake.mirror.bulk_load import read_whole
from schemas.lake.recover import prune
from schemas.run.trace import Artifact, artifact_frame
from tests.support.kept_run import Kept, collect
from tests.support.mirrored import mirror_run
from tests.support.run_rows import (
    config,
    evaluation,
    event,
    failed,
    inventory,
    judge_iteration,
    judgement,
    line_of,
    pair_iteration,
    planned,
    preference,
    result,
)

N_TRIALS = 6

MADE = (evaluation, judge_iteration, judgement, pair_iteration, preference)


class Lost:
    """A finished run of six trials whose lake is complete, and ways to lose its log."""

    def __init__(self, runs_dir, run_id="r"):
        self.runs_dir, self.run_id = runs_dir, run_id
        self.dir, self.lake = runs_dir / run_id, runs_dir / "lake"
        self.log, self.traces = self.dir / "results.jsonl", self.dir / "artifacts" / "m.jsonl.zst"
        log = RunLog.create(self.dir)
        trials = (planned(number, run_id=run_id) for number in range(N_TRIALS))
        log.begin(config(run_id=run_id, n_planned=N_TRIALS), inventory(), (), trials)
        for number in range(N_TRIALS):
            fields = {"run_id": run_id, "case_id": f"c{number}", "prompt_id": f"c{number}"}
            path = log.append_artifact("m", trace(**fields))
            is_bad = number == 2
            record = failed("http_400", raw_output="", **fields) if is_bad else answer(**fields)
            log.append(record.model_copy(update={"artifact_path": path}))
        log.append(event(run_id=run_id, detail={"big": 2**70, "text": "é\n"}))
        log.close()
        looks = [
            made(run_id=run_id, case_id=f"c{n}", result_no=n + 1) for n, made in enumerate(MADE)
        ]
        self.evaluations = self.dir / "evaluations.jsonl"
        self.evaluations.write_bytes(b"".join(map(line_of, looks)))
        assert mirror_run(self.dir, self.lake) == []
        self.whole = self.log.read_bytes()
        self.frames = self.traces.read_bytes()

    def rows(self):
        kept = Kept(self.dir)
        return {table: kept.lake_table(table).to_pylist() for table in TABLE_NAMES}

    def content(self):
        return {path: path.read_bytes() for path in self.dir.rglob("*") if path.is_file()}

    def copies(self):
        return sorted(self.dir.glob("*.found-*"))


def answer(**fields):
    base = {"raw_output": f"Answer to {fields['case_id']}: é \" \\", "cost_usd": 0.1,
            "cost_source": "computed", "parsed_output": {"n": 2**65, "x": [1.0, None, "a"]},
            "checks": ({"check_id": "k", "kind": "x", "outcome": "passed"},)}  # fmt: skip
    return result(**(base | fields))


def trace(run_id, case_id, text=None, **_):
    content = text or f'Answer to {case_id}: é " \\'
    made = {"event_type": "final_output", "sequence": 0, "at_ms": 1, "content": content}
    artifact = {
        "schema_version": SCHEMA_VERSION, "run_id": run_id, "model_id": "m", "case_id": case_id,
        "repetition": 1, "wall_ms": 1, "request": {}, "usage": None, "trace": [made],
    }  # fmt: skip
    Artifact.model_validate(artifact)
    return artifact_frame(artifact)


@pytest.fixture
def lost(tmp_path):
    return Lost(tmp_path / "runs")


def shorten(lost, how):
    lines = lost.whole.splitlines(keepends=True)
    if how == "deleted":
        lost.log.unlink()
    else:
        content = {
            "emptied": b"",
            "two lines": b"".join(lines[:2]),
            "torn": b"".join(lines[:2]) + lines[2][:40],
            "last newline": lost.whole[:-1],
        }[how]
        lost.log.write_bytes(content)


WAYS = ("deleted", "emptied", "two lines", "torn", "last newline")


@pytest.mark.parametrize("how", WAYS)
def test_a_log_shorter_than_the_lake_is_refused_untouched_and_restored_byte_for_byte(lost, how):
    before = lost.rows()
    shorten(lost, how)
    found = lost.content()

    with pytest.raises(LogLost) as error:
        RunLog.reopen(lost.dir)

    said = str(error.value)
    size = f"{len(lost.whole):,} bytes"
    assert f"the lake holds 6 results ({size}) of run `r`" in said
    assert f"{lost.log}: " in said
    assert f"`collect restore r --runs {lost.runs_dir}` writes them back" in said
    assert error.value.exit_code == 2
    left = {path: now for path, now in lost.content().items() if path.name[0] != "."}
    assert left == {path: was for path, was in found.items() if path.name[0] != "."}

    dry = restore(lost.runs_dir, "r", dry_run=True)
    assert (lost.log.exists(), lost.traces.read_bytes()) == (how != "deleted", lost.frames)
    done = restore(lost.runs_dir, "r")

    assert lost.log.read_bytes() == lost.whole
    kept = {"deleted": 0, "emptied": 0, "two lines": 2, "torn": 2, "last newline": 7}[how]
    assert (done.lines, done.lines_kept, done.lines_from_lake) == (7, kept, 7 - kept)
    assert (dry.lines_kept, dry.lines_from_lake) == (kept, 7 - kept)
    assert (done.exit_code, done.not_restored, lost.copies()) == (0, (), [])
    assert lost.rows() == before
    log = RunLog.reopen(lost.dir)
    assert log.repaired == ()
    log.close()
    assert restore(lost.runs_dir, "r").lines_from_lake == 0


@pytest.mark.parametrize("change", ["as long", "longer", "another run"])
def test_another_log_in_its_place_is_refused_and_kept_beside_the_restored_one(lost, change):
    other = {
        "as long": lost.whole.replace(b"Answer to c5", b"ANSWER to c5"),
        "longer": lost.whole + lost.whole.replace(b"Answer", b"Other answer"),
        "another run": lost.whole.replace(b'"run_id":"r"', b'"run_id":"x"'),
    }[change]
    if change == "longer":
        other = other[len(lost.whole) :] + lost.whole
    lost.log.write_bytes(other)
    before = lost.rows()

    with pytest.raises(LogLost, match="with other lines in them"):
        RunLog.reopen(lost.dir)
    with pytest.raises(LogLost, match="with other lines in them"):
        mirror_run(lost.dir, lost.lake)
    assert lost.rows() == before

    restore(lost.runs_dir, "r")

    assert lost.log.read_bytes() == lost.whole
    (copy,) = lost.copies()
    assert copy.read_bytes() == other
    assert lost.rows() == before


def test_what_the_lake_has_not_seen_stays_at_the_end(lost):
    more = line_of(answer(run_id="r", case_id="c5"))
    lost.log.write_bytes(lost.whole.replace(b"Answer to c0", b"ANSWER to c0") + more)

    done = restore(lost.runs_dir, "r")

    assert lost.log.read_bytes() == lost.whole + more
    assert (done.lines_kept, done.lines_from_lake) == (7, 1)
    assert len(lost.copies()) == 1


def test_a_log_that_is_ahead_of_the_lake_is_left_alone_with_its_torn_end(lost):
    ahead = lost.whole + line_of(answer(run_id="r", case_id="c5")) + b'{"record_ty'
    lost.log.write_bytes(ahead)
    before = lost.rows()

    done = restore(lost.runs_dir, "r")

    assert (done.lines_from_lake, lost.copies()) == (0, [])
    assert lost.log.read_bytes() == ahead
    assert lost.rows() == before


def test_without_a_lake_the_log_is_the_truth(lost):
    shutil.rmtree(lost.lake)
    short = b"".join(lost.whole.splitlines(keepends=True)[:2])
    lost.log.write_bytes(short)

    done = restore(lost.runs_dir, "r")

    assert done.lines_from_lake == 0
    assert [case_id for _, case_id, _ in done.not_restored] == ["c2", "c3", "c4", "c5"]
    assert done.exit_code == 1
    log = RunLog.reopen(lost.dir)
    log.close()
    assert lost.traces.read_bytes() == lost.frames, "traces without a result are answers, too"
    assert lost.log.read_bytes() == short

    lost.log.unlink()
    with pytest.raises(NotResumable, match=r"is gone, artifacts/m\.jsonl\.zst holds"):
        RunLog.reopen(lost.dir)


FILLED = frozenset(TABLE_NAMES) - {*STEP_TABLES}
"""No trial of these runs calls a tool."""


@pytest.mark.parametrize("state", ["compacted", "pruned", "older layout"])
def test_whatever_the_lake_has_become_decides_what_is_missing(lost, state):
    Lost(lost.runs_dir, "other")
    before = lost.rows()
    if state == "compacted":
        Lake(lost.lake).compact(now_ms=1_770_000_000_000)
        assert all(len(live_files(lost.lake, table)) == 1 for table in FILLED)
    elif state == "pruned":
        prune(lost.lake, ["r"])
    else:
        from tests.schemas.lake.test_compact import as_layout_1

        for path in live_files(lost.lake, "results"):
            as_layout_1(path)
    for table in FILLED:
        of_footers = sum(part.n_rows for _, part in parts_of(lost.lake, table, "r"))
        columns = (pq.read_table(path)["run_id"] for path in live_files(lost.lake, table))
        assert of_footers == sum(column.to_pylist().count("r") for column in columns)
        assert (of_footers == 0) == (state == "pruned")
    lost.log.write_bytes(b"")

    if state == "pruned":
        RunLog.reopen(lost.dir).close()
        assert restore(lost.runs_dir, "r").lines_from_lake == 0
        return
    with pytest.raises(LogLost):
        RunLog.reopen(lost.dir)
    restore(lost.runs_dir, "r")
    assert lost.log.read_bytes() == lost.whole
    assert lost.rows() == before


def test_lines_an_older_benchlake_wrote_come_back_as_todays_and_the_lake_follows(lost):
    """A line without a field that has a default now is shorter than the one its row makes."""
    old = b"".join(
        orjson.dumps({name: one for name, one in orjson.loads(line).items() if name != "routing"})
        + b"\n"
        for line in lost.whole.splitlines()[:-1]
    )
    shutil.rmtree(lost.lake)
    lost.log.write_bytes(old)
    mirror_run(lost.dir, lost.lake)
    before = lost.rows()
    lost.log.write_bytes(b"")

    restore(lost.runs_dir, "r")

    assert lost.rows() == before
    assert read_whole(lost.dir, imported=False).tables["results"].num_rows == N_TRIALS
    RunLog.reopen(lost.dir).close()


def test_a_line_that_nobody_could_read_keeps_its_number_for_the_others(lost):
    shutil.rmtree(lost.lake)
    lines = lost.whole.splitlines(keepends=True)
    lost.log.write_bytes(b"".join([*lines[:2], b"{]\n", *lines[2:]]))
    mirror_run(lost.dir, lost.lake)
    before = lost.rows()
    lost.log.unlink()

    restore(lost.runs_dir, "r")

    assert lost.log.read_bytes() == b"".join([*lines[:2], b"\n", *lines[2:]])
    assert lost.rows() == before


def test_texts_that_the_lake_lost_come_from_their_traces(lost):
    for path in live_files(lost.lake, "outputs"):
        path.unlink()
    broken = bytearray(lost.frames)
    broken[-6:] = b"\0" * 6
    lost.traces.write_bytes(broken)
    lost.log.unlink()

    done = restore(lost.runs_dir, "r")

    kept = {row["case_id"]: row for row in Kept(lost.dir).results()}
    was = {row["case_id"]: row for row in map(json.loads, lost.whole.splitlines()[:-1])}
    assert {row["raw_output"] for name, row in kept.items() if name in ("c0", "c1")} == {
        was["c0"]["raw_output"],
        was["c1"]["raw_output"],
    }
    assert done.texts_from_traces == 4
    assert done.without_text == (("m", "c5", 1),)
    assert (kept["c5"]["raw_output"], kept["c5"]["raw_output_truncated"]) == ("", True)
    assert [kept[name]["cost_usd"] for name in kept] == [was[name]["cost_usd"] for name in kept]
    assert done.exit_code == 1


@pytest.mark.parametrize("content", [b"", b"torn", None], ids=["emptied", "torn", "deleted"])
def test_a_plan_that_was_lost_is_refused_and_restored(lost, content):
    path = lost.dir / "plan.jsonl"
    whole = path.read_bytes()
    if content is None:
        path.unlink()
    else:
        path.write_bytes(content)

    found = "is gone" if content is None else "holds [01] of the 6 trials"
    with pytest.raises(NotResumable, match=rf"plan\.jsonl {found}.*`collect restore r --runs"):
        RunLog.reopen(lost.dir)
    done = restore(lost.runs_dir, "r")

    assert path.read_bytes() == whole
    assert (done.plan_lines, done.lines_from_lake) == (6, 0)
    assert [copy.read_bytes() for copy in lost.copies()] == [b"torn"] * (content == b"torn")
    RunLog.reopen(lost.dir).close()


@pytest.mark.parametrize("stop", range(1, 9))
def test_a_restore_that_dies_at_any_step_is_done_by_the_next_one(lost, monkeypatch, stop):
    shorten(lost, "torn")
    before, found = lost.rows(), lost.log.read_bytes()
    real, steps = os.fsync, []

    def fsync(handle):
        steps.append(handle)
        if len(steps) == stop:
            raise KeyboardInterrupt
        real(handle)

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", fsync)
        try:
            restore(lost.runs_dir, "r")
        except KeyboardInterrupt:
            assert lost.log.read_bytes() in {found, lost.whole}, "all of one or all of the other"
    restore(lost.runs_dir, "r")

    assert (lost.log.read_bytes(), lost.rows()) == (lost.whole, before)


def test_the_restored_log_is_on_the_disk_before_it_has_its_name(lost, monkeypatch):
    lost.log.write_bytes(b"another log\n")
    done = []
    real, rename = os.fsync, Path.rename

    def fsync(handle):
        done.append(("sync", os.fstat(handle).st_ino))
        real(handle)

    def renamed(path, target):
        done.append(("name", path.stat().st_ino, Path(target).name.partition(".found-")[0]))
        return rename(path, target)

    monkeypatch.setattr(os, "fsync", fsync)
    monkeypatch.setattr(Path, "rename", renamed)
    restore(lost.runs_dir, "r")

    names = [step for step in done if step[0] == "name"]
    (copy,), log = lost.copies(), lost.log
    copied, put = (("name", path.stat().st_ino, "results.jsonl") for path in (copy, log))
    assert names[:2] == [copied, put]
    folder = ("sync", lost.dir.stat().st_ino)
    order = [done.index(("sync", copied[1])), done.index(copied), done.index(folder)]
    order += [done.index(("sync", put[1])), done.index(put), len(done) - done[::-1].index(folder)]
    assert order == sorted(order), "the copy is safe before the log goes, and each by its name"


def test_resume_and_restore_as_people_use_them(project, endpoint, answers):
    for number in range(4):
        project.case(f"c{number}", validator={"type": "exact", "value": f"Say c{number}."})
    project.model(base_url=endpoint.base_url)
    endpoint.broken = {"c3"}

    def script(wire, request):
        prompt = request.body["messages"][0]["content"]
        if any(word in prompt for word in endpoint.broken):
            wire.answer({"error": {"message": "no"}}, status=503)
        else:
            wire.stream(answers.stream_of(prompt))

    endpoint.script = script
    project.profile(runner_defaults={"retries": 0})
    first = ("run", "--suite", "s", "--run-profile", "p", "--run-id", "r", "--json")
    collect(project.root, *first)
    folder = project.root / "runs" / "r"
    whole = (folder / "results.jsonl").read_bytes()
    traces = (folder / "artifacts" / "m.jsonl.zst").read_bytes()
    (folder / "results.jsonl").unlink()
    endpoint.requests.clear()
    endpoint.broken = set()

    refused = collect(project.root, "run", "--resume", "latest")

    assert (refused.returncode, refused.stdout) == (2, "")
    assert refused.stderr == (
        "error: runs/r/results.jsonl: there is no such file, but the lake holds 4 results "
        f"({len(whole):,} bytes) of run `r`; `collect restore r` writes them back\n"
    )
    assert endpoint.requests == []
    assert (folder / "artifacts" / "m.jsonl.zst").read_bytes() == traces

    done = collect(project.root, "restore", "r")

    assert done.returncode == 0, done.stderr
    n_lines = whole.count(b"\n")
    assert done.stdout == (
        f"runs/r/results.jsonl has {n_lines} lines: 0 as found, {n_lines} from the lake\n"
        "`collect run --resume r` asks what is missing\n"
    )
    assert (folder / "results.jsonl").read_bytes() == whole
    assert (folder / "artifacts" / "m.jsonl.zst").read_bytes() == traces

    resumed = collect(project.root, "run", "--resume", "r", "--json")

    assert resumed.returncode == 0, resumed.stderr
    assert [one.body["messages"][0]["content"] for one in endpoint.requests] == ["Say c3."]
    unknown = collect(project.root, "restore", "q")
    assert (unknown.returncode, "no run `q` in runs" in unknown.stderr) == (2, True)
    shutil.copytree(folder, folder.with_name("copy"))
    endpoint.requests.clear()
    copied = collect(project.root, "run", "--resume", "copy")
    assert (copied.returncode, endpoint.requests) == (2, [])
    assert "config.json is of run `r`, so this is a copy of that run" in copied.stderr
    assert not (project.root / "runs" / "lake" / "results" / "copy").exists()
