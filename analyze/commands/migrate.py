"""`analyze migrate`: a report of an older schema becomes one of v2, and nothing of it is lost."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from analyze.cli_options import JsonOption

if TYPE_CHECKING:
    from collections.abc import Sequence

    from analyze.report_v2.older import Located, OldReport
    from schemas.formats.migration.migrate import Migration

REPORT_FILE = "report.json"
"""What is written into a folder."""


def migrate(
    source: Annotated[
        Path,
        typer.Argument(
            metavar="FILE|DIR", help="An older report, or the folder that the older tool filled."
        ),
    ],
    output: Annotated[
        Path,
        typer.Option("--output", "-o", metavar="OUT", help="A file, or a folder for report.json."),
    ],
    model: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="The model, where no file names it; else the folder's."),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace OUT if it is there.")] = False,
    json: JsonOption = False,
) -> None:
    """Make a report v2 of an older one. Tells what became of each field.

    What has no place in v2 is kept in environment.migrated_from; the source is never changed.
    Exit code 1: it is none of the known shapes, or has mistakes; all are told, nothing is written.

    Example: analyze migrate old/report.json --output report.json
    """
    from analyze.report_v2.files import write_texts
    from analyze.report_v2.older import find_report, migration_json, migration_lines
    from schemas.errors import NotOurFile

    target = output / REPORT_FILE if output.is_dir() else output
    found = find_report(source)
    if isinstance(found, list):
        raise _refusal(source, found, json=json)
    _require_apart(found, target)
    if target.exists() and not force:
        raise NotOurFile(target, "left as it is")
    migration = _migrated(source, found, model, json=json)
    write_texts({target: _text(found, migration)}, replace=force)
    time = _given_time(found, migration)
    if json:
        typer.echo(migration_json(found, migration, target, time))
    else:
        typer.echo("\n".join(migration_lines(found, migration, target, time)))


def _require_apart(found: OldReport, target: Path) -> None:
    """Refuse to write over what is read, or over what stands beside it.

    Raises:
        ConfigError: the target is one of these files, by whatever name.
    """
    from schemas.errors import ConfigError, Problem

    for path in (*(file.path for file in found.files), *found.others):
        if target.resolve() == path.resolve() or (target.exists() and target.samefile(path)):
            what = "is a file of the source, which is never changed; name another"
            raise ConfigError([Problem(target, what, key="--output")])


def _migrated(source: Path, found: OldReport, model: str | None, *, json: bool) -> Migration:
    """Return the migrated report; with a mistake in a file there is none."""
    from schemas.base import Finding
    from schemas.errors import NotMigratable
    from schemas.formats.migration.migrate import migration_of

    mistakes = found.findings
    try:
        if found.is_readable:
            name = model or found.model_name
            migration = migration_of(found.value, found.modified_at(), model_name=name)
            if not mistakes or migration.shape == "v2":
                return migration
    except NotMigratable as exc:
        mistakes += found.located(one for one in exc.findings if isinstance(one, Finding))
    raise _refusal(source, mistakes, json=json)


def _refusal(source: Path, mistakes: Sequence[Located], *, json: bool) -> typer.Exit:
    """Tell every mistake, and return how the command ends."""
    from analyze.report_v2.older import refusal_json, refusal_lines
    from schemas.errors import EXIT_BAD_NEWS

    if json:
        typer.echo(refusal_json(source, mistakes))
    for line in () if json else refusal_lines(mistakes):
        typer.echo(f"error: {line}", err=True)
    return typer.Exit(EXIT_BAD_NEWS)


def _text(found: OldReport, migration: Migration) -> str:
    """Return the text of the report; one of v2 is written as it was read."""
    from json import dumps

    if migration.shape == "v2":
        return found.files[0].content.decode()
    return dumps(migration.report, indent=2, allow_nan=False) + "\n"


def _given_time(found: OldReport, migration: Migration) -> str | None:
    """Return the modification time of the source where it stands in for a start."""
    from schemas.formats.migration.header import GIVEN_TIME, utc_text

    is_given = any(move.note == GIVEN_TIME for move in migration.defaulted)
    return utc_text(found.modified_at()) if is_given else None
