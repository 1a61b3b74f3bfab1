"""`analyze sync`: brings what runs have written into the lake, and keeps the lake in order."""

from __future__ import annotations

from typing import Annotated

import typer

from analyze.cli_options import RUNS, JsonOption, RunsOption
from schemas.errors import EXIT_BAD_NEWS


def sync(
    run: Annotated[
        list[str] | None,
        typer.Argument(metavar="RUN", help="Bring in these, pruned ones too. Default: all."),
    ] = None,
    prune: Annotated[
        bool, typer.Option("--prune", help="Remove the rows of the RUNs named instead.")
    ] = False,
    text: Annotated[
        bool | None,
        typer.Option("--text/--no-text", help="Texts of steps come in, from now on."),
    ] = None,
    runs: RunsOption = RUNS,
    json: JsonOption = False,
) -> None:
    """Bring what is new in runs into the lake, and compact it.

    Every command that reads the lake does so first. --prune never touches a folder; a
    run that was pruned stays out until `analyze sync RUN` names it. After --no-text this
    lake takes hashes of what agents and tools said, and no texts; with --prune those of the
    RUNs alone go. Exit code 1: rows of a damaged file are lost to the lake.

    Example: analyze sync
    """
    from analyze.query.ensure_synced import prune_runs, prune_text, sync_runs, sync_text

    if prune and text:
        message = "--prune takes texts out: --no-text takes them alone"
        raise typer.BadParameter(message)
    if prune:
        alone = text is False
        n_rows = prune_runs(runs, run or [], texts_alone=alone)
        typer.echo(prune_text(n_rows, as_json=json, texts_alone=alone), nl=False)
    else:
        synced = sync_runs(runs, run, with_text=text)
        typer.echo(sync_text(synced, as_json=json), nl=False)
        if text is not None and not json:
            typer.echo(
                f"texts of steps {'come into' if text else 'stay out of'} this lake from now on"
            )
        if synced.n_lost_rows:
            raise typer.Exit(EXIT_BAD_NEWS)
