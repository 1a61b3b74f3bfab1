"""`analyze show`: a run, a case of it, or trials word for word."""

from __future__ import annotations

from typing import Annotated

import typer

from analyze.cli_options import RUNS, JsonOption, NoSyncOption, RunArgument, RunsOption


def show(
    run: RunArgument,
    case: Annotated[
        str | None, typer.Argument(metavar="CASE", help="A case of it: every trial in a list.")
    ] = None,
    model: Annotated[
        str | None,
        typer.Argument(metavar="MODEL", help="A model_id, model string or label: what was said."),
    ] = None,
    repetition: Annotated[
        int | None, typer.Argument(metavar="REP", min=1, help="One repetition; else all.")
    ] = None,
    runs: RunsOption = RUNS,
    no_sync: NoSyncOption = False,
    json: JsonOption = False,
) -> None:
    """Show a run, a case of it, or a transcript as text.

    Example: analyze show latest
    """
    from json import dumps

    from analyze.query.run_ref import runs_dir_of
    from analyze.query.session import open_session
    from analyze.render.text import screen_width
    from analyze.show.show import show as page_of

    with open_session(runs_dir_of(runs, run), sync=not no_sync) as session:
        page = page_of(session, run, case, model, repetition, width=screen_width())
    typer.echo(dumps(page.data, indent=2) if json else "\n".join(page.lines))
