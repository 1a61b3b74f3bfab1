"""`analyze migrate`: a file or a folder of the older tool becomes one report of v2."""

import json
import os

import pytest

from schemas.formats.report_v2_problems import validate_schema
from tests.support.analyze_cli import call, forked

RESULTS = {
    "lwc-1": {"task_id": "lwc-1", "status": "PASS", "duration": 12.25},
    "apex-2": {
        "task_id": "apex-2",
        "status": "FAIL",
        "duration": 3.0,
        "error_message": "no class",
        "details": {"exit_code": 1},
    },
}
RUN_FILE = {
    "model": "anthropic/claude",
    "timestamp": "2025-12-29T14:36:59",
    "tasks_file": "data/tasks/verified.json",
    "total_tasks": 2,
    "passed": 2,
    "results": list(RESULTS.values()),
}
STATISTICS = {"statistics": {"total": 2, "passed": 1}, "results": list(RESULTS.values())}
MODIFIED = 1_767_225_600  # 2026-01-01T00:00:00Z


def write(path, value):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(value if isinstance(value, str) else json.dumps(value), encoding="utf-8")
    os.utime(path, (MODIFIED, MODIFIED))
    return path


@pytest.fixture
def old(tmp_path):
    return write(tmp_path / "old.json", RUN_FILE)


@pytest.fixture
def folder(tmp_path):
    for name, result in RESULTS.items():
        write(tmp_path / "anthropic-claude" / f"{name}.json", result)
    return tmp_path / "anthropic-claude"


def read(path):
    return json.loads(path.read_bytes())


def test_a_run_file_becomes_a_report_that_validates(old, tmp_path):
    done = forked("migrate", old.name, "-o", "report.json", cwd=tmp_path)

    assert (done.code, done.err) == (0, "")
    assert validate_schema(read(tmp_path / "report.json"))
    lines = done.out.splitlines()
    assert lines[:2] == ["old.json: a run file; 2 instances", "report.json: written"]
    assert "  /model → /model_name" in lines
    assert "  /results/*/duration → /instances/*/duration_seconds (2 values)" in lines
    assert "not told, so set to a default: 4 fields" in lines
    assert lines[-1] == "analyze import sf-bench report.json  makes a run of it"
    kept = "/environment/migrated_from/fields/passed"
    assert f"  /passed → {kept} (says 2, the results say 1; the results win)" in lines
    assert forked("validate", "report.json", cwd=tmp_path).code == 0


def test_the_same_file_gives_the_same_bytes(old, tmp_path):
    call("migrate", old, "-o", tmp_path / "a.json")
    call("migrate", old, "-o", tmp_path / "b.json")

    assert (tmp_path / "a.json").read_bytes() == (tmp_path / "b.json").read_bytes()


def test_the_account_is_whole_as_json(old, tmp_path):
    document = json.loads(call("migrate", old, "-o", tmp_path / "new.json", "--json").out)

    assert (document["shape"], document["modified_at"], document["findings"]) == (
        "run_file",
        None,
        [],
    )
    assert {"pointer": "/model", "target": "/model_name", "note": ""} in document["mapped"]
    assert {move["target"] for move in document["carried"]} > {
        "/environment/migrated_from/instances/*/details"
    }


def test_a_long_account_is_cut_and_says_so(tmp_path):
    data = RUN_FILE | {f"unknown_{n}": n for n in range(40)}
    old = write(tmp_path / "old.json", data)

    out = call("migrate", old, "-o", tmp_path / "new.json", columns=500).out

    assert "in environment.migrated_from: 44 fields" in out
    assert "  and 24 more; --json prints all" in out
    assert "unknown_39" not in out


def test_a_folder_of_single_results_is_one_report_of_its_model(folder, tmp_path):
    done = call("migrate", folder, "-o", tmp_path / "new.json")

    assert done.code == 0
    report = read(tmp_path / "new.json")
    assert report["model_name"] == "anthropic-claude"
    assert [one["instance_id"] for one in report["instances"]] == ["apex-2", "lwc-1"]
    assert report["start_time"] == "2026-01-01T00:00:00Z"
    assert "no start is told: 2026-01-01T00:00:00Z is when" in done.out
    named = call("migrate", folder, "-o", tmp_path / "b.json", "--model", "anthropic/claude")
    assert named.code == 0
    assert read(tmp_path / "b.json")["model_name"] == "anthropic/claude"


def test_the_one_run_file_of_a_folder_is_taken_before_its_single_results(folder, tmp_path):
    run = write(folder / "evaluation_claude_20251229_143659.json", RUN_FILE)

    done = call("migrate", folder, "-o", tmp_path / "new.json")

    assert done.out.splitlines()[0].endswith(f"{run.name}: a run file; 2 instances")
    assert "apex-2.json: passed over" in done.out
    assert read(tmp_path / "new.json")["model_name"] == "anthropic/claude"


def test_of_several_run_files_one_has_to_be_named(folder, tmp_path):
    for name in ("evaluation_a.json", "evaluation_b.json"):
        write(folder / name, RUN_FILE)

    done = call("migrate", folder, "-o", tmp_path / "new.json")

    assert done.code == 2
    assert "evaluation_a.json, evaluation_b.json" in done.err


def test_a_folder_with_nothing_but_its_summary_is_that(tmp_path):
    write(tmp_path / "claude" / "summary.json", STATISTICS)

    done = call("migrate", tmp_path / "claude", "-o", tmp_path / "new.json")

    assert "a file of statistics and results; 2 instances" in done.out
    assert read(tmp_path / "new.json")["model_name"] == "claude"


def test_a_folder_with_a_report_of_v2_is_that_report(old, folder, tmp_path):
    call("migrate", old, "-o", folder / "report.json")

    done = call("migrate", folder, "-o", tmp_path / "new.json")

    assert "report.json: a report of schema v2 already, copied as it is; 2 instances" in done.out
    assert (tmp_path / "new.json").read_bytes() == (folder / "report.json").read_bytes()


@pytest.mark.parametrize(
    "text", ['{"schema_version":"2.0"}', '\ufeff{"schema_version": "2.0", "a": NaN, "a": 1}\r\n']
)
def test_a_report_of_v2_is_copied_byte_by_byte(tmp_path, text):
    old = write(tmp_path / "old.json", "")
    old.write_bytes(text.encode())

    assert call("migrate", old, "-o", tmp_path / "new.json").code == 0
    assert (tmp_path / "new.json").read_bytes() == text.encode()


def test_a_folder_without_a_report_is_refused(tmp_path):
    write(tmp_path / "empty" / "other.json", {"a": 1})

    done = call("migrate", tmp_path / "empty", "-o", tmp_path / "new.json")

    assert done.code == 1
    assert "looked for" in done.err


def test_out_may_be_a_folder(old, tmp_path):
    (tmp_path / "there").mkdir()

    assert call("migrate", old, "-o", tmp_path / "there").code == 0
    assert validate_schema(read(tmp_path / "there" / "report.json"))


@pytest.mark.parametrize("force", [[], ["--force"]])
def test_nothing_is_ever_migrated_in_place(old, folder, tmp_path, force):
    before = old.read_bytes()
    (tmp_path / "link.json").symlink_to(old)
    os.link(old, tmp_path / "twin.json")

    for target in (old, tmp_path / "link.json", tmp_path / "twin.json", tmp_path / "." / old.name):
        assert call("migrate", old, "-o", target, *force).code == 2
    write(folder / "notes.json", {"a": 1})
    for name in ("lwc-1.json", "notes.json"):
        assert call("migrate", folder, "-o", folder / name, *force).code == 2
    assert old.read_bytes() == before
    assert read(folder / "notes.json") == {"a": 1}


def test_a_file_in_the_way_is_replaced_only_when_told(old, tmp_path):
    there = write(tmp_path / "new.json", "mine")

    refused = call("migrate", old, "-o", there)
    assert (refused.code, there.read_text()) == (2, "mine")
    assert "--force" in refused.err
    assert call("migrate", old, "-o", there, "--force").code == 0
    assert validate_schema(read(there))


def test_mistakes_are_told_with_file_and_place_and_nothing_is_written(folder, tmp_path):
    write(folder / "bad-3.json", {"task_id": "bad-3", "status": "MAYBE", "details": {"a": 1}})
    write(folder / "torn-4.json", '{"task_id": "torn-4",\n "sta')

    done = forked("migrate", folder.name, "-o", "new.json", cwd=tmp_path)

    assert (done.code, done.out) == (1, "")
    assert "error: anthropic-claude/torn-4.json:2" in done.err
    (folder / "torn-4.json").unlink()
    done = forked("migrate", folder.name, "-o", "new.json", cwd=tmp_path)
    assert 'error: anthropic-claude/bad-3.json /status: the text "MAYBE" stands' in done.err
    refusal = forked("migrate", folder.name, "-o", "new.json", "--json", cwd=tmp_path)
    assert refusal.code == 1
    (finding,) = json.loads(refusal.out)["findings"]
    assert (finding["path"], finding["pointer"], finding["code"]) == (
        "anthropic-claude/bad-3.json",
        "/status",
        "unknown_status",
    )
    assert not (tmp_path / "new.json").exists()


@pytest.mark.parametrize(
    "content",
    [b"", b"\x00\x01\xff", b"[" * 100_000, b'{"instances": [{"instance_id": "a", "status": NaN}]}',
     '{"instances": []}'.encode("utf-16"), b"null", b'"text"', b"1" * 5000,
     b'{"instances": [{"instance_id": "\\ud800", "status": "fail"}]}',
     b'{"instances": [{"instance_id": "a", "status": "fail", "status": "resolved"}]}'],
)  # fmt: skip
def test_a_hostile_file_is_a_problem_and_no_traceback(tmp_path, content):
    old = tmp_path / "old.json"
    old.write_bytes(content)

    done = call("migrate", old, "-o", tmp_path / "new.json")

    assert (done.code, done.out) == (1, "")
    assert all(line.startswith(f"error: {old}") for line in done.err.splitlines())
    assert not (tmp_path / "new.json").exists()


def test_names_from_outside_are_shown_and_not_obeyed(tmp_path):
    data = {"model_name": "m", "instances": [], "\x1b[2J\u202e": 1}
    old = write(tmp_path / "old.json", data)

    out = call("migrate", old, "-o", tmp_path / "new.json").out

    assert "\\x1b[2J\\u202e" in out
    assert "\x1b" not in out


def test_usage_errors_have_their_own_exit_code(old, tmp_path):
    assert call("migrate", old).code == 2
    assert call("migrate", tmp_path / "nothing.json", "-o", tmp_path / "new.json").code == 2


def test_a_place_that_cannot_be_written_is_told(old, tmp_path):
    done = forked("migrate", old.name, "-o", "old.json/new.json", cwd=tmp_path)

    assert done.code == 1
    assert "cannot be written" in done.err
