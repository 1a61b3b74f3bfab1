"""What `analyze validate` takes a file for, and what it finds in each kind of file."""

import json
import tracemalloc

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from analyze.validate import kinds, one_file
from analyze.validate.kinds import kind_of
from analyze.validate.one_file import validated
from tests.support.paths import SAMPLES

V2 = {
    "schema_version": "2.0", "run_id": "r", "model_name": "m", "model_name_or_path": "m",
    "dataset": "verified", "created_at": "2025-12-29T14:30:00Z",
    "start_time": "2025-12-29T14:30:00Z", "config": {}, "evaluation_config": {},
    "instances": [{"instance_id": "a", "status": "resolved", "resolved": True}],
    "summary": {"total_instances": 1}, "resolved_ids": ["a"], "unresolved_ids": [],
    "error_ids": [], "empty_patch_ids": [], "completed_ids": ["a"],
}  # fmt: skip

FLAT = {"model_name": "m", "instances": [{"instance_id": "a", "status": "resolved"}]}

RUN_FILE = {"model": "m", "results": [{"task_id": "a", "status": "PASS", "duration": 1.5}]}

STATISTICS = {"statistics": {"total": 1}, "results": [{"task_id": "a", "status": "FAIL"}]}

HARNESS = {
    "total_instances": 2, "submitted_instances": 2, "completed_instances": 1,
    "resolved_instances": 1, "unresolved_instances": 0, "empty_patch_instances": 1,
    "error_instances": 0, "completed_ids": ["a"], "incomplete_ids": [], "empty_patch_ids": ["b"],
    "submitted_ids": ["a", "b"], "resolved_ids": ["a"], "unresolved_ids": [], "error_ids": [],
    "schema_version": 2,
}  # fmt: skip

PREDICTION = {"instance_id": "a", "model_name_or_path": "m", "model_patch": "diff"}

PERCENTILES = {"p50": 1.0, "p95": 1.0, "p99": 1.0, "mean": 1.0}

EARLIER_SUMMARY = {
    "generated_at": "2026-02-13T10:11:12+00:00", "run_dir": "runs/x", "run_wall_clock_ms": 5,
    "models": [{
        "provider": "ollama_openai", "model": "gemma2:9b", "thinking_level": None, "n_total": 3,
        "n_ok": 1, "n_success": 1, "n_skipped_unavailable": 0, "n_rate_limited": 0, "n_error": 1,
        "success_rate_ok": 1.0, "objective_pass_rate": None, "wall_clock_ms": 5,
        "latency_ms": PERCENTILES, "resources_before": {"path": "x", "disk_root": {}},
        "resources_after": None,
    }],
}  # fmt: skip

GROUP = EARLIER_SUMMARY["models"][0]

SCORED = {
    "instance_id": "a", "status": "fail", "resolved": False, "duration_seconds": 2,
    "validation": {"deployment_status": "pass", "deployment_points": 10, "total_score": 10},
}  # fmt: skip

EARLIER = {
    "record_type": "result", "run_id": "20260213_101112", "provider": "ollama_openai",
    "model": "gemma2:9b", "thinking_level": None, "prompt_id": "P0", "prompt_name": "hello",
    "availability_status": "ok", "started_at_ms": 1_770_976_000_000,
    "ended_at_ms": 1_770_976_023_407, "e2e_ms": 23407, "ttft_ms": None, "success": True,
    "failure_type": None, "objective_pass": True, "violation": None, "input_tokens": 26,
    "output_tokens": 7, "raw_output": "x", "parsed_output": None,
}  # fmt: skip


@pytest.fixture
def look(tmp_path):
    """Return what is found in a file with some content: bytes, text, or any JSON value."""

    def found(content, name="some.json"):
        path = tmp_path / name
        if not isinstance(content, bytes | str):
            content = json.dumps(content)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return validated(path)

    return found


def findings_of(outcome):
    return [(one.code, one.line, one.pointer) for one in outcome.findings]


def lines(*records):
    return "".join(json.dumps(record) + "\n" for record in records)


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        (V2, "report-v2"),
        (FLAT, "report-v1"),
        (FLAT | {"schema_version": "1.0"}, "report-v1"),
        (RUN_FILE, "report-v1"),
        (STATISTICS, "report-v1"),
        (HARNESS, "swebench"),
        ([PREDICTION], "predictions"),
        ({"a": PREDICTION}, "predictions"),
        ({"a": {"model_name_or_path": "m", "model_patch": "diff"}}, "predictions"),
        (EARLIER_SUMMARY, "summary"),
    ],
)
def test_a_document_is_recognised_by_its_keys_whatever_its_layout(look, value, kind):
    for text in (json.dumps(value), json.dumps(value, indent=2) + "\n"):
        outcome = look(text, "renamed.txt")
        assert (outcome.kind, outcome.valid) == (kind, True), findings_of(outcome)


@pytest.mark.parametrize("value", [None, 1, True, "x", [], {}, [1], {"a": 1}, {"instances": [1]}])
def test_anything_else_is_of_no_known_kind_and_says_what_was_looked_for(look, value):
    outcome = look(json.dumps(value))

    assert (outcome.kind, outcome.valid) == ("unknown", False)
    assert findings_of(outcome) == [("unknown_kind", None, "")]
    assert "summary.json" in outcome.findings[0].message


def test_the_result_of_one_task_names_the_command_that_takes_its_folder(look):
    outcome = look(json.dumps(STATISTICS["results"][0]))

    assert not outcome.valid
    assert "the result of one task" in outcome.findings[0].message
    assert "`analyze migrate DIR -o OUT`" in outcome.findings[0].message


def test_a_report_that_lost_its_version_or_its_instances_is_judged_as_a_report(look):
    for field in ("schema_version", "instances"):
        outcome = look({key: value for key, value in V2.items() if key != field})

        assert outcome.kind == "report-v2"
        assert ("missing_field", None, f"/{field}") in findings_of(outcome)
    scored = {"run_id": "r", "instances": [{"instance_id": "a", "validation": {}}], "summary": {}}
    assert kind_of(scored) == "report-v2"
    assert kind_of(V2 | {"schema_version": 2.0}) == "report-v2"
    assert kind_of(V2 | {"schema_version": "3.0"}) == "report-v2"


def test_an_earlier_report_is_valid_and_says_how_it_becomes_one_of_today(look):
    outcome = look(RUN_FILE)

    assert findings_of(outcome) == [("migrate", None, "")]
    assert "analyze migrate" in outcome.findings[0].message


def test_every_mistake_of_an_earlier_report_is_told(look):
    outcome = look({"instances": [{"instance_id": "a", "status": "odd"}, {"status": "fail"}]})

    assert (outcome.kind, outcome.valid) == ("report-v1", False)
    assert {place for _, _, place in findings_of(outcome)} >= {"/instances/0/status"}


def test_a_harness_report_and_predictions_are_judged_by_the_rules_of_the_harness(look):
    contradicting = look(HARNESS | {"resolved_instances": 2})
    assert ("count_contradicts", None, "/resolved_instances") in findings_of(contradicting)

    twice = look([PREDICTION, PREDICTION])
    assert (twice.kind, twice.valid) == ("predictions", False)
    assert ("duplicate_instance_id", None, "/1/instance_id") in findings_of(twice)


@pytest.mark.parametrize("name", ["preds.jsonl", "preds.txt"])
def test_lines_of_predictions_need_no_last_newline(look, name):
    outcome = look(lines(PREDICTION) + json.dumps(PREDICTION | {"instance_id": "b"}), name)

    assert (outcome.kind, outcome.valid, outcome.findings) == ("predictions", True, ())


def test_wrong_lines_of_predictions_are_told_by_number(look):
    text = "oops\n" + lines(PREDICTION, {"instance_id": 7}, PREDICTION) + '\n{"a": 1, "a": 2}\n[]'
    outcome = look(text, "preds.jsonl")

    found = findings_of(outcome)
    assert outcome.kind == "predictions"
    assert ("not_json", 1, "") in found
    assert ("wrong_type", 3, "/instance_id") in found
    assert ("duplicate_instance_id", 4, "/instance_id") in found
    assert ("not_json", 5, "") in found
    assert ("duplicate_key", 6, "") in found
    assert ("not_an_object", 7, "") in found


@pytest.mark.parametrize(
    "log", sorted(SAMPLES.glob("*/results.jsonl")), ids=lambda p: p.parent.name
)
def test_logs_of_real_runs_are_valid(log):
    outcome = validated(log)

    assert (outcome.kind, outcome.valid, outcome.findings) == ("results", True, ())


def test_each_wrong_field_of_each_line_of_a_log_is_told(look, run):
    record = run.result(run.plan()).model_dump(mode="json")
    worse = record | {"e2e_ms": 2.5, "success": "yes", "checks": [{"check_id": 1}]}
    del worse["raw_output"]
    outcome = look(lines(record, worse), "log.jsonl")

    assert outcome.kind == "results"
    assert findings_of(outcome) == [
        ("wrong_type", 2, "/e2e_ms"),
        ("wrong_type", 2, "/success"),
        ("missing_field", 2, "/raw_output"),
        ("wrong_type", 2, "/checks/0/check_id"),
        ("missing_field", 2, "/checks/0/kind"),
        ("missing_field", 2, "/checks/0/outcome"),
    ]
    assert "found the number 2.5" in outcome.findings[0].message


def test_lines_that_are_no_record_are_told_and_later_lines_are_still_read(look, run):
    record = run.result(run.plan()).model_dump(mode="json")
    event = {"record_type": "event", "run_id": "r", "event": "x"}
    text = "{torn\n\n[]\n" + lines(record | {"input_tokens": -1}, event, {"run_id": "r"})
    outcome = look(text + '{"record_type": "event", "record_type": "result"}\n', "results.jsonl")

    assert findings_of(outcome) == [
        ("not_json", 1, ""),
        ("not_json", 2, ""),
        ("not_an_object", 3, ""),
        ("bad_value", 4, "/input_tokens"),
        ("missing_field", 5, "/at_ms"),
        ("missing_field", 6, "/record_type"),
        ("duplicate_key", 7, ""),
    ]


def test_a_torn_last_line_and_unknown_records_leave_a_log_valid(look, run):
    record = run.result(run.plan()).model_dump(mode="json")
    later = {"record_type": "later"}
    outcome = look(lines(record, later, record, later) + '{"record_type": "res', "x.jsonl")

    assert outcome.valid
    assert findings_of(outcome) == [
        ("unknown_record_type", 2, "/record_type"),
        ("torn_line", 5, ""),
    ]


def test_fields_that_came_later_and_several_results_of_a_trial_are_no_mistake(look, run):
    record = run.result(run.plan()).model_dump(mode="json")

    assert look(lines(record, record, record | {"new": 1}), "results.jsonl").findings == ()


def test_an_empty_log_is_that_of_a_run_that_has_just_begun(look):
    assert (look("", "results.jsonl").kind, look("", "results.jsonl").valid) == ("results", True)
    assert not look("", "other.jsonl").valid


def test_a_log_of_the_earlier_tool_is_judged_by_the_fields_it_had(look):
    event = {"record_type": "event", "event": "ollama_ps_failed", "tag": "x"}
    good = look(lines(event, EARLIER, EARLIER | {"tool_calls": ["ps"]}), "results.jsonl")
    bad = look(lines(EARLIER, EARLIER | {"e2e_ms": "5"}, {"record_type": "odd"}), "results.jsonl")

    assert (good.kind, good.findings) == ("results", ())
    assert findings_of(bad) == [
        ("wrong_type", 2, "/e2e_ms"),
        ("unknown_record_type", 3, "/record_type"),
    ]


def test_a_record_that_stands_alone_is_a_file_of_one_line(look):
    assert look(PREDICTION).kind == "predictions"
    assert look(json.dumps(EARLIER) + "\n").kind == "results"


def test_a_file_of_other_lines_says_what_its_first_line_holds(look):
    outcome = look(lines({"record_type": "trial", "case_id": "c"}, {}), "plan.jsonl")

    assert (outcome.kind, findings_of(outcome)) == ("unknown", [("unknown_kind", 1, "")])
    assert '"record_type", "case_id"' in outcome.findings[0].message


def test_the_summary_of_a_run_is_valid(look, run):
    run.result(run.plan())
    run.result(run.plan("c2"), failure_type="http_429")
    summary = run.summary()

    assert look(summary.model_dump_json(indent=2)).findings == ()


def test_numbers_of_a_summary_that_contradict_each_other_are_told(look, run):
    run.result(run.plan())
    summary = run.summary().model_dump(mode="json")
    (group,) = summary["models"]
    wrong = look(summary | {"models": [group | {"n_total": 7, "n_success": 2}]})
    assert findings_of(wrong) == [
        ("count_contradicts", None, "/models/0/n_total"),
        ("count_contradicts", None, "/models/0/n_success"),
    ]

    unfit = look(summary | {"more": 1, "models": [group | {"n_ok": "1"}, 5]})
    assert set(findings_of(unfit)) == {
        ("wrong_type", None, "/models/0/n_ok"),
        ("wrong_type", None, "/models/1"),
        ("unknown_field", None, "/more"),
    }
    newer = look(summary | {"schema_version": 9})
    assert findings_of(newer) == [("unsupported_version", None, "/schema_version")]


def test_a_summary_of_the_earlier_tool_is_judged_by_its_own_rules(look):
    assert findings_of(look(EARLIER_SUMMARY)) == [("earlier_tool", None, "")]

    wrong = look(EARLIER_SUMMARY | {"models": [GROUP | {"n_ok": 3}]})
    assert ("count_contradicts", None, "/models/0/n_total") in findings_of(wrong)
    assert not look(EARLIER_SUMMARY | {"models": [{}]}).valid


HALF = '"\\ud800"'

HOSTILE = {
    "empty": b"",
    "blank": b" \n\t\n",
    "nul": b"\0" * 5000,
    "binary": bytes(range(256)) * 40,
    "utf-16": json.dumps(V2).encode("utf-16"),
    "latin-1": '{"record_type": "é"}\n'.encode("latin-1"),
    "torn": json.dumps(V2)[:-20].encode(),
    "two documents": json.dumps(V2).encode() * 2,
    "deep lists": b"[" * 100_000,
    "deep objects": b'{"instances":' * 100_000,
    "deep and whole": b'{"schema_version":"2.0","instances":' + b"[" * 500 + b"]" * 500 + b"}",
    "deep lines": (b'{"record_type":' + b"[" * 500 + b"]" * 500 + b"}\n") * 2,
    "deeper lines": (b'{"record_type":"result","a":' + b"[" * 9000 + b"]" * 9000 + b"}\n") * 2,
    "digits": b'{"schema_version": "2.0", "instances": ' + b"9" * 5000 + b"}",
    "not a number": b'{"schema_version":"2.0","instances":[NaN],"summary":{"avg_score":-Infinity}}',
    "infinity": b'{"schema_version":"2.0","instances":[],"summary":{"avg_score":1e999}}',
    "half characters": f'{{"schema_version":"2.0","instances":[{{"instance_id":{HALF},"status":'
    f'{HALF}}}],"summary":{{{HALF}:{HALF}}},{HALF}:1}}'.encode(),
    "half characters in an older report": f'{{"instances":[{{"instance_id":{HALF},"status":{HALF},'
    f"{HALF}:{HALF}}}]}}".encode(),
    "half characters in a harness report": f'{{"submitted_ids":[{HALF}],"total_instances":{HALF},'
    f"{HALF}:{HALF}}}".encode(),
    "half characters in predictions": f'{{"instance_id":1,"model_patch":{HALF}}}\n'.encode() * 2,
    "half characters in a log": f'{{"record_type":"result","run_id":{HALF}}}\n'.encode() * 2,
    "half characters in a summary": f'{{"models":[{HALF}],"generated_at":{HALF}}}'.encode(),
    "half characters alone": f"{{{HALF}:{HALF}}}".encode(),
    "odd types": b'{"record_type":["result"],"instances":{"a":1},"schema_version":[2],"models":[]}',
    "odd record types": b'{"record_type":"result"}\n{"record_type":{}}\n{"record_type":[1]}\n',
    "odd instances": b'{"schema_version":"2.0","instances":[null,1,"x",[]],"summary":[]}',
    "odd models": b'{"generated_at":1,"run_dir":{},"models":[null,1]}',
    "odd results": b'{"results":[null,{"task_id":[],"status":{}}],"statistics":[]}',
    "odd predictions": b'[{"model_patch":1},null,{"instance_id":[]},[]]',
    "no pairs": b'{"submitted_ids":{},"incomplete_ids":null,"total_instances":true}',
    "one long line": b'{"a":"' + b"x" * 3_000_000 + b'"}',
}  # fmt: skip


@pytest.mark.parametrize("content", HOSTILE.values(), ids=list(HOSTILE))
@pytest.mark.parametrize("name", ["a.json", "a.jsonl"])
def test_hostile_files_are_invalid_and_never_an_exception(look, name, content):
    outcome = look(content, name)

    assert not outcome.valid
    assert json.loads(outcome.model_dump_json())["findings"]


@pytest.mark.parametrize("content", HOSTILE.values(), ids=list(HOSTILE))
def test_a_hostile_log_is_torn_or_invalid(look, content):
    outcome = look(content, "results.jsonl")

    is_torn = outcome.valid and b"\n" not in content
    assert not outcome.valid or is_torn
    assert [code for code, _, _ in findings_of(outcome)] == ["torn_line"] * bool(
        content
    ) or not is_torn


NAMES = sorted(
    {"record_type", "task_id", "status", "instance_id", "model_patch", "validation", "odd"}
    | {*V2, *RUN_FILE, *STATISTICS, *HARNESS, *PREDICTION, *EARLIER_SUMMARY, *GROUP, *EARLIER}
)

ANY_JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.sampled_from([10**400, "2.0", "1.0", 2, "result", "event", "resolved", "\ud800", "a"])
    | st.floats()
    | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.sampled_from(NAMES) | st.text(max_size=3), inner, max_size=12)
    ),
    max_leaves=25,
)


def _bent(whole):
    """Return documents of a kind in which some fields hold anything at all."""
    odd = st.dictionaries(st.sampled_from(sorted(whole)), ANY_JSON, max_size=4)
    return odd.map(lambda fields: whole | fields)


@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    value=st.one_of(
        ANY_JSON,
        *map(_bent, (V2, V2 | {"instances": [SCORED]}, FLAT, RUN_FILE, STATISTICS, HARNESS)),
        *map(_bent, (PREDICTION, EARLIER_SUMMARY, EARLIER)),
    ),
    name=st.sampled_from(["a.json", "results.jsonl"]),
)
def test_any_json_gives_findings_and_never_an_exception(tmp_path_factory, value, name):
    path = tmp_path_factory.getbasetemp() / name
    path.write_bytes((json.dumps(value) + "\n").encode() * 2)
    outcome = validated(path)
    path.write_bytes(json.dumps(value).encode())
    alone = validated(path)

    for one in (outcome, alone):
        assert json.loads(one.model_dump_json())["path"] == str(path)
        assert one.n_errors + one.n_warnings == len(one.findings)


def test_a_byte_order_mark_is_passed_over_in_documents_only(look):
    assert look(b"\xef\xbb\xbf" + json.dumps(V2).encode()).valid
    assert look(b"\xef\xbb\xbf" + json.dumps(EARLIER_SUMMARY).encode()).valid
    marked = look(b"\xef\xbb\xbf" + lines(EARLIER, EARLIER).encode(), "results.jsonl")
    assert (marked.kind, marked.valid, marked.findings[0].line) == ("results", False, 1)


def test_a_log_of_nothing_but_mistakes_is_read_only_so_far(look, monkeypatch):
    monkeypatch.setattr(kinds, "MAX_FINDINGS", 50)
    monkeypatch.setattr(one_file, "MAX_FINDINGS", 50)
    outcome = look("x\n" * 5000, "results.jsonl")

    assert (outcome.n_errors, len(outcome.findings)) == (51, 51)
    assert findings_of(outcome)[0] == ("stopped", 51, "")
    assert findings_of(outcome)[-1] == ("not_json", 50, "")
    assert look("x\n" * 50, "results.jsonl").n_errors == 50


def test_a_line_that_would_fill_the_memory_is_not_read(look, monkeypatch, run):
    record = run.result(run.plan()).model_dump_json().encode() + b"\n"
    monkeypatch.setattr(kinds, "MAX_LINE_BYTES", len(record))
    monkeypatch.setattr(kinds, "CHUNK_BYTES", 10)
    outcome = look(record + b"x" * 5000 + b"\n" + record + b"y" * 6000, "results.jsonl")

    assert findings_of(outcome) == [("too_long", 2, ""), ("too_long", 4, "")]


def test_a_long_log_is_read_line_by_line(tmp_path, run):
    record = run.result(run.plan(), raw_output="x" * 20_000).model_dump_json().encode() + b"\n"
    path = tmp_path / "results.jsonl"
    path.write_bytes(record * 1500)
    validated(path)

    tracemalloc.start()
    try:
        outcome = validated(path)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert outcome.valid
    assert peak < path.stat().st_size / 3


def test_a_document_that_would_fill_the_memory_is_not_read(look, monkeypatch):
    monkeypatch.setattr(one_file, "MAX_DOCUMENT_BYTES", 100)

    assert findings_of(look(V2)) == [("too_large", None, "")]


def test_work_on_a_file_is_told_as_it_goes_on(tmp_path, monkeypatch):
    monkeypatch.setattr(one_file, "MEGABYTE", 1000)
    path = tmp_path / "results.jsonl"
    path.write_text(lines(EARLIER) * 20)
    calls = []

    validated(path, lambda *call: calls.append(call))

    assert len(calls) > 3
    assert all(n_all == path.stat().st_size // 1000 for _, _, n_all in calls)
    assert [done for _, done, _ in calls] == sorted(done for _, done, _ in calls)
