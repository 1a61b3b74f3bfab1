"""The harness' report from outcomes, from v2 reports and from cases of a run."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analyze.exporters.swebench import (
    HarnessInstance,
    of_folded,
    of_report,
    swebench_file_name,
    swebench_json,
    swebench_report,
)
from schemas.formats.swebench import FAILURE_TIERS, swebench_problems
from tests.support.exported_instances import case, instance, model, report
from tests.support.harness_outcomes import INSTANCES, OUTSIDE
from tests.support.paths import GOLDEN

STYLE_4 = GOLDEN / "swebench/style4.json"
OF_CONTAINERS = {"unstopped_instances", "unstopped_containers", "unremoved_images"}

OUTCOMES = ("resolved", "unresolved", "empty_patch", "error", "unreadable", "incomplete")
data_sets = st.lists(
    st.builds(
        HarnessInstance,
        st.text(max_size=8),
        st.sampled_from(OUTCOMES),
        st.none() | st.sampled_from(sorted(FAILURE_TIERS)),
    ),
    unique_by=lambda one: one.instance_id,
)


def test_style_4_is_what_swebench_4_1_wrote_byte_by_byte():
    wrote = json.loads(STYLE_4.read_text())
    own = {name: value for name, value in wrote.items() if name not in OF_CONTAINERS}

    text = swebench_json(swebench_report(INSTANCES, style=4, outside=OUTSIDE))

    assert text == json.dumps(own, indent=4) + "\n"
    assert swebench_problems(wrote) == ()


def test_style_5_says_which_failures_are_likely_no_fault_of_the_model():
    document = json.loads(swebench_json(swebench_report(INSTANCES, style=5, outside=OUTSIDE)))

    assert document["infra_failure_ids"] == ["flask__flask-3", "sphinx__sphinx-8"]
    assert document["ambiguous_failure_ids"] == ["pylint__pylint-4", "xarray__xarray-11"]
    assert document["failure_reasons"] == {
        "flask__flask-3": "out_of_memory",
        "pylint__pylint-4": "no_tests_collected",
        "sphinx__sphinx-8": "container_unavailable",
        "xarray__xarray-11": "tests_timed_out",
    }
    four = json.loads(swebench_json(swebench_report(INSTANCES, style=4, outside=OUTSIDE)))
    assert four.items() <= document.items()
    assert document.keys() - four.keys() == {
        "infra_failure_instances",
        "ambiguous_failure_instances",
        "infra_failure_ids",
        "ambiguous_failure_ids",
        "failure_reasons",
    }


def test_what_only_the_machine_of_the_harness_knows_is_written_back():
    wrote = json.loads(STYLE_4.read_text()) | {"unstopped_containers": ["sweb.eval.x"]}
    leftover = {name: wrote[name] for name in OF_CONTAINERS} | {"style": 4, "outside": []}

    harness_report = swebench_report(INSTANCES, style=4, outside=OUTSIDE, leftover=leftover)

    assert swebench_json(harness_report) == json.dumps(wrote, indent=4) + "\n"


def test_an_unreadable_report_is_completed_and_an_error_at_once():
    harness_report = swebench_report([HarnessInstance("a", "unreadable")], style=5)

    assert harness_report.completed_ids == harness_report.error_ids == ("a",)
    assert harness_report.resolved_ids == harness_report.unresolved_ids == ()


def test_a_reason_without_a_failure_is_not_told():
    instances = [
        HarnessInstance("a", "resolved", "out_of_memory"),
        HarnessInstance("b", "empty_patch", "out_of_memory"),
        HarnessInstance("c", "incomplete", "out_of_memory"),
    ]

    assert swebench_report(instances, style=5).failure_reasons == {}


def test_an_unknown_reason_is_never_taken_for_a_fault_of_the_environment():
    harness_report = swebench_report([HarnessInstance("a", "error", "solar_flare")], style=5)

    assert (harness_report.infra_failure_ids, harness_report.ambiguous_failure_ids) == ((), ("a",))


def test_an_instance_that_stands_there_twice_is_refused():
    with pytest.raises(ValueError, match="'a' stands there twice"):
        swebench_report([HarnessInstance("a", "error"), HarnessInstance("a", "resolved")], style=5)


@given(data_sets, st.sets(st.text(max_size=8)), st.sampled_from([4, 5]))
def test_every_report_agrees_with_itself(instances, outside, style):
    document = json.loads(swebench_json(swebench_report(instances, style=style, outside=outside)))
    unknown = outside - {one.instance_id for one in instances}
    missing = [one for one in instances if one.outcome == "incomplete"]

    found = swebench_problems(json.loads(json.dumps(document)))

    assert document["total_instances"] == len(instances)
    assert document["submitted_instances"] == len(instances) - len(missing) + len(unknown)
    assert found == ()


def test_instances_of_a_v2_report_keep_their_one_class():
    folded = of_report(
        report(
            instance("a", "resolved"),
            instance("b", "fail"),
            instance("c", "fail", solution_patch=" \n"),
            instance("d", "error", error_type="execution_error"),
            instance("e", "error", error_type="unreadable_report"),
            instance("f", "error", error_type="network_unreachable"),
            instance("g", "fail", error_type="missing_module"),
            instance("h", "skipped"),
        )
    )

    assert [one[:3] for one in folded] == [
        ("a", "resolved", None),
        ("b", "unresolved", None),
        ("c", "empty_patch", None),
        ("d", "error", None),
        ("e", "unreadable", None),
        ("f", "error", "network_unreachable"),
        ("g", "unresolved", "missing_module"),
        ("h", "incomplete", None),
    ]


def test_a_v2_report_without_any_patch_has_no_empty_ones():
    folded = of_report(report(instance("a", "fail", solution_patch=None)))

    assert [one[:3] for one in folded] == [("a", "unresolved", None)]


def test_cases_of_a_run_become_instances():
    folded = of_folded(
        model(
            case("a", "resolved"),
            case("b", "fail", violation="too long", error_code="unreadable"),
            case("c", "fail", answer=""),
            case("d", "error", error_type="timeout", answer=""),
            case("e", "skipped", answer=None),
        )
    )

    assert [one[:3] for one in folded] == [
        ("a", "resolved", None),
        ("b", "unresolved", None),
        ("c", "empty_patch", None),
        ("d", "error", None),
        ("e", "incomplete", None),
    ]


def test_a_run_imported_from_the_harness_gets_its_own_words_back():
    cases = (
        case("a", "resolved", answer=""),
        case("b", "fail", error_code="unresolved", violation="out_of_memory", answer=""),
        case("c", "fail", error_code="empty_patch", answer=""),
        case("d", "error", error_code="error", violation="tests_timed_out"),
        case("e", "error", error_code="unreadable"),
        case("f", "error", error_code="unresolved", violation="container_unavailable"),
    )

    folded = of_folded(model(*cases, provider="swebench"))
    assert [one[:3] for one in folded] == [
        ("a", "resolved", None),
        ("b", "unresolved", "out_of_memory"),
        ("c", "empty_patch", None),
        ("d", "error", "tests_timed_out"),
        ("e", "unreadable", None),
        ("f", "unresolved", "container_unavailable"),
    ]


def test_a_reason_that_only_a_later_harness_gives_stays_what_that_called_it():
    unknown = {"error_code": "unresolved", "violation": "disk_full"}
    cases = (
        case("a", "error", error_type="container_error", **unknown),
        case("b", "fail", **unknown),
    )

    harness_report = swebench_report(of_folded(model(*cases, provider="swebench")), style=5)

    assert (harness_report.infra_failure_ids, harness_report.ambiguous_failure_ids) == (
        ("a",),
        ("b",),
    )


@pytest.mark.parametrize(
    ("of_model", "run_id", "name"),
    [
        ("acme/coder", "night.1", "acme__coder.night.1.json"),
        ("../../x", "../y", "..__..__x...__y.json"),
        ("a\x00b\n\ud800\u202e", "r", "a_b___.r.json"),
    ],
)
def test_a_file_is_named_as_the_harness_names_it_and_stays_in_its_folder(of_model, run_id, name):
    assert swebench_file_name(of_model, run_id) == name
