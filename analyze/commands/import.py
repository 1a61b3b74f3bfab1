"""`analyze import`: files of another tool become run folders, which walk like any other run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from analyze.cli_options import RUNS, JsonOption, RunsOption
from analyze.importers import IMPORTERS

if TYPE_CHECKING:
    from analyze.importers.base import Written
    from schemas.base import Finding

    Format = str
else:
    Format = Literal[IMPORTERS.names]

MAX_SHOWN_FINDINGS = 20
"""Findings of one run that are printed; `--json` has all."""

UNFINISHED = "what is not whole was not imported, and the same command tries again"


def import_runs(
    format: Annotated[Format, typer.Argument(metavar="FORMAT", help=f"{IMPORTERS}.")],
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
    from functools import partial

    from analyze.importers import ImportRequest
    from analyze.query.ensure_synced import disk_errors
    from analyze.render.progress import Progress
    from schemas.errors import ConfigError, Problem

    importer = IMPORTERS[format]
    given = {
        "--predictions": predictions,
        "--logs": logs,
        "--model": model,
        "--suite": suite,
        "--run-id": run_id,
    }
    _refuse_others(format, importer.options, given)
    if runs.exists() and not runs.is_dir():
        raise ConfigError([Problem(runs, "is there and is no folder", key="--runs")])
    with disk_errors(runs, UNFINISHED), Progress() as progress:
        files = partial(progress, "looks at files")
        request = ImportRequest(path, runs, run_id, suite, model, predictions, logs, files)
        written = importer.run(request)
    if json:
        from json import dumps

        typer.echo(dumps([_object(one) for one in written], indent=2))
    else:
        typer.echo("\n".join(line for one in written for line in _lines(one)))


def _refuse_others(chosen: str, options: frozenset[str], given: Mapping[str, object]) -> None:
    """Let pass the options that a format has.

    Raises:
        ConfigError: another one is given, or the suite is no id.
    """
    import re

    from schemas.base import SLUG_PATTERN
    from schemas.errors import ConfigError, Problem

    problems = []
    for name, value in given.items():
        if value is not None and name not in options:
            takers = ", ".join(one for one in IMPORTERS.names if name in IMPORTERS[one].options)
            problems.append(Problem(None, f"{chosen} has no such option", name, allowed=takers))
    suite = given["--suite"]
    if isinstance(suite, str) and (not re.match(SLUG_PATTERN, suite) or len(suite) > 128):
        allowed = "lower-case letters, digits, _ and -"
        problems.append(Problem(None, "not an id", "--suite", found=suite, allowed=allowed))
    if problems:
        raise ConfigError(problems)


def _object(one: Written) -> dict[str, Any]:
    return {
        "run_id": one.run_dir.name,
        "run_dir": str(one.run_dir),
        "n_trials": one.n_trials,
        "n_unfinished": one.n_unfinished,
        "is_new": one.is_new,
        "findings": [finding.model_dump() for finding in one.findings],
    }


def _lines(one: Written) -> Iterator[str]:
    from analyze.render.numbers import whole
    from analyze.render.text import line_of
    from schemas.errors import counted, display_path

    also = f", {whole(one.n_unfinished)} without a result" if one.n_unfinished else ""
    there = "" if one.is_new else "; it was there already, and nothing was written"
    folder = line_of(display_path(one.run_dir.absolute()))
    yield f"{folder}: {counted(one.n_trials, 'result')}{also}{there}"
    for finding in one.findings[:MAX_SHOWN_FINDINGS]:
        yield f"  {line_of(_finding_text(finding))}"
    if (more := len(one.findings) - MAX_SHOWN_FINDINGS) > 0:
        yield f"  and {whole(more)} more; --json lists them"
    yield f"  {line_of(_next(one.run_dir))}"


def _finding_text(finding: Finding) -> str:
    line = "" if finding.line is None else f"line {finding.line}: "
    where = f"{finding.pointer}: " if finding.pointer else ""
    return f"{finding.severity}: {line}{where}{finding.message}"


def _next(run_dir: Path) -> str:
    import shlex

    from schemas.errors import runs_flag

    words = ["analyze", "show", run_dir.name, *runs_flag(run_dir.parent)]
    return shlex.join(words)
