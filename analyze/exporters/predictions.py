"""Predictions of the SWE-bench harness: what a model handed in for each instance.

They are written as lines of JSON, always, since that is the one form which every reader of the
harness takes, and read in each form that is about.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from analyze.exporters import Exporter, ExportText, RunExport
from analyze.exporters.majority import NOT_JUDGED, FoldedModel
from analyze.exporters.swebench import HARNESS, file_names, swebench_file_name
from schemas.base import Finding, is_valid, warning
from schemas.errors import AnalyzeError, counted
from schemas.formats.report_v2 import EvaluationReport, has_patches
from schemas.formats.swebench import (
    Checked,
    Prediction,
    PredictionCheck,
    Style,
    document_predictions,
)
from schemas.io.json_text import read_json_text

SUFFIX = ".predictions.jsonl"


class ReadPredictions(NamedTuple):
    """What a file of predictions holds; those without an error are here, each instance once."""

    predictions: tuple[Prediction, ...]
    findings: tuple[Finding, ...]


def predictions_of_report(report: EvaluationReport) -> list[Prediction]:
    """Return what the model handed in for each instance of a v2 report, but those skipped.

    A patch of blanks is an empty one here, and not for the harness: it is written as empty.

    Raises:
        AnalyzeError: the report carries no patch at all.
    """
    if not has_patches(report.instances):
        message = (
            "this report says of no instance what the model handed in (`solution_patch`), so it "
            "has no predictions: the harness would take each of them for an empty patch"
        )
        raise AnalyzeError(message)
    return [
        Prediction(
            instance_id=one.instance_id,
            model_name_or_path=report.model_name_or_path,
            model_patch=_patch(one.solution_patch),
        )
        for one in report.instances
        if one.status != "skipped" or one.error_message == NOT_JUDGED
    ]


def _patch(text: str | None) -> str | None:
    return text if text is None or text.strip() else ""


def predictions_of_folded(model: FoldedModel) -> list[Prediction]:
    """Return what one model of a run answered to each case that has a result.

    An answer of blanks is an empty patch, as in a report of the run; the harness evaluated it, so
    what was imported from there stays as it was handed in.

    Raises:
        AnalyzeError: of some answer only the beginning is known, and half a patch is none.
    """
    answered = [
        case for case in model.cases if case.status != "skipped" or case.error_message == NOT_JUDGED
    ]
    if cut := [case.instance_id for case in answered if case.answer_is_cut]:
        message = (
            f"only the beginning of the answer to {cut[0]} is in the lake "
            f"({counted(len(cut), 'such answer')} of {model.model_id}); the traces that hold the "
            "rest are not here"
        )
        raise AnalyzeError(message)
    return [
        Prediction(
            instance_id=case.instance_id,
            model_name_or_path=model.model,
            model_patch=case.answer if model.provider == HARNESS else _patch(case.answer),
        )
        for case in answered
    ]


def predictions_lines(predictions: Iterable[Prediction]) -> Iterator[str]:
    """Yield the lines of a `.jsonl` file, each with its newline, ASCII only."""
    for one in predictions:
        yield json.dumps(one.model_dump(), allow_nan=False) + "\n"


def read_predictions(path: Path) -> ReadPredictions:
    """Read predictions: a `.json` file as one document, any other as lines.

    Raises:
        OSError: the file cannot be read.
    """
    if path.suffix == ".json":
        value, found = read_json_text(path.read_bytes())
        checked = list(document_predictions(value)) if is_valid(found) else []
    else:
        found = ()
        with path.open("rb") as file:
            checked = list(checked_lines(file))
    sound = (one.prediction for one in checked if one.prediction is not None)
    problems = (finding for one in checked for finding in one.findings)
    return ReadPredictions(tuple(sound), (*found, *problems))


def checked_lines(lines: Iterable[bytes]) -> Iterator[Checked]:
    """Yield what each line of a `.jsonl` file holds; an empty line holds no prediction."""
    check = PredictionCheck()
    for number, content in enumerate(lines, 1):
        if not content.strip():
            message = "an empty line; the harness refuses a file with one"
            yield Checked(None, (warning("empty_line", "", message, number),))
            continue
        value, found = read_json_text(content)
        findings = tuple(one.model_copy(update={"line": number}) for one in found)
        checked = check.look(value, line=number) if is_valid(findings) else Checked(None, ())
        yield checked._replace(findings=(*findings, *checked.findings))


def _file(model_id: str, report_name: str, predictions: Iterable[Prediction]) -> ExportText:
    name = report_name.removesuffix(".json") + SUFFIX
    return ExportText(model_id, name, "".join(predictions_lines(predictions)))


def _of_run(wanted: RunExport) -> list[ExportText]:
    names = file_names(wanted.models)
    return [
        _file(one.model_id, names[one.model_id], predictions_of_folded(one))
        for one in wanted.chosen
    ]


def _of_report(report: EvaluationReport, _: Style | None) -> list[ExportText]:
    name = swebench_file_name(report.model_name_or_path, report.run_id)
    return [_file("", name, predictions_of_report(report))]


EXPORTER = Exporter((".jsonl", ".json"), _of_run, _of_report)
