"""SF-Bench's reports as runs: what each instance becomes, and what is not guessed."""

import json
import os

import pyarrow.parquet as pq
import pytest

from analyze.exporters.report_v2 import reports_of_run
from analyze.importers.base import NotImportable, run_id_of
from analyze.importers.sf_bench import import_sf_bench
from analyze.lake.sync import sync
from analyze.query.session import open_session
from analyze.show.trace_file import read_trace
from schemas.errors import ConfigError
from schemas.lake import lake_of, live_files
from schemas.lake.mirror import log_mirror
from schemas.run.import_record import load_import_record

BREAKDOWN = {
    "deployment_status": "pass", "deployment_points": 10, "unit_test_status": "pass",
    "unit_test_points": 20, "functional_status": "fail", "functional_message": "3 of 5 flows",
    "functional_points": 0, "bulk_status": "error", "bulk_points": 0, "no_tweaks_status": "pass",
    "no_tweaks_points": 10, "total_score": 40,
}  # fmt: skip


def instance(instance_id, status="fail", **fields):
    base = {
        "instance_id": instance_id, "model_name": "anthropic/claude", "status": status,
        "resolved": status == "resolved", "validation": BREAKDOWN, "duration_seconds": 12.5,
        "start_time": "2026-01-27T10:00:01.250000", "end_time": None, "error_message": None,
        "error_type": None, "solution_patch": "diff --git a b",
    }  # fmt: skip
    return base | fields


INSTANCES = (
    instance("apex-1", "resolved"),
    instance("apex-2", error_message="Validation failed"),
    instance("flow-1", "error", error_type="execution_error", error_message="boom"),
    instance("flow-2", "error", error_type="execution_timeout", solution_patch=None),
    instance("lwc-1", "skipped"),
)


def report(*instances, **fields):
    base = {
        "schema_version": "2.0", "run_id": "anthropic-claude-20260127_100000",
        "model_name": "anthropic/claude", "model_name_or_path": "anthropic/claude",
        "dataset": "verified", "created_at": "2026-01-27T10:00:00Z",
        "start_time": "2026-01-27T10:00:00Z", "end_time": "2026-01-27T11:00:00Z", "config": {},
        "evaluation_config": {}, "instances": list(instances or INSTANCES), "summary": {},
        "environment": {},
    }  # fmt: skip
    return base | fields


@pytest.fixture
def runs_dir(tmp_path):
    return tmp_path / "runs"


def given(tmp_path, value, name="report.json"):
    path = tmp_path / name
    path.write_text(json.dumps(value))
    return path


def state_of(folder):
    return {one: (one.stat().st_ino, one.stat().st_mtime_ns) for one in folder.rglob("*")}


def rows(runs_dir, table="results"):
    assert sync(runs_dir).problems == ()
    files = live_files(lake_of(runs_dir), table)
    found = [row for path in files for row in pq.ParquetFile(path).read().to_pylist()]
    return {row["prompt_id"]: row for row in found} if table in {"results", "plans"} else found


def test_each_instance_with_a_result_is_a_trial(tmp_path, runs_dir):
    written = import_sf_bench(given(tmp_path, report()), runs_dir)

    assert written.run_dir == runs_dir / "anthropic-claude-20260127_100000"
    assert (written.n_trials, written.n_unfinished, written.is_new) == (4, 1, True)
    found = rows(runs_dir)
    verdicts = {
        name: (row["success"], row["passed"], row["failure_type"]) for name, row in found.items()
    }
    assert verdicts == {
        "apex-1": (True, True, None), "apex-2": (True, False, None),
        "flow-1": (False, None, "exception"), "flow-2": (False, False, "timeout"),
    }  # fmt: skip
    row = found["apex-2"]
    assert (row["provider"], row["model"], row["model_id"], row["suite_id"]) == (
        "sf-bench", "anthropic/claude", "anthropic_claude", "sf_bench_verified",
    )  # fmt: skip
    assert (row["violation"], row["repetition"]) == ("Validation failed", 1)
    assert row["e2e_ms"] is row["cost_usd"] is row["case_hash"] is None
    assert found["flow-1"]["error_code"] == "execution_error"
    (run,) = rows(runs_dir, "runs")
    assert (run["suite_title"], run["n_planned"], run["is_imported"]) == ("verified", 5, True)
    assert rows(runs_dir, "plans")["lwc-1"]["is_scorable"]


def test_components_are_checks_and_the_whole_validation_is_kept(tmp_path, runs_dir):
    import_sf_bench(given(tmp_path, report()), runs_dir)

    row = rows(runs_dir)["apex-1"]
    assert (row["checks_passed"], row["checks_failed"], row["checks_errored"]) == (3, 1, 1)
    assert [(one["check_id"], one["outcome"]) for one in row["checks"]] == [
        ("deployment", "passed"), ("unit_test", "passed"), ("functional", "failed"),
        ("bulk", "error"), ("no_tweaks", "passed"),
    ]  # fmt: skip
    assert row["checks"][2]["message"] == "3 of 5 flows"
    kept = json.loads(rows(runs_dir, "outputs")[0]["parsed_output"])["validation"]
    assert {name: kept[name] for name in BREAKDOWN} == BREAKDOWN


def test_times_without_a_zone_are_utc_and_the_duration_is_the_evaluations(tmp_path, runs_dir):
    import_sf_bench(given(tmp_path, report()), runs_dir)

    row = rows(runs_dir)["apex-1"]
    assert row["started_at_ms"] == 1_769_508_001_250
    assert row["ended_at_ms"] - row["started_at_ms"] == 12_500


def test_times_that_cannot_be_read_are_the_reports_or_the_files_and_it_says_so(tmp_path, runs_dir):
    timeless = instance("a", start_time="yesterday", duration_seconds=None)
    path = given(tmp_path, report(timeless, start_time="?", created_at="?", end_time=None))
    os.utime(path, (1_700_000_000, 1_700_000_000))

    written = import_sf_bench(path, runs_dir)

    assert rows(runs_dir)["a"]["started_at_ms"] == 1_700_000_000_000
    assert "no_time" in {one.code for one in written.findings}


def test_a_patch_longer_than_a_line_may_hold_is_whole_in_its_trace(tmp_path, runs_dir):
    patch = "é" * 70_000
    written = import_sf_bench(
        given(tmp_path, report(instance("a", solution_patch=patch))), runs_dir
    )

    row = rows(runs_dir)["a"]
    assert row["raw_output_truncated"]
    trace = read_trace(written.run_dir, row["artifact_path"])
    assert trace.trace[-1].content == patch


def test_the_original_is_kept_unchanged_and_the_same_import_changes_nothing(tmp_path, runs_dir):
    path = given(tmp_path, report())
    written = import_sf_bench(path, runs_dir)
    before = state_of(written.run_dir)
    os.utime(path, (1, 1))

    again = import_sf_bench(path.rename(tmp_path / "renamed.json"), runs_dir)

    assert (written.run_dir / "source" / "report.json").read_bytes() == json.dumps(
        report()
    ).encode()
    assert (again.is_new, again.n_trials, again.n_unfinished) == (False, 4, 1)
    assert state_of(written.run_dir) == before
    record = load_import_record(written.run_dir)
    assert record.source_format == "sf-bench"
    assert record.files.keys() == {"report.json"}


def test_another_report_by_the_same_name_is_refused_until_it_gets_its_own(tmp_path, runs_dir):
    import_sf_bench(given(tmp_path, report()), runs_dir)
    other = given(tmp_path, report(instance("new")))

    with pytest.raises(ConfigError, match=r"imported from other files.*--run-id NAME"):
        import_sf_bench(other, runs_dir)
    with pytest.raises(ConfigError, match="in another way"):
        import_sf_bench(given(tmp_path, report()), runs_dir, suite_id="mine")

    assert import_sf_bench(other, runs_dir, run_id="second").run_dir.name == "second"
    assert [path.name for path in runs_dir.iterdir() if path.name.startswith(".")] == []


@pytest.mark.parametrize(
    "old",
    [
        {"model_name": "m", "instances": [{"instance_id": "a", "status": "resolved"}]},
        {
            "model": "m", "timestamp": "2026-01-02T03:04:05", "tasks_file": "data/verified.json",
            "results": [{"task_id": "a", "status": "PASS", "duration": 2.5}],
        },
        {
            "statistics": {"total": 1, "passed": 1},
            "results": [{"task_id": "a", "status": "PASS", "duration": 2.5}],
        },
    ],
)  # fmt: skip
def test_older_reports_are_migrated_on_the_way(tmp_path, runs_dir, old):
    written = import_sf_bench(given(tmp_path, old), runs_dir)

    assert "migrated" in {one.code for one in written.findings}
    assert rows(runs_dir)["a"]["passed"] is True
    assert json.loads((written.run_dir / "source" / "report.json").read_text()) == old


def test_a_folder_of_results_stands_for_its_report(tmp_path, runs_dir):
    folder = tmp_path / "results"
    folder.mkdir()
    given(folder, report())
    (folder / "summary.md").write_text("# text")

    written = import_sf_bench(folder, runs_dir)

    assert written.n_trials == 4
    assert load_import_record(written.run_dir).source_name == "results"


def test_single_results_of_a_run_that_was_cut_off_are_a_run(tmp_path, runs_dir):
    folder = tmp_path / "anthropic-claude"
    folder.mkdir()
    for name, status in (("apex-1", "PASS"), ("apex-2", "FAIL"), ("apex-3", "TIMEOUT")):
        given(folder, {"task_id": name, "status": status, "duration": 1.5}, f"{name}.json")

    written = import_sf_bench(folder, runs_dir)

    found = {name: row["passed"] for name, row in rows(runs_dir).items()}
    assert found == {"apex-1": True, "apex-2": False, "apex-3": False}
    assert load_import_record(written.run_dir).files.keys() == {
        "apex-1.json", "apex-2.json", "apex-3.json",
    }  # fmt: skip


def test_a_folder_without_any_report_is_refused_by_what_was_looked_for(tmp_path, runs_dir):
    with pytest.raises(NotImportable, match="looked for"):
        import_sf_bench(tmp_path, runs_dir)
    with pytest.raises(ConfigError, match="nowhere"):
        import_sf_bench(tmp_path / "nowhere", runs_dir)


def test_counts_that_contradict_the_instances_are_told_and_the_instances_count(tmp_path, runs_dir):
    path = given(tmp_path, report(summary={"total_instances": 5, "resolved_instances": 4}))

    written = import_sf_bench(path, runs_dir)

    assert {one.code for one in written.findings} >= {"count_contradicts"}
    assert sum(row["passed"] is True for row in rows(runs_dir).values()) == 1


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (b"", "empty"),
        (b"{torn", "no JSON"),
        (b"\xff\xfe{", "not UTF-8"),
        (b"[" * 100_000, "deep"),
        (b'{"a": 1}', "."),
        (report(instance("a"), instance("a")), "a"),
        (report(instance("a", status="bogus")), "bogus"),
        (report(instance("a", duration_seconds="long")), "/instances/0/duration_seconds"),
        (report(instance("a", error_message="\ud800")), "/instances/0/error_message"),
        (report() | {"schema_version": "3.0"}, "3.0"),
    ],
)
def test_what_is_no_sound_report_is_refused_with_its_problems_and_leaves_nothing(
    tmp_path, runs_dir, value, said
):
    path = tmp_path / "report.json"
    path.write_bytes(value if isinstance(value, bytes) else json.dumps(value).encode())

    with pytest.raises(NotImportable) as caught:
        import_sf_bench(path, runs_dir)

    assert caught.value.findings
    assert said in str(caught.value)
    assert caught.value.exit_code == 2
    assert not runs_dir.exists()


def test_names_that_no_id_can_have_stay_apart(tmp_path, runs_dir):
    ids = ["A b", "a/b", "a_b", "../../etc", "x" * 300, "é"]
    path = given(
        tmp_path, report(*(instance(one) for one in ids), run_id="../../etc/ä", dataset="<b>|\n")
    )

    written = import_sf_bench(path, runs_dir)

    assert written.run_dir.parent == runs_dir
    found = rows(runs_dir)
    assert set(found) == set(ids)
    assert len({row["case_id"] for row in found.values()}) == len(ids)


@pytest.mark.parametrize(
    ("name", "run_id"),
    [
        ("a/b: c", "a_b_c"), ("../x", "x"), ("lake", "run_lake"), (".", "run_x_cdb4ee2a"),
        ("x" * 300, "x" * 128),
    ],
)  # fmt: skip
def test_a_name_that_no_folder_can_have_becomes_one_that_it_can(name, run_id):
    assert run_id_of(name) == run_id


def test_more_instances_than_one_batch_of_the_lake_holds_are_imported(
    tmp_path, runs_dir, monkeypatch
):
    monkeypatch.setattr(log_mirror, "MAX_BATCH_ROWS", 500)
    path = given(tmp_path, report(*(instance(f"task-{n}") for n in range(1_100))))

    assert import_sf_bench(path, runs_dir).n_trials == 1_100

    with open_session(runs_dir) as session:
        assert session.rows("select count(*) from trials") == [(1_100,)]


def test_an_export_tells_of_each_instance_what_the_report_said(tmp_path, runs_dir):
    skipped = instance("lwc-1", "skipped", error_message="no org", error_type="limit")
    given_report = report(*INSTANCES[:-1], skipped)
    written = import_sf_bench(given(tmp_path, given_report), runs_dir)
    with open_session(runs_dir) as session:
        (back,) = reports_of_run(session, written.run_dir.name).values()

    names = ("instance_id", "status", "resolved", "error_type", "error_message", "solution_patch")
    assert [{name: getattr(one, name) for name in names} for one in back.instances] == [
        {name: one[name] for name in names} | ({"solution_patch": None} if one is skipped else {})
        for one in given_report["instances"]
    ]
    assert all(BREAKDOWN.items() <= dict(one.validation).items() for one in back.instances)
    assert back.summary.avg_score == 40


def test_a_record_that_was_changed_by_hand_is_no_traceback(tmp_path, runs_dir):
    written = import_sf_bench(given(tmp_path, report()), runs_dir)
    path = written.run_dir / "import.json"
    record = json.loads(path.read_text())
    assert record["leftover"]["skipped"]["lwc-1"]["validation"]["total_score"] == 40
    record["leftover"]["skipped"]["lwc-1"] = {"validation": {"total_score": "x"}, "error_type": 3}
    path.write_text(json.dumps(record))

    with open_session(runs_dir) as session:
        (back,) = reports_of_run(session, written.run_dir.name).values()

    assert (back.instances[-1].status, back.instances[-1].error_type) == ("skipped", None)
