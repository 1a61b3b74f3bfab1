"""`analyze power`: how small a difference a run can show, and what a difference needs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from analyze.cli_options import RUN_HELP, RUNS, JsonOption, ModelOption, NoSyncOption, RunsOption


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
        str | None, typer.Option(metavar="RUN", help=f"Newest run to learn from. {RUN_HELP}")
    ] = None,
    suite: Annotated[
        str | None, typer.Option(metavar="ID", help="Learn from its last runs.")
    ] = None,
    model: ModelOption = None,
    runs: RunsOption = RUNS,
    no_sync: NoSyncOption = False,
    json: JsonOption = False,
) -> None:
    """Plan a size: which drop it shows, which size a drop needs.

    Learns from the last runs of a suite, the newest one's by default; what they do not tell
    is assumed, and said.

    Example: analyze power --difference 0.05
    """
    from analyze.power.plan import PowerQuestion, plan_power
    from analyze.power.render import answer_json, answer_lines
    from analyze.query.run_ref import meant_model, read_names, runs_dir_of
    from analyze.query.session import open_session
    from analyze.query.thresholds import limits_in_force
    from schemas.run.model_names import NO_NAMES, with_names

    if run is not None and suite is not None:
        what = "--run names a run, and with it its suite: leave --suite out"
        raise typer.BadParameter(what)
    if difference == 0:
        what = "a difference of 0 needs no end of cases: give one above 0"
        raise typer.BadParameter(what)
    used = limits_in_force(Path.cwd())
    where = runs if run is None else runs_dir_of(runs, run)
    with open_session(where, sync=not no_sync) as session:
        meant = meant_model(session, model)
        question = PowerQuestion(suite, run, meant, cases, repetitions, difference)
        answer = plan_power(session, question, used.thresholds)
        names = NO_NAMES if json else read_names(session)
    if json:
        typer.echo(answer_json(answer, used))
    else:
        shown = with_names(answer, names)
        typer.echo("\n".join(answer_lines(shown, used, with_table=difference is None)))
