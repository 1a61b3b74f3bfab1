"""Evaluation reports as records: both names of a pair, unknown fields, and nothing changed."""

import json

import pytest
from hypothesis import given, settings
from pydantic import ValidationError

from schemas.formats.report_v2 import EvaluationReport, ReportSummary, report_json
from schemas.formats.report_v2_instance import InstanceResult, ValidationBreakdown
from schemas.formats.report_v2_problems import validate_schema
from tests.support.v2_reports import COMPLETE, JSON, filled, instance, report, reports


def test_the_documents_complete_example_loads_as_the_document_does_it(tmp_path):
    path = tmp_path / "report.json"
    path.write_text(COMPLETE, encoding="utf-8")
    with path.open() as f:
        data = json.load(f)
        found = EvaluationReport(**data)

    assert found.model_name_or_path == found.model_name == "anthropic/claude-3.5-sonnet"
    assert found.created_at == found.start_time == "2025-12-29T14:30:00Z"
    assert found.evaluation_config == found.config
    assert found.config.max_workers == 2
    assert found.resolved_ids == found.completed_ids == ("lwc-component-001",)
    assert found.instances[0].validation.functional_points == 50


def test_a_percentage_is_read_as_the_fraction_it_stands_for():
    summary = EvaluationReport(**json.loads(COMPLETE)).summary
    assert summary.resolve_rate == pytest.approx(0.4167)
    assert summary.resolution_rate == 41.67


@pytest.mark.parametrize(
    ("fields", "fraction", "percent"),
    [
        ({"resolve_rate": 0.25}, 0.25, 25),
        ({"resolve_rate": 1}, 1, 100),
        ({"resolve_rate": 100}, 1, 100),
        ({"resolution_rate": 25}, 0.25, 25),
        ({"resolve_rate": 0.4167, "resolution_rate": 41.7}, 0.4167, 41.7),
        ({"resolve_rate": None}, None, None),
    ],
)
def test_a_rate_is_known_as_a_fraction_and_as_a_percentage(fields, fraction, percent):
    summary = ReportSummary(**fields)
    assert (summary.resolve_rate, summary.resolution_rate) == (fraction, percent)


def test_stored_counts_of_a_partial_report_are_kept_and_its_gaps_stay_gaps():
    summary = EvaluationReport(**json.loads(COMPLETE)).summary
    assert summary.total_instances == 12
    assert summary.resolved_instances == summary.instances_resolved == 5
    assert summary.error_instances is None
    assert summary.median_score is None


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("model_name", "model_name_or_path"),
        ("config", "evaluation_config"),
        ("start_time", "created_at"),
    ],
)
def test_either_name_of_a_pair_is_read_and_both_are_written(one, other):
    whole = report(instance("a"))
    for absent in (one, other):
        given_one = {key: value for key, value in whole.items() if key != absent}
        found = json.loads(report_json(EvaluationReport(**given_one)))
        assert found == whole
    without = {key: value for key, value in whole.items() if key not in {one, other}}
    with pytest.raises(ValidationError, match=one):
        EvaluationReport(**without)


def test_two_names_that_differ_are_both_kept():
    found = EvaluationReport(**report(model_name="a", model_name_or_path="b"))
    assert (found.model_name, found.model_name_or_path) == ("a", "b")


def test_unknown_fields_are_written_again_wherever_they_stand():
    document = filled()
    document["evaluation_hash"] = "0f"
    document["config"]["seed"] = 7
    document["summary"]["interval"] = [0.1, 0.9]
    document["instances"][0]["repetitions"] = [{"passed": True}]
    document["instances"][0]["validation"]["lint_points"] = 3
    written = json.loads(report_json(EvaluationReport(**document)))
    assert written["evaluation_hash"] == "0f"
    assert written["config"]["seed"] == 7
    assert written["summary"]["interval"] == [0.1, 0.9]
    assert written["instances"][0]["repetitions"] == [{"passed": True}]
    assert written["instances"][0]["validation"]["lint_points"] == 3


def test_what_a_whole_document_says_is_written_again_as_it_was():
    document = filled()
    written = json.loads(report_json(EvaluationReport(**document)))
    instances = zip(written.pop("instances"), document.pop("instances"), strict=True)
    assert {key: written[key] for key in document} == document
    for again, once in instances:
        scored = again["validation"]
        assert {key: scored[key] for key in once["validation"]} == once.pop("validation")
        assert {key: again[key] for key in once} == once


def test_whole_numbers_stay_whole_and_texts_stay_ascii():
    document = report(instance("a", validation={"total_score": 80}, error_message="naïve \u202e"))
    text = report_json(EvaluationReport(**document))
    assert '"total_score": 80\n' in text
    assert text.isascii()
    assert text.endswith("}\n")


def test_an_instance_without_a_verdict_takes_it_from_its_status():
    assert InstanceResult(instance_id="a", status="resolved").resolved
    assert not InstanceResult(instance_id="a", status="fail").resolved
    assert not InstanceResult(instance_id="a", status="resolved", resolved=False).resolved


def test_an_instance_without_a_model_is_of_the_reports():
    found = EvaluationReport(**report(instance("a"), instance("b", model_name="other")))
    assert [one.model_name for one in found.instances] == ["m", "other"]


def test_a_missing_total_is_the_sum_of_the_points_of_known_components():
    points = {"deployment_points": 10, "unit_test_points": 20.5}
    assert ValidationBreakdown(**points).total_score == 30.5
    assert ValidationBreakdown(**points, lint_points=9).total_score == 30.5
    assert ValidationBreakdown(**points, total_score=None).total_score is None
    assert ValidationBreakdown(lint_points=9).total_score is None


@pytest.mark.parametrize("points", [10**400, -(10**4000), 1e308, float("nan"), "10", True, None])
def test_points_beyond_all_bounds_are_refused_and_never_added_up(points):
    with pytest.raises(ValidationError, match="deployment_points"):
        ValidationBreakdown(deployment_points=points, bulk_points=1.5)


def test_a_report_is_frozen():
    found = EvaluationReport(**report(instance("a")))
    with pytest.raises(ValidationError, match="frozen"):
        found.model_name = "other"


def test_a_report_without_instances_has_no_rates():
    summary = EvaluationReport(**report()).summary
    assert summary.total_instances == 0
    assert summary.resolve_rate is None


@settings(max_examples=50)
@given(reports())
def test_a_report_that_is_written_and_read_is_the_same_report(document):
    found = EvaluationReport(**document)
    text = report_json(found)
    again = EvaluationReport(**json.loads(text))
    assert again == found
    assert report_json(again) == text


@settings(max_examples=50)
@given(reports(), JSON)
def test_reading_changes_nothing_that_a_report_says(document, extra):
    document |= {"summary": {"extra": extra}, "anything": extra}
    before = json.dumps(document)
    written = json.loads(report_json(EvaluationReport(**document)))
    assert json.dumps(document) == before
    assert holds(written, json.loads(before))


def holds(whole, part):
    """Tell whether everything of a part stands in the whole at the same place."""
    if isinstance(part, dict) and isinstance(whole, dict):
        return all(key in whole and holds(whole[key], value) for key, value in part.items())
    if isinstance(part, list) and isinstance(whole, list):
        same = len(part) == len(whole)
        return same and all(holds(one, other) for one, other in zip(whole, part, strict=True))
    return type(whole) is type(part) and whole == part


def test_points_whose_sum_is_no_score_are_not_added_up():
    points = {"deployment_points": 1e6, "functional_points": 50}
    given = report(instance("a"))
    given["instances"][0]["validation"] = points

    assert validate_schema(given)
    assert EvaluationReport(**given).instances[0].validation.total_score is None
