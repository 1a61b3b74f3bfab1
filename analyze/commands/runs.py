"""`analyze runs`: every run there is, the newest first."""

from __future__ import annotations

from typing import Annotated

import typer

from analyze.options import RUNS, JsonOption, NoSyncOption, RunsOption

LIMIT = 30
"""Runs that are listed unless told otherwise."""


def runs(
    suite: Annotated[str | None, typer.Option(help="Runs of this suite.")] = None,
    model: Annotated[
        str | None, typer.Option(help="Runs that asked this model, by model_id or model string.")
    ] = None,
    label: Annotated[str | None, typer.Option(help="Runs with this label.")] = None,
    limit: Annotated[
        int, typer.Option(min=0, metavar="N", help="List the newest N; 0: all.")
    ] = LIMIT,
    runs: RunsOption = RUNS,
    no_sync: NoSyncOption = False,
    json: JsonOption = False,
) -> None:
    """List runs, newest first: what they asked, how much of it is there, and how it went."""
    from analyze.report.plain import screen_width
    from analyze.report.run_table import run_lines, runs_json
    from analyze.run_rows import read_runs
    from analyze.session import open_session
    from analyze.which import require_label, require_model, require_suite

    with open_session(runs, sync=not no_sync) as session:
        if suite is not None:
            require_suite(session, suite)
        if model is not None:
            require_model(session, model)
        if label is not None:
            require_label(session, label)
        listed = read_runs(session, suite=suite, model=model, label=label, limit=limit)
    if json:
        typer.echo(runs_json(listed.runs))
        return
    for line in run_lines(listed, screen_width()):
        typer.echo(line)
