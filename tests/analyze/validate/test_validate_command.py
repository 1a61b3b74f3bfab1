"""`analyze validate`: verdicts as exit codes, findings as lines that editors jump to."""

import json
import os
from pathlib import Path

import pytest

from analyze.commands import validate as command
from tests.support.analyze_cli import call, forked
from tests.support.interpreter import run_without
from tests.support.run_rows import evaluation, judge_iteration, judgement, line_of

UNREADABLE = Path("/proc/self/mem")
"""A regular file whose first byte nobody can read."""

PREDICTION = {"instance_id": "a", "model_name_or_path": "m", "model_patch": "diff"}

REPORT = {
    "schema_version": "2.0", "run_id": "r", "model_name": "m", "model_name_or_path": "m",
    "dataset": "verified", "created_at": "2025-12-29T14:30:00Z",
    "start_time": "2025-12-29T14:30:00Z", "config": {}, "evaluation_config": {},
    "instances": [], "summary": {"total_instances": 1}, "resolved_ids": [],
    "unresolved_ids": [], "error_ids": [], "empty_patch_ids": [], "completed_ids": [],
}  # fmt: skip


def test_evaluations_are_checked_line_by_line(tmp_path):
    path = tmp_path / "evaluations.jsonl"
    good = line_of(evaluation(checks=[{}]))
    path.write_bytes(b"".join([
        good,
        good.replace(b'"repetition":1', b'"repetition":1.5'),
        b"\n",
        b"[]\n",
        b'{"record_type":"opinion"}\n',
        good.replace(b'"kind":"check"', b'"kind":"check","kind":"check"'),
        good[:-5],
    ]))  # fmt: skip

    (found,) = json.loads(call("validate", path, "--json").out)

    assert (found["kind"], found["valid"]) == ("evaluations", False)
    codes = [(one["line"], one["severity"]) for one in found["findings"]]
    assert codes == [
        (2, "error"), (3, "error"), (4, "error"), (5, "warning"), (6, "error"), (7, "warning"),
    ]  # fmt: skip
    assert found["findings"][0]["pointer"] == "/repetition"
    path.write_bytes(good + line_of(judge_iteration(said="refusal")) + line_of(judgement()))
    assert call("validate", path).code == 0
    path.write_bytes(b"no line of any kind\n")
    assert json.loads(call("validate", path, "--json").out)[0]["kind"] == "evaluations"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A working directory with good predictions, a log with a wrong line, and a partial report."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "good.jsonl").write_text(json.dumps(PREDICTION) + "\n")
    (tmp_path / "log.jsonl").write_text('{"record_type": "event", "schema_version": 1}\n')
    (tmp_path / "partial.json").write_text(json.dumps(REPORT))
    return tmp_path


def test_files_that_are_all_valid_end_well(folder):
    done = call("validate", "good.jsonl", "partial.json")

    assert (done.code, done.err) == (0, "")
    first, second, *findings = done.out.splitlines()
    assert first == "ok       predictions  good.jsonl    0 errors, 0 warnings"
    assert second.startswith("ok       report-v2    partial.json  0 errors, ")
    assert any(line.startswith("  partial.json /summary/") for line in findings)
    assert all(": warning: " in line for line in findings)


def test_a_finding_names_file_line_pointer_and_what_is_allowed(folder):
    done = call("validate", "good.jsonl", "log.jsonl")

    assert done.code == 1
    assert done.out.splitlines() == [
        "ok       predictions  good.jsonl  0 errors, 0 warnings",
        "invalid  results      log.jsonl   3 errors, 0 warnings",
        "  log.jsonl:1 /run_id: error: this field is needed and absent",
        "  log.jsonl:1 /event: error: this field is needed and absent",
        "  log.jsonl:1 /at_ms: error: this field is needed and absent",
    ]


def test_json_is_a_list_with_every_finding(folder):
    done = call("validate", "log.jsonl", "good.jsonl", "--json")
    log, good = json.loads(done.out)

    assert (done.code, log["valid"], log["n_errors"], good["valid"]) == (1, False, 3, True)
    assert log["findings"][0] == {
        "severity": "error", "code": "missing_field", "pointer": "/run_id", "line": 1,
        "message": "this field is needed and absent",
    }  # fmt: skip
    assert good == {
        "path": "good.jsonl", "kind": "predictions", "valid": True, "n_errors": 0,
        "n_warnings": 0, "findings": [],
    }  # fmt: skip


def test_what_is_no_file_is_told_before_any_is_read(folder):
    os.mkfifo(folder / "pipe")
    done = call("validate", "log.jsonl", "nowhere.json", ".", "pipe", "/dev/zero")

    assert (done.code, done.out) == (2, "")
    assert done.err.splitlines() == [
        "nowhere.json: is not there",
        ".: is a folder; name the files in it",
        "pipe: is not a regular file",
        "/dev/zero: is not a regular file",
    ]
    assert call("validate").code == 2


@pytest.mark.skipif(not UNREADABLE.exists(), reason="no file here that even root cannot read")
def test_a_file_that_cannot_be_read_is_a_usage_error(folder):
    done = call("validate", "good.jsonl", UNREADABLE)

    assert (done.code, done.out) == (2, "")
    assert done.err == f"{UNREADABLE}: cannot be read: Input/output error"


def test_a_link_to_a_file_is_that_file(folder):
    (folder / "link.json").symlink_to("good.jsonl")

    assert call("validate", "link.json").code == 0


def test_hostile_names_and_texts_reach_a_terminal_as_escapes(folder):
    name = os.fsdecode(b"\x1b[2J\xff\xe2\x80\xae.jsonl")
    (folder / name).write_text(json.dumps(PREDICTION | {"\x1b[31m": 1, "instance_id": ["\x1b]"]}))
    key = {"\x1b[2J\u202e": 1, "<b>": "\x1b"}
    (folder / "odd.json").write_text(json.dumps({"instances": [{"status": "\x1b[2J"} | key]}))
    (folder / "keys.json").write_text(json.dumps(key))

    for form in ((), ("--json",)):
        done = forked("validate", name, "odd.json", "keys.json", *form, cwd=folder)
        assert (done.code, done.err) == (1, "")
        assert all(char.isprintable() or char == "\n" for char in done.out)


def test_only_so_many_findings_of_a_file_are_printed_and_the_others_counted(folder):
    (folder / "bad.jsonl").write_text(json.dumps(PREDICTION) + "\n" + "x\n" * 500)
    lines = call("validate", "bad.jsonl").out.splitlines()

    assert lines[0].endswith("500 errors, 0 warnings")
    assert (len(lines), lines[-1]) == (202, "  bad.jsonl: and 300 more")
    (listed,) = json.loads(call("validate", "bad.jsonl", "--json").out)
    assert len(listed["findings"]) == 500


def test_a_large_file_gives_the_same_and_a_pipe_hears_nothing_of_progress(folder, monkeypatch):
    monkeypatch.setattr(command, "MIN_PROGRESS_BYTES", 10)
    done = call("validate", "good.jsonl", "partial.json")

    assert (done.code, done.err) == (0, "")


def test_the_command_starts_without_the_engine(folder):
    code = (
        "import sys, analyze.cli; sys.argv = ['analyze', 'validate', 'partial.json']\n"
        "try: analyze.cli.main()\n"
        "except SystemExit: pass\n"
    )
    assert "partial.json" in run_without(code, "duckdb", "polars", "pyarrow").stdout
