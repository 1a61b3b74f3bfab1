"""Options that commands share: one name, one help text, one check."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

RunsOption = Annotated[Path, typer.Option("--runs", metavar="DIR", help="Where runs are kept.")]
RUNS = Path("runs")
"""What `--runs` is unless it is given."""

LakeOption = Annotated[
    str | None,
    typer.Option("--lake", metavar="URL", help="Read a shared lake instead: s3://BUCKET/PATH."),
]
NoSyncOption = Annotated[
    bool, typer.Option("--no-sync", help="Read the lake as it is; do not look for news.")
]
EvaluationProfileOption = Annotated[
    str | None,
    typer.Option(
        "--evaluation-profile",
        metavar="ID",
        help="Verdicts with its judges, instead of those of each run's own evaluation profile.",
    ),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")]

UrlArgument = Annotated[
    str,
    typer.Argument(
        metavar="URL", help="Of the shared lake: s3://BUCKET/PATH, az://..., file:///PATH."
    ),
]

RUN_HELP = "A run id, a path to a run's folder, `latest`, `previous` or `label:NAME`."

RunArgument = Annotated[str, typer.Argument(metavar="RUN", help=RUN_HELP)]

BASE_HELP = (
    "A run id, a path to a run's folder, `latest`, `previous`, `label:NAME`, `last:N` runs as "
    "`gate` has them, `history`: the last 7; or several of these with commas between."
)

AllowOption = Annotated[
    list[str] | None,
    typer.Option(
        "--allow",
        metavar="AXIS",
        help="Go on although this differs: case, settings, tools, endpoint, model_build, agent, "
        "image, harness, judge, served_model, routing. May be given more than once.",
    ),
]
SuiteOption = Annotated[str | None, typer.Option("--suite", help="Only this suite.")]
ModelOption = Annotated[
    str | None,
    typer.Option("--model", metavar="MODEL", help="Only this, by model_id, model string or label."),
]
KnownOption = Annotated[
    Path | None,
    typer.Option("--known", metavar="FILE", help="Shifts that are acknowledged: TOML or YAML."),
]
Form = Literal["table", "md", "html", "json"]
FormOption = Annotated[
    Form | None, typer.Option("--format", help="Default: table, for the terminal; md is Markdown.")
]


def form_of(form: Form | None, *, json: bool) -> str:
    """Return the form that `--format` and `--json` ask for together."""
    if json and form not in {None, "json"}:
        message = f"--json and --format {form} exclude each other"
        raise typer.BadParameter(message)
    return "json" if json else form or "table"
