"""Where the files of an export go, and what they never replace unasked."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from analyze.exporters.files import ExportFormat, ExportText
from analyze.report_v2.files import JSON_FILE, MARKDOWN_FILE
from schemas.errors import ConfigError, Problem, counted
from schemas.run.layout import is_planned

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
