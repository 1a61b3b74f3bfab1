"""`analyze regressions`: when the level of a pass rate, a time or a cost shifted."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from analyze import cli_options as options
from analyze.commands import known_in, names_for, print_document
from schemas.errors import EXIT_BAD_NEWS

if TYPE_CHECKING:
    from schemas.output.comparison import Axis


def regressions(
    since: Annotated[
        str | None,
        typer.Option(
            metavar="WHEN",
            help="Only shifts that began at or after a run, `label:NAME`, a day (2026-11-30) or "
            "so long ago (7d, 12h, 2w).",
        ),
    ] = None,
    suite: options.SuiteOption = None,
    model: options.ModelOption = None,
    known: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Shifts that need no alert: TOML or YAML.")
    ] = None,
    allow: Annotated[
        Literal["case"] | None, typer.Option(help="Go by case_id, whatever the content of a case.")
    ] = None,
    is_all: Annotated[
        bool, typer.Option("--all", help="Tell what is better or acknowledged in full, too.")
    ] = False,
    form: options.FormOption = None,
    runs: options.RunsOption = options.RUNS,
    evaluation_profile: options.EvaluationProfileOption = None,
    no_sync: options.NoSyncOption = False,
    json: options.JsonOption = False,
) -> None:
    """Find the runs with which a level shifted for good. One bad night is no shift.

    Exit code 1: a level shifted for the worse, and nobody has acknowledged it.

    Example: analyze regressions --suite nightly
    """
    from analyze.query.run_ref import model_for, require_known
    from analyze.query.session import open_session
    from analyze.query.thresholds import limits_in_force
    from analyze.regressions.alerts import find_regressions
    from analyze.regressions.document import everything, is_alert, look_options
    from analyze.regressions.render import regressions_document
    from analyze.render.progress import Progress

    wanted = options.form_of(form, json=json)
    allowed: tuple[Axis, ...] = () if allow is None else (allow,)
    look = look_options(runs, allowed)
    limits = limits_in_force(Path.cwd())
    entries = known_in(known)
    with (
        open_session(runs, sync=not no_sync, evaluation_profile=evaluation_profile) as session,
        Progress() as progress,
    ):
        model = model_for(session, model)
        require_known(session, suite, model)
        names = names_for(wanted, session)
        found = find_regressions(
            session,
            limits=limits,
            since=since,
            allow=allowed,
            known=entries,
            suite=suite,
            model=model,
            progress=progress,
        )
    print_document(found, wanted, lambda it: regressions_document(it, look, is_all=is_all), names)
    if any(map(is_alert, everything(found))):
        raise typer.Exit(EXIT_BAD_NEWS)
