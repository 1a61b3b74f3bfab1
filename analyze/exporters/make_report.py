"""Evaluation reports for programs: the two calls of the older tool, under the same names.

A report is written as it is: nothing in it is counted again, and no clock is read, so the same
input gives the same bytes.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from analyze.query.run_ref import resolve_run, runs_dir_of
from analyze.report_v2.files import (
    JSON_FILE,
    MARKDOWN_FILE,
    given_report,
    read_report,
    report_text,
    write_texts,
)
from analyze.report_v2.markdown import generate_markdown_summary
from schemas.errors import AnalyzeError
from schemas.formats.report_v2 import EvaluationReport
from schemas.run.layout import is_run_folder

__all__ = ["generate_markdown_summary", "make_run_report"]

RUNS = Path("runs")
"""Where runs are looked for by their id."""


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
        reports = {"": given_report(report_or_run)}
    elif Path(report_or_run).is_file() and not is_run_folder(RUNS / report_or_run):
        reports = {"": read_report(Path(report_or_run))}
    else:
        reports = _of_run(str(report_or_run))
    written: dict[str, Path] = {}
    texts: dict[Path, str] = {}
    for model_id, report in reports.items():
        place, prefix = (folder, "") if len(reports) == 1 else (folder / model_id, f"{model_id}/")
        if include_json:
            written[f"{prefix}json"] = place / JSON_FILE
            texts[place / JSON_FILE] = report_text(report)
        if include_markdown:
            written[f"{prefix}markdown"] = place / MARKDOWN_FILE
            texts[place / MARKDOWN_FILE] = generate_markdown_summary(report)
    write_texts(texts, replace=True)
    return written


def _of_run(text: str) -> dict[str, EvaluationReport]:
    from analyze.exporters.report_v2 import reports_of_run  # noqa: PLC0415 - loads the engine
    from analyze.query.session import open_session  # noqa: PLC0415

    with open_session(runs_dir_of(RUNS, text)) as session:
        run_id = resolve_run(session, text)
        reports = reports_of_run(session, run_id)
    if not reports:
        message = f"run `{run_id}` planned nothing, so there is nothing to report"
        raise AnalyzeError(message)
    return reports
