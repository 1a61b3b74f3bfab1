"""`analyze route`: which model for which need, and why."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from analyze.cli_options import (
    RUNS,
    EvaluationProfileOption,
    FormOption,
    JsonOption,
    NoSyncOption,
    RunsOption,
    form_of,
)
from analyze.commands import print_document


def route(
    need: Annotated[
        Literal["tool_use"] | None, typer.Option(help="Tool access: only for a confident Tier 1.")
    ] = None,
    max_cost: Annotated[
        float | None, typer.Option(min=0, metavar="USD", help="Of 1,000 trials, on average.")
    ] = None,
    max_latency: Annotated[
        float | None, typer.Option(min=0, metavar="MS", help="95th percentile; a time-out is late.")
    ] = None,
    min_quality: Annotated[
        float | None,
        typer.Option(min=0, max=1, metavar="RATE", help="Lower end of the passed rate, 0 to 1."),
    ] = None,
    suite: Annotated[str | None, typer.Option(help="Judge by this suite alone.")] = None,
    form: FormOption = None,
    runs: RunsOption = RUNS,
    evaluation_profile: EvaluationProfileOption = None,
    no_sync: NoSyncOption = False,
    json: JsonOption = False,
) -> None:
    """Say which model to use, with reasons for and against each.

    From all runs there are. Models that fit stand first, in the order of their quality on the
    cases that both of two were asked; where nothing tells two apart, by cost, then by latency.
    Exit code 1: no model is recommended, since nothing fits or since those that do share no case.

    Example: analyze route --suite nightly
    """
    from analyze.query.run_ref import require_suite
    from analyze.query.session import open_session
    from analyze.query.thresholds import limits_in_force
    from analyze.render.text import record_json
    from analyze.routing.options import Scope, read_options
    from analyze.routing.render import route_document, route_result
    from analyze.routing.route import route as choose
    from analyze.routing.values import Needs
    from schemas.errors import EXIT_BAD_NEWS

    wanted = form_of(form, json=json)
    needs = Needs(need == "tool_use", min_quality, max_cost, max_latency)
    with open_session(runs, sync=not no_sync, evaluation_profile=evaluation_profile) as session:
        if suite is not None:
            require_suite(session, suite)
        options = read_options(session, Scope(suite_id=suite))
    found = choose(options, needs, limits_in_force(Path.cwd()).thresholds)
    print_document(
        found,
        wanted,
        lambda it: route_document(it, needs, suite),
        json=lambda it: record_json(route_result(it, needs, suite)),
    )
    if found.chosen is None:
        raise typer.Exit(EXIT_BAD_NEWS)
