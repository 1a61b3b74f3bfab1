"""`analyze power`: how small a difference a run can show, and what a difference needs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from analyze import cli_options as options
from analyze.commands import names_for, print_document


def power(
    cases: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Scorable cases, instead of the suite's.")
    ] = None,
    repetitions: Annotated[
        int | None, typer.Option(min=1, metavar="M", help="Of each case, instead of the run's.")
    ] = None,
    difference: Annotated[
        float | None,
        typer.Option(min=0, max=1, metavar="D", help="To be shown, as a share: 0.05 is 5 points."),
    ] = None,
    run: Annotated[
        str | None,
        typer.Option(metavar="RUN", help=f"Newest run to learn from. {options.RUN_HELP}"),
    ] = None,
    suite: Annotated[
        str | None, typer.Option(metavar="ID", help="Learn from its last runs.")
    ] = None,
    model: options.ModelOption = None,
    form: options.FormOption = None,
    runs: options.RunsOption = options.RUNS,
    evaluation_profile: options.EvaluationProfileOption = None,
    no_sync: options.NoSyncOption = False,
    json: options.JsonOption = False,
) -> None:
    """Plan a size: which drop it shows, which size a drop needs.

    Learns from the last runs of a suite, the newest one's by default; what they do not tell
    is assumed, and said.

    Example: analyze power --difference 0.05
    """
    from analyze.power.plan import PowerQuestion, plan_power
    from analyze.power.render import answer_json, power_document
    from analyze.query.run_ref import model_for, runs_dir_of
    from analyze.query.session import open_session
    from analyze.query.thresholds import limits_in_force

    wanted = options.form_of(form, json=json)
    if run is not None and suite is not None:
        what = "--run names a run, and with it its suite: leave --suite out"
        raise typer.BadParameter(what)
    if difference == 0:
        what = "a difference of 0 needs no end of cases: give one above 0"
        raise typer.BadParameter(what)
    used = limits_in_force(Path.cwd())
    where = runs if run is None else runs_dir_of(runs, run)
    with open_session(where, sync=not no_sync, evaluation_profile=evaluation_profile) as session:
        meant = model_for(session, model)
        question = PowerQuestion(suite, run, meant, cases, repetitions, difference)
        answer = plan_power(session, question, used.thresholds)
        names = names_for(wanted, session)
    print_document(
        answer,
        wanted,
        lambda it: power_document(it, used, with_table=difference is None),
        names,
        lambda it: answer_json(it, used),
    )
