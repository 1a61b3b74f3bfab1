"""A run as evaluation reports v2: one a model, with an instance for each of its cases.

A function of the lake and the run's folder: no clock is read. Where the folder is elsewhere the
settings and the inventory are unknown, and all else is the same.

`generate_markdown_summary` and `make_run_report` are for programs: the two calls of the older tool,
under the same names. They write a report as it is: nothing in it is counted again, so the same
input gives the same bytes.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from analyze.exporters import Exporter, ExportText, RunExport
from analyze.exporters.majority import FoldedCase, FoldedModel, fold
from analyze.exporters.run_trials import SCORED_BY
from analyze.query.run_ref import resolve_run, run_folder, runs_dir_of
from analyze.render.numbers import iso_moment
from analyze.report_v2 import files
from analyze.report_v2.markdown import generate_markdown_summary
from analyze.summary.summarize import read_inventory
from schemas.errors import AnalyzeError
from schemas.formats.report_v2 import REPORT_VERSION, EvaluationConfig, EvaluationReport
from schemas.formats.report_v2_instance import InstanceResult, ValidationBreakdown
from schemas.run.config import read_config
from schemas.run.layout import is_planned, is_run_folder

if TYPE_CHECKING:
    from analyze.query.session import Session
    from schemas.run.config import EffectiveSetting, RunConfig

__all__ = ["generate_markdown_summary", "make_run_report"]

VALIDATION_MODE = "benchlake"
"""Verdicts are those of a case's own validator and checks."""

JUDGEMENTS = """
select
    model_id,
    case_id,
    repetition,
    evaluation_profile_id,
    final_score,
    passed
from judgements
where run_id = ? and is_current
order by model_id, case_id, repetition, evaluation_profile_id
"""

UNKNOWN_START = "1970-01-01T00:00:00.000Z"
"""Stands for a start that nobody wrote down."""

RUNS = Path("runs")
"""Where runs are looked for by their id."""


def reports_of_run(
    session: Session, run_id: str, models: Sequence[FoldedModel] | None = None
) -> dict[str, EvaluationReport]:
    """Return the report of each model of a run, by model_id.

    One that was imported as such a report keeps its name and data set.

    Args:
        session: the open lake.
        run_id: the run; one that the lake does not know has no reports.
        models: what `fold` returned of it; by default it is asked.

    Raises:
        SchemaError: the run's config is there and cannot be read.
        ViewError: the lake cannot be read.
    """
    models = fold(session, run_id) if models is None else models
    folder = run_folder(session, run_id)
    config = read_config(folder) if folder is not None and is_planned(folder) else None
    rows = session.rows(
        "select started_at_ms, suite_title from stg_runs where run_id = ?", [run_id]
    )
    started_at_ms, title = rows[0] if rows else (None, "")
    start = iso_moment(started_at_ms) or UNKNOWN_START
    names, reports = model_names(models), {}
    said, deciding = _judgements(session, run_id), _deciding_profile(session, run_id)
    for model in models:
        is_theirs = model.provider == SCORED_BY
        reports[model.model_id] = EvaluationReport.model_validate(
            {
                "schema_version": REPORT_VERSION,
                "run_id": run_id if is_theirs else f"{names[model.model_id]}-{_stamp(start)}",
                "model_name": model.model,
                "dataset": title if is_theirs else model.suite_id,
                "start_time": start,
                "end_time": iso_moment(model.ended_at_ms),
                "config": _config(model, config, deciding),
                "instances": [
                    _instance(model.model, case, said.get((model.model_id, case.case_id), ()))
                    for case in model.cases
                ],
                "summary": {},
                "environment": _environment(folder),
            }
        )
    return reports


def _judgements(session: Session, run_id: str) -> Mapping[tuple[str, str], list[dict[str, Any]]]:
    """Return what judges came to on each repetition, by model_id and case_id."""
    found: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for model_id, case_id, repetition, profile, score, passed in session.rows(JUDGEMENTS, [run_id]):
        said = {
            "repetition": repetition,
            "evaluation_profile_id": profile,
            "final_score": score,
            "passed": passed,
        }
        found.setdefault((model_id, case_id), []).append(said)
    return found


def _deciding_profile(session: Session, run_id: str) -> str | None:
    rows = session.rows(
        "select evaluation_profile_id from stg_deciding_profiles where run_id = ?", [run_id]
    )
    return rows[0][0] if rows else None


def model_names(models: Sequence[FoldedModel]) -> dict[str, str]:
    """Return by model_id a name of each model that is its own and can be part of a file's name.

    The model string; where two models of the run have the same, with the model_id behind it.
    """
    cleaned = {one.model_id: re.sub(r"[/\s\0]", _as_in_names, one.model) for one in models}
    taken = Counter(cleaned.values())
    return {
        model_id: name if taken[name] == 1 else f"{name}-{model_id}"
        for model_id, name in cleaned.items()
    }


def _as_in_names(match: re.Match[str]) -> str:
    return "-" if match.group() == "/" else "_"


def _stamp(moment: str) -> str:
    """Return `20260213_101112` of `2026-02-13T10:11:12.345Z`."""
    return re.sub("[-:]", "", moment[:19]).replace("T", "_")


def _config(model: FoldedModel, config: RunConfig | None, deciding: str | None) -> EvaluationConfig:
    """Return the settings in force; what an importer or another machine knows alone is null."""
    own: dict[str, Any] = {"benchlake_run_id": model.run_id}
    if deciding is not None:
        own["evaluation_profile_id"] = deciding
    if config is None:
        return EvaluationConfig.model_validate(own)
    asked = {one.model_id: one for one in config.models}.get(model.model_id)
    own |= {
        "tasks_file": config.suite_path,
        "validation_mode": VALIDATION_MODE,
        "functional_validation": False,
        "settings": _values(asked.settings if asked else {}),
        "case_settings": {name: _values(of) for name, of in config.case_settings.items()},
        "max_workers": asked.max_concurrency if asked else None,
    }
    return EvaluationConfig.model_validate(own)


def _values(settings: dict[str, EffectiveSetting]) -> dict[str, Any]:
    return {name: setting.value for name, setting in settings.items()}


def _environment(folder: Path | None) -> dict[str, Any]:
    inventory = None if folder is None else read_inventory(folder)
    return {} if inventory is None else inventory.model_dump(mode="json")


def _instance(
    model_name: str, case: FoldedCase, judgements: Sequence[dict[str, Any]]
) -> InstanceResult:
    values: dict[str, Any] = {
        "instance_id": case.instance_id,
        "model_name": model_name,
        "status": case.status,
        "resolved": case.resolved,
        "validation": _validation(case),
        "duration_seconds": case.duration_seconds,
        "error_message": case.error_message,
        "error_type": case.error_type,
        "start_time": iso_moment(case.started_at_ms),
        "end_time": iso_moment(case.ended_at_ms),
        "log_path": case.log_path,
        "solution_patch": case.answer or None,
        "repetitions": [one._asdict() for one in case.repetitions],
    }
    if judgements:
        values["judgements"] = judgements
    if case.case_id != case.instance_id:
        values["case_id"] = case.case_id
    if case.title is not None:
        values["title"] = case.title
    if case.answer_is_cut:
        values["solution_patch_truncated"] = True
    return InstanceResult.model_validate(values)


def _validation(case: FoldedCase) -> ValidationBreakdown:
    """Return the components that an imported report scored; without, nothing is scored."""
    try:
        return ValidationBreakdown.model_validate(case.validation or {})
    except ValidationError:  # changed by hand since it was imported
        return ValidationBreakdown()


def make_run_report(
    report_or_run: EvaluationReport | Mapping[str, Any] | Path | str,
    output_dir: Path | str,
    include_markdown: bool = True,
    include_json: bool = True,
) -> dict[str, Path]:
    """Write report.json and summary.md, and return their paths as `json` and `markdown`.

    A run of several models gets a folder for each, named by model_id, and so do the keys:
    `<model_id>/json`. Files that are there are replaced.

    Args:
        report_or_run: a report, the parsed JSON of one, the path of one, a run's folder, or what
            names a run in ./runs: its id, `latest`, `previous`, `label:NAME`.
        output_dir: where to write; it is created.
        include_markdown: write summary.md.
        include_json: write report.json.

    Raises:
        SchemaError: it is no report of schema 2.0.
        RunNotFound: there is neither such a file nor such a run.
        AnalyzeError: a file cannot be read or written.
    """
    folder = Path(output_dir)
    if not isinstance(report_or_run, (str, Path)):
        reports = {"": files.given_report(report_or_run)}
    elif Path(report_or_run).is_file() and not is_run_folder(RUNS / report_or_run):
        reports = {"": files.read_report(Path(report_or_run))}
    else:
        reports = _of_run(str(report_or_run))
    written: dict[str, Path] = {}
    texts: dict[Path, str] = {}
    for model_id, report in reports.items():
        place, prefix = (folder, "") if len(reports) == 1 else (folder / model_id, f"{model_id}/")
        if include_json:
            written[f"{prefix}json"] = place / files.JSON_FILE
            texts[place / files.JSON_FILE] = files.report_text(report)
        if include_markdown:
            written[f"{prefix}markdown"] = place / files.MARKDOWN_FILE
            texts[place / files.MARKDOWN_FILE] = generate_markdown_summary(report)
    files.write_texts(texts, replace=True)
    return written


def _of_run(text: str) -> dict[str, EvaluationReport]:
    from analyze.query.session import open_session  # noqa: PLC0415

    with open_session(runs_dir_of(RUNS, text)) as session:
        run_id = resolve_run(session, text)
        reports = reports_of_run(session, run_id)
    if not reports:
        message = f"run `{run_id}` planned nothing, so there is nothing to report"
        raise AnalyzeError(message)
    return reports


def _files(model_id: str, report: EvaluationReport) -> list[ExportText]:
    return [
        ExportText(model_id, files.JSON_FILE, files.report_text(report)),
        ExportText(model_id, files.MARKDOWN_FILE, generate_markdown_summary(report)),
    ]


def _of_run_files(wanted: RunExport) -> list[ExportText]:
    reports = reports_of_run(wanted.session, wanted.run_id, wanted.models)
    return [text for one in wanted.chosen for text in _files(one.model_id, reports[one.model_id])]


EXPORTER = Exporter(
    (".json", ".md"), _of_run_files, lambda report, _: _files("", report), is_folder=True
)
