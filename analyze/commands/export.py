"""`analyze export`: a run or a report in the format of another tool."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from analyze.cli_options import (
    RUNS,
    EvaluationProfileOption,
    JsonOption,
    ModelOption,
    NoSyncOption,
    RunsOption,
)
from analyze.exporters import EXPORTERS

if TYPE_CHECKING:
    from analyze.exporters import Exporter, ExportText
    from schemas.formats.swebench import Style

    Format = str
else:
    Format = Literal[EXPORTERS.names]


def export(
    format: Annotated[Format, typer.Argument(metavar="FORMAT", help=f"{EXPORTERS}.")],
    what: Annotated[
        str,
        typer.Argument(
            metavar="RUN|REPORT",
            help="A run id, a path to a run's folder, `latest`, `previous`, `label:NAME`, or the "
            "file of a report v2.",
        ),
    ],
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="OUT",
            help="A file, where one document comes out (.json, .jsonl, .md, .xml); `-`: standard "
            "output; a folder for report-v2 with its summary.md, eee, inspect, and several models.",
        ),
    ] = None,
    style: Annotated[
        Literal["4", "5"] | None,
        typer.Option(
            metavar="4|5",
            help="Of swebench: the harness' version. Default: 5, or what was imported.",
        ),
    ] = None,
    model: ModelOption = None,
    force: Annotated[bool, typer.Option("--force", help="Replace files that are there.")] = False,
    runs: RunsOption = RUNS,
    evaluation_profile: EvaluationProfileOption = None,
    no_sync: NoSyncOption = False,
    json: JsonOption = False,
) -> None:
    """Write a run as reports v2, or in the format of another tool.

    Each model is a report of its own; repetitions of a case are folded by majority, save in eee,
    which has a row a trial. Without --output, reports v2 go to reports/ in the run's folder, all
    else to the working directory.

    Example: analyze export report-v2 latest
    """
    from analyze.exporters.files import STDOUT, document, own_place, texts_by_path, texts_of_run
    from analyze.query.run_ref import model_for, resolve_run, run_folder, runs_dir_of
    from analyze.query.session import open_session
    from analyze.report_v2.files import write_texts
    from schemas.errors import ConfigError, Problem
    from schemas.run.layout import is_run_folder

    exporter = EXPORTERS[format]
    if style is not None and not exporter.has_styles:
        takers = ", ".join(name for name in EXPORTERS.names if EXPORTERS[name].has_styles)
        problem = Problem(None, f"{format} has no styles", key="--style", allowed=takers)
        raise ConfigError([problem])
    number: Style | None = None if style is None else 4 if style == "4" else 5
    own = None
    if Path(what).is_file() and not is_run_folder(runs / what):
        if evaluation_profile is not None:
            message = f"{what} is a report; its verdicts are those that it holds"
            raise ConfigError([Problem(None, message, "--evaluation-profile")])
        texts = _of_report(Path(what), exporter, output, number, model)
    else:
        with open_session(
            runs_dir_of(runs, what), sync=not no_sync, evaluation_profile=evaluation_profile
        ) as session:
            run_id = resolve_run(session, what)
            model = model_for(session, model)
            if exporter.is_folder and output is None:
                own = own_place(run_folder(session, run_id))
            with session.as_written() as written:  # files of a run have the ids of that run
                texts = texts_of_run(written, run_id, exporter, style=number, model=model)
    if output == STDOUT:
        if json:
            raise ConfigError([Problem(None, "--json lists files, and `-` is none", "--json")])
        typer.echo(document(texts, STDOUT), nl=False)
        return
    files = texts_by_path(texts, exporter, output, own)
    write_texts(files, replace=force or (own is not None and output is None))
    if json:
        from json import dumps

        typer.echo(dumps([str(path) for path in files], indent=2))
    else:
        for path in files:
            typer.echo(path)


def _of_report(
    path: Path, exporter: Exporter, output: Path | None, style: Style | None, model: str | None
) -> list[ExportText]:
    from analyze.report_v2.files import read_report
    from schemas.errors import ConfigError, Problem

    if model is not None:
        raise ConfigError([Problem(path, "is a report of one model", key="--model")])
    if exporter.is_folder and output is None:
        problem = "is no run with a folder of its own; name a folder for what comes out"
        raise ConfigError([Problem(path, problem, key="--output")])
    return exporter.of_report(read_report(path), style)
