"""`analyze tiers`: how far each model can be trusted with tools."""

from __future__ import annotations

from typing import Annotated

import typer

from analyze.cli_options import RUN_HELP, RUNS, JsonOption, NoSyncOption, RunsOption


def tiers(
    run: Annotated[
        list[str] | None, typer.Argument(metavar="RUN", help=f"{RUN_HELP} Or `all`, the default.")
    ] = None,
    runs: RunsOption = RUNS,
    no_sync: NoSyncOption = False,
    json: JsonOption = False,
) -> None:
    """Show the routing tier of every model, by how it used tools.

    The tier follows from the rate; it is confident when the whole interval lies inside it.

    Example: analyze tiers latest
    """
    from analyze.query.run_ref import resolve_run
    from analyze.query.session import open_session
    from analyze.render.text import screen_width
    from analyze.routing.options import Scope, bounds_of, read_tool_use
    from analyze.routing.render import tier_lines, tiers_json

    with open_session(runs, sync=not no_sync) as session:
        names = [] if run in (None, ["all"]) else run or []
        scope = Scope(tuple(resolve_run(session, name) for name in names))
        rows, bounds = read_tool_use(session, scope), bounds_of(session)
    if json:
        typer.echo(tiers_json(rows, bounds))
        return
    for line in tier_lines(rows, bounds, screen_width()):
        typer.echo(line)
