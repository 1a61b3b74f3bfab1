"""`analyze runs`: every run there is, the newest first."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from analyze import cli_options as options
from analyze.commands import known_in, names_for, print_document

if TYPE_CHECKING:
    from analyze.query.run_list import Listed
    from analyze.query.session import Session
    from schemas.config.known_issues import Acknowledged, KnownFile
    from schemas.output.regressions import OpenShift

MAX_RUNS = 30
"""Runs that are listed unless told otherwise."""


def runs(
    suite: Annotated[str | None, typer.Option(help="Runs of this suite.")] = None,
    model: Annotated[
        str | None, typer.Option(help="Runs that asked this model_id, model string or label.")
    ] = None,
    label: Annotated[str | None, typer.Option(help="Runs with this label.")] = None,
    limit: Annotated[
        int, typer.Option(min=0, metavar="N", help="List the newest N; 0: all.")
    ] = MAX_RUNS,
    known: options.KnownOption = None,
    form: options.FormOption = None,
    runs: options.RunsOption = options.RUNS,
    evaluation_profile: options.EvaluationProfileOption = None,
    no_sync: options.NoSyncOption = False,
    json: options.JsonOption = False,
) -> None:
    """List runs, newest first: what they asked, and how it went.

    Below them: levels that fell, or times and costs that rose, and have not recovered since.

    Example: analyze runs --limit 20
    """
    from analyze.query.run_list import read_runs
    from analyze.query.run_list_render import runs_document, runs_json
    from analyze.query.run_ref import model_for, require_known, require_label
    from analyze.query.session import open_session
    from analyze.regressions.document import open_section, unused_section

    wanted, entries = options.form_of(form, json=json), known_in(known)
    with open_session(runs, sync=not no_sync, evaluation_profile=evaluation_profile) as session:
        model = model_for(session, model)
        require_known(session, suite, model)
        if label is not None:
            require_label(session, label)
        listed = read_runs(session, suite=suite, model=model, label=label, limit=limit)
        names = names_for(wanted, session)
        is_json = wanted == "json"
        stands = ([], []) if is_json else _open_shifts(session, listed, model, entries)
    print_document(
        (listed, *stands),
        wanted,
        lambda it: runs_document(it[0], open_section(it[1]), unused_section(it[2])),
        names,
        lambda _: runs_json(listed.runs),
    )


def _open_shifts(
    session: Session, listed: Listed, model: str | None, known: KnownFile | None
) -> tuple[list[OpenShift], list[Acknowledged]]:
    """Return what stands at the newest run of each suite, however few are listed.

    And the entries of the file of known things that fit none of their shifts.
    """
    from analyze.query.thresholds import limits_in_force
    from analyze.regressions.open_shifts import find_open_shifts

    limits = limits_in_force(Path.cwd()).thresholds
    found = [
        find_open_shifts(session, [run_id], limits=limits, model=model, known=known)
        for _, run_id in sorted(listed.newest.items())
    ]
    return (
        [opened.shift for one in found for opened in one.shifts],
        [entry for one in found for entry in one.unused],
    )
