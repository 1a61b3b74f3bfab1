"""Logs of Inspect of every shape become the same rows."""

import json
import multiprocessing
import os
import shutil

import pytest

from analyze.importers.detect import detect
from analyze.importers.inspect import archive, import_inspect, workers
from analyze.importers.inspect.json_document import JsonDocument
from analyze.importers.inspect.values import items_in
from schemas.errors import AnalyzeError, ConfigError
from schemas.run.import_record import load_import_record
from tests.support.imported_rows import latest_of, results_of, trace_of
from tests.support.inspect_logs import (
    chunked,
    event,
    header,
    member,
    members,
    message,
    output,
    results,
    sample,
    write_eval,
    write_json,
)

HEAD = header(results=results(("match", "match", {"accuracy": 0.5, "stderr": 0.5})))
BOTH = sample("a"), sample("b", value="I")


@pytest.fixture
def runs_dir(tmp_path):
    return tmp_path / "runs"


def imported(path, runs_dir):
    (written,) = import_inspect(path, runs_dir)
    return written


def passed_of(written):
    return {key: one.passed for key, one in latest_of(written.run_dir).items()}


@pytest.mark.parametrize("shape", ["deflate", "zstd", "json"])
def test_every_packing_gives_the_same_rows(tmp_path, runs_dir, shape):
    path = tmp_path / ("log.json" if shape == "json" else "log.eval")
    if shape == "json":
        write_json(path, *BOTH, head=HEAD)
    else:
        write_eval(path, members(*BOTH, head=HEAD), shape)

    written = imported(path, runs_dir)

    assert written.run_dir.name == "sums_Ev1"
    assert passed_of(written) == {("a", 1): True, ("b", 1): False}
    one = latest_of(written.run_dir)["a", 1]
    assert (one.suite_id, one.model_id, one.provider) == ("pkg_sums", "openai_gpt-x", "openai")
    assert (one.input_tokens, one.output_tokens, one.cached_input_tokens) == (20, 5, 8)
    assert (one.cost_usd, one.cost_source, one.finish_reason) == (0.5, "computed", "stop")
    assert (one.served_model, one.raw_output, one.thinking_level) == ("gpt-x-0501", "4", "low")
    assert one.ended_at_ms - one.started_at_ms == 2500
    artifact = trace_of(written.run_dir, one)
    assert artifact.phases == {"total_time": 2500, "working_time": 2000}
    assert [(e.event_type, e.content) for e in artifact.trace] == [
        ("message", "2+2?"), ("message", "4"), ("final_output", "4"),
    ]  # fmt: skip


def test_the_head_is_kept_without_secrets_and_its_numbers_stand_as_they_are(tmp_path, runs_dir):
    path = write_eval(tmp_path / "log.eval", members(*BOTH, head=HEAD))

    record = load_import_record(imported(path, runs_dir).run_dir)

    (headline,) = record.headlines
    assert (headline.name, headline.metric, headline.value, headline.stderr) == (
        "match", "accuracy", 0.5, 0.5,
    )  # fmt: skip
    assert record.leftover["model_args"] == {"seed": 3, "api_key": "[redacted]"}
    assert record.leftover["packages"] == {"inspect_ai": "0.3.285"}
    assert record.leftover["log"]["status"] == "success"


def test_a_crashed_log_has_what_was_done_and_what_was_planned(tmp_path, runs_dir):
    start = {"version": 2, "eval": header()["eval"] | {"config": {"epochs": 2}}, "plan": {}}
    summary = {"id": "b", "epoch": 1, "scores": {"match": {"value": "I"}}, "error": "Boom('x')"}
    found = {
        "_journal/start.json": start, member("a"): sample("a"),
        "_journal/summaries/1.json": [summary],
    }  # fmt: skip

    written = imported(write_eval(tmp_path / "log.eval", found), runs_dir)

    assert (written.n_trials, written.n_unfinished) == (2, 2)
    rows = latest_of(written.run_dir)
    assert rows["a", 1].passed is True
    assert (rows["b", 1].failure_type, rows["b", 1].error_code) == ("exception", "Boom")
    record = load_import_record(written.run_dir)
    assert record.headlines == ()
    assert {(one.case_id, one.repetition) for one in record.unfinished} == {("a", 2), ("b", 2)}


def test_whole_samples_and_samples_in_chunks_stand_in_one_log(tmp_path, runs_dir):
    pool = [message("system", "attachment://0", id="s"), message("user", "2+2?", id="in"),
            message("assistant", "4", id="out")]  # fmt: skip
    model = event("model", input_refs=[[0, 2]], output=output(), working_time=1.5)
    folder = chunked(
        sample("b"), [model, event("info"), event("new_kind")], pool, ["Be brief"], [[0, 3]]
    )
    found = members(sample("a"), head=HEAD, **folder)

    written = imported(write_eval(tmp_path / "log.eval", found), runs_dir)

    artifact = trace_of(written.run_dir, latest_of(written.run_dir)["b", 1])
    assert [getattr(one, "content", one.event_type) for one in artifact.trace] == [
        "Be brief", "2+2?", "runner", "4", "4",
    ]  # fmt: skip
    assert latest_of(written.run_dir)["b", 1].e2e_ms == 1500


def test_of_a_member_that_stands_there_twice_the_last_counts(tmp_path, runs_dir):
    pairs = [
        (member("a"), sample("a", value="I")), (member("b"), sample("b")),
        ("header.json", HEAD), (member("a"), sample("a", value="C")),
    ]  # fmt: skip
    with pytest.warns(UserWarning, match="Duplicate name"):
        path = write_eval(tmp_path / "log.eval", pairs)

    assert passed_of(imported(path, runs_dir)) == {("a", 1): True, ("b", 1): True}


def test_constants_that_json_lacks_are_read(tmp_path, runs_dir):
    raw = json.dumps(sample("a", value="@", store={"x": "@"})).replace('"@"', "NaN").encode()
    worse = json.dumps(sample("b", value="@")).replace('"@"', "-Infinity").encode()
    found = {member("a"): raw, member("b"): worse, "header.json": HEAD}

    written = imported(write_eval(tmp_path / "log.eval", found), runs_dir)

    assert [one.value for row in results_of(written.run_dir) for one in row.scores] == [None, None]
    (finding,) = written.findings
    assert finding.code == "score_not_a_number"


def test_shards_of_a_merged_log_are_not_counted_again(tmp_path, runs_dir):
    logs = tmp_path / "logs"
    shard = write_eval(logs / "log.shards" / "0" / "x.eval", members(sample("a")))
    merged = write_eval(
        logs / "log.eval", members(*BOTH, head=HEAD | {"eval": HEAD["eval"] | {"eval_id": "M"}})
    )
    os.utime(shard, (1, 1))

    (written,) = import_inspect(logs, runs_dir)

    assert written.run_dir.name == "sums_M"
    assert [one.code for one in written.findings] == ["shards_merged"]
    os.utime(merged, (0, 0))
    assert len(import_inspect(logs, tmp_path / "other")) == 2


def test_a_recovered_log_counts_in_the_place_of_the_one_that_crashed(tmp_path, runs_dir):
    logs = tmp_path / "logs"
    write_eval(logs / "log.eval", {"_journal/start.json": header(), member("a"): sample("a")})
    write_eval(logs / "log-recovered.eval", members(*BOTH, head=HEAD))
    (logs / ".buffer").mkdir()
    write_eval(logs / ".buffer" / "segment.0.eval", members(sample("z")))
    (logs / "logs.json").write_text(json.dumps({"log.eval": HEAD}))

    (written,) = import_inspect(logs, runs_dir)

    assert written.n_trials == 2
    assert [one.code for one in written.findings] == ["same_eval"]
    assert [one.format for one in detect(logs)] == ["inspect"]


def test_the_index_of_a_folder_is_no_log(tmp_path, runs_dir):
    path = tmp_path / "logs.json"
    path.write_text(json.dumps({"log.eval": HEAD}))

    with pytest.raises(ConfigError, match="index of a folder of logs"):
        import_inspect(path, runs_dir)
    assert detect(path) == []


def test_the_same_import_again_changes_nothing(tmp_path, runs_dir):
    path = write_eval(tmp_path / "log.eval", members(*BOTH, head=HEAD))
    first = imported(path, runs_dir)
    before = {one: one.stat().st_mtime_ns for one in first.run_dir.rglob("*")}

    again = imported(path, runs_dir)

    assert (again.is_new, again.n_trials) == (False, 2)
    assert {one: one.stat().st_mtime_ns for one in first.run_dir.rglob("*")} == before


def test_the_first_logs_of_the_tool_are_read(tmp_path, runs_dir):
    old = {
        "version": 1, "status": "success",
        "eval": {"task": "sums", "created": "2024-05-01T10:00:00", "model": "openai/gpt-4"},
        "results": {"scorer": {"name": "match"}, "metrics": {"accuracy": {"value": 1.0}}},
    }  # fmt: skip
    one = {
        "id": 1,
        "epoch": 1,
        "input": "x",
        "target": "4",
        "score": {"value": "C"},
        "messages": [],
    }

    written = imported(write_json(tmp_path / "old.json", one, head=old), runs_dir)

    (row,) = results_of(written.run_dir)
    assert (row.prompt_id, row.passed, row.input_tokens) == ("1", True, None)
    (headline,) = load_import_record(written.run_dir).headlines
    assert (headline.name, headline.metric, headline.value) == ("match", "accuracy", 1.0)


def test_a_large_json_log_is_read_sample_by_sample(tmp_path):
    odd = sample("[{,", text='a "b\\" ] , {', empty={}, deep=[[1, [2]], {"samples": [3]}])
    path = write_json(tmp_path / "log.json", sample("a"), odd, head=HEAD)

    whole, split = JsonDocument(path, "samples"), JsonDocument(path, "samples", most=0)

    assert split.rest == whole.rest
    assert [*split.items()] == [*whole.items()]
    none = write_json(tmp_path / "none.json", head=HEAD)
    assert [*JsonDocument(none, "samples", most=0).items()] == []


ODD_ITEMS = [
    {"id": "a", "said": 'ends }, { here"', "scores": {"match": {"value": "C"}}},
    {"id": "b", "input": [{"role": "user"}, {"role": "user"}, {"role": "user"}]},
    {"id": "c", "value": float("inf")},
    {"id": "d", "text": "\u00e9}\\" * 40},
    {},
]


@pytest.mark.parametrize("size", [1, 7, 64, 10_000])
@pytest.mark.parametrize("separators", [None, (",", ":"), (" ,\n", " : ")])
def test_items_of_a_list_are_read_as_they_come(size, separators):
    content = json.dumps(ODD_ITEMS, separators=separators, ensure_ascii=False).encode()
    pieces = [content[begin : begin + size] for begin in range(0, len(content), size)]

    assert [*items_in(pieces)] == ODD_ITEMS
    assert [*items_in([b" [ ] "])] == [*items_in([b"{}"])] == []
    with pytest.raises(ValueError, match="line"):
        [*items_in(pieces[:-1])]


@pytest.mark.parametrize("method", ["deflate", "zstd"])
def test_summaries_are_read_in_pieces(tmp_path, runs_dir, monkeypatch, method):
    monkeypatch.setattr(archive, "PIECE_BYTES", 50)
    monkeypatch.setattr(archive, "PACKED_BYTES", 20)
    monkeypatch.setattr(archive, "MAX_MEMBER_BYTES", 2_500)
    ids = [f"q{n}" for n in range(40)]
    summaries = [sample(one, value="CI"[n % 2]) for n, one in enumerate(ids)]
    found = members(sample("q0"), head=HEAD, **{"summaries.json": summaries})

    written = imported(write_eval(tmp_path / "log.eval", found, method), runs_dir)

    rows = latest_of(written.run_dir).values()
    assert {one.prompt_id: one.passed for one in rows} == {
        one: n % 2 == 0 for n, one in enumerate(ids)
    }


def test_processes_make_the_same_rows_in_the_same_order(tmp_path, runs_dir, monkeypatch):
    found = members(*(sample(f"q{n}", value="CI"[n % 2]) for n in range(250)), head=HEAD)
    folder = chunked(sample("b"), [event("info")], [message("user", "x", id="1")], ["t"], [[0, 1]])
    found |= folder | {member("z"): b"{"}
    path = write_eval(tmp_path / "log.eval", found)
    alone = imported(path, runs_dir)
    monkeypatch.setattr(workers, "MIN_BYTES", 0)
    monkeypatch.setattr(workers.os, "cpu_count", lambda: 2)

    together = imported(path, tmp_path / "others")

    for name in ("results.jsonl", "artifacts/openai_gpt-x.jsonl.zst", "import.json"):
        assert (together.run_dir / name).read_bytes() == (alone.run_dir / name).read_bytes()
    assert together.findings == alone.findings


def test_many_logs_are_read_ahead_and_each_is_the_run_that_it_is_alone(
    tmp_path, runs_dir, monkeypatch
):
    logs = tmp_path / "logs"
    logs.mkdir()
    for log in range(30):
        head = HEAD | {"eval": HEAD["eval"] | {"eval_id": f"e{log}", "run_id": f"e{log}"}}
        found = members(*(sample(f"q{n}", value="CI"[n % 2]) for n in range(log)), head=head)
        write_eval(logs / f"{log:02}.eval", found)
    (logs / "05.eval").write_bytes(b"PK\x03\x04")
    shutil.copy(logs / "07.eval", logs / "08.eval")
    (logs / "12.json").write_text(json.dumps(HEAD | {"samples": [sample("j")]}))
    alone = import_inspect(logs, tmp_path / "alone")
    monkeypatch.setattr(workers, "MIN_BYTES", 0)
    monkeypatch.setattr(workers.os, "cpu_count", lambda: 2)

    together = import_inspect(logs, runs_dir)
    again = import_inspect(logs, runs_dir)

    assert [one.run_dir.name for one in together] == [one.run_dir.name for one in alone]
    assert [one.findings for one in together] == [one.findings for one in alone]
    assert "05.eval" in together[0].findings[0].message
    for one, other in zip(together, alone, strict=True):
        for name in ("results.jsonl", "import.json"):
            assert (one.run_dir / name).read_bytes() == (other.run_dir / name).read_bytes()
    assert [one.is_new for one in again] == [False] * len(again)


def test_a_killed_process_is_said_and_nothing_is_half_written(tmp_path, runs_dir, monkeypatch):
    path = write_eval(tmp_path / "log.eval", members(*map(sample, "abc"), head=HEAD))
    monkeypatch.setattr(workers, "MIN_BYTES", 0)
    monkeypatch.setattr(workers.os, "cpu_count", lambda: 2)
    start = workers.LineMakers.start

    def start_and_kill(makers):
        start(makers)
        for child in multiprocessing.active_children():
            child.kill()
            child.join()

    monkeypatch.setattr(workers.LineMakers, "start", start_and_kill)
    with pytest.raises(AnalyzeError, match="a process that reads samples was killed"):
        import_inspect(path, runs_dir)

    assert not runs_dir.exists() or not any(runs_dir.iterdir())
    monkeypatch.setattr(workers.LineMakers, "start", start)
    assert imported(path, runs_dir).n_trials == 3
