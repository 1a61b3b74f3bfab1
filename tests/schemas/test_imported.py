"""Folders of an earlier tool: what follows from their log, and what stays unknown."""

import json

import pytest

from schemas.imported import import_lines

RECORD = {
    "record_type": "result", "run_id": "20260213_101112", "provider": "ollama_openai",
    "model": "gemma2:9b", "thinking_level": None, "prompt_id": "P0", "prompt_name": "hello",
    "availability_status": "ok", "started_at_ms": 1_770_976_000_000,
    "ended_at_ms": 1_770_976_023_407, "e2e_ms": 23407, "ttft_ms": None, "success": True,
    "failure_type": None, "objective_pass": True, "violation": None, "input_tokens": 26,
    "output_tokens": 7, "raw_output": "héllo", "parsed_output": {"words": 1}, "tool_calls": ["ps"],
    "tool_call_count": 1, "tool_use_success": True,
}  # fmt: skip


def lines(*records):
    return [json.dumps(record, ensure_ascii=False).encode() + b"\n" for record in records]


def rows(*records, table="results"):
    return import_lines("old run (b)", lines(*records)).tables[table].to_pylist()


def test_ids_follow_from_names():
    (row,) = rows(RECORD)

    assert (row["run_id"], row["suite_id"]) == ("old run (b)", "imported")
    assert (row["model_id"], row["case_id"]) == ("ollama_openai--gemma2_9b", "p0--hello")
    assert (row["prompt_id"], row["prompt_name"]) == ("P0", "hello")
    assert (row["case_hash"], row["run_fingerprint"], row["cost_usd"]) == (None, None, None)
    assert (row["status"], row["passed"], row["tool_call_source"]) == ("success", True, "text")


def test_names_that_are_alike_as_slugs_stay_apart():
    found = rows(
        RECORD | {"model": "a:b"}, RECORD | {"model": "a/b"}, RECORD | {"model": "a:b"},
        RECORD | {"model": "a:b", "thinking_level": "high"}, RECORD | {"prompt_id": "p0"},
        RECORD | {"prompt_name": None}, RECORD | {"prompt_id": "x" * 300},
    )  # fmt: skip

    keys = [(row["model_id"], row["case_id"]) for row in found]
    assert keys[0] == keys[2]
    assert len(set(keys)) == 6
    assert all(len(name) <= 128 for key in keys for name in key)


def test_repetitions_count_in_order_of_appearance():
    found = rows(RECORD, RECORD | {"prompt_id": "P1"}, RECORD, RECORD)

    assert [row["repetition"] for row in found] == [1, 1, 2, 3]
    assert {row["supersedes"] for row in found} == {None}


@pytest.mark.parametrize(
    ("fields", "passed", "status"),
    [
        ({"objective_pass": False}, False, "success"),
        ({"objective_pass": None}, None, "success"),
        ({"success": False, "failure_type": "timeout"}, False, "timed_out"),
        ({"success": False, "failure_type": "empty_response"}, False, "invalid"),
        ({"success": False, "failure_type": "exception"}, None, "failed"),
        ({"success": False, "failure_type": "http_429"}, None, "provider_error"),
        ({"success": False, "failure_type": "claude_quota"}, None, "failed"),
        ({"success": False, "failure_type": None}, None, "failed"),
    ],
)
def test_the_verdict_counts_failures_that_are_the_models(fields, passed, status):
    (row,) = rows(RECORD | fields)

    assert (row["passed"], row["status"]) == (passed, status)
    assert row["objective_pass"] is (
        fields.get("objective_pass") if "success" not in fields else None
    )


def test_the_plan_is_made_of_the_results():
    plan = rows(
        RECORD, RECORD | {"model": "x", "objective_pass": None},
        RECORD | {"prompt_id": "P1", "objective_pass": None}, table="plans",
    )  # fmt: skip

    assert [row["is_scorable"] for row in plan] == [True, True, False]
    assert [row["trial_no"] for row in plan] == [0, 1, 2]
    assert (
        {row["case_hash"] for row in plan} == {row["fingerprint_parts"] for row in plan} == {None}
    )


def test_events_have_no_time_and_keep_their_keys():
    event = {"record_type": "event", "event": "ollama_stop", "tag": "t", "ok": False, "error": None}

    (row,) = rows(RECORD, event, table="events")

    assert (row["event"], row["at_ms"], row["record_no"]) == ("ollama_stop", None, 2)
    assert json.loads(row["detail"]) == {"tag": "t", "ok": False, "error": None}


def test_logs_from_before_tools_are_read():
    old = {name: value for name, value in RECORD.items() if not name.startswith("tool_")}

    (row,) = rows(old)

    assert (row["tool_calls"], row["tool_call_count"], row["tool_use_success"]) == ([], 0, False)


def test_long_text_is_cut_between_characters():
    (row,) = rows(RECORD | {"raw_output": "é" * 40_000}, table="outputs")
    (facts,) = rows(RECORD | {"raw_output": "é" * 40_000})

    assert row["raw_output"] == "é" * 32_768
    assert facts["raw_output_truncated"]


def test_keys_that_the_older_tool_kept_stay_out_of_the_lake():
    key = "sk-abcdefghijklmnopqrstuvwx"
    result = RECORD | {"raw_output": f"401: {key} is no key", "parsed_output": {"said": key}}

    assert key not in repr(rows(result)) + repr(rows(result, table="outputs"))
    assert "is no key" in repr(rows(result, table="outputs"))


def test_bad_lines_are_named_and_the_rest_is_kept():
    log = lines(RECORD, {"record_type": "sample"}, RECORD | {"e2e_ms": 1.5}, RECORD)
    log.insert(1, b"{torn\n")

    imported = import_lines("x", log)

    assert [number for number, _ in imported.problems] == [2, 3, 4]
    assert "`e2e_ms`" in imported.problems[2][1]
    assert imported.tables["results"]["record_no"].to_pylist() == [1, 5]


def test_a_log_without_results_is_a_run_of_no_trials():
    imported = import_lines("x", [])

    (run,) = imported.tables["runs"].to_pylist()
    assert (run["n_planned"], run["started_at_ms"], run["is_imported"]) == (0, None, True)
    assert "results" not in imported.tables


def test_a_number_that_no_column_holds_is_a_problem_of_its_line():
    lines = [
        json.dumps(RECORD | extra).encode() + b"\n" for extra in ({}, {"tool_call_count": 2**63})
    ]

    imported = import_lines("old", lines)

    assert imported.tables["results"].num_rows == 1
    assert [number for number, _ in imported.problems] == [2]
