"""`analyze flaky`: cases whose verdict changes although nothing else does."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from analyze import cli_options as options
from analyze.commands import known_in, names_for, print_document


def flaky(
    suite: options.SuiteOption = None,
    model: options.ModelOption = None,
    quarantine: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Quarantined cases, which are marked: TOML or YAML."),
    ] = None,
    is_all: Annotated[
        bool, typer.Option("--all", help="List every cell, not the flaky ones alone.")
    ] = False,
    form: options.FormOption = None,
    runs: options.RunsOption = options.RUNS,
    evaluation_profile: options.EvaluationProfileOption = None,
    no_sync: options.NoSyncOption = False,
    json: options.JsonOption = False,
) -> None:
    """List cases whose trials disagree, and those that got worse.

    Example: analyze flaky --suite nightly
    """
    from analyze.query.run_ref import model_for, require_known
    from analyze.query.session import open_session
    from analyze.query.thresholds import limits_in_force
    from analyze.regressions.flaky import find_flaky
    from analyze.regressions.render import flaky_document
    from analyze.render.progress import Progress

    wanted = options.form_of(form, json=json)
    limits = limits_in_force(Path.cwd())
    known = known_in(quarantine)
    with (
        open_session(runs, sync=not no_sync, evaluation_profile=evaluation_profile) as session,
        Progress() as progress,
    ):
        model = model_for(session, model)
        require_known(session, suite, model)
        names = names_for(wanted, session)
        found = find_flaky(
            session, limits=limits, known=known, suite=suite, model=model, progress=progress
        )
    print_document(found, wanted, lambda it: flaky_document(it, is_all=is_all), names)
