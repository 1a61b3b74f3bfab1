"""`analyze search`: where a text stands in what models, agents and tools said."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

from analyze.cli_options import RUNS, JsonOption, ModelOption, NoSyncOption, RunsOption


def search(
    text: Annotated[str, typer.Argument(metavar="TEXT", help="What to look for.")],
    run: Annotated[
        str | None, typer.Option(metavar="RUN", help="In this run alone, such as `latest`.")
    ] = None,
    case: Annotated[
        str | None, typer.Option(metavar="CASE", help="In trials of this case.")
    ] = None,
    model: ModelOption = None,
    regex: Annotated[
        bool, typer.Option("--regex", help="TEXT is a regular expression (RE2).")
    ] = False,
    max_rows: Annotated[
        int, typer.Option("--max-rows", metavar="N", min=0, help="Of a table; 0 shows all.")
    ] = 50,
    form: Annotated[
        Literal["table", "json", "csv", "md"] | None,
        typer.Option("--format", help="json and csv have every column."),
    ] = None,
    runs: RunsOption = RUNS,
    no_sync: NoSyncOption = False,
    json: JsonOption = False,
) -> None:
    """Find a text in transcripts and answers of all runs.

    Every step of trials with tools is searched, and of other trials the answer. Upper and
    lower case are the same unless TEXT has a capital.

    Example: analyze search "permission denied" --run latest
    """
    from pathlib import Path

    from analyze.query.run_ref import runs_dir_of
    from analyze.query.session import open_session
    from analyze.sql.output import OutputOptions, print_answer
    from analyze.steps.search import TextQuestion, search_query

    if json and form not in {None, "json"}:
        message = f"--json and --format {form} exclude each other"
        raise typer.BadParameter(message)
    if not text:
        message = "is empty: every text holds that"
        raise typer.BadParameter(message, param_hint="TEXT")
    wanted = "json" if json else form or "table"
    runs_dir = Path(runs) if run is None else runs_dir_of(runs, run)
    asked = TextQuestion(text, run, case, model, regex)
    with open_session(runs_dir, sync=not no_sync) as session:
        query = search_query(session, asked, whole=wanted in {"json", "csv"})
    print_answer(runs_dir, query, OutputOptions(wanted, max_rows, repairs=not no_sync))
