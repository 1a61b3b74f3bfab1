"""`analyze tiers`: how far each model can be trusted with tools."""

from __future__ import annotations

from typing import Annotated

import typer

from analyze import cli_options as options
from analyze.commands import print_document


def tiers(
    run: Annotated[
        list[str] | None,
        typer.Argument(metavar="RUN", help=f"{options.RUN_HELP} Or `all`, the default."),
    ] = None,
    form: options.FormOption = None,
    runs: options.RunsOption = options.RUNS,
    evaluation_profile: options.EvaluationProfileOption = None,
    no_sync: options.NoSyncOption = False,
    json: options.JsonOption = False,
) -> None:
    """Show the routing tier of every model, by how it used tools.

    The tier follows from the rate; it is confident when the whole interval lies inside it.

    Example: analyze tiers latest
    """
    from analyze.query.run_ref import resolve_run
    from analyze.query.session import open_session
    from analyze.routing.options import Scope, bounds_of, read_tool_use
    from analyze.routing.render import tiers_document, tiers_json

    wanted = options.form_of(form, json=json)
    with open_session(runs, sync=not no_sync, evaluation_profile=evaluation_profile) as session:
        names = [] if run in (None, ["all"]) else run or []
        scope = Scope(tuple(resolve_run(session, name) for name in names))
        rows, bounds = read_tool_use(session, scope), bounds_of(session)
    print_document(
        rows, wanted, lambda it: tiers_document(it, bounds), json=lambda it: tiers_json(it, bounds)
    )
