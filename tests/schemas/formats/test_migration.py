"""Reports of the older schemas become reports of v2, complete and repeatable, or are refused."""

import copy
import json
from collections import Counter
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from schemas import migrate_v1_to_v2
from schemas.base import is_valid
from schemas.errors import NotMigratable
from schemas.formats.migration.migrate import migration_of
from schemas.formats.report_v1 import shape_of
from schemas.formats.report_v2 import EvaluationReport, report_json
from schemas.formats.report_v2_problems import schema_problems

FLAT = {
    "model_name": "anthropic/claude 3.5",
    "dataset": "lite",
    "instances": [
        {
            "instance_id": "lwc-1",
            "status": "resolved",
            "resolved": True,
            "duration": 245.3,
            "score": 90,
        },
        {"instance_id": "apex-2", "status": "fail", "resolved": False, "error_message": "no class"},
        {"instance_id": "flow-3", "status": "skipped", "reviewer": {"name": "someone"}},
    ],
}

FUNCTIONAL = {
    "task_id": "lwc-1",
    "validation_level": "functional",
    "overall_status": "passed",
    "score": 80.0,
    "deployment_passed": True,
    "unit_tests_passed": True,
    "functional_tests_passed": True,
    "bulk_tests_passed": True,
    "bulk_operations_passed": False,
    "no_manual_tweaks": None,
    "steps": [{"name": "deploy", "status": "passed", "duration": 1.5, "error": None}],
}

RESULTS = [
    {
        "task_id": "lwc-1",
        "status": "PASS",
        "duration": 12.25,
        "timestamp": "2025-12-29T14:31:00.5",
    },
    {
        "task_id": "apex-2",
        "status": "FAIL",
        "duration": 3,
        "timestamp": "2025-12-29T14:30:30",
        "error_message": "no class",
        "details": {"exit_code": 1, "stderr": "last 500 characters"},
    },
    {
        "task_id": "flow-3",
        "status": "TIMEOUT",
        "duration": 600.0,
        "timestamp": "2025-12-29T14:33:00",
        "performance_metrics": {"deploy": 3.5},
    },
    {
        "task_id": "arch-4",
        "status": "ERROR",
        "duration": 1.0,
        "timestamp": "2025-12-29T14:34:00",
        "execution_log": "line\nline",
    },
]

RUN_FILE = {
    "model": "anthropic/claude 3.5",
    "timestamp": "2025-12-29T14:36:59.123456",
    "tasks_file": "data/tasks/verified.json",
    "validation_mode": "functional",
    "total_tasks": 4,
    "passed": 1,
    "failed": 1,
    "timeout": 1,
    "error": 1,
    "pass_rate": 25.0,
    "segment_results": {"LWC": {"total": 1, "passed": 1, "pass_rate": 100.0}},
    "functional_validation": [FUNCTIONAL, {"task_id": "gone-9", "overall_status": "pending"}],
    "results": RESULTS,
}

STATISTICS = {
    "statistics": {"total": 4, "passed": 3, "failed": 1, "timeout": 1, "error": 1, "pass_rate": 25},
    "results": RESULTS,
}

SHAPES = {"flat": FLAT, "run_file": RUN_FILE, "statistics": STATISTICS, "task_files": RESULTS}


def by_id(report):
    return {one["instance_id"]: one for one in report["instances"]}


def kept(report):
    return report["environment"]["migrated_from"]


def refusal(data):
    with pytest.raises(NotMigratable) as caught:
        migrate_v1_to_v2(data)
    assert caught.value.findings
    return caught.value


def mistakes(data):
    return {(one.code, one.pointer) for one in refusal(data).findings}


def outcome(data):
    """Return the migration of a document, or why there is none."""
    try:
        return migration_of(data), ()
    except NotMigratable as exc:
        return None, exc.findings


def flat(*instances, **fields):
    return {"model_name": "m", "instances": list(instances), **fields}


# ------------------------------------------------------------------------------- what is mapped


def test_a_flat_report_keeps_every_value_of_its_table():
    report = migrate_v1_to_v2(FLAT)

    assert (report["schema_version"], report["dataset"]) == ("2.0", "lite")
    assert report["model_name"] == report["model_name_or_path"] == "anthropic/claude 3.5"
    assert [one["instance_id"] for one in report["instances"]] == ["lwc-1", "apex-2", "flow-3"]
    assert {one["model_name"] for one in report["instances"]} == {"anthropic/claude 3.5"}
    first, second, third = report["instances"]
    assert (first["status"], first["resolved"], first["duration_seconds"]) == (
        "resolved",
        True,
        245.3,
    )
    assert first["validation"]["total_score"] == 90
    assert first["validation"]["deployment_status"] == "skipped"
    assert (second["status"], second["resolved"], second["error_message"]) == (
        "fail",
        False,
        "no class",
    )
    assert third["status"] == "skipped"
    assert report["summary"]["resolved_instances"] == 1
    assert report["resolved_ids"] == ["lwc-1"]
    assert report["unresolved_ids"] == ["apex-2"]
    assert kept(report)["instances"] == {"flow-3": {"reviewer": {"name": "someone"}}}


def test_what_is_not_told_is_null_and_not_zero():
    report = migrate_v1_to_v2(flat({"instance_id": "a", "status": "fail"}))

    assert report["instances"][0]["duration_seconds"] is None
    assert report["instances"][0]["validation"]["total_score"] is None
    assert report["summary"]["avg_score"] is None


def test_a_run_file_gives_status_times_and_configuration():
    report = migrate_v1_to_v2(RUN_FILE)

    assert report["model_name"] == "anthropic/claude 3.5"
    assert report["dataset"] == "verified"
    assert report["start_time"] == report["created_at"] == "2025-12-29T14:36:59.123456"
    assert report["run_id"] == "anthropic-claude_3.5-20251229_143659"
    assert report["config"]["tasks_file"] == "data/tasks/verified.json"
    assert report["config"]["validation_mode"] == "functional"
    assert report["config"]["functional_validation"] is True
    assert report["config"] == report["evaluation_config"]
    found = by_id(report)
    statuses = {key: (one["status"], one["resolved"]) for key, one in found.items()}
    assert statuses == {
        "lwc-1": ("resolved", True),
        "apex-2": ("fail", False),
        "flow-3": ("error", False),
        "arch-4": ("error", False),
    }
    assert found["flow-3"]["error_type"] == "timeout"
    assert found["arch-4"]["error_type"] is None
    assert found["lwc-1"]["start_time"] == "2025-12-29T14:31:00.5"
    assert found["apex-2"]["duration_seconds"] == 3


def test_functional_validation_becomes_components_with_their_points():
    report = migrate_v1_to_v2(RUN_FILE)

    validation = by_id(report)["lwc-1"]["validation"]
    assert {name: validation[f"{name}_status"] for name in ("deployment", "unit_test", "bulk")} == {
        "deployment": "pass",
        "unit_test": "pass",
        "bulk": "fail",
    }
    assert validation["no_tweaks_status"] == "skipped"
    assert (validation["functional_points"], validation["bulk_points"]) == (50, 0)
    assert validation["total_score"] == 80.0
    assert validation["functional_details"]["steps"] == FUNCTIONAL["steps"]
    functional = kept(report)["instances"]["lwc-1"]["functional_validation"]
    assert functional == {
        "overall_status": "passed",
        "bulk_tests_passed": True,
        "no_manual_tweaks": None,
    }
    assert by_id(report)["apex-2"]["validation"]["deployment_status"] == "skipped"


def test_a_score_of_the_file_wins_over_the_sum_of_points():
    migration = migrate_v1_to_v2(
        {**RUN_FILE, "functional_validation": [{**FUNCTIONAL, "score": 12.5}]}
    )
    untold = migrate_v1_to_v2(
        {**RUN_FILE, "functional_validation": [{**FUNCTIONAL, "score": None}]}
    )

    assert by_id(migration)["lwc-1"]["validation"]["total_score"] == 12.5
    assert by_id(untold)["lwc-1"]["validation"]["total_score"] == 80


def test_the_score_of_a_result_wins_over_that_of_its_functional_validation():
    results = [{**RESULTS[0], "score": 55}, *RESULTS[1:]]

    report = migrate_v1_to_v2({**RUN_FILE, "results": results})

    assert by_id(report)["lwc-1"]["validation"]["total_score"] == 55
    assert kept(report)["instances"]["lwc-1"]["functional_validation"]["score"] == 80.0


def test_functional_validation_of_no_result_is_kept():
    fields = kept(migrate_v1_to_v2(RUN_FILE))["fields"]

    assert fields["functional_validation"] == [{"task_id": "gone-9", "overall_status": "pending"}]
    assert fields["segment_results"] == RUN_FILE["segment_results"]


def test_a_run_without_functional_validation_says_so_in_its_configuration():
    report = migrate_v1_to_v2({**RUN_FILE, "functional_validation": None})

    assert report["config"]["functional_validation"] is False
    assert report["summary"]["deployment_pass_rate"] is None


@pytest.mark.parametrize(
    ("word", "status"),
    [
        ("PASS", "resolved"),
        ("Passed", "resolved"),
        ("success", "resolved"),
        ("RESOLVED", "resolved"),
        ("Fail", "fail"),
        ("failed", "fail"),
        ("Error", "error"),
        ("timeout", "error"),
        ("SKIPPED", "skipped"),
    ],
)
def test_every_word_for_a_status_is_read_in_any_case(word, status):
    report = migrate_v1_to_v2([{"task_id": "a", "status": word}])

    one = report["instances"][0]
    assert (one["status"], one["resolved"]) == (status, status == "resolved")
    assert kept(report)["instances"]["a"]["status"] == word


def test_a_status_and_a_verdict_that_differ_stay_as_they_are():
    moves = migration_of(
        flat(
            {"instance_id": "a", "status": "fail", "resolved": True},
            {"instance_id": "b", "status": "resolved", "resolved": False},
        )
    )

    assert [(one["status"], one["resolved"]) for one in moves.report["instances"]] == [
        ("fail", True),
        ("resolved", False),
    ]
    assert any("contradicts the status" in move.note for move in moves.mapped)
    assert is_valid(schema_problems(moves.report))


def test_a_validation_that_v2_knows_is_taken_over_and_another_one_kept():
    good = {"deployment_status": "pass", "deployment_points": 10, "ours": 1}
    report = migrate_v1_to_v2(
        flat(
            {"instance_id": "a", "status": "fail", "validation": good},
            {"instance_id": "b", "status": "fail", "validation": {"deployment_status": "maybe"}},
        )
    )

    assert by_id(report)["a"]["validation"]["total_score"] == 10
    assert by_id(report)["a"]["validation"]["ours"] == 1
    assert kept(report)["instances"]["b"]["validation"] == {"deployment_status": "maybe"}


def test_fields_of_v2_that_an_older_report_has_already_stay():
    report = migrate_v1_to_v2(
        flat(
            {"instance_id": "a", "status": "error", "error_type": 7, "solution_patch": "diff"},
            run_id="mine",
            schema_version="1.0",
            start_time="2025-01-01T00:00:00",
            end_time="2025-01-01T01:00:00",
            config={"max_workers": 3, "other": [1]},
            environment={"python": "3.12"},
            summary={"total_instances": 9},
        )
    )

    assert (report["run_id"], report["end_time"]) == ("mine", "2025-01-01T01:00:00")
    assert report["evaluation_config"]["max_workers"] == 3
    assert report["config"]["other"] == [1]
    assert report["environment"]["python"] == "3.12"
    assert report["instances"][0]["solution_patch"] == "diff"
    assert kept(report)["instances"]["a"] == {"error_type": 7}
    assert kept(report)["fields"] == {"schema_version": "1.0", "summary": {"total_instances": 9}}


# --------------------------------------------------------------------------------- the account


def test_stored_totals_that_the_results_contradict_are_kept_and_named():
    moves = migration_of(STATISTICS)

    assert kept(moves.report)["fields"]["statistics"] == STATISTICS["statistics"]
    (note,) = [move.note for move in moves.carried if move.pointer == "/statistics"]
    assert note == "passed says 3, the results say 1; the results win"
    notes = [move.note for move in migration_of({**RUN_FILE, "pass_rate": 99}).carried]
    assert "says 99, the results say 25; the results win" in notes


def test_a_stored_summary_is_held_against_the_one_that_is_counted():
    stored = {"resolve_rate": 41.67, "resolved_instances": 5, "failed_instances": 1}

    moves = migration_of(flat({"instance_id": "a", "status": "fail"}, summary=stored))

    (note,) = [move.note for move in moves.carried]
    assert note == "resolved_instances says 5, the results say 0; the results win"


def test_another_field_called_results_is_kept():
    report = migrate_v1_to_v2(flat({"instance_id": "a", "status": "fail"}, results="out/a"))

    assert kept(report)["fields"] == {"results": "out/a"}


def test_equal_moves_of_many_instances_are_one_line_with_their_number():
    moves = migration_of(RUN_FILE)

    targets = {(move.pointer, move.target): move.note for move in moves.mapped}
    assert targets["/results/*/duration", "/instances/*/duration_seconds"] == "4 values"
    assert ("/model", "/model_name") in targets
    assert {move.target for move in moves.defaulted} >= {"/run_id", "/instances/*/resolved"}
    assert [move.target for move in moves.defaulted] == kept(moves.report)["defaulted"]


def test_a_start_comes_from_the_file_then_its_instances_then_now():
    now = datetime(2026, 1, 2, 3, 4, 5, 678, timezone(timedelta(hours=2)))
    bare = flat({"instance_id": "a", "status": "fail"})

    assert migrate_v1_to_v2(RUN_FILE, now)["start_time"] == RUN_FILE["timestamp"]
    assert migrate_v1_to_v2(STATISTICS, now)["start_time"] == "2025-12-29T14:30:30"
    assert migrate_v1_to_v2(bare, now)["start_time"] == "2026-01-02T01:04:05Z"
    assert migrate_v1_to_v2(bare, now)["run_id"] == "m-20260102_010405"
    assert migrate_v1_to_v2(bare)["start_time"] == "1970-01-01T00:00:00Z"
    assert any("unknown" in move.note for move in migration_of(bare).defaulted)


def test_times_that_cannot_be_compared_tell_no_start():
    mixed = [
        {"task_id": "a", "status": "PASS", "timestamp": "2025-12-29T14:30:00Z"},
        {"task_id": "b", "status": "PASS", "timestamp": "2025-12-29T13:30:00"},
    ]

    report = migrate_v1_to_v2(mixed, datetime(2026, 1, 1, tzinfo=UTC))

    assert report["start_time"] == "2026-01-01T00:00:00Z"


def test_a_time_that_is_no_date_stays_as_it_is_written():
    report = migrate_v1_to_v2({**RUN_FILE, "timestamp": "last / Tuesday"})

    assert report["start_time"] == "last / Tuesday"
    assert report["run_id"] == "anthropic-claude_3.5-last_Tuesday"


def test_results_of_single_tasks_take_the_model_that_is_given():
    assert migration_of(RESULTS, model_name="claude").report["model_name"] == "claude"
    assert migration_of(RESULTS).report["model_name"] == "unknown"
    assert migration_of(RUN_FILE, model_name="claude").report["model_name"] != "claude"


@pytest.mark.parametrize("shape", SHAPES)
def test_each_shape_is_known_by_its_content(shape):
    moves = migration_of(SHAPES[shape])

    assert moves.shape == shape == shape_of(SHAPES[shape]) == kept(moves.report)["shape"]


# ---------------------------------------------------------------------------------- v2 and others


@pytest.mark.parametrize("data", SHAPES.values(), ids=SHAPES)
def test_a_report_of_v2_stays_as_it_is(data):
    report = migrate_v1_to_v2(data)

    again = migration_of(report)
    assert again.shape == "v2"
    assert again.report == report
    assert (again.mapped, again.defaulted, again.carried) == ((), (), ())


def test_a_report_of_v2_stays_as_it_is_with_all_its_mistakes():
    broken = {"schema_version": "2.0", "instances": None}

    assert migrate_v1_to_v2(broken) == {"schema_version": "2.0", "instances": None}


@pytest.mark.parametrize(
    "data",
    [
        None,
        5,
        "text",
        [],
        {},
        [1, 2],
        [{"instance_id": "a", "model_patch": "diff"}],
        {"model_name": "m"},
        {"results": []},
        {"results": [{"score": 1}]},
        {"instances": [{"bbox": [1, 2]}]},
        {"schema_version": 2, "total_instances": 3, "resolved_ids": []},
        RESULTS[0],
    ],
)
def test_anything_else_is_refused_and_told_what_was_looked_for(data):
    found = refusal(data)

    assert {one.code for one in found.findings} == {"not_recognised"}
    assert "`instances`" in str(found)
    assert "`task_id`" in str(found)


def test_no_report_is_empty_unless_its_file_is():
    assert migrate_v1_to_v2(flat())["summary"]["total_instances"] == 0
    assert migrate_v1_to_v2({**RUN_FILE, "total_tasks": 0, "results": []})["instances"] == []
    assert mistakes({**RUN_FILE, "results": []}) == {("count_contradicts", "/results")}
    assert mistakes(flat(summary={"total_instances": 3})) == {("count_contradicts", "/instances")}
    assert mistakes({**RUN_FILE, **FLAT}) == {("ambiguous_shape", "/results")}
    assert migration_of({**RUN_FILE, "instances": []}).shape == "run_file"


# ------------------------------------------------------------------------------------- mistakes


def test_every_mistake_is_told_with_its_place():
    data = flat(
        5,
        {
            "instance_id": 3,
            "status": "bogus",
            "score": float("nan"),
            "duration": -1,
            "resolved": "yes",
        },
        {"instance_id": "a", "status": None, "error_message": ["no"]},
        {"instance_id": "a", "status": "fail", "score": True},
        {"instance_id": "b", "status": "fail", "score": 1e308, "duration": 10**400},
        {"instance_id": "\ud800", "status": "fail"},
        dataset=7,
    )

    assert mistakes(data) == {
        ("wrong_type", "/instances/0"),
        ("wrong_type", "/instances/1/instance_id"),
        ("unknown_status", "/instances/1/status"),
        ("bad_value", "/instances/1/score"),
        ("bad_value", "/instances/1/duration"),
        ("wrong_type", "/instances/1/resolved"),
        ("unknown_status", "/instances/2/status"),
        ("wrong_type", "/instances/2/error_message"),
        ("duplicate_instance_id", "/instances/3"),
        ("wrong_type", "/instances/3/score"),
        ("bad_value", "/instances/4/score"),
        ("bad_value", "/instances/4/duration"),
        ("bad_value", "/instances/5/instance_id"),
        ("wrong_type", "/dataset"),
    }


def test_mistakes_of_a_run_file_are_told_with_their_places():
    data = {
        "model": ["m"],
        "results": [{"task_id": "a", "status": "PASS"}, {"status": "PASS"}, {"task_id": "b"}],
        "functional_validation": [
            7,
            {"overall_status": "passed"},
            {"task_id": "a", "deployment_passed": "yes", "score": "80"},
            {"task_id": "a"},
        ],
    }

    assert mistakes(data) == {
        ("wrong_type", "/model"),
        ("missing_field", "/results/1"),
        ("missing_field", "/results/2"),
        ("wrong_type", "/functional_validation/0"),
        ("missing_field", "/functional_validation/1"),
        ("wrong_type", "/functional_validation/2/deployment_passed"),
        ("wrong_type", "/functional_validation/2/score"),
        ("duplicate_instance_id", "/functional_validation/3"),
    }


@pytest.mark.parametrize("version", ["3.0", 2.0, True, {}, "x" * 10_000])
def test_a_version_that_nobody_knows_is_refused(version):
    data = flat({"instance_id": "a", "status": "fail"}, schema_version=version)

    assert mistakes(data) == {("unsupported_version", "/schema_version")}


def test_a_missing_id_and_status_are_the_older_tools_defaults_and_told():
    moves = migration_of(flat({"status": "fail"}, {"instance_id": "a"}))

    assert [(one["instance_id"], one["status"]) for one in moves.report["instances"]] == [
        ("unknown", "fail"),
        ("a", "error"),
    ]
    assert {"/instances/*/instance_id", "/instances/*/status"} <= {
        move.target for move in moves.defaulted
    }
    assert mistakes(flat({"status": "fail"}, {"status": "fail"})) == {
        ("duplicate_instance_id", "/instances/1")
    }


@pytest.mark.parametrize("depth", [150, 205, 100_000])
def test_nesting_gives_a_valid_report_or_a_finding(depth):
    deep = []
    for _ in range(depth):
        deep = [deep]
    data = flat({"instance_id": "a", "status": "fail", "deep": deep}, other=deep)

    if depth < 200:
        assert is_valid(schema_problems(migrate_v1_to_v2(data)))
    else:
        assert {code for code, _ in mistakes(data)} == {"too_deep"}


@pytest.mark.parametrize("levels", range(190, 203))
def test_what_just_fits_before_still_fits_after(levels):
    deep = []
    for _ in range(levels):
        deep = [deep]
    data = {**RUN_FILE, "functional_validation": [{**FUNCTIONAL, "deep": deep}], "other": deep}

    moves, findings = outcome(data)

    assert {one.code for one in findings} <= {"too_deep"}
    assert moves is None or is_valid(schema_problems(moves.report))


# ----------------------------------------------------------------------------------- properties

TEXT = st.text(st.characters(codec="utf-8"), max_size=12)
NUMBER = st.integers(-(2**70), 2**70) | st.floats(allow_nan=False, allow_infinity=False)
JSON = st.recursive(
    st.none() | st.booleans() | NUMBER | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=6,
)
SCORE = st.none() | st.floats(-1e6, 1e6) | st.integers(-(10**6), 10**6)
SECONDS = st.none() | st.floats(0, 1e9) | st.integers(0, 10**9)
TIME = st.datetimes(min_value=datetime(1990, 1, 1)).map(datetime.isoformat)  # noqa: DTZ001
STATUS = st.sampled_from(["resolved", "PASS", "Passed", "fail", "FAIL", "ERROR", "timeout"])
STRICT_ENTRY = {"instance_id", "task_id", "status", "resolved", "duration", "duration_seconds"} | {
    "error_message",
    "score",
}
STRICT_TOP = {"instances", "results", "schema_version", "model_name", "model", "dataset"} | {
    "model_name_or_path",
    "functional_validation",
    "statistics",
    "summary",
    "total_tasks",
    "total",
    "total_instances",
}
LOOSE = ("error_type", "start_time", "timestamp", "end_time", "validation", "log_path", "details")
LOOSE_TOP = ("config", "evaluation_config", "environment", "run_id", "start_time", "created_at")
OTHERS = (*LOOSE, "functional_validation", "model_name", "model")


def more(names, strict):
    keys = st.sampled_from(names) | TEXT.filter(lambda key: key not in strict)
    return st.dictionaries(keys, JSON | TIME, max_size=4)


def entries(name, least=0):
    fields = st.fixed_dictionaries(
        {"status": STATUS},
        optional={
            "resolved": st.none() | st.booleans(),
            "duration": SECONDS,
            "score": SCORE,
            "error_message": st.none() | TEXT,
            "timestamp": TIME,
        },
    )
    whole = st.builds(lambda extra, known: extra | known, more(OTHERS, STRICT_ENTRY), fields)
    return st.dictionaries(TEXT, whole, min_size=least, max_size=4).map(
        lambda found: [{name: key} | one for key, one in found.items()]
    )


FLAG = st.none() | st.booleans()
VALIDATED = st.dictionaries(
    TEXT,
    st.builds(
        lambda extra, known: extra | known,
        st.dictionaries(
            st.sampled_from(["steps", "validation_level", "overall_status", "x"]), JSON
        ),
        st.fixed_dictionaries(
            {},
            optional={
                "score": SCORE,
                "deployment_passed": FLAG,
                "unit_tests_passed": FLAG,
                "functional_tests_passed": FLAG,
                "bulk_tests_passed": FLAG,
                "bulk_operations_passed": FLAG,
                "no_manual_tweaks": FLAG,
            },
        ),
    ),
    max_size=3,
).map(lambda found: [one | {"task_id": key} for key, one in found.items()])


@st.composite
def old_reports(draw):
    """Return a report of any older shape without a mistake."""
    shape = draw(st.sampled_from(list(SHAPES)))
    if shape == "task_files":
        return draw(entries("task_id", 1))
    top = draw(more(LOOSE_TOP, STRICT_TOP))
    if shape == "flat":
        return {**top, "model_name": draw(TEXT), "instances": draw(entries("instance_id"))}
    results = draw(entries("task_id", 1))
    if shape == "statistics":
        return {**top, "statistics": draw(st.dictionaries(TEXT, JSON)), "results": results}
    functional = draw(st.none() | st.booleans() | VALIDATED)
    if isinstance(functional, list) and draw(st.booleans()):
        functional = [
            one | {"task_id": result["task_id"]}
            for one, result in zip(functional, results, strict=False)
        ]
    run = {**top, "model": draw(st.none() | TEXT), "results": results}
    return run | {"functional_validation": functional, "passed": draw(JSON)}


def leaves(value):
    """Return texts and numbers of a document with how often each stands there."""
    found, stack = Counter(), [value]
    while stack:
        one = stack.pop()
        if isinstance(one, dict):
            stack += one.values()
        elif isinstance(one, list):
            stack += one
        elif one is not None and not isinstance(one, bool):
            found[one] += 1
    return found


@given(old_reports())
@settings(max_examples=80)
def test_any_older_report_becomes_a_valid_one_and_loses_nothing(data):
    before = copy.deepcopy(data)

    report = migrate_v1_to_v2(data)

    assert data == before
    problems = schema_problems(report)
    assert is_valid(problems), [one for one in problems if one.severity == "error"]
    assert not leaves(data) - leaves(report)
    entries = data if isinstance(data, list) else data.get("instances") or data.get("results", [])
    assert len(report["instances"]) == len(entries)
    assert report == migrate_v1_to_v2(data)


@given(old_reports())
@settings(max_examples=40)
def test_a_migrated_report_is_written_and_read_as_it_is(data):
    report = migrate_v1_to_v2(data)

    text = json.dumps(report, indent=2, allow_nan=False) + "\n"
    assert json.loads(text) == report
    record = EvaluationReport(**report)
    assert report_json(record) == text


@given(st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=4)
    | st.sampled_from(["PASS", "fail", "a"]),
    lambda inner: st.lists(inner, max_size=4)
    | st.dictionaries(
        st.sampled_from([*sorted(STRICT_TOP | STRICT_ENTRY), *LOOSE, *LOOSE_TOP]), inner, max_size=6
    ),
    max_leaves=25,
))  # fmt: skip
@settings(max_examples=200)
def test_any_value_at_all_gives_a_valid_report_or_findings(data):
    moves, findings = outcome(data)

    assert (moves is None) == bool(findings)
    if moves is not None and moves.shape != "v2":
        assert is_valid(schema_problems(moves.report))


def test_what_is_changed_in_the_report_leaves_the_source_alone():
    data = copy.deepcopy(RUN_FILE)
    report = migrate_v1_to_v2(data)

    by_id(report)["lwc-1"]["validation"]["functional_details"]["steps"].clear()
    kept(report)["fields"]["segment_results"].clear()
    kept(report)["instances"]["apex-2"]["details"].clear()
    assert data == RUN_FILE


@pytest.mark.peers
def test_ten_thousand_results_are_migrated_in_a_moment():
    results = [{**RESULTS[1], "task_id": f"t-{n}"} for n in range(10_000)]
    functional = [{**FUNCTIONAL, "task_id": f"t-{n}"} for n in range(10_000)]

    moves = migration_of({**RUN_FILE, "results": results, "functional_validation": functional})

    assert moves.report["summary"]["instances_unresolved"] == 10_000
    assert len(moves.mapped) < 30
