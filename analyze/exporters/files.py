"""The files of an export: which models of a run are meant, and where the files go.

Each model gets a name of its own, and no file is replaced unasked.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from analyze.exporters import Exporter, ExportText, RunExport
from analyze.exporters.majority import FoldedModel, fold
from schemas.errors import AnalyzeError, ConfigError, Problem, counted, nearest
from schemas.run.layout import is_planned

if TYPE_CHECKING:
    from analyze.query.session import Session
    from schemas.formats.swebench import Style

REPORTS = "reports"
"""Folder of a run of ours that holds its reports; derived, it can be deleted."""

STDOUT = Path("-")
"""Said instead of a file: standard output."""


def texts_of_run(
    session: Session,
    run_id: str,
    exporter: Exporter,
    *,
    style: Style | None = None,
    model: str | None = None,
) -> list[ExportText]:
    """Return the files of a run, ordered by model_id.

    Args:
        session: the open lake.
        run_id: a run that the lake knows.
        exporter: of the format.
        style: of the format, if it has any; by default that of an imported report, else the newest.
        model: only this one, by model_id or model string.

    Raises:
        ConfigError: the run has no such model; names the nearest.
        AnalyzeError: the run planned nothing, or its answers are not all here.
        SchemaError: the run's config is there and cannot be read.
        ViewError: the lake cannot be read.
    """
    models = fold(session, run_id)
    chosen = _chosen(run_id, models, model)
    return exporter.of_run(RunExport(session, run_id, models, chosen, style))


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


def texts_by_path(
    texts: Sequence[ExportText], exporter: Exporter, output: Path | None, own: Path | None
) -> dict[Path, str | bytes]:
    """Return the text of each file by its path.

    Args:
        texts: of one run or report.
        exporter: that made them.
        output: a file for one document; a folder for reports v2 with their summaries and for
            several models; None: the place of their own, or the working directory.
        own: place of a run's reports, with a folder a model.

    Raises:
        ConfigError: a folder stands where a file has to go, or a file where a folder has to; or
            one file is named for several documents, or for a tree of files.
    """
    has_several = len({one.model_id for one in texts}) > 1
    if exporter.is_tree:
        if output is not None and _is_file_name(output, exporter):
            what = "several files come out, which rely on each other; name a folder"
            raise ConfigError([Problem(output, what, key="--output")])
        found = {(output or Path()) / one.name: one.text for one in texts}
    elif output is not None and _is_file_name(output, exporter):
        found = {output: document(texts, output)}
    elif exporter.is_folder:
        folder = output or own or Path()
        found = {
            (folder / one.model_id if has_several or output is None else folder)
            / one.name: one.text
            for one in texts
        }
    elif output is None or has_several or output.is_dir():
        found = {(output or Path()) / one.name: one.text for one in texts}
    else:
        found = {output: texts[0].text}
    _require_files(found)
    return found


def document(texts: Sequence[ExportText], output: Path) -> str | bytes:
    """Return the one document that a file or standard output is to have.

    Of a report v2 that is the report, or its summary where the file's name ends in `.md`.

    Args:
        texts: of one run or report.
        output: the file, or `-`.

    Raises:
        ConfigError: there are several, one a model, or files that are no text.
    """
    if any(isinstance(one.text, bytes) for one in texts):
        names = ", ".join(one.name for one in texts)
        problem = Problem(output, f"{names} come out; name a folder", "--output")
        raise ConfigError([problem])
    models = list(dict.fromkeys(one.model_id for one in texts))
    if len(models) > 1:
        what = f"is one file, and {counted(len(models), 'document')} come out, one a model"
        then = "choose one with --model, or name a folder"
        problem = Problem(output, f"{what}; {then}", "--output", allowed=", ".join(models))
        raise ConfigError([problem])
    named = (one.text for one in texts if output.suffix and one.name.endswith(output.suffix))
    return next(named, texts[0].text)


def _is_file_name(output: Path, exporter: Exporter) -> bool:
    return output.suffix in exporter.suffixes and not output.is_dir()


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
