"""`analyze chart`: one chart of a run as a picture."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from analyze.charts import CHARTS
from analyze.cli_options import RUN_HELP, RUNS, EvaluationProfileOption, NoSyncOption, RunsOption

if TYPE_CHECKING:
    from analyze.report.sections import ReportContext
    from schemas.output.comparison import Comparison

    Name = str
else:
    Name = Literal[CHARTS.names]

SCALE = 2
"""Pixels of a PNG for each of the chart's own: sharp on the screens of today."""


def chart(
    name: Annotated[Name, typer.Argument(metavar="NAME", help=f"{CHARTS}.")],
    output: Annotated[
        Path,
        typer.Option("--output", "-o", metavar="FILE", help="A name that ends in .svg or .png."),
    ],
    run: Annotated[str, typer.Argument(metavar="RUN", help=RUN_HELP)] = "latest",
    baseline: Annotated[
        str, typer.Option(metavar="RUN", help="Of comparison: what the run is compared with.")
    ] = "previous",
    dark: Annotated[bool, typer.Option("--dark", help="Draw it for a dark ground.")] = False,
    force: Annotated[bool, typer.Option("--force", help="Replace FILE if it is there.")] = False,
    runs: RunsOption = RUNS,
    evaluation_profile: EvaluationProfileOption = None,
    no_sync: NoSyncOption = False,
) -> None:
    """Draw one chart of a run.

    Exit code 1: the run has nothing to draw as this chart.

    Example: analyze chart leaderboard latest --output board.svg
    """
    kind = _kind_of(output, force=force)

    from analyze.charts.drawing import drawn
    from analyze.charts.theme import DARK, LIGHT, themed
    from analyze.query.run_ref import read_names, resolve_run, runs_dir_of
    from analyze.query.session import open_session
    from analyze.query.thresholds import limits_in_force
    from analyze.report.sections import read_context

    with open_session(
        runs_dir_of(runs, run), sync=not no_sync, evaluation_profile=evaluation_profile
    ) as session:
        run_id = resolve_run(session, run)
        context = read_context(session, run_id, limits_in_force(Path.cwd()))
        names = read_names(session)
        made = drawn(name, context, lambda: _compared(context, baseline), names)
    _write(themed(made, DARK if dark else LIGHT), output, kind)
    typer.echo(output)


def _kind_of(output: Path, *, force: bool) -> str:
    """Return `svg` or `png`.

    Raises:
        ConfigError: the name ends otherwise, or something is there that is no file.
        NotOurFile: a file is there.
    """
    from os.path import lexists

    from schemas.errors import ConfigError, NotOurFile, Problem, display_path

    kind = output.suffix.lower().removeprefix(".")
    if kind not in {"svg", "png"}:
        problem = Problem(None, "unknown kind of picture", "--output", found=display_path(output),
                          allowed="a name that ends in .svg or .png")  # fmt: skip
        raise ConfigError([problem])
    if lexists(output):
        if output.is_symlink() or not output.is_file():
            raise ConfigError([Problem(None, f"{display_path(output)} is no file", "--output")])
        if not force:
            raise NotOurFile(output, "a file")
    return kind


def _compared(context: ReportContext, baseline: str) -> Comparison:
    from analyze.comparison.compare import compare
    from analyze.comparison.evidence.read import read_evidence
    from analyze.gate.base_runs import resolve_compared

    limits = context.limits.thresholds
    sides = resolve_compared(context.session, baseline, context.run_id, limits=limits)
    return compare(read_evidence(context.session, *sides), limits=context.limits)


def _write(made: Any, output: Path, kind: str) -> None:
    """Write a picture whole.

    Raises:
        AnalyzeError: the disk refuses.
    """
    import io

    from schemas.errors import AnalyzeError, display_path
    from schemas.io.files import write_whole

    if kind == "svg":
        text = io.StringIO()
        made.save(text, format="svg")
        content = text.getvalue().encode()
    else:
        picture = io.BytesIO()
        made.save(picture, format="png", scale_factor=SCALE)
        content = picture.getvalue()
    try:
        write_whole(output, content)
    except OSError as exc:
        message = f"{display_path(output)}: cannot be written ({exc.strerror})"
        raise AnalyzeError(message) from exc
