"""`analyze import`: files of another tool become run folders, which walk like any other run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from analyze.cli_options import RUNS, JsonOption, RunsOption
from analyze.importers import IMPORTERS

if TYPE_CHECKING:
    from analyze.importers.base import Written
    from analyze.importers.detect import Detected
    from schemas.base import Finding

MAX_SHOWN_FINDINGS = 20
"""Findings of one run that are printed; `--json` has all."""

UNFINISHED = "what is not whole was not imported, and the same command tries again"


def import_runs(
    format: Annotated[
        str,
        typer.Argument(
            metavar="FORMAT|PATH",
            show_default=False,
            help=f"{IMPORTERS}. Left out: what is there is recognised.",
        ),
    ],
    path: Annotated[
        Path | None,
        typer.Argument(
            metavar="PATH",
            show_default=False,
            help="What another tool wrote: a file, or a folder with any number of them.",
        ),
    ] = None,
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
            metavar="ID", help="The suite, of all but openclaw-bench and pae. Default: as it says."
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

    Exit code 1: some of several imports could not be made.

    Example: analyze import swebench report.json
    """
    from functools import partial

    from analyze.importers import ImportRequest
    from analyze.query.ensure_synced import disk_errors
    from analyze.render.progress import Progress
    from schemas.errors import BenchError, ConfigError, Problem, display_path, printable

    given = {
        "--predictions": predictions,
        "--logs": logs,
        "--model": model,
        "--suite": suite,
        "--run-id": run_id,
    }
    found = _found(format, path)
    for one in {one.format: one for one in found}.values():
        _refuse_others(one.format, IMPORTERS[one.format].options, given)
    if run_id is not None and len(found) > 1:
        what = f"names one run, and there are {len(found):,} imports; name one of them"
        raise ConfigError([Problem(None, what, "--run-id", allowed=display_path(found[0].path))])
    if runs.exists() and not runs.is_dir():
        raise ConfigError([Problem(runs, "is there and is no folder", key="--runs")])
    written: list[Written] = []
    refused: list[str] = []
    with disk_errors(runs, UNFINISHED), Progress() as progress:
        files = partial(progress, "looks at files")
        for one in found:
            request = ImportRequest(one.path, runs, run_id, suite, model, predictions, logs, files)
            try:
                written += IMPORTERS[one.format].run(request)
            except BenchError as exc:
                if len(found) == 1:
                    raise
                refused.append(f"{display_path(one.path)} was left out: {exc}")
    if json:
        from json import dumps

        typer.echo(dumps([_object(one) for one in written], indent=2))
    else:
        lines = (line for one in written for line in _lines(one))
        typer.echo("".join(f"{line}\n" for line in lines), nl=False)
    for reason in refused:
        typer.echo(printable(reason), err=True)
    if refused:
        raise typer.Exit(1)


def _found(first: str, second: Path | None) -> Sequence[Detected]:
    """Return what is to be imported, by its format or as recognised.

    Args:
        first: the format, or the path where there is no second.
        second: the path behind a format.

    Raises:
        ConfigError: there is no such format, nothing there, or nothing that is known.
    """
    from analyze.importers.detect import Detected, detect, nothing_at
    from schemas.errors import ConfigError, Problem, nearest

    if second is not None:
        if first not in IMPORTERS:
            allowed, near = ", ".join(IMPORTERS.names), nearest(first, IMPORTERS.names)
            problem = Problem(None, "no such format", "FORMAT", None, first, allowed, near)
            raise ConfigError([problem])
        return [Detected(second, first)]
    path = Path(first)
    if first in IMPORTERS and not path.exists():
        message = f"{first} is a format: name the file or folder behind it"
        raise typer.BadParameter(message)
    if not (found := detect(path)):
        raise nothing_at(path)
    return found


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
