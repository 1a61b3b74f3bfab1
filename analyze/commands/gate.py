"""`analyze gate`: may this go out? One answer for a pipeline, as an exit code."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from analyze import cli_options as options
from analyze.commands import known_in, names_for, print_document

METRIC_HELP = (
    "Judge this: passed_rate, the default, e2e_ms, ttft_ms, input_tokens, output_tokens, cost_usd. "
    "May be given more than once."
)


def gate(
    candidate: Annotated[
        str, typer.Argument(metavar="CANDIDATE", help=options.RUN_HELP)
    ] = "latest",
    baseline: Annotated[
        str,
        typer.Option(
            metavar="RUN",
            help="A run, `previous`, `label:NAME`, `last:N` runs since the last level shift (while "
            "one for the worse is open: before it), or `history`: the last 7.",
        ),
    ] = "previous",
    max_drop: Annotated[
        float,
        typer.Option(
            min=0,
            max=1,
            metavar="D",
            help="Drop tolerated: 0.02 is 2 points, and of a time or cost 2 % growth.",
        ),
    ] = 0.0,
    metric: Annotated[list[str] | None, typer.Option(metavar="METRIC", help=METRIC_HELP)] = None,
    min_coverage: Annotated[
        float | None,
        typer.Option(min=0, max=1, metavar="R", help="Share of trials that need a verdict."),
    ] = None,
    prove: Annotated[
        bool, typer.Option("--prove", help="Pass only when a drop of more than D is ruled out.")
    ] = False,
    confirm: Annotated[
        str | None,
        typer.Option(metavar="RUN", help="Fail only when this fresh, whole run fails too."),
    ] = None,
    known: Annotated[
        Path | None,
        typer.Option(
            "--known",
            "--quarantine",
            metavar="FILE",
            help="Cases not to test, and shifts that are acknowledged: TOML or YAML.",
        ),
    ] = None,
    labels: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="What people say of trials, to calibrate judges by: a CSV file."
        ),
    ] = None,
    allow: options.AllowOption = None,
    model: options.ModelOption = None,
    junit: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Also write a JUnit report there.")
    ] = None,
    form: options.FormOption = None,
    runs: options.RunsOption = options.RUNS,
    evaluation_profile: options.EvaluationProfileOption = None,
    no_sync: options.NoSyncOption = False,
    json: options.JsonOption = False,
) -> None:
    """Judge a run against a baseline: has any model become worse?

    Exit code 0: nothing worse is shown. Exit code 1: a drop is shown, or an older one is neither
    mended nor acknowledged. Exit code 3: the runs cannot tell, as after an outage, with fewer than
    5 cases, or with --prove when there is no proof.

    Example: analyze gate latest --baseline last:7 --max-drop 0.05
    """
    from dataclasses import replace
    from datetime import UTC, datetime

    from analyze.comparison.axes import axes_named, metrics_named
    from analyze.gate.decide import Question, decide
    from analyze.gate.document import gate_document
    from analyze.query.run_ref import model_for, runs_dir_of
    from analyze.query.session import open_session
    from analyze.query.thresholds import limits_in_force
    from schemas.output.regressions import GateRules

    wanted, limits = options.form_of(form, json=json), limits_in_force(Path.cwd())
    least = limits.thresholds.min_coverage if min_coverage is None else min_coverage
    question = Question(
        rules=GateRules(
            metrics=metrics_named(metric or ()), max_drop=max_drop, min_coverage=least, prove=prove
        ),
        limits=limits,
        candidate=candidate,
        baseline=baseline,
        model=model,
        confirm=confirm,
        allow=axes_named(allow or ()),
        labels=labels,
        known=known_in(known),
    )
    if junit is not None:
        _require_place(junit)
    where = runs_dir_of(runs, candidate)
    with open_session(where, sync=not no_sync, evaluation_profile=evaluation_profile) as session:
        meant = replace(question, model=model_for(session, model))
        decision = decide(session, meant, datetime.now(UTC).date())
        names = names_for(wanted, session)
        if junit is not None:
            from analyze.gate.decide import candidate_cases
            from analyze.gate.junit import junit_xml

            report = junit_xml(decision.result, candidate_cases(session, decision.candidate))
    print_document(decision.result, wanted, lambda it: gate_document(it, where), names)
    if junit is not None:
        _write(junit, report)
    if decision.result.exit_code:
        raise typer.Exit(decision.result.exit_code)


def _require_place(junit: Path) -> None:
    """Refuse what a report would replace: a device, a pipe, a folder, a link to one of them.

    Raises:
        ConfigError: it is there, and no file.
    """
    from os.path import lexists

    from schemas.errors import ConfigError, Problem

    if lexists(junit) and (junit.is_symlink() or not junit.is_file()):
        raise ConfigError([Problem(junit, "is not a regular file", key="--junit")])


def _write(junit: Path, report: bytes) -> None:
    from schemas.errors import ConfigError, Problem
    from schemas.io.files import write_whole

    try:
        write_whole(junit, report)
    except OSError as exc:
        what = f"cannot be written: {exc.strerror}"
        raise ConfigError([Problem(junit, what, key="--junit")]) from exc
