"""`analyze validate`: everything wrong with reports, predictions and logs of anybody."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from analyze.cli_options import JsonOption

if TYPE_CHECKING:
    from schemas.base import ValidatedFile

MIN_PROGRESS_BYTES = 50 * 10**6
"""Bytes of a file over which a terminal is told how far the work is."""


def validate(
    files: Annotated[list[str], typer.Argument(metavar="FILE", help="What to look at.")],
    json: JsonOption = False,
) -> None:
    """Check reports, predictions, logs of runs and summary.json.

    Logs are results.jsonl and evaluations.jsonl, reports those of evaluations and of the SWE-bench
    harness. Each file is recognised by its content. Exit code 0: all are valid. Exit code 1: any
    is not.

    Example: analyze validate runs/20261122_013000/results.jsonl
    """
    from analyze.validate.one_file import validation_json, validation_lines
    from schemas.errors import EXIT_BAD_NEWS

    paths = [Path(file) for file in files]
    _require_files(paths)
    found = [_validated(path) for path in paths]
    typer.echo(validation_json(found) if json else "\n".join(validation_lines(found)))
    if not all(one.valid for one in found):
        raise typer.Exit(EXIT_BAD_NEWS)


def _require_files(paths: list[Path]) -> None:
    """Refuse what is no file, before any is read.

    Raises:
        ConfigError: names all of them.
    """
    from schemas.errors import ConfigError, Problem

    problems = [Problem(path, _no_file(path)) for path in paths if not path.is_file()]
    if problems:
        raise ConfigError(problems)


def _no_file(path: Path) -> str:
    if path.is_dir():
        return "is a folder; name the files in it"
    return "is not a regular file" if path.exists() else "is not there"


def _validated(path: Path) -> ValidatedFile:
    from analyze.render.progress import Progress
    from analyze.validate.one_file import validated
    from schemas.errors import ConfigError, Problem

    try:
        if path.stat().st_size <= MIN_PROGRESS_BYTES:
            return validated(path)
        with Progress() as progress:
            return validated(path, progress)
    except OSError as exc:
        raise ConfigError([Problem(path, f"cannot be read: {exc.strerror}")]) from exc
