"""`analyze spark-sql`: a question to the lake in SQL, answered by Spark."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from analyze.cli_options import RUNS, EvaluationProfileOption, NoSyncOption, RunsOption
from analyze.commands.sql import (
    FORMAT_HELP,
    MAX_ROWS_HELP,
    OUTPUT_HELP,
    AnswerForm,
    form_of_answer,
    give_answer,
)
from schemas.errors import ConfigError, Problem


def spark_sql(
    query: Annotated[
        str,
        typer.Argument(metavar="QUERY", help="One SELECT; `-` reads it from standard input."),
    ],
    runs: RunsOption = RUNS,
    lake: Annotated[
        str | None,
        typer.Option("--lake", metavar="URL", help="Read a shared lake where it is, by Spark."),
    ] = None,
    master: Annotated[
        str,
        typer.Option("--master", metavar="MASTER", help="Of Spark, such as spark://host:7077."),
    ] = "local[*]",
    conf: Annotated[
        list[str] | None,
        typer.Option(
            "--conf",
            metavar="NAME=VALUE",
            help="A setting of Spark: spark.executor.memory=8g. May be given more than once.",
        ),
    ] = None,
    form: Annotated[AnswerForm | None, typer.Option("--format", help=FORMAT_HELP)] = None,
    json: Annotated[bool, typer.Option("--json", help="The same as --format json.")] = False,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", help=OUTPUT_HELP)
    ] = None,
    max_rows: Annotated[
        int, typer.Option("--max-rows", metavar="N", min=0, help=MAX_ROWS_HELP)
    ] = 100,
    timeout: Annotated[
        float,
        typer.Option(
            "--timeout",
            metavar="SECONDS",
            min=0.001,
            help="End Spark after it, its start included.",
        ),
    ] = 600.0,
    evaluation_profile: EvaluationProfileOption = None,
    no_sync: NoSyncOption = False,
) -> None:
    """Ask every run ever made a question in SQL, by Spark.

    For histories that outgrow one machine. The tables and views are those of `analyze sql`, and
    say the same. Every worker has to see the files by the same paths. Needs
    pip install 'benchlake[spark]' and a Java runtime.

    Example: analyze spark-sql "select model_id, passed_rate from model_summary"
    """
    from analyze.query.session import check_evaluation_profile, sync_new_runs
    from analyze.spark.ask import SparkAsker
    from analyze.spark.session import require_spark
    from analyze.sql.output import OutputOptions

    wish = OutputOptions(
        form_of_answer(form, output, json=json), max_rows, timeout, not no_sync, evaluation_profile
    )
    settings = _settings(conf or [])
    require_spark()
    shared = None
    if lake is None:
        sync_new_runs(runs, sync=not no_sync)
        check_evaluation_profile(runs, evaluation_profile)
    else:
        from analyze.share import open_shared

        if runs != RUNS:
            message = "--lake and a folder of runs exclude each other"
            raise typer.BadParameter(message)
        shared = open_shared(lake)
    asker = SparkAsker(master, settings, shared)
    give_answer(runs, query, wish, output, asker)


def _settings(given: list[str]) -> dict[str, str]:
    """Return settings of Spark by name.

    Raises:
        ConfigError: one is none.
    """
    pairs = [one.partition("=") for one in given]
    problems = [
        Problem(None, "is no setting of Spark", "--conf", found=one, allowed="spark.NAME=VALUE")
        for one, (name, equals, _) in zip(given, pairs, strict=True)
        if not equals or not name.startswith("spark.")
    ]
    if problems:
        raise ConfigError(problems)
    return {name: value for name, _, value in pairs}
