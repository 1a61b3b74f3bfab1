"""`analyze import`: files of another tool become run folders, which walk like any other run."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from analyze.cli_options import RUNS, JsonOption, RunsOption

if TYPE_CHECKING:
    from analyze.importers.base import Written

Format = Literal["sf-bench", "openclaw-bench", "pae", "swebench"]

TAKES: dict[Format, frozenset[str]] = {
    "sf-bench": frozenset({"--suite", "--run-id"}),
    "openclaw-bench": frozenset({"--run-id"}),
    "pae": frozenset({"--run-id"}),
    "swebench": frozenset({"--predictions", "--logs", "--model", "--suite", "--run-id"}),
}
"""Options that only some formats have; any other one is an error."""


def import_runs(
    format: Annotated[
        Format,
        typer.Argument(metavar="FORMAT", help="sf-bench, openclaw-bench, pae or swebench."),
    ],
    path: Annotated[
        Path,
        typer.Argument(
            metavar="PATH",
            help="A report of sf-bench or swebench; a run folder or the folder of runs of "
            "openclaw-bench; the outputs/ of pae.",
        ),
    ],
    predictions: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Of swebench: what was evaluated; adds the patches."),
    ] = None,
    logs: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Of swebench: the harness' logs; adds times and tests."),
    ] = None,
    model: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="Of swebench: the model. Default: as predictions or file say."
        ),
    ] = None,
    suite: Annotated[
        str | None,
        typer.Option(
            metavar="ID", help="Of swebench and sf-bench: the suite. Default: by data set."
        ),
    ] = None,
    run_id: Annotated[
        str | None,
        typer.Option("--run-id", metavar="ID", help="Name of the run, where there is one."),
    ] = None,
    runs: RunsOption = RUNS,
    json: JsonOption = False,
) -> None:
    """Make run folders of another tool's files. The files stay as they are.

    A copy of each file that was read is kept in the run's source/, and of openclaw-bench the whole
    run. The same import again changes nothing. Nothing that the other tool did not write is
    guessed: cases without a hash are compared only where the axis `case` is allowed.

    Example: analyze import swebench report.json
    """
    from analyze.importers.render import import_text
    from schemas.errors import ConfigError, Problem

    _refuse_others(
        format,
        {
            "--predictions": predictions,
            "--logs": logs,
            "--model": model,
            "--suite": suite,
            "--run-id": run_id,
        },
    )
    if runs.exists() and not runs.is_dir():
        raise ConfigError([Problem(runs, "is there and is no folder", key="--runs")])
    written = _imported(format, path, runs, predictions, logs, model, suite, run_id)
    typer.echo(import_text(written, as_json=json), nl=False)


def _refuse_others(chosen: Format, given: dict[str, object]) -> None:
    """Let pass the options that a format has.

    Raises:
        ConfigError: another one is given, or the suite is no id.
    """
    import re

    from schemas.base import SLUG_PATTERN
    from schemas.errors import ConfigError, Problem

    problems = []
    for name, value in given.items():
        if value is not None and name not in TAKES[chosen]:
            takers = ", ".join(one for one in TAKES if name in TAKES[one])
            problems.append(Problem(None, f"{chosen} has no such option", name, allowed=takers))
    suite = given["--suite"]
    if isinstance(suite, str) and (not re.match(SLUG_PATTERN, suite) or len(suite) > 128):
        allowed = "lower-case letters, digits, _ and -"
        problems.append(Problem(None, "not an id", "--suite", found=suite, allowed=allowed))
    if problems:
        raise ConfigError(problems)


def _imported(
    chosen: Format,
    path: Path,
    runs: Path,
    predictions: Path | None,
    logs: Path | None,
    model: str | None,
    suite: str | None,
    run_id: str | None,
) -> list[Written]:
    """Import with the importer of a format; what the disk refuses is an error of ours."""
    from schemas.errors import AnalyzeError

    try:
        if chosen == "sf-bench":
            from analyze.importers.sf_bench import import_sf_bench

            return [import_sf_bench(path, runs, run_id=run_id, suite_id=suite)]
        if chosen == "openclaw-bench":
            from analyze.importers.openclaw_bench import import_openclaw_bench

            return import_openclaw_bench(path, runs, run_id=run_id)
        if chosen == "pae":
            from functools import partial

            from analyze.importers.pae import import_pae
            from analyze.render.progress import Progress

            with Progress() as progress:
                return import_pae(path, runs, partial(progress, "looks at files"), run_id)
        from analyze.importers.swebench import import_swebench

        return [
            import_swebench(
                path, runs, predictions=predictions, logs=logs, model=model, suite_id=suite,
                run_id=run_id,
            )
        ]  # fmt: skip
    except OSError as exc:
        message = (
            f"{exc.filename or runs}: {exc.strerror or exc}; what is not whole was not imported, "
            "and the same command tries again"
        )
        raise AnalyzeError(message) from exc
