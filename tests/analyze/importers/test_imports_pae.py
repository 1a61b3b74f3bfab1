"""`analyze import pae`: what its files say, no more, and what is left of torn ones."""

import copy
import json
import os
import random
import shutil

import pytest

from analyze.importers.pae import import_pae
from analyze.show.trace_file import read_trace
from analyze.show.transcript import score_lines
from schemas.errors import ConfigError
from schemas.lake.rows.parse_log import read_records
from schemas.run.import_record import load_import_record
from schemas.run.trace import Artifact
from tests.support.analyze_cli import call, forked
from tests.support.pae_tree import (
    FP6,
    FULL,
    PROFILE,
    RUN_ID,
    STARTED_MS,
    Tree,
    agent,
    failed,
    final,
    full_tree,
    message,
    run,
    write,
)


@pytest.fixture
def outputs(tmp_path):
    return tmp_path / "work" / "outputs"


@pytest.fixture
def runs_dir(tmp_path):
    return tmp_path / "runs"


@pytest.fixture
def tree(outputs):
    return Tree(outputs, repetitions=1)


def imported(path, runs_dir):
    (written,) = import_pae(path, runs_dir)
    return written


def lines_of(written):
    content = (written.run_dir / "results.jsonl").read_bytes().splitlines(keepends=True)
    assert read_records(content).problems == ()
    return {
        (one["model_id"], one["case_id"], one["repetition"]): one
        for one in map(json.loads, content)
    }


def line_of(written):
    (line,) = lines_of(written).values()
    return line


def said(written):
    return [(one.code, one.pointer, one.message) for one in written.findings]


def codes(written):
    return [one.code for one in written.findings]


def lake(runs_dir, query):
    done = call("sql", query, "--runs", runs_dir, "--format", "json")
    assert done.code == 0, done.err
    return json.loads(done.out)


def test_every_trial_of_the_tree_is_a_row_of_the_lake(outputs, runs_dir):
    full_tree(outputs)

    done = call("import", "pae", outputs, "--runs", runs_dir)

    assert (done.code, done.err) == (0, "")
    assert f"{RUN_ID}: 11 results, 1 without a result" in done.out
    assert f"analyze show {RUN_ID}" in done.out
    rows = lake(
        runs_dir,
        "select model_id, case_id, repetition, passed, failure_type, provider, model, suite_id, "
        "case_hash, started_at_ms from trials order by all",
    )
    assert len(rows) == 11
    assert {row["suite_id"] for row in rows} == {"examples"}
    assert {row["started_at_ms"] for row in rows} == {STARTED_MS}
    assert {row["case_hash"] for row in rows} == {None}
    found = {
        (row["model_id"], row["case_id"], row["repetition"]): (row["passed"], row["failure_type"])
        for row in rows
    }
    assert found == {
        ("alpha_1", "agent", 1): (None, None), ("alpha_1", "agent", 2): (None, None),
        ("alpha_1", "plain", 1): (True, None), ("alpha_1", "plain", 2): (True, None),
        ("alpha_1", "tooled", 1): (False, None), ("alpha_1", "tooled", 2): (False, None),
        ("beta", "agent", 1): (None, None),
        ("beta", "plain", 1): (True, None), ("beta", "plain", 2): (None, "http_429"),
        ("beta", "tooled", 1): (False, "timeout"), ("beta", "tooled", 2): (False, None),
    }  # fmt: skip


def test_a_trial_that_the_tool_planned_and_has_not_is_missing_rather_than_left_out(
    outputs, runs_dir
):
    full_tree(outputs)
    import_pae(outputs, runs_dir)

    rows = lake(
        runs_dir,
        "select plans.model_id, plans.case_id, plans.repetition, plans.provider, plans.model "
        "from stg_plans plans left join trials using (run_id, model_id, case_id, repetition) "
        "where trials.run_id is null",
    )

    assert rows == [
        {
            "model_id": "beta", "case_id": "agent", "repetition": 2, "provider": "openclaw",
            "model": "beta/large",
        }
    ]  # fmt: skip


def test_usage_cost_and_what_was_served_are_taken_as_the_tool_has_them(outputs, runs_dir):
    full_tree(outputs)

    line = lines_of(imported(outputs, runs_dir))["alpha_1", "tooled", 1]

    assert (line["provider"], line["model"]) == ("openrouter", "acme/alpha-1")
    assert (line["served_model"], line["served_provider"]) == ("acme/alpha-1-20260318", "Acme")
    assert (line["input_tokens"], line["cached_input_tokens"]) == (2111, 1344)
    assert (line["output_tokens"], line["reasoning_tokens"]) == (258, 103)
    assert (line["cost_usd"], line["cost_source"]) == (0.00062, "provider")
    assert (line["token_source"], line["finish_reason"]) == ("api", "stop")
    assert (line["http_status"], line["attempt_count"]) == (200, 1)
    assert (line["started_at_ms"], line["ended_at_ms"]) == (STARTED_MS, STARTED_MS + 6267)
    assert (line["e2e_ms"], line["ttft_ms"], line["run_fingerprint"]) == (None, None, None)
    assert (line["tool_calls"], line["tool_call_source"]) == (["exec_shell"], "api")
    assert line["raw_output"] == "Only a."
    assert line["violation"] == "1 of 2 checks did not pass"


def test_of_an_agent_cached_tokens_are_input_and_its_cost_was_computed(outputs, runs_dir):
    full_tree(outputs)

    line = lines_of(imported(outputs, runs_dir))["alpha_1", "agent", 1]

    assert (line["runner_type"], line["provider"]) == ("openclaw", "openclaw")
    assert (line["input_tokens"], line["cached_input_tokens"]) == (143 + 22656, 22656)
    assert (line["cost_usd"], line["cost_source"]) == (0.25, "computed")
    assert line["tool_calls"] == ["exec", "write"]
    assert line["attempt_count"] == 1
    assert line["raw_output"] == "Done."


def test_evaluations_of_both_layouts_are_kept_with_the_trial(outputs, runs_dir):
    full_tree(outputs)

    lines = lines_of(imported(outputs, runs_dir))

    newer, older = lines["alpha_1", "plain", 1]["parsed_output"]["evaluations"]
    assert newer["evaluation_profile_id"] == "judge_new"
    assert newer["evaluation_fingerprint"] == FULL["new"]
    assert (newer["final_score"], older["final_score"]) == (9.0, 7.25)
    assert newer["deterministic"] == {"passed": 2, "failed": 0, "error": 0}
    assert newer["final_dimensions"]["task"] == 8.0
    assert (older["evaluation_profile_id"], older["evaluation_fingerprint"]) == (
        "judge_old", FULL["old"],
    )  # fmt: skip
    assert lines["alpha_1", "plain", 1]["checks_passed"] == 2
    counts = [lines["alpha_1", "tooled", 1][f"checks_{name}"] for name in ("passed", "failed")]
    assert counts == [1, 1]
    (unscored,) = lines["alpha_1", "agent", 1]["parsed_output"]["evaluations"]
    assert (unscored["final_score"], unscored["deterministic"]) == (None, None)
    assert lines["alpha_1", "agent", 2]["parsed_output"] is None


def test_originals_are_kept_byte_by_byte_and_nothing_of_the_source_is_changed(outputs, runs_dir):
    full_tree(outputs)
    before = {
        path.relative_to(outputs).as_posix(): path.read_bytes()
        for path in outputs.rglob("*")
        if path.is_file()
    }

    written = imported(outputs, runs_dir)

    source = written.run_dir / "source"
    kept = {
        path.relative_to(source).as_posix(): path.read_bytes()
        for path in source.rglob("*")
        if path.is_file()
    }
    assert kept == before
    assert {path: path for path in before} == {
        path.relative_to(outputs).as_posix(): path.relative_to(outputs).as_posix()
        for path in outputs.rglob("*")
        if path.is_file()
    }
    record = load_import_record(written.run_dir)
    assert set(record.files) == set(before)
    assert record.leftover["run_profile_fingerprint"] == FULL["profile"]
    assert [one["evaluation_profile_id"] for one in record.leftover["evaluations"]] == [
        "judge_new",
        "judge_old",
    ]


def test_a_transcript_is_shown_by_the_real_command(outputs, runs_dir, tmp_path):
    full_tree(outputs)
    assert forked("import", "pae", outputs.parent, cwd=tmp_path).code == 0

    done = forked("show", RUN_ID, "tooled", "alpha_1", 1, cwd=tmp_path)

    assert (done.code, done.err) == (0, "")
    talk = done.out.partition("Transcript")[2]
    order = (
        "Which files?", "(reasoning)", "I look.", "tool call  exec_shell", '{"command": "ls"}',
        "tool result  success", '"stdout": "a"', "Only a.", "final output: the message above",
    )  # fmt: skip
    places = [talk.index(words) for words in order]
    assert places == sorted(places)
    assert talk.count('"stdout": "a"') == 1
    assert "+0ms" not in done.out  # the source has no times of events
    assert "6.3s with waits and retries" in done.out


@pytest.mark.parametrize("part", ["", "outputs", f"outputs/runs/suit_examples/{PROFILE}"])
def test_a_workspace_its_outputs_and_a_folder_of_it_are_the_same_run(outputs, runs_dir, part):
    full_tree(outputs)
    first = imported(outputs, runs_dir)

    again = imported(outputs.parent / part, runs_dir)

    assert again.run_dir == first.run_dir
    assert (first.is_new, again.is_new) == (True, False)


def test_each_suite_and_profile_is_a_run(outputs, runs_dir):
    for suite in ("one", "two"):
        Tree(outputs, suite=suite, repetitions=1).run("m", "c", 1, final("x"))

    written = import_pae(outputs, runs_dir)

    assert [one.run_dir.name for one in written] == [f"pae_one_{FP6}", f"pae_two_{FP6}"]
    with pytest.raises(ConfigError, match="--run-id names one run, and there are 2"):
        import_pae(outputs, runs_dir, None, "mine")
    folder = outputs / "runs" / "suit_one" / PROFILE
    (named,) = import_pae(folder, runs_dir, None, "mine")
    assert named.run_dir.name == "mine"


def test_what_was_evaluated_since_is_no_silent_change_and_hinders_no_other(outputs, runs_dir):
    for suite in ("one", "two"):
        tree = Tree(outputs, suite=suite, repetitions=1)
        tree.run("m", "c", 1, final("x"))
        if suite == "one":
            import_pae(outputs, runs_dir)
            tree.evaluate("m", "c", 1)

    done = call("import", "pae", outputs, "--runs", runs_dir)

    assert done.code == 2
    assert f"pae_one_{FP6}" in done.err
    assert "--run-id NAME" in done.err
    assert (runs_dir / f"pae_two_{FP6}" / "results.jsonl").is_file()


@pytest.mark.parametrize(
    ("content", "code"),
    [
        (b"", "not_json"), (b'{"identity": {"case_', "not_json"), (b"\xff\xfe\x00", "not_json"),
        (b"[]", "wrong_type"), (b"null", "wrong_type"), (b"[" * 100_000, "too_deep"),
        (b'{"status": "success", "status": "failed"}', "duplicate_key"),
        (b'{"usage": {"cost_usd": NaN}}', "not_json_number"),
    ],
)  # fmt: skip
def test_a_torn_file_is_a_finding_and_its_trial_unfinished(tree, outputs, runs_dir, content, code):
    tree.run("m", "good", 1, final("x"))
    tree.run("m", "torn", 1, final("x"))
    tree.place("m", "torn").write_bytes(content)

    written = imported(outputs, runs_dir)

    assert [(code_, "m/torn/run_1.json" in text) for code_, _, text in said(written)] == [
        (code, True)
    ]
    assert list(lines_of(written)) == [("m", "good", 1)]
    (missing,) = load_import_record(written.run_dir).unfinished
    assert (missing.case_id, missing.provider, missing.model) == ("torn", "openrouter", "m")


def test_a_file_cut_anywhere_never_stops_an_import(tree, outputs, runs_dir):
    tree.run("m", "c", 1, message("user", "Héllo"), final("x"))
    tree.evaluate("m", "c", 1, checks=(1, 0, 0))
    run_file = tree.place("m", "c")
    final_file = next(outputs.rglob("final_result_1.json"))
    for path in (run_file, final_file):
        whole = path.read_bytes()
        for end in range(0, len(whole) - 2, 97):
            path.write_bytes(whole[:end])
            written = imported(outputs, runs_dir)
            assert written.n_trials == (path != run_file)
            assert codes(written) == ["not_json"]
            shutil.rmtree(written.run_dir)
        path.write_bytes(whole)
    assert line_of(imported(outputs, runs_dir))["passed"] is True


def test_without_manifests_the_names_of_folders_are_what_is_known(outputs, runs_dir):
    full_tree(outputs)
    for path in list(outputs.rglob("manifest.json")):
        path.unlink()

    written = imported(outputs, runs_dir)

    assert codes(written) == ["manifest_missing"]
    assert written.run_dir.name == RUN_ID
    line = lines_of(written)["alpha_1", "plain", 1]
    assert line["suite_id"] == "examples"
    newer = line["parsed_output"]["evaluations"][0]
    assert newer["evaluation_profile_id"] == "judge_new"
    assert newer["evaluation_fingerprint"] == FULL["new"][:6]


def test_repetitions_of_the_manifest_are_known_and_absurd_ones_are_not_believed(outputs, runs_dir):
    tree = Tree(outputs, repetitions=3)
    tree.run("m", "c", 2, final("x"))
    written = imported(outputs, runs_dir)
    assert [one.repetition for one in load_import_record(written.run_dir).unfinished] == [1, 3]
    shutil.rmtree(runs_dir)

    Tree(outputs, repetitions=10**9)
    written = imported(outputs, runs_dir)

    assert [one.repetition for one in load_import_record(written.run_dir).unfinished] == [1]
    assert said(written)[0][:2] == ("bad_value", "/run_repetitions")


def test_an_evaluation_without_its_run_is_a_trial_without_a_result(tree, outputs, runs_dir):
    tree.run("m", "c", 1, final("x"))
    tree.evaluate("m", "gone", 1, checks=(1, 0, 0))

    written = imported(outputs, runs_dir)

    assert codes(written) == ["run_missing"]
    assert [one.case_id for one in load_import_record(written.run_dir).unfinished] == ["gone"]


def test_an_evaluation_of_a_run_that_was_made_anew_decides_nothing(tree, outputs, runs_dir):
    made = run("m", "c", 1, final("x"))
    made["identity"]["run_id"] = "run_another"
    tree.put("m", "c", 1, made)
    tree.evaluate("m", "c", 1, checks=(3, 0, 0))

    written = imported(outputs, runs_dir)

    line = line_of(written)
    assert codes(written) == ["other_run"]
    assert (line["passed"], line["checks_passed"], line["parsed_output"]) == (None, 0, None)


@pytest.mark.parametrize(
    ("checks", "passed", "counts"),
    [
        ([(0, 0, 0)], None, (0, 0, 0)),
        ([(2, 0, 0)], True, (2, 0, 0)),
        ([(2, 1, 0)], False, (2, 1, 0)),
        ([(2, 0, 1)], False, (2, 0, 1)),
        ([(2, 0, 0), (0, 0, 0)], True, (2, 0, 0)),
        ([(1, 0, 0), (3, 0, 0)], True, (3, 0, 0)),
        ([(2, 0, 0), (1, 1, 0)], None, (0, 0, 0)),
    ],
)
def test_deterministic_checks_decide_and_a_judge_does_not(
    tree, outputs, runs_dir, checks, passed, counts
):
    tree.run("m", "c", 1, final("x"))
    for profile, numbers in zip(("judge_new", "judge_old"), checks, strict=False):
        tree.evaluate("m", "c", 1, profile, checks=numbers, score=0.5)

    written = imported(outputs, runs_dir)

    line = line_of(written)
    assert line["passed"] is passed
    assert (line["checks_passed"], line["checks_failed"], line["checks_errored"]) == counts
    assert line["objective_pass"] is None
    assert len(line["parsed_output"]["evaluations"]) == len(checks)
    assert codes(written) == ["contradiction"] * (passed is None and len(checks) > 1)


FAILURES = [
    (failed("timed_out", "timeout"), "timeout", "timed_out"),
    (failed("timed_out", "openclaw_timeout"), "timeout", "timed_out"),
    (failed("provider_error", "429"), "http_429", "provider_error"),
    (failed("provider_error", "401"), "http_401", "provider_error"),
    (failed("provider_error", "503"), "http_503", "provider_error"),
    (failed("provider_error", "transport_error"), "connection_error", "provider_error"),
    (failed("provider_error", "invalid_response"), "invalid_response", "provider_error"),
    (failed("provider_error", "provider_error"), "invalid_response", "provider_error"),
    (
        failed("provider_error", "provider_error", metadata={"status_code": 502}),
        "http_502", "provider_error",
    ),
    (failed("failed", "runner_configuration_error"), "api_key_missing", "failed"),
    (failed("failed", "message_resolution_failed"), "invalid_messages", "invalid"),
    (failed("invalid", "invalid_messages"), "invalid_messages", "invalid"),
    (failed("invalid", "empty_output"), "empty_response", "invalid"),
    (failed("invalid", "tool_calls_not_supported"), "tool_calls_not_supported", "invalid"),
    (
        failed("failed", "runner_execution_failed", "exceeded max_turns=8 without an answer"),
        "max_turns_exceeded", "failed",
    ),
    (failed("failed", "runner_execution_failed", "boom"), "exception", "failed"),
    (failed("invalid", "openclaw_config_invalid"), "config_invalid", "invalid"),
    (failed("failed", "openclaw_execution_failed"), "container_error", "failed"),
    (failed("failed", "of_a_later_version"), "exception", "failed"),
    (failed("invalid", "of_a_later_version"), "config_invalid", "invalid"),
]  # fmt: skip


@pytest.mark.parametrize("is_judged", [True, False])
@pytest.mark.parametrize(("parts", "failure", "status"), FAILURES)
def test_failures_are_ours_by_name_and_count_against_the_model_where_there_is_a_verdict(
    tree, outputs, runs_dir, parts, failure, status, is_judged
):
    tree.run("m", "c", 1, message("user", "Hi"), **parts)
    if is_judged:
        tree.evaluate("m", "c", 1, checks=(0, 1, 0))

    line = line_of(imported(outputs, runs_dir))

    of_model = {
        "timeout", "empty_response", "tool_calls_not_supported", "max_turns_exceeded",
    }  # fmt: skip
    assert (line["failure_type"], line["status"], line["success"]) == (failure, status, False)
    assert line["passed"] is (False if failure in of_model and is_judged else None)
    assert line["error_code"] == parts["error"]["code"]
    assert line["error_message"] == parts["error"]["message"]
    assert line["http_status"] == (int(failure[5:]) if failure.startswith("http_") else None)
    assert (line["attempt_count"] == 0) == (failure == "api_key_missing")
    assert (line["cost_usd"], line["input_tokens"], line["token_source"]) == (None, None, None)


NO_NUMBER = (-1, True, "1", [], {}, 10**30)
NO_WHOLE = (*NO_NUMBER, 1.5)
NO_TEXT = (-1, 1.5, True, [], {})
NO_TIME = (*NO_TEXT, "", "soon", "1969-12-31T23:59:59Z", "0001-01-01T00:00:00+23:59")

UNUSABLE = [
    *(("usage/normalized/input_tokens", bad) for bad in NO_WHOLE),
    *(("usage/normalized/cached_input_tokens", bad) for bad in NO_WHOLE),
    *(("runner_metadata/attempt_count", bad) for bad in NO_WHOLE),
    *(("provider/metadata/status_code", bad) for bad in (*NO_WHOLE, 99, 600)),
    *(("usage/cost_usd", bad) for bad in NO_NUMBER),
    *(("timing/duration_seconds", bad) for bad in NO_NUMBER),
    *(("timing/started_at", bad) for bad in NO_TIME),
    *(("timing/completed_at", bad) for bad in NO_TIME),
    *(("request/requested_model", bad) for bad in NO_TEXT),
    *(("provider/finish_reason", bad) for bad in NO_TEXT),
    *(("identity/case_id", bad) for bad in NO_TEXT),
]


@pytest.mark.parametrize(
    ("place", "bad"), UNUSABLE, ids=[f"{place} {bad!r}" for place, bad in UNUSABLE]
)
def test_a_value_that_no_column_holds_is_unknown_and_said_to_be(
    tree, outputs, runs_dir, place, bad
):
    made = run("m", "c", 1, final("x"))
    part, *between, last = place.split("/")
    inside = made[part]
    for name in between:
        inside = inside[name]
    inside[last] = bad
    tree.put("m", "c", 1, made)

    written = imported(outputs, runs_dir)

    assert line_of(written)["raw_output"] == "x"
    assert [(code, where) for code, where, _ in said(written)] == [("bad_value", f"/{place}")]


def test_numbers_beyond_all_numbers_are_unknown(tree, outputs, runs_dir):
    usage = {"cost_usd": 0.00062, "raw_provider_usage": {"n": "marker"}}
    odd = {"event_type": "runner", "name": "odd", "metadata": {"a": "marker", "b": ["marker"]}}
    tree.run("m", "c", 1, odd, final("x"), usage=usage)
    path = tree.place("m", "c")
    text = path.read_text().replace("0.00062", "1e999").replace('"marker"', "1e999")
    path.write_text(text)

    written = imported(outputs, runs_dir)

    line = line_of(written)
    assert (line["cost_usd"], line["cost_source"]) == (None, None)
    assert isinstance(read_trace(written.run_dir, line["artifact_path"]), Artifact)


@pytest.mark.parametrize(
    "place",
    ["identity", "timing", "request", "provider", "usage", "trace", "runner_metadata", "status"],
)
@pytest.mark.parametrize("bad", [None, [], "x", 7, {"x": [{}]}, [None, 1, {}, {"event_type": []}]])
def test_parts_of_another_kind_lose_themselves_only(tree, outputs, runs_dir, place, bad):
    tree.put("m", "c", 1, run("m", "c", 1, final("x")) | {place: bad})

    written = imported(outputs, runs_dir)

    line = line_of(written)
    assert line["repetition"] == 1
    assert isinstance(read_trace(written.run_dir, line["artifact_path"]), Artifact)


STRANGE = (
    None, True, -1, 0, 1.5, 2**70, 1e308, "", "x", "\u202e\x00", "a" * 5000, [], {}, [[]],
    {"": None}, [1, {"event_type": "message"}], {"event_type": 7}, "2026-01-01",
    "9999-12-31T23:59:59-23:59",
)  # fmt: skip


def places_of(value, place=()):
    """Yield every place in a JSON value below its root."""
    inside = value.items() if isinstance(value, dict) else enumerate(value)
    for key, one in inside:
        yield (*place, key)
        if isinstance(one, dict | list):
            yield from places_of(one, (*place, key))


def replace(value, place, new):
    *above, last = place
    for key in above:
        value = value[key]
    value[last] = new


@pytest.mark.parametrize("seed", range(6))
def test_any_value_at_any_place_leaves_lines_and_traces_that_can_be_read(outputs, runs_dir, seed):
    dice = random.Random(seed)
    full_tree(outputs)
    for path in sorted(outputs.rglob("*.json")):
        data = json.loads(path.read_text())
        for _ in range(dice.randrange(4)):
            replace(data, dice.choice(list(places_of(data))), copy.deepcopy(dice.choice(STRANGE)))
        write(path, data)

    written = imported(outputs, runs_dir)

    assert written.n_trials == 11
    for line in lines_of(written).values():
        assert isinstance(read_trace(written.run_dir, line["artifact_path"]), Artifact)


def test_of_two_layouts_of_one_evaluation_the_newer_counts(tree, outputs, runs_dir):
    tree.run("m", "c", 1, final("x"))
    tree.evaluate("m", "c", 1, checks=(2, 0, 0), score=9)
    new = next(outputs.rglob("final_result_1.json"))
    write(new.parent.parent / new.name, json.loads(new.read_text()) | {"final_score": 1})

    (row,) = line_of(imported(outputs, runs_dir))["parsed_output"]["evaluations"]

    assert row["final_score"] == 9


def test_times_that_are_missing_follow_from_what_is_there(tree, outputs, runs_dir):
    end = "2026-04-22T21:54:22.324+02:00"
    tree.run("m", "ended", 1, timing={"completed_at": end, "duration_seconds": 2})
    tree.run("m", "naive", 1, timing={"started_at": "2026-04-22T21:54:16", "completed_at": None})
    tree.run("m", "never", 1, timing={})
    tree.run("m", "turned", 1, timing={"started_at": "2026-04-22", "completed_at": "2026-04-21"})
    os.utime(tree.place("m", "never"), ns=(0, 1_500_000_000_123_456_789))

    written = imported(outputs, runs_dir)

    times = {
        case: (line["started_at_ms"], line["ended_at_ms"])
        for (_, case, _), line in lines_of(written).items()
    }
    assert times["ended"] == (1_776_887_660_324, 1_776_887_662_324)
    assert times["naive"] == (1_776_894_856_000,) * 2
    assert times["never"] == (1_500_000_000_123,) * 2
    assert times["turned"] == (1_776_816_000_000,) * 2
    assert [(code, where) for code, where, _ in said(written)] == [
        ("no_time", "/timing"),
        ("contradiction", "/timing"),
    ]


def test_every_event_has_its_place_and_strange_ones_are_the_runners(tree, outputs, runs_dir):
    deep = {}
    for _ in range(150):
        deep = {"x": deep}
    tree.run(
        "m", "c", 1,
        message("user", None),
        message("narrator", "Once"),
        {"event_type": "tool_call", "call_id": "1", "tool_name": "t", "raw_arguments": {"a": 1},
         "parsed_arguments": deep},
        {"event_type": "tool_call", "call_id": 7},
        {"event_type": "tool_result", "call_id": "1", "status": None, "output": 1},
        message("tool", "alone", tool_call_id="9"),
        {"event_type": "tool_result", "call_id": "1", "status": "error", "output": 2**70},
        {"event_type": "thought", "text": "hm"},
        final("first"), final("last"), final("  "), final(None),
        usage={"raw_provider_usage": {"n": 2**80, "deep": deep}},
    )  # fmt: skip

    written = imported(outputs, runs_dir)

    line = line_of(written)
    trace = read_trace(written.run_dir, line["artifact_path"])
    assert isinstance(trace, Artifact)
    kinds = [
        getattr(one, "name", None) if one.event_type == "runner" else one.event_type
        for one in trace.trace
    ]
    assert kinds == [
        "message", "message", "tool_call", "tool_call", "tool_result", "message", "tool_result",
        "thought", *["final_output"] * 4,
    ]  # fmt: skip
    assert [one.sequence for one in trace.trace] == list(range(12))
    assert {one.at_ms for one in trace.trace} == {STARTED_MS}
    assert trace.trace[1].event_type == trace.trace[3].event_type == "runner"
    assert trace.trace[2].raw_arguments == '{"a": 1}'
    assert json.loads(trace.trace[2].parsed_arguments) == deep
    assert trace.trace[6].output == str(2**70)
    assert trace.wall_ms == 6267
    assert line["raw_output"] == "last"


def test_a_long_answer_is_cut_in_the_line_and_whole_in_the_trace(tree, outputs, runs_dir):
    text = "é" * 50_000
    tree.run("m", "c", 1, final(text))

    written = imported(outputs, runs_dir)

    line = line_of(written)
    assert (len(line["raw_output"].encode()), line["raw_output_truncated"]) == (65_536, True)
    assert read_trace(written.run_dir, line["artifact_path"]).trace[0].content == text


def test_text_that_is_no_text_and_text_that_a_terminal_obeys_do_no_harm(tree, outputs, runs_dir):
    tree.run("m", "c", 1, message("user", "\x1b[2J|<b>"), final("marker"), provider={
        "gateway": "openrouter", "finish_reason": "\x1b]0;x\x07", "metadata": {},
    })  # fmt: skip
    path = tree.place("m", "c")
    path.write_text(path.read_text().replace('"marker"', '"half \\ud83d of one"'))

    assert call("import", "pae", outputs, "--runs", runs_dir).code == 0

    done = call("show", RUN_ID, "c", "m", 1, "--runs", runs_dir)
    assert done.code == 0
    assert "half ? of one" in done.out
    assert "\x1b" not in done.out
    assert "\x07" not in done.out


def test_names_that_are_no_ids_become_some_and_stay_apart(tree, outputs, runs_dir):
    for model in ("A b", "a_b", "ok", "x" * 200):
        tree.run(model, "Case (1)", 1, final("x"))

    lines = lines_of(imported(outputs, runs_dir))

    models = [model for model, _, _ in lines]
    assert len(set(models)) == 4
    assert "ok" in models
    assert {case for _, case, _ in lines} == {"case_1"}
    assert {line["prompt_id"] for line in lines.values()} == {"Case (1)"}


def test_files_that_are_no_trials_are_kept_and_no_trials(tree, outputs, runs_dir):
    tree.run("m", "c", 1, final("x"))
    for name in ("run_0.json", "run_01.json", "run_x.json", "run_1.json.bak", "notes.txt"):
        tree.place("m", "c").with_name(name).write_text("{}")
    write(outputs / "charts" / "judge" / "score.json", {})

    written = imported(outputs, runs_dir)

    assert written.n_trials == 1
    assert (written.run_dir / "source" / f"runs/suit_examples/{PROFILE}/m/c/notes.txt").is_file()
    assert not (written.run_dir / "source" / "charts").exists()


@pytest.mark.parametrize("what", ["nothing", "an empty folder", "runs of another tool"])
def test_a_place_without_its_runs_is_a_usage_error_that_says_what_was_looked_for(
    outputs, runs_dir, what
):
    if what != "nothing":
        outputs.mkdir(parents=True)
    if what == "runs of another tool":
        write(outputs / "runs" / "a" / "config.json", {})

    done = call("import", "pae", outputs, "--runs", runs_dir)

    assert done.code == 2
    assert "there are no runs of personal_agent_eval" in done.err
    assert "run_profile_<fp6>" in done.err
    assert not runs_dir.exists()


def test_two_imported_runs_are_compared_once_cases_may_be_called_the_same(tmp_path, runs_dir):
    for name in ("before", "after"):
        tree = Tree(tmp_path / name, repetitions=1)
        for number in range(8):
            tree.run("m", f"c{number}", 1, final(name))
            tree.evaluate("m", f"c{number}", 1, checks=(1, int(name == "after"), 0))
        import_pae(tmp_path / name, runs_dir, None, name)

    refused = call("compare", "before", "after", "--runs", runs_dir)
    allowed = call("compare", "before", "after", "--allow", "case", "--runs", runs_dir)

    assert "--allow case" in refused.out + refused.err
    assert refused.code != 0
    assert allowed.code in {0, 1}, allowed.err
    assert "regress" in allowed.out


def test_every_file_is_told_of_while_it_works(outputs, runs_dir):
    full_tree(outputs)
    progress = []

    import_pae(outputs, runs_dir, lambda n_done, n_all: progress.append((n_done, n_all)))

    assert progress == [(number, 22) for number in range(1, 23)]


def test_an_agent_that_was_never_started_made_no_request(tree, outputs, runs_dir):
    made = agent("m", "c", 1) | failed("invalid", "openclaw_config_invalid")
    made["trace"] = made["trace"][:1]
    made["runner_metadata"] = {}
    tree.put("m", "c", 1, made)

    line = line_of(imported(outputs, runs_dir))

    assert (line["attempt_count"], line["failure_type"]) == (0, "config_invalid")
    assert line["runner_type"] == "openclaw"


def test_score_dimensions_and_checks_of_a_judge_are_shown_and_stand_on_the_page(outputs, runs_dir):
    full_tree(outputs)
    import_pae(outputs, runs_dir)

    shown = call("show", RUN_ID, "plain", "alpha_1", 1, "--runs", runs_dir).out
    page = call("report", f"{runs_dir}/{RUN_ID}", "--format", "json").out

    expected = [
        "evaluation judge_new: final score 9",
        "  dimensions  autonomy 8, closeness 8, efficiency 8, process 8, spark 8, task 8",
        "  checks      2 passed, 0 failed, 0 could not run",
        "evaluation judge_old: final score 7.25",
    ]
    assert [line for line in expected if line not in shown] == []
    (trial,) = (
        one for one in json.loads(page)["transcripts"]["shown"]
        if (one["model_id"], one["case_id"], one["repetition"]) == ("alpha_1", "plain", 1)
    )  # fmt: skip
    assert trial["judged"][: len(expected)] == expected


@pytest.mark.parametrize(
    ("said", "answer"),
    [
        ({"payloads": [{"text": "One."}, {"text": "Two."}, {"mediaUrl": "x"}]}, "One.\n\nTwo."),
        ({"payloads": [{"mediaUrl": "x"}]}, "On the screen."),
        ({"payloads": "none"}, '{"payloads": "none"}'),
        ("Plain words.", "Plain words."),
        ("[1, 2]", "[1, 2]"),
    ],
)
def test_the_answer_of_an_agent_is_its_text(tree, outputs, runs_dir, said, answer):
    made = agent("m", "c", 1)
    made["trace"][-1]["content"] = said if isinstance(said, str) else json.dumps(said)
    about = made["runner_metadata"]["openclaw"]["metadata"]["observable_summary"]
    about["final_assistant_visible_text"] = "On the screen."
    tree.put("m", "c", 1, made)

    written = imported(outputs, runs_dir)

    line = line_of(written)
    assert line["raw_output"] == answer
    trace = read_trace(written.run_dir, line["artifact_path"])
    assert trace.trace[-1].content == answer


def test_an_answer_in_json_of_a_model_that_is_no_agent_stays_as_it_is(tree, outputs, runs_dir):
    said = '{"payloads": [{"text": "mine"}]}'
    tree.run("m", "c", 1, message("user", "JSON, please."), final(said))

    assert line_of(imported(outputs, runs_dir))["raw_output"] == said


@pytest.mark.parametrize(
    "parsed",
    [None, "", "{", "[1]", "null", '{"evaluations": 3}', '{"evaluations": [1, {"a": 1}]}',
     '{"evaluations": [{"final_score": true, "final_dimensions": [], "deterministic": 1}]}'],
)  # fmt: skip
def test_what_is_no_evaluation_is_shown_as_none(parsed):
    assert [line for line in score_lines(parsed) if "final score" in line] == []
