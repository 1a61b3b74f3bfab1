"""Reports of the SWE-bench harness as runs: what each instance becomes, with and without logs."""

import json
import os

import pyarrow.parquet as pq
import pytest

from analyze.exporters.majority import fold
from analyze.exporters.swebench import of_folded, swebench_json, swebench_report
from analyze.importers.base import NotImportable
from analyze.importers.swebench import import_swebench
from analyze.lake.sync import sync
from analyze.query.session import open_session
from analyze.show.trace_file import read_trace
from schemas.errors import ConfigError
from schemas.lake import lake_of, live_files
from schemas.run.import_record import load_import_record

STYLE_5 = ("infra_failure_", "ambiguous_failure_", "failure_reasons")

REPORT = {
    "total_instances": 9,
    "submitted_instances": 9,
    "completed_instances": 5,
    "resolved_instances": 1,
    "unresolved_instances": 3,
    "infra_failure_instances": 2,
    "ambiguous_failure_instances": 1,
    "empty_patch_instances": 1,
    "error_instances": 3,
    "completed_ids": ["a__a-1", "b__b-2", "c__c-3", "d__d-4", "e__e-5"],
    "incomplete_ids": ["z__z-9"],
    "empty_patch_ids": ["f__f-6"],
    "submitted_ids": [
        "a__a-1", "b__b-2", "c__c-3", "d__d-4", "e__e-5", "f__f-6", "g__g-7", "h__h-8", "out-1",
    ],
    "resolved_ids": ["a__a-1"],
    "unresolved_ids": ["b__b-2", "c__c-3", "d__d-4"],
    "infra_failure_ids": ["c__c-3", "h__h-8"],
    "ambiguous_failure_ids": ["d__d-4"],
    "failure_reasons": {
        "c__c-3": "container_unavailable", "d__d-4": "missing_module", "h__h-8": "out_of_memory",
    },
    "error_ids": ["e__e-5", "g__g-7", "h__h-8"],
    "schema_version": 2,
}  # fmt: skip


@pytest.fixture
def runs_dir(tmp_path):
    return tmp_path / "runs"


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "acme__big-1.5.nightly.json"
    path.write_text(json.dumps(REPORT, indent=4) + "\n")
    return path


MODEL = "acme/big-1.5"


def style_4():
    return {name: value for name, value in REPORT.items() if not name.startswith(STYLE_5)}


def predictions(tmp_path, *ids, patch="diff --git", model="acme/big-1.5"):
    path = tmp_path / "preds.jsonl"
    path.write_text(
        "".join(
            json.dumps({"instance_id": one, "model_name_or_path": model, "model_patch": patch})
            + "\n"
            for one in ids
        )
    )
    return path


def log(folder, instance_id, *, resolved=True, at=1_760_000_000, tests=None):
    """Write what the harness writes of one instance: its log first, its report a minute later."""
    where = folder / instance_id
    where.mkdir(parents=True)
    outcome = {"resolved": resolved, "patch_exists": True}
    if tests is not None:
        outcome["tests_status"] = tests
    (where / "run_instance.log").write_text("INFO")
    (where / "report.json").write_text(json.dumps({instance_id: outcome}))
    os.utime(where / "run_instance.log", (at, at))
    os.utime(where / "report.json", (at + 60, at + 60))


def rows(runs_dir, table="results"):
    assert sync(runs_dir).problems == ()
    files = live_files(lake_of(runs_dir), table)
    found = [row for path in files for row in pq.ParquetFile(path).read().to_pylist()]
    return {row["prompt_id"]: row for row in found} if table in {"results", "plans"} else found


def exported(runs_dir, run_id, style):
    record = load_import_record(runs_dir / run_id)
    with open_session(runs_dir) as session:
        (model,) = fold(session, run_id)
    left = record.leftover
    harness_report = swebench_report(
        of_folded(model), style=style, outside=left["outside"], leftover=left
    )
    return swebench_json(harness_report)


def test_each_outcome_becomes_what_it_says_of_the_model(file, runs_dir):
    written = import_swebench(file, runs_dir)

    assert (written.run_dir.name, written.n_trials, written.n_unfinished) == (
        "acme__big-1.5.nightly", 8, 1,
    )  # fmt: skip
    outcomes = {
        name: tuple(row[field] for field in ("passed", "failure_type", "error_code", "violation"))
        for name, row in rows(runs_dir).items()
    }
    assert outcomes == {
        "a__a-1": (True, None, None, None),
        "b__b-2": (False, None, "unresolved", None),
        "c__c-3": (None, "container_error", "unresolved", "container_unavailable"),
        "d__d-4": (False, None, "unresolved", "missing_module"),
        "e__e-5": (None, "exception", "unreadable", None),
        "f__f-6": (False, "empty_response", "empty_patch", None),
        "g__g-7": (None, "exception", "error", None),
        "h__h-8": (None, "container_error", "error", "out_of_memory"),
    }
    assert rows(runs_dir, "plans").keys() - outcomes.keys() == {"z__z-9"}
    record = load_import_record(written.run_dir)
    assert record.leftover == {"outside": ["out-1"], "style": 5}


@pytest.mark.parametrize("style", [4, 5])
def test_an_export_writes_the_same_report(file, runs_dir, style):
    original = style_4() if style == 4 else REPORT
    file.write_text(json.dumps(original, indent=4) + "\n")
    written = import_swebench(file, runs_dir)
    sync(runs_dir)

    assert exported(runs_dir, written.run_dir.name, style) == file.read_text()


def test_the_model_is_what_is_said_else_the_predictions_else_the_files_name(
    file, runs_dir, tmp_path
):
    handed_in = predictions(tmp_path, *REPORT["submitted_ids"])

    for number, (given, model) in enumerate(
        [
            ({}, "acme__big-1.5"),
            ({"predictions": handed_in}, "acme/big-1.5"),
            ({"predictions": handed_in, "model": "other"}, "other"),
        ]
    ):
        where = runs_dir / str(number)
        written = import_swebench(file, where, **given)
        assert {row["model"] for row in rows(where).values()} == {model}
        is_guessed = "model_by_file_name" in {one.code for one in written.findings}
        assert is_guessed is (given == {})


def test_patches_are_the_answers_and_a_long_one_is_whole_in_its_trace(file, runs_dir, tmp_path):
    patch = "+é\n" * 40_000
    handed_in = predictions(tmp_path, *REPORT["submitted_ids"], patch=patch)

    written = import_swebench(file, runs_dir, predictions=handed_in)

    row = rows(runs_dir)["a__a-1"]
    assert read_trace(written.run_dir, row["artifact_path"]).trace[-1].content == patch
    outputs = rows(runs_dir, "outputs")
    assert all(one["raw_output"].startswith("+é\n+é\n") for one in outputs)
    assert (written.run_dir / "source/predictions.jsonl").read_bytes() == handed_in.read_bytes()
    assert written.findings == ()


def test_predictions_of_something_else_are_told(file, runs_dir, tmp_path):
    handed_in = predictions(tmp_path, "a__a-1", "unheard-of")

    written = import_swebench(file, runs_dir, predictions=handed_in)

    assert [one.code for one in written.findings] == ["other_predictions"] * 2
    assert "1 predictions are not of this report" in written.findings[0].message
    assert "8 instances of this report have no prediction" in written.findings[1].message


@pytest.mark.parametrize("above", ["", "big", "nightly/acme__big-1.5", "logs/run_evaluation/n/m"])
def test_logs_give_times_and_tests_from_wherever_they_are_named(file, runs_dir, tmp_path, above):
    folder = tmp_path / "given"
    tests = {
        "FAIL_TO_PASS": {"success": ["t1"], "failure": []},
        "PASS_TO_PASS": {"success": ["t2", "t3"], "failure": ["t4"]},
    }
    log(folder / above, "a__a-1", tests=tests)
    log(folder / above, "b__b-2", resolved=False, at=1_760_000_300)

    written = import_swebench(file, runs_dir, logs=folder, model=MODEL)

    found = rows(runs_dir)
    row = found["a__a-1"]
    assert (row["started_at_ms"], row["ended_at_ms"]) == (1_760_000_000_000, 1_760_000_060_000)
    assert [(one["check_id"], one["outcome"], one["message"]) for one in row["checks"]] == [
        ("fail_to_pass", "passed", "1 of 1 test passed"),
        ("pass_to_pass", "failed", "2 of 3 tests passed"),
    ]
    assert found["c__c-3"]["started_at_ms"] == file.stat().st_mtime_ns // 1_000_000
    assert rows(runs_dir, "runs")[0]["started_at_ms"] == 1_760_000_000_000
    assert (written.run_dir / "source/logs/a__a-1/report.json").exists()
    assert written.findings == ()


def test_a_log_that_says_something_else_is_told_and_the_report_counts(file, runs_dir, tmp_path):
    log(tmp_path / "logs", "a__a-1", resolved=False)
    broken = tmp_path / "logs" / "b__b-2"
    broken.mkdir()
    (broken / "report.json").write_bytes(b"\xff[[[")

    written = import_swebench(file, runs_dir, logs=tmp_path / "logs", model=MODEL)

    assert [one.code for one in written.findings] == ["log_contradicts"]
    assert rows(runs_dir)["a__a-1"]["passed"] is True


def test_of_the_logs_of_several_evaluations_those_of_this_report_are_read(file, runs_dir, tmp_path):
    folder = tmp_path / "run_evaluation"
    log(folder / "nightly" / "acme__big-1.5", "a__a-1", at=1_760_000_000)
    log(folder / "nightly" / "acme__small", "a__a-1", at=1_750_000_000, resolved=False)
    log(folder / "earlier" / "acme__big-1.5", "a__a-1", at=1_740_000_000, resolved=False)

    assert import_swebench(file, runs_dir, logs=folder, model=MODEL).findings == ()
    assert rows(runs_dir)["a__a-1"]["started_at_ms"] == 1_760_000_000_000

    renamed = file.rename(tmp_path / "report.json")
    written = import_swebench(renamed, tmp_path / "others", logs=folder, model=MODEL)
    assert [one.code for one in written.findings] == ["no_logs"]


def test_logs_without_any_instance_are_told(file, runs_dir, tmp_path):
    empty = tmp_path / "logs"
    empty.mkdir()
    written = import_swebench(file, runs_dir, logs=empty, model=MODEL)
    assert [one.code for one in written.findings] == ["no_logs"]


def test_ids_that_climb_out_of_a_folder_read_nothing_there(runs_dir, tmp_path):
    ids = ["../../secret", "/etc", "..", "x" * 300, "nul\0"]
    report = style_4()
    report |= {name: [] for name in report if name.endswith("_ids")}
    report |= {name: 0 for name in report if name.endswith("_instances")}
    report |= {name: sorted(ids) for name in ("completed_ids", "submitted_ids", "resolved_ids")}
    for name in ("total", "submitted", "completed", "resolved"):
        report[f"{name}_instances"] = len(ids)
    log(tmp_path, "secret")
    path = tmp_path / "m.r.json"
    path.write_text(json.dumps(report))

    written = import_swebench(path, runs_dir, logs=tmp_path)

    assert load_import_record(written.run_dir).files.keys() == {"report.json"}
    assert len(rows(runs_dir)) == len(ids)


def test_the_same_import_changes_nothing_and_another_one_is_refused(file, runs_dir, tmp_path):
    first = import_swebench(file, runs_dir)
    os.utime(file, (1, 1))
    assert not import_swebench(file, runs_dir).is_new

    handed_in = predictions(tmp_path, *REPORT["submitted_ids"])
    with pytest.raises(ConfigError, match="imported from other files"):
        import_swebench(file, runs_dir, predictions=handed_in)
    with pytest.raises(ConfigError, match="in another way"):
        import_swebench(file, runs_dir, model="another")

    assert [path.name for path in runs_dir.iterdir()] == [first.run_dir.name]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"schema_version": "2.0"}, "/schema_version"),
        ({"resolved_ids": ["a__a-1", "b__b-2"]}, "resolved_ids"),
        ({"error_ids": None}, "/error_ids"),
        ({"incomplete_ids": ["z\ud800"]}, "/incomplete_ids/0"),
    ],
)
def test_a_report_that_contradicts_itself_is_refused_and_leaves_nothing(
    file, runs_dir, change, said
):
    file.write_text(json.dumps(REPORT | change))

    with pytest.raises(NotImportable) as caught:
        import_swebench(file, runs_dir)

    assert said in str(caught.value)
    assert not runs_dir.exists()


def test_counts_that_are_wrong_are_told_and_the_lists_count(file, runs_dir):
    file.write_text(json.dumps(REPORT | {"resolved_instances": 7}))

    written = import_swebench(file, runs_dir, model=MODEL)

    assert [one.code for one in written.findings] == ["count_contradicts"]
    assert sum(row["passed"] is True for row in rows(runs_dir).values()) == 1


def test_files_that_are_not_there_are_named(file, runs_dir, tmp_path):
    nowhere = tmp_path / "nowhere"
    for given in ({"predictions": nowhere}, {"logs": nowhere}):
        with pytest.raises(ConfigError, match="nowhere"):
            import_swebench(file, runs_dir, **given)
    with pytest.raises(ConfigError, match="nowhere"):
        import_swebench(nowhere, runs_dir)


@pytest.mark.parametrize(
    "changes",
    [
        {"total_instances": 12},
        {"failure_reasons": REPORT["failure_reasons"] | {"c__c-3": "disk_full"}},
        {"pending_instances": 0, "harness": {"version": "6.0"}},
    ],
    ids=["more in the data set", "a reason of a later harness", "fields of a later harness"],
)
def test_what_a_later_harness_says_is_written_back(file, runs_dir, changes):
    file.write_text(json.dumps(REPORT | changes, indent=4) + "\n")
    written = import_swebench(file, runs_dir)
    sync(runs_dir)

    assert exported(runs_dir, written.run_dir.name, 5) == file.read_text()
