"""`analyze push`: brings runs into a shared lake."""

from __future__ import annotations

from typing import Annotated

import typer

from analyze.cli_options import RUN_HELP, RUNS, JsonOption, NoSyncOption, RunsOption, UrlArgument
from schemas.errors import EXIT_BAD_NEWS


def push(
    run: Annotated[
        list[str] | None, typer.Argument(metavar="RUN", help=f"{RUN_HELP} Default: all.")
    ] = None,
    *,
    url: UrlArgument,
    runs: RunsOption = RUNS,
    no_sync: NoSyncOption = False,
    json: JsonOption = False,
) -> None:
    """Bring runs into a shared lake.

    Those that are there are not sent again. The shared lake is a Delta table for each
    table of a lake. A run comes whole or not at all, and once, however many machines push
    at a time. Credentials are those of the environment, such as AWS_ACCESS_KEY_ID. Exit
    code 1: a run was not pushed.

    Example: analyze push latest s3://team/lake
    """
    from analyze.query.run_ref import known_runs, resolve_run
    from analyze.query.session import open_session
    from analyze.render.progress import Progress
    from analyze.share import open_shared
    from analyze.share.words import push_text

    shared = open_shared(url)
    from analyze.share.push import push_runs  # needs the library that was asked for

    with open_session(runs, sync=not no_sync) as session:
        if run:
            ids = list(dict.fromkeys(resolve_run(session, one) for one in run))
        else:
            ids = [known.run_id for known in reversed(known_runs(session))]
    with Progress() as progress:
        done = list(push_runs(runs, ids, shared, progress.show))
    typer.echo(push_text(shared.location.url, done, as_json=json), nl=False)
    if any(one.outcome == "not pushed" for one in done):
        raise typer.Exit(EXIT_BAD_NEWS)
