"""From loaded inputs to a finished run on the screen: what `run` and `demo` share."""

from __future__ import annotations

import re
import sys
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path

import orjson

from collect.config import RunInputs
from collect.log import free_run_id
from collect.pipeline import run
from schemas.errors import ConfigError, Problem

RUN_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._()-]{0,127}")
"""A folder name that is safe everywhere; `lake` is where the Parquet files are."""


def start(
    inputs: RunInputs, runs_dir: Path, run_id: str | None, *, as_json: bool, again: str
) -> int:
    """Make one run, show it, and return the exit code.

    Args:
        inputs: what the run is made of.
        runs_dir: where runs are kept.
        run_id: its folder's name; None for the time in UTC.
        as_json: print one JSON object instead of a table.
        again: the command that makes the run once more, for the last words of a failed one.

    Raises:
        ConfigError: the run id cannot be a folder's name.
        RunExists: the run id is taken.
    """
    from collect.closing import show  # noqa: PLC0415 - rich is for people, not for --help
    from collect.screen import open_screen  # noqa: PLC0415 - as above

    if run_id is None:
        run_id = free_run_id(runs_dir, datetime.now(tz=UTC))
    elif not RUN_ID.fullmatch(run_id) or run_id == "lake":
        allowed = "letters, digits and . _ - ( ), not `lake`"
        problem = Problem(runs_dir, "not a run id", found=f"`{run_id}`", allowed=allowed)
        raise ConfigError([problem])
    report = run(inputs, runs_dir / run_id, open_screen())
    if as_json:
        sys.stdout.write(orjson.dumps(asdict(report)).decode() + "\n")
    else:
        show(report, again)
    return report.exit_code
