"""The `collect` command. Bodies import what they need, so that `--help` stays quick."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import Annotated

import typer

from schemas.errors import EXIT_OK, BenchError

app = typer.Typer(
    help="Run LLM benchmarks: models x cases x repetitions, recorded as they happen.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)

SuiteOption = Annotated[
    str, typer.Option("--suite", metavar="ID|PATH", help="Suite: an id or a YAML file.")
]
ProfileOption = Annotated[
    str, typer.Option("--run-profile", metavar="ID|PATH", help="Run profile: an id or a file.")
]
RunsOption = Annotated[Path, typer.Option("--runs", metavar="DIR", help="Where runs are kept.")]
AllowHostOption = Annotated[
    list[str] | None,
    typer.Option("--allow-host", metavar="HOST", help="Let HOST get a key of its own. Repeatable."),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON object instead of text.")]
RunIdOption = Annotated[
    str | None, typer.Option("--run-id", metavar="ID", help="Default: YYYYMMDD_HHMMSS in UTC.")
]


@app.command()
def run(
    suite: SuiteOption,
    run_profile: ProfileOption,
    runs: RunsOption = Path("runs"),
    run_id: RunIdOption = None,
    allow_host: AllowHostOption = None,
    json: JsonOption = False,
) -> None:
    """Run a suite and record every trial.

    Exit codes: 0 done; 1 some trials failed for reasons outside the model, or the run stopped
    early; 2 usage or configuration; 130 interrupted.
    """
    from collect.config import load_inputs
    from collect.start import start

    inputs = load_inputs(suite, run_profile, working_dir=Path.cwd(), allowed_hosts=allow_host or ())
    again = shlex.join(
        ["collect", "run", "--suite", suite, "--run-profile", run_profile, "--runs", str(runs)]
    )
    raise typer.Exit(start(inputs, runs, run_id, as_json=json, again=again))


@app.command()
def plan(
    suite: SuiteOption,
    run_profile: ProfileOption,
    allow_host: AllowHostOption = None,
    json: JsonOption = False,
) -> None:
    """Show every trial a run would make, and with which settings. Sends nothing."""
    from collect.config import load_inputs
    from collect.preview import plan_json, plan_text

    inputs = load_inputs(suite, run_profile, working_dir=Path.cwd(), allowed_hosts=allow_host or ())
    typer.echo(plan_json(inputs) if json else plan_text(inputs))


@app.command()
def demo(
    runs: RunsOption = Path("runs"),
    model_file: Annotated[
        Path | None, typer.Option("--model-file", metavar="GGUF", help="Another model to run.")
    ] = None,
    json: JsonOption = False,
) -> None:
    """Run the starter suite on a small model on this machine; needs no server and no key."""
    from collect.demo import demo as run_demo

    raise typer.Exit(run_demo(runs, model_file, as_json=json))


@app.command()
def init(
    directory: Annotated[Path, typer.Argument(metavar="DIR", help="New or empty folder.")],
) -> None:
    """Write a commented starter project: cases, a suite and run profiles to copy from."""
    from collect.starter import write_starter

    for line in write_starter(directory):
        typer.echo(line)


def main() -> None:
    """Run the command line; errors made on purpose end with their sentence and exit code."""
    try:
        app()
    except BenchError as exc:
        sys.stderr.write("".join(f"error: {line}\n" for line in str(exc).splitlines()))
        sys.exit(exc.exit_code)
    sys.exit(EXIT_OK)
