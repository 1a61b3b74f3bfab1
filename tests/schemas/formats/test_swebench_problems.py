"""What is found wrong with reports of the SWE-bench harness, and with predictions."""

import copy
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas.formats.swebench import prediction_problems, swebench_problems

GOOD = {
    "total_instances": 6,
    "submitted_instances": 6,
    "completed_instances": 3,
    "resolved_instances": 1,
    "unresolved_instances": 1,
    "infra_failure_instances": 1,
    "ambiguous_failure_instances": 1,
    "empty_patch_instances": 1,
    "error_instances": 2,
    "completed_ids": ["a", "b", "d"],
    "incomplete_ids": ["f"],
    "empty_patch_ids": ["c"],
    "submitted_ids": ["a", "b", "c", "d", "e", "x"],
    "resolved_ids": ["a"],
    "unresolved_ids": ["b"],
    "infra_failure_ids": ["b"],
    "ambiguous_failure_ids": ["e"],
    "failure_reasons": {"b": "out_of_memory", "e": "missing_module"},
    "error_ids": ["d", "e"],
    "schema_version": 2,
}

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=8,
)


def found(**changes):
    """Return code, place and severity of what is wrong after some changes."""
    value = {name: content for name, content in (GOOD | changes).items() if content != "absent"}
    before = copy.deepcopy(value)
    problems = swebench_problems(value)
    assert value == before
    return [(one.code, one.pointer) for one in problems if one.severity == "error"], [
        (one.code, one.pointer) for one in problems if one.severity == "warning"
    ]


def test_a_report_as_the_harness_writes_it_has_no_problem():
    assert found() == ([], [])


def test_fields_of_containers_and_unknown_ones_are_welcome():
    more = {
        "unstopped_instances": 1,
        "unstopped_containers": ["c"],
        "unremoved_images": [],
        "pending_instances": 0,
    }

    assert found(**more) == ([], [])


@pytest.mark.parametrize(
    ("changes", "errors"),
    [
        ({"resolved_ids": "absent"}, [("missing_field", "/resolved_ids")]),
        ({"schema_version": "2.0"}, [("bad_value", "/schema_version")]),
        ({"schema_version": "absent"}, [("missing_field", "/schema_version")]),
        ({"total_instances": "6"}, [("wrong_type", "/total_instances")]),
        ({"total_instances": True}, [("wrong_type", "/total_instances")]),
        ({"total_instances": 1e308}, [("wrong_type", "/total_instances")]),
        ({"total_instances": -1}, [("bad_value", "/total_instances")]),
        ({"total_instances": float("nan")}, [("bad_value", "/total_instances")]),
        ({"total_instances": 10**5000}, [("bad_value", "/total_instances")]),
        ({"error_ids": ["d", 5]}, [("wrong_type", "/error_ids/1")]),
        ({"error_ids": {"d": 1, "e": 2}}, [("wrong_type", "/error_ids")]),
        ({"note": float("inf")}, [("bad_value", "/note")]),
        ({"note": "\ud800"}, [("bad_value", "/note")]),
        ({"infra_failure_ids": "absent"}, [("missing_field", "/infra_failure_ids")]),
        ({"failure_reasons": None}, [("missing_field", "/failure_reasons")]),
        ({"error_instances": 3}, [("count_contradicts", "/error_instances")]),
        ({"unstopped_instances": 1, "unstopped_containers": []},
         [("count_contradicts", "/unstopped_instances")]),
        ({"total_instances": 5}, [("count_contradicts", "/total_instances")]),
        ({"error_ids": ["d", "d", "e"], "error_instances": 3},
         [("duplicate_instance_id", "/error_ids")]),
        ({"resolved_ids": ["z"]},
         [("ids_contradict", "/resolved_ids"), ("ids_contradict", "/completed_ids")]),
        ({"incomplete_ids": ["a"], "total_instances": 5},
         [("ids_contradict", "/resolved_ids"), ("ids_contradict", "/submitted_ids")]),
        ({"empty_patch_ids": ["e"], "total_instances": 5},
         [("ids_contradict", "/error_ids")]),
        ({"infra_failure_ids": ["a"]},
         [("ids_contradict", "/infra_failure_ids"), ("ids_contradict", "/failure_reasons"),
          ("ids_contradict", "/failure_reasons/b")]),
        ({"failure_reasons": {"b": "missing_module", "e": "missing_module"}},
         [("ids_contradict", "/failure_reasons/b")]),
        ({"failure_reasons": {"b": "out_of_memory"}}, [("ids_contradict", "/failure_reasons")]),
    ],
)  # fmt: skip
def test_each_mistake_is_told_with_its_place(changes, errors):
    assert found(**changes) == (errors, [])


def test_what_is_odd_and_not_wrong_is_a_warning():
    findings = found(
        total_instances=7,
        error_ids=["e", "d"],
        failure_reasons={"b": "out_of_memory", "e": "solar_flare"},
        ambiguous_failure_ids=["e"],
    )

    assert findings == (
        [],
        [
            ("not_sorted", "/error_ids"),
            ("partial_instances", "/total_instances"),
            ("unknown_reason", "/failure_reasons/e"),
        ],
    )


def test_all_mistakes_are_found_at_once():
    errors, _ = found(total_instances="6", error_instances=9, infra_failure_ids="absent")

    assert errors == [
        ("wrong_type", "/total_instances"),
        ("missing_field", "/infra_failure_ids"),
        ("count_contradicts", "/error_instances"),
    ]


def test_a_key_that_no_file_can_hold_hides_no_other_mistake():
    errors, _ = found(**{"\ud800": 1, "resolved_ids": [1, "a"]})

    assert errors == [("bad_value", ""), ("wrong_type", "/resolved_ids/0")]


@given(json_values)
def test_any_json_gives_findings_and_never_an_exception(value):
    for problems in (swebench_problems, prediction_problems):
        assert isinstance(problems(value), tuple)


@given(st.sampled_from(sorted(GOOD)), json_values)
def test_any_value_in_any_field_gives_findings_and_never_an_exception(name, value):
    assert all(one.message for one in swebench_problems(GOOD | {name: value}))


@pytest.mark.parametrize("problems", [swebench_problems, prediction_problems])
def test_nesting_of_any_depth_is_a_finding(problems):
    value = innermost = []
    for _ in range(100_000):
        innermost.append([])
        innermost = innermost[0]

    findings = problems({"x": value} if problems is swebench_problems else [{"x": value}])

    assert "too_deep" in {one.code for one in findings}


def test_many_wrong_ids_take_no_time_to_speak_of():
    ids = [str(number % 5_000) for number in range(50_000)]

    findings = swebench_problems(GOOD | {"error_ids": ids})

    assert ("duplicate_instance_id", "/error_ids") in {(one.code, one.pointer) for one in findings}


def test_findings_can_be_written_as_json():
    findings = swebench_problems(GOOD | {"a\ud800": "\udfff", "error_ids": ["\ud800", "\ud800"]})

    assert all(json.loads(one.model_dump_json())["message"] for one in findings)
