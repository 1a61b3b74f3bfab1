"""`analyze sync`: brings what runs have written into the lake, and keeps the lake in order."""

from __future__ import annotations

from typing import Annotated

import typer

from analyze.cli_options import RUNS, JsonOption, RunsOption
from schemas.errors import EXIT_BAD_NEWS, EXIT_INTERRUPTED


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
    lake: Annotated[
        str | None,
        typer.Option("--lake", metavar="URL", help="Compact a shared lake instead."),
    ] = None,
    json: JsonOption = False,
) -> None:
    """Bring what is new in runs into the lake, and compact it.

    Every command that reads the lake does so first. --prune never touches a folder; a
    run that was pruned stays out until `analyze sync RUN` names it. After --no-text this
    lake takes hashes of what agents and tools said, and no texts; with --prune those of the
    RUNs alone go. --lake writes the many small files of a shared lake anew, drops rows that
    were replaced a week ago, and removes old files; others may read and push meanwhile.
    Exit code 1: rows of a damaged file are lost to the lake; a shared lake keeps them.

    Example: analyze sync
    """
    if lake is not None:
        if run or prune or text is not None or runs != RUNS:
            message = "--lake is of a whole shared lake: it takes no RUN, --prune, --text or --runs"
            raise typer.BadParameter(message)
        _compact(lake, as_json=json)
        return
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


def _compact(url: str, *, as_json: bool) -> None:
    """Compact a shared lake, and say what became of it.

    Ctrl-C ends it when the month that is being written is done; a second one at once, and nothing
    is half done then either.
    """
    import signal

    from analyze.render.progress import Progress
    from analyze.share import open_shared
    from analyze.share.words import compacted_text

    shared = open_shared(url)
    from analyze.share.compaction import compact_shared  # needs the library that was asked for

    is_wanted = True

    def end(*_: object) -> None:
        nonlocal is_wanted
        is_wanted = False
        signal.signal(signal.SIGINT, signal.SIG_DFL)

    before = signal.signal(signal.SIGINT, end)
    try:
        with Progress() as progress:
            done = compact_shared(shared, progress.show, is_to_end=lambda: not is_wanted)
    finally:
        signal.signal(signal.SIGINT, before)
    if done.failed:
        typer.echo(f"error: {done.failed}", err=True)
    typer.echo(compacted_text(shared.location.url, done, as_json=as_json), nl=False)
    if done.is_interrupted:
        raise typer.Exit(EXIT_INTERRUPTED)
    if done.damaged or done.failed:
        raise typer.Exit(EXIT_BAD_NEWS)
