"""`analyze compare`: what a run, a set of runs or a model is beside another."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from analyze import cli_options as options
from analyze.commands import known_in, names_for, print_document
from schemas.errors import EXIT_BAD_NEWS, EXIT_CANNOT_JUDGE

if TYPE_CHECKING:
    from schemas.output.comparison import Axis

MODELS = (
    "analyze.comparison.compare",
    "analyze.query.thresholds",
    "analyze.comparison.render",
    "analyze.comparison.built_records",
)
"""What takes as long to load as two runs to read."""


def compare(
    base: Annotated[str, typer.Argument(metavar="BASE", help=options.BASE_HELP)],
    candidate: Annotated[
        str | None,
        typer.Argument(metavar="CANDIDATE", help="The same but `history`. Default: `latest`."),
    ] = None,
    model: options.ModelOption = None,
    against: Annotated[
        str | None,
        typer.Option(metavar="MODEL", help="Compare --model, as the base, with this one."),
    ] = None,
    by: Annotated[
        Literal["model", "cell", "tag"],
        typer.Option(help="Also list every case that changed, or every tag. Changes no verdict."),
    ] = "model",
    known: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Shifts that are acknowledged, for `last:N` and `history`: TOML or YAML.",
        ),
    ] = None,
    allow: options.AllowOption = None,
    form: options.FormOption = None,
    runs: options.RunsOption = options.RUNS,
    evaluation_profile: options.EvaluationProfileOption = None,
    no_sync: options.NoSyncOption = False,
    json: options.JsonOption = False,
) -> None:
    """Compare a candidate with a base: a verdict for each model.

    Case by case: what only one of them asked, or asked otherwise, is left out and listed.
    Exit code 1: a model regressed. Exit code 3: no model could be compared.

    Example: analyze compare previous latest
    """
    from analyze.cli_startup import imported_meanwhile
    from analyze.comparison.evidence.read import read_evidence
    from analyze.gate.base_runs import resolve_compared
    from analyze.query.run_ref import model_for, runs_dir_of
    from analyze.query.session import open_session
    from analyze.query.thresholds import limits_in_force

    wanted, allowed, entries = options.form_of(form, json=json), _axes(allow), known_in(known)
    where = runs_dir_of(runs, candidate or base)
    limits = limits_in_force(Path.cwd())
    with (
        imported_meanwhile(*MODELS),
        open_session(
            where, sync=not no_sync, threads=1, evaluation_profile=evaluation_profile
        ) as session,  # two runs are quick to read
    ):
        sides = resolve_compared(
            session,
            base,
            candidate,
            limits=limits.thresholds,
            model=model_for(session, model),
            against=model_for(session, against),
            allow=allowed,
            known=entries,
        )
        evidence = read_evidence(session, *sides)
        names = names_for(wanted, session)

    from analyze.comparison.compare import compare
    from analyze.comparison.render import comparison_document

    found = compare(evidence, limits=limits, allow=allowed, by=by)
    print_document(found, wanted, lambda it: comparison_document(it, all_cases=by == "cell"), names)
    verdicts = {group.verdict for group in found.groups}
    if "regressed" in verdicts:
        raise typer.Exit(EXIT_BAD_NEWS)
    if verdicts <= {"not_comparable"}:
        raise typer.Exit(EXIT_CANNOT_JUDGE)


def _axes(allow: list[str] | None) -> frozenset[Axis]:
    if not allow:
        return frozenset()
    from analyze.comparison.axes import axes_named  # loads the models

    return axes_named(allow)
