"""Folders of an earlier tool: what follows from their log, and what stays unknown."""

import json

import pytest

from schemas.config.run_profile import limit_of_config
from schemas.lake.rows.foreign_rows import import_lines

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


def exceptions(*times, **fields):
    return [
        RECORD | {"success": False, "failure_type": "exception", "e2e_ms": time} | fields
        for time in times
    ]


@pytest.mark.parametrize(
    ("time", "is_late"),
    [(29_999, False), (30_000, True), (30_030, True), (31_000, True), (31_001, False)],
)
def test_an_exception_at_the_time_limit_is_a_time_out(time, is_late):
    log = lines(RECORD, *exceptions(time))

    found = import_lines("x", log, limit_ms=30_000).tables["results"].to_pylist()[1]

    facts = found["failure_type"], found["passed"], found["status"], found["error_code"]
    late = ("timeout", False, "timed_out", "exception")
    assert facts == (late if is_late else ("exception", None, "failed", None))


@pytest.mark.parametrize(
    ("times", "late"),
    [
        ((30_030, 30_080, 120_100), {30_030, 30_080}),
        ((120_100, 120_102, 90_016, 90_116), {120_100, 120_102, 90_016, 90_116}),
        ((12, 40, 55), set()),
        ((30_030, 31_500, 47_000), set()),
        ((30_249, 30_250), set()),
    ],
)
def test_limits_that_nobody_wrote_down_show_where_exceptions_end_alike(times, late):
    found = rows(RECORD, *exceptions(*times))[1:]

    assert {row["e2e_ms"] for row in found if row["failure_type"] == "timeout"} == late


def test_a_slow_answer_and_another_failure_at_the_limit_are_no_time_outs():
    log = lines(RECORD | {"e2e_ms": 30_010}, *exceptions(30_010, failure_type="http_500"))

    found = import_lines("x", log, limit_ms=30_000).tables["results"].to_pylist()

    assert [(row["failure_type"], row["passed"]) for row in found] == [
        (None, True), ("http_500", None),
    ]  # fmt: skip


def test_a_time_out_of_a_prompt_without_a_validator_counts_against_nobody():
    open_end = {"prompt_id": "P10", "objective_pass": None}
    log = lines(RECORD, *exceptions(30_010, objective_pass=False), *exceptions(30_020, **open_end))

    tables = import_lines("x", log, limit_ms=30_000).tables

    assert [row["passed"] for row in tables["results"].to_pylist()] == [True, False, None]
    assert [row["is_scorable"] for row in tables["plans"].to_pylist()] == [True, True, False]


def test_a_prompt_that_only_failed_may_have_had_a_validator():
    log = lines(RECORD, *exceptions(12, prompt_id="P7", objective_pass=None))

    tables = import_lines("x", log).tables

    assert [row["is_scorable"] for row in tables["plans"].to_pylist()] == [True, True]
    assert tables["results"].to_pylist()[1]["passed"] is None


@pytest.mark.parametrize(
    ("config", "limit"),
    [
        ('{"timeout_s": 30}', 30_000), ('{"timeout_s": 0.5}', 500), ('{"timeout_s": true}', None),
        ('{"timeout_s": -1}', None), ('{"timeout_s": "30"}', None), ("[30]", None), ("{", None),
        ('{"timeout_s": 1e300}', None), (None, None),
    ],
)  # fmt: skip
def test_the_limit_is_what_the_older_tools_config_says(tmp_path, config, limit):
    if config is not None:
        (tmp_path / "config.json").write_text(config)

    assert limit_of_config(tmp_path) == limit
