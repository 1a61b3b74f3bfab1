"""`analyze sql`: a question to the lake in SQL."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from analyze.cli_options import RUNS, EvaluationProfileOption, NoSyncOption, RunsOption
from schemas.errors import EXIT_USAGE, counted

if TYPE_CHECKING:
    from analyze.sql.output import Asker, OutputOptions

AnswerForm = Literal["table", "json", "csv", "parquet", "md"]

FORMAT_HELP = (
    "Default: by the name of --output, else table. In csv a text that a spreadsheet "
    "would run as a formula gets a ' in front; json and parquet are exact."
)
OUTPUT_HELP = "Write there instead."
MAX_ROWS_HELP = "Of a table; 0 shows all."


def sql(
    query: Annotated[
        str | None,
        typer.Argument(
            metavar="QUERY",
            help="One SELECT; `-` reads it from standard input. Without it: a prompt.",
        ),
    ] = None,
    runs: RunsOption = RUNS,
    form: Annotated[AnswerForm | None, typer.Option("--format", help=FORMAT_HELP)] = None,
    json: Annotated[bool, typer.Option("--json", help="The same as --format json.")] = False,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", help=OUTPUT_HELP)
    ] = None,
    max_rows: Annotated[
        int, typer.Option("--max-rows", metavar="N", min=0, help=MAX_ROWS_HELP)
    ] = 100,
    timeout: Annotated[
        float,
        typer.Option("--timeout", metavar="SECONDS", min=0.001, help="Stop the query after it."),
    ] = 60.0,
    evaluation_profile: EvaluationProfileOption = None,
    no_sync: NoSyncOption = False,
) -> None:
    """Ask every run ever made a question in SQL. Reads the lake and nothing else.

    `analyze views` lists what can be asked, as in
    analyze sql "select model_id, passed_rate from model_summary".

    Example: analyze sql "select model_id, passed_rate from model_summary"
    """
    from analyze.query.session import check_evaluation_profile, sync_new_runs
    from analyze.sql.output import OutputOptions

    wish = OutputOptions(
        form_of_answer(form, output, json=json), max_rows, timeout, not no_sync, evaluation_profile
    )
    if output is not None and query is None:
        _exit_with_error("--output needs a query; `-` reads one from standard input")
    sync_new_runs(runs, sync=not no_sync)
    check_evaluation_profile(runs, evaluation_profile)
    if query is None:
        from analyze.sql.repl import run_prompt

        raise typer.Exit(run_prompt(runs, wish))
    give_answer(runs, query, wish, output)


def give_answer(
    runs: Path, query: str, wish: OutputOptions, output: Path | None, asker: Asker | None = None
) -> None:
    """Print the answer to a query, or write it into a file and say how large that is."""
    from analyze.sql.ask import ask
    from analyze.sql.output import print_answer, write_answer

    text = sys.stdin.read() if query == "-" else query
    if output is None:
        print_answer(runs, text, wish, asker or ask)
    else:
        n_bytes = write_answer(runs, text, wish, output, asker or ask)
        typer.echo(f"{output}: {counted(n_bytes, 'byte')} of {wish.form}", err=True)


def form_of_answer(form: AnswerForm | None, output: Path | None, *, json: bool) -> AnswerForm:
    """Return the form that `--format`, `--json` and the name of the output ask for together."""
    from analyze.sql.output import BY_SUFFIX

    if json and form not in {None, "json"}:
        _exit_with_error(f"--json and --format {form} exclude each other")
    by_name = BY_SUFFIX.get(output.suffix.lower(), "table") if output else "table"
    found: AnswerForm = "json" if json else form or by_name
    if found == "parquet" and output is None and sys.stdout.isatty():
        _exit_with_error("--format parquet is no text; name a file with --output")
    return found


def _exit_with_error(what: str) -> None:
    typer.echo(f"error: {what}", err=True)
    raise typer.Exit(EXIT_USAGE)
