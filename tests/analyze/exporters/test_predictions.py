"""Predictions for SWE-bench: written of reports and runs, and read in every form."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analyze.exporters.predictions import (
    predictions_lines,
    predictions_of_folded,
    predictions_of_report,
    read_predictions,
)
from schemas.errors import AnalyzeError
from schemas.formats.swebench import Prediction
from tests.support.exported_instances import case, instance, model, report


def test_predictions_of_a_report_say_what_was_handed_in():
    predictions = predictions_of_report(
        report(
            instance("a", "resolved"),
            instance("b", "fail", solution_patch=None),
            instance("c", "fail", solution_patch=" \n"),
            instance("d", "skipped"),
        )
    )

    assert [(one.instance_id, one.model_patch) for one in predictions] == [
        ("a", "diff"),
        ("b", None),
        ("c", ""),
    ]
    assert {one.model_name_or_path for one in predictions} == {"acme/coder"}


def test_a_report_without_patches_has_no_predictions():
    with pytest.raises(AnalyzeError, match="has no predictions"):
        predictions_of_report(report(instance("a", "resolved", solution_patch=None)))


def test_predictions_of_a_run_are_its_answers():
    predictions = predictions_of_folded(
        model(
            case("a", "resolved"),
            case("b", "error", answer=""),
            case("c", "skipped"),
            case("d", "fail", answer=" \n"),
        )
    )

    assert [one.model_dump() for one in predictions] == [
        {"instance_id": "a", "model_name_or_path": "acme/coder", "model_patch": "an answer"},
        {"instance_id": "b", "model_name_or_path": "acme/coder", "model_patch": ""},
        {"instance_id": "d", "model_name_or_path": "acme/coder", "model_patch": ""},
    ]


def test_a_patch_of_blanks_that_the_harness_evaluated_stays_as_it_was():
    (prediction,) = predictions_of_folded(
        model(case("a", "fail", answer=" \n"), provider="swebench")
    )

    assert prediction.model_patch == " \n"


def test_half_an_answer_is_no_prediction():
    with pytest.raises(AnalyzeError, match="only the beginning of the answer to a"):
        predictions_of_folded(model(case("a", "resolved", answer_is_cut=True)))


@given(
    st.lists(
        st.builds(
            Prediction,
            instance_id=st.text(),
            model_name_or_path=st.just("acme/coder"),
            model_patch=st.none() | st.text(),
            cost=st.none() | st.integers() | st.floats(allow_nan=False, allow_infinity=False),
        ),
        unique_by=lambda one: one.instance_id,
        max_size=5,
    )
)
def test_predictions_read_back_as_they_were_written(tmp_path_factory, predictions):
    path = tmp_path_factory.getbasetemp() / "predictions.jsonl"
    text = "".join(predictions_lines(predictions))
    path.write_text(text)

    assert text.isascii()
    assert len(text.splitlines()) == len(predictions)
    assert read_predictions(path) == (tuple(predictions), ())


WRITTEN = {"instance_id": "a", "model_name_or_path": "m", "model_patch": "diff"}
WITHOUT_ID = {"model_name_or_path": "m", "model_patch": "diff"}


@pytest.mark.parametrize(
    ("name", "text", "codes"),
    [
        ("p.jsonl", json.dumps(WRITTEN), []),
        ("p.jsonl", "\ufeff" + json.dumps(WRITTEN) + "\r\n", []),
        ("p.json", json.dumps([WRITTEN]), []),
        ("p.json", json.dumps({"a": WRITTEN}), []),
        ("p.json", json.dumps({"a": WITHOUT_ID}), ["id_in_key"]),
        ("p.json", json.dumps({"another": WRITTEN}), ["id_in_key"]),
        ("p.jsonl", json.dumps(WRITTEN) + "\n\n", ["empty_line"]),
    ],
)
def test_every_form_that_is_about_is_read(tmp_path, name, text, codes):
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")

    read = read_predictions(path)

    assert [one.model_dump() for one in read.predictions] == [WRITTEN]
    assert [one.code for one in read.findings] == codes
    assert {one.severity for one in read.findings} <= {"warning"}


def test_an_absent_patch_is_an_empty_one(tmp_path):
    path = tmp_path / "p.jsonl"
    path.write_text('{"instance_id": "a", "model_name_or_path": "m"}\n')

    (one,), (finding,) = read_predictions(path)

    assert one.model_patch is None
    assert (finding.code, finding.pointer, finding.line) == ("patch_absent", "/model_patch", 1)


def test_what_is_no_prediction_is_told_with_its_line_and_the_rest_is_read(tmp_path):
    path = tmp_path / "p.jsonl"
    lines = [
        json.dumps(WRITTEN),
        '{"instance_id": "b", ',
        '{"instance_id": 3, "model_patch": 1}',
        json.dumps(WRITTEN),
        '"text"',
        json.dumps(WRITTEN | {"instance_id": "c", "model_patch": "\ud800"}),
        json.dumps(WRITTEN | {"instance_id": "d", "model_name_or_path": "another"}),
        '{"instance_id": "e", "instance_id": "f", "model_patch": "", "model_name_or_path": "m"}',
        "\x00" * 9,
    ]
    path.write_text("\n".join(lines))

    read = read_predictions(path)

    assert [one.instance_id for one in read.predictions] == ["a", "d"]
    assert [(one.line, one.code, one.pointer) for one in read.findings] == [
        (2, "not_json", ""),
        (3, "wrong_type", "/instance_id"),
        (3, "missing_field", "/model_name_or_path"),
        (3, "wrong_type", "/model_patch"),
        (4, "duplicate_instance_id", "/instance_id"),
        (5, "not_an_object", ""),
        (6, "bad_value", "/model_patch"),
        (7, "several_models", "/model_name_or_path"),
        (8, "duplicate_key", ""),
        (9, "not_json", ""),
    ]


@pytest.mark.parametrize("text", ["", "{", "3", "[3]", '{"a": 3}', "\ud800"])
def test_a_document_that_holds_no_predictions_is_told(tmp_path, text):
    path = tmp_path / "p.json"
    path.write_bytes(text.encode("utf-8", "surrogatepass"))

    read = read_predictions(path)

    assert read.predictions == ()
    assert [one.severity for one in read.findings] == ["error"]
