"""`analyze pull`: brings runs of a shared lake here."""

from __future__ import annotations

from typing import Annotated

import typer

from analyze.cli_options import RUNS, JsonOption, RunsOption, SuiteOption, UrlArgument
from schemas.errors import EXIT_BAD_NEWS


def pull(
    url: UrlArgument,
    since: Annotated[
        str | None,
        typer.Option(
            "--since", metavar="DATE", help="Only runs that began then or later, UTC: 2026-10-01."
        ),
    ] = None,
    suite: SuiteOption = None,
    runs: RunsOption = RUNS,
    json: JsonOption = False,
) -> None:
    """Bring runs of a shared lake here.

    Months without any are not read. Rows are held against the hashes they were pushed
    with. A run whose folder is here stays as it is here. Exit code 1: a run is not as it was
    pushed.

    Example: analyze pull s3://team/lake --since 2026-10-01
    """
    from analyze.query.ensure_synced import disk_errors
    from analyze.render.progress import Progress
    from analyze.share import open_shared
    from analyze.share.words import began_since, pull_text
    from schemas.lake import lake_of

    shared, earliest_ms = open_shared(url), began_since(since)
    from analyze.share.pull import pull_runs  # needs the library that was asked for

    def is_wanted(started_at_ms: int | None, suite_id: str) -> bool:
        is_late = earliest_ms is None or (started_at_ms or 0) >= earliest_ms
        return is_late and suite in {None, suite_id}

    with Progress() as progress, disk_errors(lake_of(runs)):
        done = pull_runs(
            runs,
            shared,
            lambda run: is_wanted(run.started_at_ms, run.suite_id),
            progress.show,
            from_month=since and since[:7],
        )
    typer.echo(pull_text(shared.location.url, done, as_json=json), nl=False)
    if done.refused:
        raise typer.Exit(EXIT_BAD_NEWS)
