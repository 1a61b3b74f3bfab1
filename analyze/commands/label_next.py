"""`analyze label-next`: a sheet of trials for people to label."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from analyze import cli_options as options
from schemas.errors import counted


def label_next(
    run: Annotated[
        list[str] | None, typer.Argument(metavar="RUN", help=f"{options.RUN_HELP} Several: all.")
    ] = None,
    number: Annotated[
        int, typer.Option("--n", metavar="N", min=1, help="Trials on the sheet.")
    ] = 20,
    labels: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Labels that are there; the sheet goes on after them."),
    ] = None,
    model: options.ModelOption = None,
    evaluation_profile: Annotated[
        str | None,
        typer.Option("--evaluation-profile", metavar="ID", help="Only what its judges scored."),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FILE", help="Write there; never over a file."),
    ] = None,
    runs: options.RunsOption = options.RUNS,
    no_sync: options.NoSyncOption = False,
) -> None:
    """Print a sheet of trials for people to label, as CSV.

    A random case each, in an order that stays. Fill in `label` (pass, fail, or a score from 0
    to 10) and give the file to `analyze judges --labels`.

    Example: analyze label-next latest --n 60 -o labels.csv
    """
    from analyze.judges.calibration import planned_trials
    from analyze.judges.labels import read_labels
    from analyze.judges.opinions import read_opinions
    from analyze.judges.report import not_judged
    from analyze.judges.sheet import next_trials, sheet_rows, sheet_text
    from analyze.query.run_ref import model_for, resolve_run, runs_dir_of
    from analyze.query.session import open_session
    from analyze.report_v2.files import write_texts
    from schemas.errors import ConfigError, Problem

    named = run or ["latest"]
    with open_session(runs_dir_of(runs, named[0]), sync=not no_sync) as session:
        run_ids = list(dict.fromkeys(resolve_run(session, one) for one in named))
        wanted = model_for(session, model)
        judged = read_opinions(session, run_ids, evaluation_profile, model=wanted, of="profile")
        if not judged and wanted is not None:
            raise not_judged(session, run_ids, wanted)
        if not judged:
            message = (
                f"no trial of {', '.join(run_ids)} has a score of such a judge; to ask one: "
                "collect evaluate RUN --evaluation-profile ID"
            )
            raise ConfigError([Problem(None, message)])
        known = (
            read_labels(labels, run_ids, planned_trials(session, run_ids)).by_trial
            if labels is not None
            else {}
        )
        rows = sheet_rows(session, next_trials(judged, set(known), number))
    text = sheet_text(rows)
    if output is None:
        typer.echo(text, nl=False)
        return
    write_texts({output: text}, replace=False)
    typer.echo(f"{output}: {counted(len(rows), 'trial')} to label", err=True)
