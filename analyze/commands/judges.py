"""`analyze judges`: how far the judges of runs can be believed."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from analyze import cli_options as options
from analyze.commands import names_for, print_document


def judges(
    run: Annotated[
        list[str] | None,
        typer.Argument(metavar="RUN", help=f"{options.RUN_HELP} Several: all together."),
    ] = None,
    evaluation_profile: Annotated[
        str | None,
        typer.Option("--evaluation-profile", metavar="ID", help="Only its judges."),
    ] = None,
    model: options.ModelOption = None,
    labels: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="What people say of trials: a CSV file."),
    ] = None,
    form: options.FormOption = None,
    runs: options.RunsOption = options.RUNS,
    no_sync: options.NoSyncOption = False,
    json: options.JsonOption = False,
) -> None:
    """Say how far judges can be believed.

    Agreement, bias, noise, drift, and what sways them, from what they said of stored trials;
    with --labels how they stand to people, and pass rates corrected by it. Asks nobody.

    Example: analyze judges latest
    """
    from analyze.judges.document import judges_document
    from analyze.judges.report import judges_report
    from analyze.query.run_ref import model_for, resolve_run, runs_dir_of
    from analyze.query.session import open_session

    wanted, named = options.form_of(form, json=json), run or ["latest"]
    with open_session(runs_dir_of(runs, named[0]), sync=not no_sync) as session:
        run_ids = list(dict.fromkeys(resolve_run(session, one) for one in named))
        about = model_for(session, model)
        found = judges_report(session, run_ids, evaluation_profile, labels, model=about)
        names = names_for(wanted, session)
    print_document(found, wanted, judges_document, names)
