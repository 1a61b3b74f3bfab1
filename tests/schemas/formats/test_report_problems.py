"""What is wrong with a report: the examples of schema v2, every code, and hostile documents."""

import copy
import json
import math
from collections import OrderedDict

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from schemas.base import ValidatedFile
from schemas.formats.report_v2 import EvaluationReport, report_json, summary_of
from schemas.formats.report_v2_instance import CRITICAL
from schemas.formats.report_v2_problems import schema_problems, validate_schema
from schemas.io.json_text import read_json_text
from tests.support.v2_reports import COMPLETE, filled, instance, parsed, passing, report, reports


def findings_of(document):
    """Return severity, code and place of each finding, in order."""
    return [(one.severity, one.code, one.pointer) for one in schema_problems(document)]


def only(document):
    """Return code and place of the one finding."""
    found = findings_of(document)
    assert len(found) == 1, found
    return found[0]


def with_summary(document, **changes):
    document["summary"] |= changes
    return document


def test_the_documents_top_level_example_is_only_short_of_instances():
    assert only(filled()) == ("warning", "partial_instances", "/summary/total_instances")
    assert validate_schema(filled())


def test_the_top_level_example_with_an_instance_for_each_id_has_no_finding():
    document = filled()
    one = document["instances"][0]
    failed = passing(functional_status="fail", functional_points=0, total_score=50)
    lost = {f"{name}_status": "error" for name in CRITICAL}
    lost |= {f"{name}_points": 0 for name in CRITICAL} | {"total_score": 20}
    document["instances"] = [
        one,
        one | {"instance_id": "apex-trigger-handler-001"},
        one | instance("flow-screen-component-001", "fail", validation=failed),
        one | instance("architecture-001", "error", validation=passing(**lost)),
    ]
    document["summary"] = summary_of(parsed(document["instances"])).model_dump()

    assert schema_problems(document) == ()
    assert document["summary"]["resolved_instances"] == 2


def test_the_documents_complete_example_is_valid_with_warnings():
    document = json.loads(COMPLETE)
    assert validate_schema(document)
    found = findings_of(document)
    assert {severity for severity, _, _ in found} == {"warning"}
    assert [(code, place) for _, code, place in found] == [
        ("partial_instances", "/summary/total_instances"),
        ("percent_rate", "/summary/resolve_rate"),
        ("derivable_absent", "/summary/instances_resolved"),
        ("derivable_absent", "/summary/resolution_rate"),
        ("derivable_absent", "/model_name_or_path"),
        ("derivable_absent", "/evaluation_config"),
        ("derivable_absent", "/created_at"),
        ("derivable_absent", "/resolved_ids"),
        ("derivable_absent", "/unresolved_ids"),
        ("derivable_absent", "/error_ids"),
        ("derivable_absent", "/empty_patch_ids"),
        ("derivable_absent", "/completed_ids"),
    ]


@pytest.mark.parametrize("value", [None, True, 0, 1.5, "text", [], [[]], float("nan"), ()])
def test_what_is_no_object_is_no_report(value):
    assert not validate_schema(value)
    assert findings_of(value)[-1] == ("error", "not_an_object", "")


def test_an_empty_object_lacks_each_required_field_once():
    assert findings_of({}) == [
        ("error", "missing_field", f"/{name}")
        for name in (
            "schema_version", "run_id", "model_name", "dataset", "start_time", "config",
            "instances", "summary",
        )
    ]  # fmt: skip


def test_an_instance_lacks_its_id_and_its_status():
    found = findings_of(report(instance("a")) | {"instances": [{"resolved": True}]})
    assert ("error", "missing_field", "/instances/0/instance_id") in found
    assert ("error", "missing_field", "/instances/0/status") in found


def test_a_key_that_is_no_text_is_one_error_at_its_object():
    odd_instance = instance("a", validation={"functional_details": {1: 2}})
    document = report(instance("a")) | {"instances": [odd_instance]}
    place = "/instances/0/validation/functional_details"
    assert [one for one in findings_of(document) if one[0] == "error"] == [
        ("error", "wrong_type", place)
    ]


def test_dictionaries_of_any_class_are_objects():
    document = json.loads(report_json(EvaluationReport(**report(*three()))),
                          object_pairs_hook=OrderedDict)  # fmt: skip
    assert findings_of(document) == []


def test_a_missing_pair_is_one_finding_that_names_both():
    document = report()
    del document["config"], document["evaluation_config"]
    (one,) = schema_problems(document)
    assert (one.code, one.pointer) == ("missing_field", "/config")
    assert "`evaluation_config`" in one.message


@pytest.mark.parametrize(
    ("change", "place"),
    [
        ({"run_id": 7}, "/run_id"),
        ({"model_name": None}, "/model_name"),
        ({"dataset": ["verified"]}, "/dataset"),
        ({"instances": {}}, "/instances"),
        ({"instances": None}, "/instances"),
        ({"summary": []}, "/summary"),
        ({"config": "x"}, "/config"),
        ({"environment": [1]}, "/environment"),
        ({"resolved_ids": "a"}, "/resolved_ids"),
        ({"resolved_ids": ["a", 1]}, "/resolved_ids/1"),
        ({"instances": [None]}, "/instances/0"),
        ({"instances": ["instance_id status"]}, "/instances/0"),
        ({"instances": [instance("a", resolved="yes")]}, "/instances/0/resolved"),
        ({"instances": [instance("a", resolved=1)]}, "/instances/0/resolved"),
        ({"instances": [instance("a", duration_seconds=True)]}, "/instances/0/duration_seconds"),
        ({"instances": [instance("a", validation=[])]}, "/instances/0/validation"),
        ({"instances": [{"status": "fail", "instance_id": 5}]}, "/instances/0/instance_id"),
    ],
)
def test_a_field_of_a_wrong_type_is_an_error_at_its_place(change, place):
    errors = [one for one in findings_of(report(instance("a")) | change) if one[0] == "error"]
    assert errors == [("error", "wrong_type", place)]


def messages(document):
    return {one.pointer: one.message for one in schema_problems(document)}


def test_a_message_names_what_was_found_and_what_is_allowed():
    document = report() | {
        "run_id": None,
        "instances": [instance("a", "PASS", duration_seconds="3 s", validation={
            "bulk_points": 1e7, "unit_test_total": -1})],
    }  # fmt: skip
    found = messages(document)
    assert found["/run_id"] == "null stands there; it has to be a text"
    assert found["/instances/0/status"] == (
        'the text "PASS" stands there; it has to be `resolved`, `fail`, `error` or `skipped`'
    )
    place = "/instances/0/duration_seconds"
    assert found[place] == 'the text "3 s" stands there; it has to be a number'
    place = "/instances/0/validation/bulk_points"
    assert found[place].endswith("it has to be at most 1,000,000")
    assert found["/instances/0/validation/unit_test_total"].endswith("it has to be at least 0")


@pytest.mark.parametrize("status", ["PASS", "", "Resolved", "timeout", "\ud800"])
def test_an_unknown_status_is_an_error(status):
    found = findings_of(report() | {"instances": [instance("a", status)]})
    codes = {code for _, code, place in found if place == "/instances/0/status"}
    assert codes <= {"unknown_status", "bad_value"}
    assert codes
    assert not validate_schema(report() | {"instances": [instance("a", status)]})


def test_an_unknown_status_of_a_component_is_an_error():
    document = report() | {"instances": [instance("a", validation={"bulk_status": "passed"})]}
    assert ("error", "unknown_status", "/instances/0/validation/bulk_status") in findings_of(
        document
    )


@pytest.mark.parametrize("version", ["1.0", "2.00", 2, None, "2.0 ", ["2.0"]])
def test_another_version_is_an_error(version):
    assert only(report(schema_version=version)) == (
        "error", "unsupported_version", "/schema_version",
    )  # fmt: skip


def test_an_id_that_stands_twice_is_an_error_naming_the_first():
    document = report(instance("a"), instance("b"))
    document["instances"].append(instance("a"))
    document["summary"]["total_instances"] = 3
    (one,) = schema_problems(document)
    assert (one.code, one.pointer) == ("duplicate_instance_id", "/instances/2/instance_id")
    assert one.message == 'instance 0 has the id "a" as well'


def test_more_instances_than_the_total_are_an_error():
    document = with_summary(report(instance("a"), instance("b")), total_instances=1)
    assert only(document) == ("error", "too_many_instances", "/summary/total_instances")


COUNTS = [
    "instances_submitted",
    "instances_completed",
    "resolved_instances",
    "instances_resolved",
    "instances_unresolved",
    "failed_instances",
    "error_instances",
    "instances_error",
    "instances_empty_patch",
]


@pytest.mark.parametrize("name", COUNTS)
def test_a_count_that_the_instances_contradict_is_an_error(name):
    document = report(*three())
    wrong = with_summary(document, **{name: document["summary"][name] + 4})
    assert ("error", "count_contradicts", f"/summary/{name}") in findings_of(wrong)
    partial = with_summary(wrong, total_instances=9)
    assert not [code for _, code, _ in findings_of(partial) if code == "count_contradicts"]


def three():
    """Return an instance that is resolved, one that is not, and an error; all with a patch."""
    return [
        instance("a", validation=passing(), duration_seconds=10, solution_patch="d"),
        instance("b", "fail", validation=passing(functional_status="fail", functional_points=0,
                 total_score=50), duration_seconds=5, solution_patch="d"),
        instance("c", "error", solution_patch="d"),
    ]  # fmt: skip


def test_a_document_made_from_its_instances_has_no_finding():
    assert findings_of(report(*three())) == []
    assert findings_of(EvaluationReport(**report(*three()))) == []


def test_two_names_of_a_count_that_differ_are_an_error():
    document = with_summary(report(*three()), total_instances=9, instances_resolved=7)
    assert ("error", "alias_contradicts", "/summary/instances_resolved") in findings_of(document)


@pytest.mark.parametrize(
    ("name", "ids"),
    [
        ("resolved_ids", []),
        ("resolved_ids", ["a", "a"]),
        ("unresolved_ids", ["a"]),
        ("error_ids", ["c", "z"]),
        ("empty_patch_ids", ["b"]),
        ("completed_ids", ["a", "b", "d"]),
    ],
)
def test_a_list_that_the_instances_contradict_is_an_error(name, ids):
    assert only(report(*three(), **{name: ids})) == ("error", "ids_contradict", f"/{name}")


def test_a_list_in_another_order_is_no_finding():
    assert findings_of(report(*three(), completed_ids=["b", "a"])) == []


def test_a_report_of_the_older_tool_is_valid_with_a_warning_for_each_of_its_rules():
    """Skipped instances are complete, nobody has a patch, and the median is the upper one."""
    plain = [
        instance("a", validation=passing()),
        instance("b", validation={"deployment_status": "pass", "deployment_points": 10,
                 "total_score": 10}),
        instance("c", "skipped", validation={"total_score": 0}),
        instance("d", "error", validation={"total_score": 0}),
    ]  # fmt: skip
    document = report(*plain, completed_ids=["a", "b", "c"], empty_patch_ids=["a", "b", "c", "d"])
    with_summary(document, instances_completed=3, instances_empty_patch=4, median_score=10,
                 avg_functional_score=50.0, avg_duration_seconds=0.0,
                 total_duration_seconds=0.0)  # fmt: skip
    assert validate_schema(document)
    assert [(code, place) for _, code, place in findings_of(document)] == [
        ("verdict_inconsistent", "/instances/1/resolved"),
        ("older_rule", "/summary/instances_completed"),
        ("older_rule", "/summary/instances_empty_patch"),
        ("older_rule", "/summary/avg_functional_score"),
        ("older_rule", "/summary/median_score"),
        ("older_rule", "/summary/avg_duration_seconds"),
        ("older_rule", "/summary/total_duration_seconds"),
        ("older_rule", "/empty_patch_ids"),
        ("older_rule", "/completed_ids"),
    ]


@pytest.mark.parametrize(
    ("name", "near", "off", "code"),
    [
        ("resolve_rate", 0.33, 0.3, "rate_differs"),
        ("resolution_rate", 33.33, 33.3, "rate_differs"),
        ("bulk_pass_rate", 0.67, 0.6, "rate_differs"),
        ("avg_score", 75.0, 74.9, "average_differs"),
        ("median_score", 75, 100.01, "average_differs"),
        ("min_score", 50, 0.1, "average_differs"),
        ("max_score", 100.001, 99, "average_differs"),
        ("avg_functional_score", 16.67, 16, "average_differs"),
        ("avg_duration_seconds", 7.504, 7.51, "average_differs"),
        ("total_duration_seconds", 15, 15.1, "average_differs"),
    ],
)
def test_a_mean_that_is_off_by_more_than_rounding_is_a_warning(name, near, off, code):
    assert findings_of(with_summary(report(*three()), **{name: near})) == []
    assert only(with_summary(report(*three()), **{name: off})) == (
        "warning", code, f"/summary/{name}",
    )  # fmt: skip


def test_a_percentage_for_a_fraction_is_named_and_checked_as_one():
    right = with_summary(report(*three()), resolve_rate=33.33)
    assert only(right) == ("warning", "percent_rate", "/summary/resolve_rate")
    for off in (34, 33.4, 33.34):
        wrong = with_summary(report(*three()), resolve_rate=off)
        assert [code for _, code, _ in findings_of(wrong)] == ["percent_rate", "rate_differs"]


def test_a_rate_beyond_100_percent_is_an_error():
    document = with_summary(report(*three()), resolve_rate=101)
    assert ("error", "bad_value", "/summary/resolve_rate") in findings_of(document)


def test_what_follows_from_a_complete_report_and_is_absent_is_a_warning_each():
    document = report(*three())
    absent = ("failed_instances", "instances_error", "resolution_rate", "median_score")
    for name in absent:
        del document["summary"][name]
    del document["error_ids"], document["created_at"], document["instances"][1]["resolved"]
    assert findings_of(document) == [
        ("warning", "derivable_absent", "/instances/1/resolved"),
        *(("warning", "derivable_absent", f"/summary/{name}") for name in absent),
        ("warning", "derivable_absent", "/created_at"),
        ("warning", "derivable_absent", "/error_ids"),
    ]


def test_what_cannot_be_derived_may_be_absent():
    document = report(instance("a"))
    for name in ("avg_score", "functional_pass_rate", "avg_duration_seconds"):
        del document["summary"][name]
    del document["end_time"], document["environment"]
    document["instances"] = [{"instance_id": "a", "status": "resolved", "resolved": True}]
    assert findings_of(document) == []


@pytest.mark.parametrize(
    ("one", "place"),
    [
        (instance("a", "resolved", resolved=False), "status"),
        (instance("a", "fail", resolved=True), "status"),
        (instance("a", "resolved", validation={"functional_status": "pass",
                  "functional_points": 50, "total_score": 50}), "resolved"),
        (instance("a", "fail", validation=passing()), "resolved"),
    ],
)  # fmt: skip
def test_a_verdict_that_does_not_follow_is_a_warning(one, place):
    found = [(code, where) for _, code, where in findings_of(report(one))]
    assert found == [("verdict_inconsistent", f"/instances/0/{place}")]


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"total_score": 90}, "total_score"),
        ({"unit_test_coverage": 50}, "unit_test_points"),
        ({"bulk_points": 5, "total_score": 95}, "bulk_points"),
    ],
)
def test_a_score_that_does_not_follow_is_a_warning(changes, field):
    document = report(instance("a", validation=passing(**changes)))
    assert only(document) == ("warning", "score_differs", f"/instances/0/validation/{field}")


def test_a_total_without_any_component_is_no_finding():
    plain = {"total_score": 80, "deployment_points": 0, "deployment_status": "skipped"}
    assert findings_of(report(instance("a", validation=plain))) == []


def test_names_of_one_field_that_differ_are_a_warning():
    assert only(report(model_name_or_path="other")) == (
        "warning", "alias_differs", "/model_name_or_path",
    )  # fmt: skip
    assert only(report(evaluation_config={"max_workers": 3}))[1] == "alias_differs"


@pytest.mark.parametrize("time", ["yesterday", "", "29.12.2025", "1767018600"])
def test_a_time_that_is_none_is_a_warning(time):
    assert only(report(end_time=time)) == ("warning", "time_format", "/end_time")
    one = instance("a", start_time=time)
    assert only(report(one)) == ("warning", "time_format", "/instances/0/start_time")


@pytest.mark.parametrize(
    "time", ["2025-12-29T14:30:00Z", "2025-12-29T14:30:00.123456", "2025-12-29 14:30:00+01:00"]
)
def test_times_of_the_older_tool_are_times(time):
    assert findings_of(report(end_time=time)) == []


def test_findings_stand_in_the_order_of_the_document():
    document = {"summary": {"total_instances": -1}, "instances": [instance("a", "?"), 3],
                "run_id": 1, "schema_version": "3"}  # fmt: skip
    assert [one.pointer for one in schema_problems(document)][:5] == [
        "/summary/total_instances",
        "/instances/0/status",
        "/instances/1",
        "/run_id",
        "/schema_version",
    ]
    assert schema_problems(document) == schema_problems(copy.deepcopy(document))


class Odd:
    """No JSON value."""


HOSTILE = [
    {"run_id": "\ud800"},
    {"\udfff": 1},
    {"environment": {"\udfff": [{"\ud800": "\ud800"}]}},
    {1: 2, None: 3, ("a",): 4, 10**5000: 5},
    {"environment": {True: {2.5: "x"}}},
    {"summary": {1: 2}},
    {"summary": {10**5000: 2}, "instances": [{10**5000: 2} | instance("a")]},
    {"environment": {"n": math.nan, "i": [math.inf, -math.inf]}},
    {"environment": Odd(), "run_id": Odd, "model_name": {1, 2}, "dataset": b"x"},
    {"summary": {"total_instances": 10**5000, "resolve_rate": 10**400, "avg_score": 1e308}},
    {"summary": {"total_instances": True, "resolve_rate": True, "resolution_rate": math.nan}},
    {"summary": {"total_duration_seconds": 10**400, "instances_resolved": -(10**5000)}},
    {"instances": [{"instance_id": 10**5000, "status": {}, "resolved": math.nan}]},
    {"instances": [instance("a", validation={"bulk_points": 10**400, "unit_test_points": 1.5})]},
    {"instances": [instance("a", validation={"functional_details": {"coverage": 10**5000}})]},
    {"instances": [instance("a", validation={"functional_details": {"\ud800": {1: 2}}})]},
    {"instances": [instance("a", validation={"\ud800_points": 1, 3: 4})]},
    {"instances": [{1: 2}, {"\ud800": 1}, [], None, "instance_id", 5]},
    {"instances": [instance(["a"]), instance({"a": 1}), instance(None)]},
    {"instances": [instance("a", error_message="<script>alert(1)</script>\n# x\n|\x1b[31m")]},
    {"resolved_ids": [["a"], None, {}, 1e308], "error_ids": {"a": 1}, "completed_ids": 3},
    {"config": {"max_workers": 10**5000}, "evaluation_config": math.nan},
    {"start_time": 1767018600, "created_at": ["x"], "end_time": "9" * 100_000},
    {"k" * 100_000: {"~/" * 50_000: math.nan}},
    {"environment": [[[math.nan] * 2000] * 2]},
]


@pytest.mark.parametrize("number", range(len(HOSTILE)))
def test_hostile_documents_give_findings_and_stay_as_they_are(number):
    for document in (HOSTILE[number], report() | HOSTILE[number]):
        before = repr_of(document)
        found = schema_problems(document)
        assert found
        assert repr_of(document) == before
        writable(found)


def repr_of(value):
    """Return a value as text, numbers of any length too."""
    if isinstance(value, dict):
        return [(repr_of(key), repr_of(one)) for key, one in value.items()]
    if isinstance(value, list):
        return [repr_of(one) for one in value]
    return hex(value) if type(value) is int else repr(value)


def writable(findings):
    """Check that findings are short texts that can be written as UTF-8."""
    file = ValidatedFile(path="x", kind="report-v2", valid=False, n_errors=1, n_warnings=0,
                         findings=findings)  # fmt: skip
    assert file.model_dump_json().encode()
    assert all(len(one.message) < 400 and len(one.pointer) < 4000 for one in findings)


@pytest.mark.parametrize("kind", ["list", "object"])
def test_nesting_of_any_depth_is_a_finding(kind):
    deep = []
    for _ in range(100_000):
        deep = [deep] if kind == "list" else {"a": deep}
    (one,) = schema_problems(report(environment={"deep": deep}))
    assert one.code == "too_deep"
    assert schema_problems(deep)[0].code == "too_deep"
    assert not validate_schema(EvaluationReport(**report(environment={"deep": deep})))


def test_200_levels_are_not_too_deep():
    def nested(levels):
        deep = "leaf"
        for _ in range(levels):
            deep = [deep]
        return deep

    assert findings_of(report(environment={"deep": nested(198)})) == []
    assert only(report(environment={"deep": nested(199)}))[1] == "too_deep"


def test_a_document_full_of_errors_has_a_bounded_number_of_findings():
    many = report() | {"instances": [5] * 20_000, "resolved_ids": [None] * 20_000}
    found = schema_problems(many)
    assert 10_000 < len(found) < 13_000
    same = report() | {"instances": [{"instance_id": "a", "status": "fail"}] * 11_000}
    found = schema_problems(same)
    assert sum(one.code == "duplicate_instance_id" for one in found) == 10_001
    assert any(one.message.startswith("999 more") for one in found)


JSONLIKE = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text()
    | st.sampled_from(["2.0", "resolved", "fail", "\ud800", 10**4000, -(10**400), 1e308]),
    lambda inner: st.lists(inner, max_size=4)
    | st.dictionaries(
        st.sampled_from([*report(), *report()["summary"], *passing(), *instance("a")])
        | st.text(max_size=3) | st.integers(),
        inner,
        max_size=6,
    ),
    max_leaves=25,
)  # fmt: skip


@given(JSONLIKE)
def test_any_value_gives_findings_and_never_an_exception(value):
    writable(schema_problems(value))


@settings(max_examples=60)
@given(reports(), st.data())
def test_a_valid_report_with_any_one_value_changed_gives_findings_or_loads(document, data):
    document = json.loads(report_json(EvaluationReport(**document)))
    node = document
    while True:
        key = data.draw(st.sampled_from(keys_of(node)))
        if not keys_of(node[key]) or data.draw(st.booleans()):
            break
        node = node[key]
    node[key] = data.draw(JSONLIKE)
    writable(schema_problems(document))
    if validate_schema(document):
        EvaluationReport(**document)


def keys_of(node):
    if isinstance(node, dict):
        return list(node)
    return list(range(len(node))) if isinstance(node, list) else []


@settings(max_examples=50)
@given(reports())
def test_whatever_the_records_write_is_valid(document):
    assert validate_schema(document)
    written = json.loads(report_json(EvaluationReport(**document)))
    codes = {one.code for one in schema_problems(written)}
    assert codes <= {"verdict_inconsistent", "score_differs"}


@settings(max_examples=20)
@given(reports())
def test_a_record_has_the_findings_of_its_file(document):
    record = EvaluationReport(**document)
    assert schema_problems(record) == schema_problems(json.loads(report_json(record)))


@pytest.mark.peers
def test_ten_thousand_instances_are_checked_with_room_to_spare():
    one = instance("x", validation=passing(), duration_seconds=1.5, solution_patch="diff")
    document = report(*(one | {"instance_id": f"task-{n}"} for n in range(10_000)))
    value, findings = read_json_text(json.dumps(document).encode())
    assert findings == ()
    assert schema_problems(value) == ()
