"""Where the files of an export go, and what they never replace unasked."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from analyze.exports.texts import ExportFormat, ExportText
from schemas.errors import ConfigError, Problem
from schemas.folders import is_planned

REPORTS = "reports"
"""Folder of a run of ours that holds its reports; derived, it can be deleted."""

PREDICTIONS = ".predictions.jsonl"


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
        output: a folder for reports v2 and for several models, else a file, or a folder that is
            there; None: the place of their own, or the working directory.
        own: place of a run's reports, with a folder a model.

    Raises:
        ConfigError: a folder stands where a file has to go, or a file where a folder has to.
    """
    has_several = len({one.model_id for one in texts}) > 1
    if form == "report-v2":
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
