"""Points, verdicts, id lists and summaries of evaluation reports: the table of schema v2."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from schemas.formats.report_v2 import ReportSummary, class_of, has_patches, id_lists, summary_of
from schemas.formats.report_v2_instance import (
    COMPONENTS,
    MAX_POINTS,
    InstanceResult,
    ValidationBreakdown,
    is_resolved,
    is_scored,
    points_of,
    score_of,
    scored,
)
from tests.support.v2_reports import INSTANCES, instance, parsed, passing


def validation(**changes):
    return ValidationBreakdown(**passing(**changes))


@pytest.mark.parametrize(
    ("component", "points"),
    [("deployment", 10), ("unit_test", 20), ("functional", 50), ("bulk", 10), ("no_tweaks", 10)],
)
def test_a_component_earns_all_of_its_points_or_none(component, points):
    assert points_of(validation(), component) == points
    for status in ("fail", "error", "skipped"):
        lacking = validation(**{f"{component}_status": status})
        assert points_of(lacking, component) == 0
        assert score_of(lacking) == 100 - points


def test_the_points_of_the_table_add_up_to_100():
    assert sum(MAX_POINTS.values()) == score_of(validation()) == 100
    assert tuple(MAX_POINTS) == COMPONENTS


@pytest.mark.parametrize(
    ("changes", "points"),
    [
        ({"unit_test_failed": 1}, 0),
        ({"unit_test_passed": 14}, 0),
        ({"unit_test_passed": None, "unit_test_failed": None, "unit_test_total": None}, 20),
        ({"unit_test_coverage": 79.99}, 0),
        ({"unit_test_coverage": 80}, 20),
        ({"functional_details": {"coverage": 79}}, 0),
        ({"functional_details": {"coverage": 80.0}}, 20),
        ({"functional_details": {"coverage": "79"}}, 20),
        ({"functional_details": {"coverage": False}}, 20),
        ({"functional_details": None}, 20),
        ({"functional_details": {"coverage": 79}, "unit_test_coverage": 80}, 20),
    ],
)
def test_unit_tests_need_every_test_and_80_percent_where_coverage_is_known(changes, points):
    assert points_of(validation(**changes), "unit_test") == points


@pytest.mark.parametrize(
    ("processed", "expected", "points"),
    [(200, 200, 10), (199, 200, 0), (201, None, 10), (199, None, 0), (5, 5, 10), (None, 9, 10)],
)
def test_bulk_needs_the_expected_records_or_200(processed, expected, points):
    fields = {"bulk_records_processed": processed, "bulk_records_expected": expected}
    assert points_of(validation(**fields), "bulk") == points


@pytest.mark.parametrize(
    ("failing", "resolved"),
    [
        ((), True),
        (("bulk",), True),
        (("bulk", "no_tweaks"), True),
        (("deployment",), False),
        (("unit_test",), False),
        (("functional",), False),
    ],
)
def test_resolved_needs_80_points_and_every_critical_component(failing, resolved):
    found = scored(validation(**{f"{name}_status": "fail" for name in failing}))
    assert is_resolved(found) is resolved


def test_a_stored_total_below_80_is_not_resolved_whatever_passed():
    assert not is_resolved(validation(total_score=79.9))
    assert is_resolved(validation(total_score=80))


def test_a_critical_component_that_passed_without_its_points_leaves_less_than_80():
    found = validation(unit_test_failed=1, total_score=None, bulk_status="fail")
    assert score_of(found) == 70
    assert not is_resolved(found)


def test_scoring_fills_in_points_and_total_and_nothing_else():
    found = scored(ValidationBreakdown(deployment_status="pass", deployment_message="went well"))
    assert (found.deployment_points, found.functional_points, found.total_score) == (10, 0, 10)
    assert found.deployment_message == "went well"
    assert is_scored(found)
    assert not is_scored(ValidationBreakdown(total_score=55))


@pytest.mark.parametrize(
    ("status", "resolved", "patch", "patches", "meant"),
    [
        ("resolved", True, "diff", True, "resolved"),
        ("resolved", True, None, True, "resolved"),
        ("fail", True, None, True, "resolved"),
        ("fail", False, "diff", True, "unresolved"),
        ("resolved", False, "diff", True, "unresolved"),
        ("fail", False, None, True, "empty_patch"),
        ("fail", False, " \n\t", True, "empty_patch"),
        ("fail", False, None, False, "unresolved"),
        ("error", True, None, True, "error"),
        ("error", False, "", True, "error"),
        ("skipped", True, "diff", True, "skipped"),
    ],
)
def test_every_instance_is_in_one_class(status, resolved, patch, patches, meant):
    one = InstanceResult(instance_id="a", status=status, resolved=resolved, solution_patch=patch)
    assert class_of(one, patches=patches) == meant


def test_id_lists_are_sorted_and_completed_is_resolved_or_unresolved():
    found = id_lists(
        parsed(
            [
                instance("x-2", solution_patch="d"),
                instance("x-10", solution_patch="d"),
                instance("f", "fail", solution_patch="d"),
                instance("empty", "fail"),
                instance("e", "error"),
                instance("s", "skipped"),
            ]
        )
    )
    assert found.resolved_ids == ("x-10", "x-2")
    assert found.unresolved_ids == ("f",)
    assert found.empty_patch_ids == ("empty",)
    assert found.error_ids == ("e",)
    assert found.completed_ids == ("f", "x-10", "x-2")


def test_the_summary_of_four_instances_is_the_one_worked_out_by_hand():
    found = summary_of(
        parsed(
            [
                instance("a", validation=passing(), duration_seconds=10),
                instance("b", "fail", validation=passing(functional_status="fail",
                         functional_points=0, total_score=50), duration_seconds=5),
                instance("c", "fail", validation={"total_score": 20}, duration_seconds=0),
                instance("d", "error"),
            ]
        )
    )  # fmt: skip
    assert found == ReportSummary(
        total_instances=4, instances_submitted=4, instances_completed=3, resolved_instances=1,
        instances_resolved=1, instances_unresolved=2, failed_instances=2, error_instances=1,
        instances_error=1, instances_empty_patch=0, resolve_rate=0.25, resolution_rate=25.0,
        avg_score=170 / 3, avg_functional_score=12.5, median_score=50.0, min_score=20.0,
        max_score=100.0, deployment_pass_rate=0.5, unit_test_pass_rate=0.5,
        functional_pass_rate=0.25, bulk_pass_rate=0.5, no_tweaks_pass_rate=0.5,
        avg_duration_seconds=7.5, total_duration_seconds=15.0,
    )  # fmt: skip


def test_the_median_of_an_even_number_lies_between_the_middle_two():
    instances = parsed(instance(str(n), validation={"total_score": n}) for n in (0, 10, 50, 100))
    assert summary_of(instances).median_score == 30


def test_what_instances_cannot_say_is_null_and_not_zero():
    nothing = summary_of([])
    assert (nothing.total_instances, nothing.resolved_instances) == (0, 0)
    assert nothing.resolve_rate is None
    plain = summary_of(parsed([instance("a")]))
    assert plain.resolve_rate == 1
    assert plain.avg_score is None
    assert plain.functional_pass_rate is None
    assert plain.total_duration_seconds is None


@settings(max_examples=50)
@given(INSTANCES)
def test_counts_equal_lists_and_every_instance_is_counted_once(documents):
    instances = parsed(documents)
    ids, found = id_lists(instances), summary_of(instances)
    assert found.resolved_instances == found.instances_resolved == len(ids.resolved_ids)
    assert found.instances_unresolved == len(ids.unresolved_ids)
    assert found.error_instances == found.instances_error == len(ids.error_ids)
    assert found.instances_empty_patch == len(ids.empty_patch_ids)
    assert found.instances_completed == len(ids.completed_ids)
    assert found.failed_instances == len(ids.unresolved_ids) + len(ids.empty_patch_ids)
    assert list(ids.completed_ids) == sorted({*ids.resolved_ids, *ids.unresolved_ids})
    listed = [*ids.completed_ids, *ids.error_ids, *ids.empty_patch_ids]
    skipped = [one.instance_id for one in instances if one.status == "skipped"]
    assert sorted([*listed, *skipped]) == sorted(one.instance_id for one in instances)


SUMS = (
    "total_instances",
    "instances_submitted",
    "instances_completed",
    "resolved_instances",
    "instances_unresolved",
    "failed_instances",
    "error_instances",
    "instances_empty_patch",
)


@settings(max_examples=50)
@given(INSTANCES, st.integers(0, 6))
def test_two_halves_have_the_totals_of_the_whole(documents, middle):
    instances = parsed(documents)
    patches = has_patches(instances)
    halves = instances[:middle], instances[middle:]
    whole = summary_of(instances)
    parts = [summary_of(half, patches=patches) for half in halves]
    for name in SUMS:
        assert getattr(whole, name) == sum(getattr(part, name) for part in parts), name
    seconds = [part.total_duration_seconds or 0 for part in parts]
    assert sum(seconds) == pytest.approx(whole.total_duration_seconds or 0)
    lists = [id_lists(half, patches=patches) for half in halves]
    for whole_ids, *part_ids in zip(id_lists(instances), *lists, strict=True):
        assert list(whole_ids) == sorted(part_ids[0] + part_ids[1])
