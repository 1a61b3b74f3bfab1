"""`analyze views`: what there is to ask."""

from __future__ import annotations

from typing import Annotated

import typer

from analyze.cli_options import JsonOption


def views(
    name: Annotated[
        str | None, typer.Argument(metavar="NAME", help="One view; without it: all of them.")
    ] = None,
    show_sql: Annotated[bool, typer.Option("--sql", help="Print the view's SQL as well.")] = False,
    portable: Annotated[
        bool,
        typer.Option(
            "--portable",
            help="Print nothing but SQL that other engines understand: the view's select, or "
            "without NAME a script that makes every view over tables raw_results and so on.",
        ),
    ] = False,
    json: JsonOption = False,
) -> None:
    """List what SQL can ask. Of one view or table: its grain, columns and SQL.

    Example: analyze views model_summary
    """
    from analyze.query.dictionary import page_json, page_text, portable_text, views_json, views_text
    from schemas.errors import ConfigError, Problem

    if portable:
        if json or show_sql:
            raise ConfigError(
                [Problem(None, "is SQL alone, without --json and --sql", "--portable")]
            )
        typer.echo(portable_text(name), nl=False)
    elif name is None:
        typer.echo(views_json() if json else views_text(), nl=False)
    else:
        typer.echo(page_json(name) if json else page_text(name, with_sql=show_sql), nl=False)
