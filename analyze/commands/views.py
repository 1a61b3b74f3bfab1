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
    json: JsonOption = False,
) -> None:
    """List what SQL can ask. Of one view or table: its grain, columns and SQL.

    Example: analyze views model_summary
    """
    from analyze.query.dictionary import page_json, page_text, views_json, views_text

    if name is None:
        typer.echo(views_json() if json else views_text(), nl=False)
    else:
        typer.echo(page_json(name) if json else page_text(name, with_sql=show_sql), nl=False)
