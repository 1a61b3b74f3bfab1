"""`analyze open`: the lake as a database file for other clients."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from analyze.cli_options import RUNS, EvaluationProfileOption, NoSyncOption, RunsOption
from schemas.errors import counted


def open_database(
    db: Annotated[
        Path, typer.Option("--db", metavar="FILE", help="The file to write, such as bench.duckdb.")
    ],
    runs: RunsOption = RUNS,
    force: Annotated[
        bool, typer.Option("--force", help="Replace FILE even if it is something else.")
    ] = False,
    evaluation_profile: EvaluationProfileOption = None,
    no_sync: NoSyncOption = False,
) -> None:
    """Write a DuckDB file with every view, for other clients.

    DuckDB from 1.1 on reads it. It holds no data and sees no later runs: write it again to refresh
    it.

    Example: analyze open --db bench.duckdb
    """
    from analyze.query.database_file import write_database
    from analyze.query.session import check_evaluation_profile, sync_new_runs

    sync_new_runs(runs, sync=not no_sync)
    check_evaluation_profile(runs, evaluation_profile)
    n_files = write_database(
        runs, db, force=force, repairs=not no_sync, evaluation_profile=evaluation_profile
    )
    typer.echo(f"{db}: every view, over {counted(n_files, 'file')} of {runs / 'lake'}")
    typer.echo("It is a private cache: the rows stay in the lake, and it may be deleted any time.")
    typer.echo(f"Refresh it after new runs:  analyze open --db {db} --runs {runs}")
    typer.echo(f"Open it:                    duckdb -readonly {db}")
    typer.echo(f'                            duckdb.connect("{db}", read_only=True)   # Python')
