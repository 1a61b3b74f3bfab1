"""The files of each export format as texts, of a run in the lake or of one report v2.

One room a format makes the text; here they are chosen, and each model gets a name of its own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal, NamedTuple

from pydantic import JsonValue

from analyze.exporters.majority import FoldedModel, fold
from analyze.exporters.predictions import (
    predictions_lines,
    predictions_of_folded,
    predictions_of_report,
)
from analyze.exporters.report_v2 import reports_of_run
from analyze.exporters.run_trials import left_over
from analyze.exporters.swebench import (
    HarnessInstance,
    of_folded,
    of_report,
    swebench_file_name,
    swebench_json,
    swebench_report,
)
from analyze.query.run_ref import run_folder
from analyze.report_v2.files import JSON_FILE, MARKDOWN_FILE, report_text
from analyze.report_v2.markdown import generate_markdown_summary
from schemas.errors import AnalyzeError, ConfigError, Problem, nearest

if TYPE_CHECKING:
    from collections.abc import Iterable

    from analyze.query.session import Session
    from schemas.formats.report_v2 import EvaluationReport
    from schemas.formats.swebench import Prediction, Style

ExportFormat = Literal["report-v2", "swebench", "predictions"]


class ExportText(NamedTuple):
    """One file of an export."""

    model_id: str
    """Empty for that of a report, which is of one model."""
    name: str
    text: str


def texts_of_run(
    session: Session,
    run_id: str,
    form: ExportFormat,
    *,
    style: Style | None = None,
    model: str | None = None,
) -> list[ExportText]:
    """Return the files of a run, ordered by model_id.

    A run that was imported from a report of the harness gives that report again.

    Args:
        session: the open lake.
        run_id: a run that the lake knows.
        form: what they are.
        style: of SWE-bench reports; by default that of an imported one, else 5.
        model: only this one, by model_id or model string.

    Raises:
        ConfigError: the run has no such model; names the nearest.
        AnalyzeError: the run planned nothing, or its answers are not all here.
        SchemaError: the run's config is there and cannot be read.
        ViewError: the lake cannot be read.
    """
    every = fold(session, run_id)
    models = _chosen(run_id, every, model)
    if form == "report-v2":
        reports = reports_of_run(session, run_id, every)
        return [
            text for one in models for text in _report_files(one.model_id, reports[one.model_id])
        ]
    names = _file_names(every)
    if form == "predictions":
        return [
            ExportText(one.model_id, names[one.model_id], _lines(predictions_of_folded(one)))
            for one in models
        ]
    left = left_over(run_folder(session, run_id))
    own: Style = 4 if left.get("style") == 4 else 5
    return [
        ExportText(one.model_id, names[one.model_id], _harness(of_folded(one), style or own, left))
        for one in models
    ]


def texts_of_report(
    report: EvaluationReport, form: ExportFormat, *, style: Style | None = None
) -> list[ExportText]:
    """Return the files of one report v2.

    Raises:
        AnalyzeError: an instance stands in it twice, or it has no patches to make predictions of.
        SchemaError: it holds what JSON cannot.
    """
    if form == "report-v2":
        return _report_files("", report)
    name = swebench_file_name(report.model_name_or_path, report.run_id)
    if form == "predictions":
        return [ExportText("", name, _lines(predictions_of_report(report)))]
    return [ExportText("", name, _harness(of_report(report), style or 5, {}))]


def _chosen(run_id: str, models: Sequence[FoldedModel], wanted: str | None) -> list[FoldedModel]:
    if not models:
        message = f"run `{run_id}` planned nothing, so there is nothing to export"
        raise AnalyzeError(message)
    chosen = [one for one in models if wanted in {None, one.model_id}]
    chosen = chosen or [one for one in models if one.model == wanted]
    if not chosen:
        known = sorted({name for one in models for name in (one.model_id, one.model)})
        problem = Problem(
            None,
            f"run `{run_id}` has no model `{wanted}`",
            key="--model",
            allowed=", ".join(known),
            nearest=nearest(wanted or "", known),
        )
        raise ConfigError([problem])
    return chosen


def _report_files(model_id: str, report: EvaluationReport) -> list[ExportText]:
    return [
        ExportText(model_id, JSON_FILE, report_text(report)),
        ExportText(model_id, MARKDOWN_FILE, generate_markdown_summary(report)),
    ]


def _file_names(models: Sequence[FoldedModel]) -> dict[str, str]:
    """Return the harness' name of each model's file; those that would be the same get an id."""
    names = {one.model_id: swebench_file_name(one.model, one.run_id) for one in models}
    taken = Counter(names.values())
    return {
        one.model_id: name
        if taken[name := names[one.model_id]] == 1
        else swebench_file_name(f"{one.model}-{one.model_id}", one.run_id)
        for one in models
    }


def _lines(predictions: Iterable[Prediction]) -> str:
    return "".join(predictions_lines(predictions))


def _harness(instances: Sequence[HarnessInstance], style: Style, left: dict[str, JsonValue]) -> str:
    """Return the harness' report, with what it said itself and no instance knows."""
    told = left.get("outside")
    outside = [one for one in told if isinstance(one, str)] if isinstance(told, list) else []
    try:
        return swebench_json(
            swebench_report(instances, style=style, outside=outside, leftover=left)
        )
    except ValueError as exc:
        raise AnalyzeError(str(exc)) from exc
