"""The `collect` command. Bodies import what they need, so that `--help` stays quick."""

from __future__ import annotations

import gc
import shlex
import sys
from pathlib import Path
from typing import Annotated

import typer

from collect import cli_options as options
from collect.console.exit_codes import exit_code_of
from schemas.command_group import SectionedGroup, VersionOption
from schemas.io.standard_streams import closing_code, open_standard_streams, spare_output

app = typer.Typer(
    cls=SectionedGroup, no_args_is_help=True, rich_markup_mode=None, pretty_exceptions_enable=False
)

RUN, SET_UP, KEEP = "Run", "Set up", "Keep"
"""Sections of the help page."""


@app.callback()
def collect(version: VersionOption = False) -> None:
    """Run LLM benchmarks: models x cases x repetitions, recorded as they happen.

    Example: collect run --suite starter --run-profile standard
    """


@app.command(rich_help_panel=RUN)
def run(
    context: typer.Context,
    suite: options.OptionalSuiteOption = None,
    run_profile: options.OptionalProfileOption = None,
    runs: options.RunsOption = Path("runs"),
    run_id: options.RunIdOption = None,
    resume: options.ResumeOption = None,
    reuse: options.ReuseOption = False,
    case: options.CaseOption = None,
    tag: options.TagOption = None,
    model: options.ModelOption = None,
    max_trials: options.MaxTrialsOption = None,
    shard: options.ShardOption = None,
    processes: options.ProcessesOption = None,
    executor: options.ExecutorOption = None,
    address: options.AddressOption = None,
    shards: options.ShardsOption = None,
    skip_unevaluable: options.SkipUnevaluableOption = False,
    unsafe_no_sandbox: options.UnsafeOption = False,
    evaluation_profile: options.EvaluationOption = None,
    keep_workspaces: options.KeepWorkspacesOption = None,
    workspaces_mb: options.WorkspacesOption = None,
    label: options.LabelOption = None,
    max_cost: options.MaxCostOption = None,
    assume_price: options.AssumePriceOption = None,
    allow_host: options.AllowHostOption = None,
    report: options.ReportOption = False,
    lake: options.LakeOption = None,
    json: options.JsonOption = False,
) -> None:
    """Run a suite and record every trial, or resume a run cut short.

    Exit codes: 0 done; 1 some trials failed for reasons outside the model, or the run stopped
    early; 2 usage or configuration; 130 interrupted.

    Example: collect run --suite starter --run-profile standard
    """
    spare_output()
    from collect.commands.run import check_flags
    from collect.commands.run import run as make_run
    from collect.execute.spec import RunRequest
    from collect.plan.narrow import narrowed
    from schemas.run.config import MAX_WORKSPACES_MB

    check_flags(context)
    request = RunRequest(
        runs_dir=runs,
        suite=suite or "",
        run_profile=run_profile or "",
        resume=resume,
        narrowed=narrowed(case, tag, model, max_trials, shard),
        skip_unevaluable=skip_unevaluable,
        unsafe_no_sandbox=unsafe_no_sandbox,
        evaluation_profile=evaluation_profile,
        keep_workspaces=keep_workspaces or "all",
        workspaces_mb=workspaces_mb or MAX_WORKSPACES_MB,
        run_id=run_id,
        labels=tuple(label or ()),
        max_cost_usd=max_cost,
        assume_price=assume_price,
        reuse=reuse,
        allowed_hosts=tuple(allow_host or ()),
        as_json=json,
        with_page=report,
        lake=lake,
        executor="processes" if processes else executor,
        n_shards=processes or shards,
        address=address,
    )
    raise typer.Exit(make_run(request))


@app.command(rich_help_panel=RUN)
def plan(
    suite: options.SuiteOption,
    run_profile: options.ProfileOption,
    case: options.CaseOption = None,
    tag: options.TagOption = None,
    model: options.ModelOption = None,
    max_trials: options.MaxTrialsOption = None,
    shard: options.ShardOption = None,
    skip_unevaluable: options.SkipUnevaluableOption = False,
    unsafe_no_sandbox: options.UnsafeOption = False,
    evaluation_profile: options.EvaluationOption = None,
    allow_host: options.AllowHostOption = None,
    runs: options.RunsOption = Path("runs"),
    json: options.JsonOption = False,
) -> None:
    """Show every trial a run would make, and with which settings. Sends nothing to a model.

    Example: collect plan --suite starter --run-profile standard
    """
    from collect.commands.plan import plan_json, plan_text, preview
    from collect.execute.spec import RunRequest, inputs_of
    from collect.plan.narrow import narrowed

    request = RunRequest(
        runs_dir=runs,
        suite=suite,
        run_profile=run_profile,
        narrowed=narrowed(case, tag, model, max_trials, shard),
        skip_unevaluable=skip_unevaluable,
        unsafe_no_sandbox=unsafe_no_sandbox,
        evaluation_profile=evaluation_profile,
        allowed_hosts=tuple(allow_host or ()),
    )
    shown = preview(inputs_of(request, Path.cwd()), runs)
    typer.echo(plan_json(shown) if json else plan_text(shown))


@app.command(rich_help_panel=RUN)
def check(
    run: options.StoredRun,
    suite: options.StoredSuiteOption = None,
    evaluation_profile: options.EvaluationOption = None,
    runs: options.RunsOption = Path("runs"),
    case: options.CaseOption = None,
    model: options.ModelOption = None,
    force: Annotated[
        bool, typer.Option("--force", help="Make checks again that are the same as before, too.")
    ] = False,
    unsafe_no_sandbox: options.UnsafeOption = False,
    json: options.JsonOption = False,
) -> None:
    """Make the checks of stored trials again, as they stand now. Asks no model.

    What was found before stays; of a check that was edited the newest outcome counts. A check that
    is the same and was made keeps its outcome.

    Example: collect check latest

    Exit codes: 0 done; 1 some checks could not look, or there was no answer to look at; 2 usage or
    configuration; 130 interrupted.
    """
    spare_output()
    from collect.commands.check import check as make_check
    from collect.stored.inputs import CheckRequest

    request = CheckRequest(
        runs_dir=runs,
        run=run,
        suite=suite,
        evaluation_profile=evaluation_profile,
        cases=tuple(case or ()),
        models=tuple(model or ()),
        force=force,
        unsafe_no_sandbox=unsafe_no_sandbox,
        as_json=json,
    )
    raise typer.Exit(make_check(request))


@app.command(rich_help_panel=RUN)
def evaluate(
    run: options.StoredRun,
    evaluation_profile: options.JudgesOption = None,
    suite: options.StoredSuiteOption = None,
    runs: options.RunsOption = Path("runs"),
    case: options.CaseOption = None,
    model: options.ModelOption = None,
    force: Annotated[bool, typer.Option("--force", help="Ask again what has an answer.")] = False,
    against: options.AgainstOption = None,
    against_model: options.AgainstModelOption = None,
    max_cost: options.MaxCostOption = None,
    assume_price: options.AssumePriceOption = None,
    json: options.JsonOption = False,
) -> None:
    """Let judges look at stored trials. Asks no model again.

    Only what is missing is asked: another judge, prompt or rubric is another question.

    Example: collect evaluate latest --evaluation-profile strict

    Exit codes: 0 done; 1 some trial has no judgement, or there was none to judge; 2 usage or
    configuration; 130 interrupted.
    """
    spare_output()
    from collect.commands.evaluate import evaluate as ask_judges
    from collect.stored.inputs import EvaluateRequest

    request = EvaluateRequest(
        runs_dir=runs,
        run=run,
        suite=suite,
        evaluation_profile=evaluation_profile,
        cases=tuple(case or ()),
        models=tuple(model or ()),
        force=force,
        as_json=json,
        max_cost_usd=max_cost,
        assume_price=assume_price,
        against=against,
        against_model=against_model,
    )
    raise typer.Exit(ask_judges(request))


@app.command(rich_help_panel=RUN)
def demo(
    runs: options.RunsOption = Path("runs"),
    model_file: Annotated[
        Path | None, typer.Option("--model-file", metavar="GGUF", help="Another model to run.")
    ] = None,
    json: options.JsonOption = False,
) -> None:
    """Run a suite on a small model of this machine. Needs no server and no key.

    Example: collect demo
    """
    spare_output()
    from collect.commands.demo import demo as run_demo

    again = shlex.join(["collect", *sys.argv[1:]])
    raise typer.Exit(run_demo(runs, model_file, as_json=json, again=again))


@app.command(rich_help_panel=SET_UP)
def init(
    directory: Annotated[Path, typer.Argument(metavar="DIR", help="New or empty folder.")],
    table: options.TableOption = None,
    input_column: options.InputColumnOption = None,
    expected_column: options.ExpectedColumnOption = None,
    id_column: options.IdColumnOption = None,
    system_column: options.SystemColumnOption = None,
    validator: options.ValidatorOption = None,
) -> None:
    """Write a starter project. Cases, a suite and profiles, commented to copy from.

    With --from it is a suite made of your own table instead, and DIR may hold other files: one row
    is one case, columns are known by their usual names (question, answer, id …), and a first
    validator is chosen from the expected answers.

    Example: collect init mine --from data.csv --input question --expected answer
    """
    named = {
        "input": input_column,
        "expected": expected_column,
        "id": id_column,
        "system": system_column,
    }
    if table is None:
        flags = named | {"validator": validator}
        if given := [f"--{name}" for name, value in flags.items() if value is not None]:
            what = f"{', '.join(given)}: says how to read a table; --from FILE names one"
            raise typer.BadParameter(what)
        from collect.commands.init import write_starter

        lines = write_starter(directory)
    else:
        from collect.tables.suite import write_table_suite

        lines = write_table_suite(directory, table, named, validator)
    for line in lines:
        typer.echo(line)


@app.command(rich_help_panel=SET_UP)
def validate(
    paths: Annotated[
        list[Path] | None,
        typer.Argument(metavar="PATH", help="Projects or single files; default: this folder."),
    ] = None,
    oracle: Annotated[
        bool,
        typer.Option(
            "--oracle", help="Hold cases against their own checks: solution, empty answer."
        ),
    ] = False,
    agent: Annotated[
        str | None,
        typer.Option(
            "--agent", metavar="ID", help="Whose workspace agents' cases begin with, for --oracle."
        ),
    ] = None,
    evaluation_profile: options.EvaluationOption = None,
    json: options.JsonOption = False,
) -> None:
    """Check cases, suites, profiles and agents. Reports every problem at once.

    Exit codes: 0 nothing is wrong; 1 --oracle found a defective case; 2 a file is wrong.

    Example: collect validate
    """
    from collect.commands.validate import text, to_json, validate_paths

    validation = validate_paths(paths or [Path()], Path.cwd())
    if oracle and not validation.problems:
        from collect.commands.oracle import OracleRequest, hold_against_checks

        asked = OracleRequest(agent, evaluation_profile, shlex.join(["collect", *sys.argv[1:]]))
        raise typer.Exit(hold_against_checks(validation, asked, as_json=json))
    if not oracle and (agent or evaluation_profile):
        message = "is for --oracle"
        raise typer.BadParameter(message, param_hint="--agent, --evaluation-profile")
    typer.echo(to_json(validation) if json else text(validation))
    raise typer.Exit(validation.exit_code)


@app.command(rich_help_panel=SET_UP)
def doctor(
    suite: options.AnySuiteOption = None,
    evaluation_profile: options.EvaluationOption = None,
    runs: options.RunsOption = Path("runs"),
    allow_host: options.AllowHostOption = None,
    json: options.JsonOption = False,
) -> None:
    """Find what would keep a run from working. Keys, endpoints, models, judges, the machine.

    Exit codes: 0 nothing failed; 1 something did; 2 usage or configuration.

    Example: collect doctor --suite starter
    """
    from collect.doctor import run_doctor

    again = shlex.join(["collect", *sys.argv[1:]])
    asked = suite, evaluation_profile, runs, allow_host or ()
    raise typer.Exit(run_doctor(*asked, as_json=json, again=again))


@app.command(rich_help_panel=SET_UP)
def schema(
    kind: Annotated[
        str | None, typer.Argument(metavar="KIND", help="Such as case; without it: all names.")
    ] = None,
) -> None:
    """Print the JSON Schema of a kind of file, for editors.

    Example: collect schema case > case.schema.json
    """
    from collect.commands.init import published, published_names

    typer.echo("\n".join(published_names()) if kind is None else published(kind), nl=kind is None)


@app.command(rich_help_panel=KEEP)
def restore(
    run: Annotated[str, typer.Argument(metavar="RUN", help="The run's id.")],
    runs: options.RunsOption = Path("runs"),
    dry_run: options.DryRunOption = False,
    json: options.JsonOption = False,
) -> None:
    """Write a lost or shortened log of a run again, from the lake.

    Every row of the lake comes back as a line, lines that are still there stay as they are,
    and what was found is kept beside. `--resume` then asks only what is really missing.

    Example: collect restore 20261122_013000 --dry-run

    Exit codes: 0 done; 1 of some trials something cannot be brought back; 2 usage or configuration.
    """
    from collect.run_folder.restore import restore, restored_json, restored_text

    restored = restore(runs, run, dry_run=dry_run)
    typer.echo(restored_json(restored) if json else restored_text(restored))
    raise typer.Exit(restored.exit_code)


def main() -> None:
    """Run the command line; errors made on purpose end with their sentence and exit code."""
    gc.disable()  # a start leaves no cycles worth looking for; a run looks for its own
    open_standard_streams()
    sys.exit(closing_code(exit_code_of(app)))
