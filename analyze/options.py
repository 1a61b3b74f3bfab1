"""Options that commands share: one name, one help text, one check."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

RunsOption = Annotated[Path, typer.Option("--runs", metavar="DIR", help="Where runs are kept.")]
RUNS = Path("runs")
"""What `--runs` is unless it is given."""

NoSyncOption = Annotated[
    bool, typer.Option("--no-sync", help="Read the lake as it is; do not look for news.")
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")]

RUN_HELP = "A run id, a path to a run's folder, `latest`, `previous` or `label:NAME`."

RunArgument = Annotated[str, typer.Argument(metavar="RUN", help=RUN_HELP)]
