"""A command that a package adds to `analyze`: a run in one line."""

import typer

from analyze.cli_options import RUNS, RunArgument, RunsOption
from analyze.commands import Command


def tally(run: RunArgument = "latest", runs: RunsOption = RUNS) -> None:
    """Say how many trials of a run passed.

    Example: analyze tally latest
    """
    from analyze.query.run_ref import resolve_run, runs_dir_of
    from analyze.query.session import open_session

    with open_session(runs_dir_of(runs, run)) as session:
        rows = session.rows(
            "select count(*) filter (passed), count(*) from trials where run_id = ?",
            [resolve_run(session, run)],
        )
    typer.echo("{} of {} passed".format(*rows[0]))


COMMAND = Command("Look", "example_command:tally")
