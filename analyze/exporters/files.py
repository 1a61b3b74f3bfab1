"""The files of each export format, of a run in the lake or of one report v2, and where they go.

One module a format makes the text; here they are chosen, each model gets a name of its own, and no
file is replaced unasked.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple

from pydantic import JsonValue

from analyze.exporters.majority import FoldedModel, fold
from analyze.exporters.report_v2 import reports_of_run
from analyze.exporters.run_trials import left_over
from analyze.exporters.swebench import (
    HarnessInstance,
    of_folded,
    of_report,
    predictions_lines,
    predictions_of_folded,
    predictions_of_report,
    swebench_file_name,
    swebench_json,
    swebench_report,
)
from analyze.query.run_ref import run_folder
from analyze.report_v2.files import JSON_FILE, MARKDOWN_FILE, report_text
from analyze.report_v2.markdown import generate_markdown_summary
from schemas.errors import AnalyzeError, ConfigError, Problem, counted, nearest
from schemas.run.layout import is_planned

if TYPE_CHECKING:
    from analyze.query.session import Session
    from schemas.formats.report_v2 import EvaluationReport
    from schemas.formats.swebench import Prediction, Style

ExportFormat = Literal["report-v2", "swebench", "predictions"]

REPORTS = "reports"
"""Folder of a run of ours that holds its reports; derived, it can be deleted."""

PREDICTIONS = ".predictions.jsonl"

STDOUT = Path("-")
"""Said instead of a file: standard output."""

FILE_SUFFIXES: Mapping[ExportFormat, tuple[str, ...]] = {
    "report-v2": (".json", ".md"),
    "swebench": (".json",),
    "predictions": (".jsonl", ".json"),
}
"""How the name of a file ends, unless a folder of that name is there."""


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


def own_place(folder: Path | None) -> Path:
    """Return where the reports of a run go unless somebody says otherwise.

    Raises:
        ConfigError: its folder is not here, or another tool's, in which nothing is ever written.
    """
    if folder is not None and is_planned(folder):
        return folder / REPORTS
    where = (
        "the folder of this run is not here"
        if folder is None
        else "nothing is written into the folder of a run that was imported"
    )
    raise ConfigError([Problem(None, f"{where}; name another folder with -o", key="--output")])


def placed(
    texts: Sequence[ExportText], form: ExportFormat, output: Path | None, own: Path | None
) -> dict[Path, str]:
    """Return the text of each file by its path.

    Args:
        texts: of one run or report.
        form: what they are.
        output: a file for one document; a folder for reports v2 with their summaries and for
            several models; None: the place of their own, or the working directory.
        own: place of a run's reports, with a folder a model.

    Raises:
        ConfigError: a folder stands where a file has to go, or a file where a folder has to; or
            one file is named for several documents.
    """
    has_several = len({one.model_id for one in texts}) > 1
    if output is not None and _is_file_name(output, form):
        found = {output: document(texts, form, output)}
    elif form == "report-v2":
        folder = output or own or Path()
        found = {
            (folder / one.model_id if has_several or output is None else folder)
            / one.name: one.text
            for one in texts
        }
    elif output is None or has_several or output.is_dir():
        found = {(output or Path()) / _name(one, form): one.text for one in texts}
    else:
        found = {output: texts[0].text}
    _require_files(found)
    return found


def document(texts: Sequence[ExportText], form: ExportFormat, output: Path) -> str:
    """Return the one document that a file or standard output is to have.

    Of a report v2 that is the report, or its summary where the file's name ends in `.md`.

    Args:
        texts: of one run or report.
        form: what they are.
        output: the file, or `-`.

    Raises:
        ConfigError: there are several, one a model.
    """
    models = list(dict.fromkeys(one.model_id for one in texts))
    if len(models) > 1:
        what = f"is one file, and {counted(len(models), 'document')} come out, one a model"
        then = "choose one with --model, or name a folder"
        problem = Problem(output, f"{what}; {then}", "--output", allowed=", ".join(models))
        raise ConfigError([problem])
    wanted = MARKDOWN_FILE if output.suffix == ".md" else JSON_FILE
    return next(one.text for one in texts if form != "report-v2" or one.name == wanted)


def _is_file_name(output: Path, form: ExportFormat) -> bool:
    return output.suffix in FILE_SUFFIXES[form] and not output.is_dir()


def _name(text: ExportText, form: ExportFormat) -> str:
    return text.name.removesuffix(".json") + PREDICTIONS if form == "predictions" else text.name


def _require_files(paths: Iterable[Path]) -> None:
    """Refuse places that can never be written, before anything is.

    Raises:
        ConfigError: names each of them.
    """
    problems = []
    for path in paths:
        try:
            if path.exists() and not path.is_file():
                problems.append(Problem(path, "is there and is no file"))
            in_the_way = [one for one in path.parents if one.exists() and not one.is_dir()]
            problems += [Problem(one, "is there and is no folder") for one in in_the_way]
        except OSError as exc:
            problems.append(Problem(path, f"cannot be a file's place: {exc.strerror}"))
    if problems:
        raise ConfigError(dict.fromkeys(problems))
