"""The `analyze` command: reads arguments, prints results, and turns errors into exit codes.

What a command needs is imported inside it: `--help` loads no engine and no models.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from schemas.errors import BenchError

PROBLEMS_SHOWN = 20
"""A log of another shape has a problem on every line; the first ones say it."""

app = typer.Typer(
    rich_markup_mode=None,
    add_completion=False,
    pretty_exceptions_enable=False,
    no_args_is_help=True,
)


@app.callback()
def analyze() -> None:
    """Analyze the runs that `collect` made; never talks to a model."""


@app.command()
def summarize(
    run: Annotated[str, typer.Argument(help="A run id, a path to a run's folder, or `latest`.")],
    runs: Annotated[Path, typer.Option(help="The folder that holds the runs.")] = Path("runs"),
    as_json: Annotated[
        bool, typer.Option("--json", help="Print JSON; paths then go to standard error.")
    ] = False,
) -> None:
    """Write summary.json and summary.md of a run and print the table."""
    from analyze.history import bring_into_lake, find_run
    from analyze.report.summary_table import summary_markdown
    from analyze.summarize import read_inventory, summarize_run, summary_json, write_files
    from schemas.lake import lake_of

    run_dir = find_run(runs, run)
    lake = lake_of(run_dir.parent)
    _report(bring_into_lake(run_dir, lake))
    summary = summarize_run(run_dir, lake)
    text = summary_json(summary) if as_json else summary_markdown(summary, read_inventory(run_dir))
    typer.echo(text, nl=False)
    for path in write_files(run_dir, summary):
        typer.echo(path, err=as_json)


def _report(problems: list[str]) -> None:
    for problem in problems[:PROBLEMS_SHOWN]:
        typer.echo(f"warning: {problem}", err=True)
    if len(problems) > PROBLEMS_SHOWN:
        typer.echo(f"warning: and {len(problems) - PROBLEMS_SHOWN} more", err=True)


def main() -> None:
    """Run the command; an error raised on purpose is one line and an exit code."""
    try:
        app()
    except BenchError as exc:
        typer.echo(f"error: {exc}", err=True)
        sys.exit(exc.exit_code)
