"""`analyze steps`: what agents and their tools did in a run, step by step."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

from analyze.cli_options import (
    RUNS,
    EvaluationProfileOption,
    JsonOption,
    ModelOption,
    NoSyncOption,
    RunArgument,
    RunsOption,
)


def steps(
    run: RunArgument,
    case: Annotated[
        str | None, typer.Argument(metavar="CASE", help="A case of it; else all.")
    ] = None,
    model: ModelOption = None,
    tool: Annotated[
        str | None, typer.Option(metavar="NAME", help="Calls and results of this tool.")
    ] = None,
    errors: Annotated[bool, typer.Option("--errors", help="Only steps that failed.")] = False,
    where: Annotated[
        str | None,
        typer.Option(
            metavar="SQL",
            help="A condition over the columns of `steps`, and `text`: \"kind = 'tool_call'\".",
        ),
    ] = None,
    max_rows: Annotated[
        int, typer.Option("--max-rows", metavar="N", min=0, help="Of a table; 0 shows all.")
    ] = 100,
    form: Annotated[
        Literal["table", "json", "csv", "md"] | None,
        typer.Option("--format", help="json and csv have every column and the whole text."),
    ] = None,
    runs: RunsOption = RUNS,
    evaluation_profile: EvaluationProfileOption = None,
    no_sync: NoSyncOption = False,
    json: JsonOption = False,
) -> None:
    """Show what happened in trials with tools, step by step.

    A step is a message, a call, its result, a failed request or a limit. A trial that is
    one answer has no steps; `analyze show` has it.

    Example: analyze steps latest --errors
    """
    from analyze.query.run_ref import runs_dir_of
    from analyze.query.session import open_session
    from analyze.sql.output import OutputOptions, print_answer
    from analyze.steps.question import StepQuestion, steps_query

    if json and form not in {None, "json"}:
        message = f"--json and --format {form} exclude each other"
        raise typer.BadParameter(message)
    wanted = "json" if json else form or "table"
    runs_dir = runs_dir_of(runs, run)
    asked = StepQuestion(run, case, model, tool, errors, where)
    with open_session(runs_dir, sync=not no_sync, evaluation_profile=evaluation_profile) as session:
        query = steps_query(session, asked, whole=wanted in {"json", "csv"})
    print_answer(runs_dir, query, OutputOptions(wanted, max_rows, repairs=not no_sync))
