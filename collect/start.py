"""From loaded inputs to a finished run on the screen: what `run` and `demo` share."""

from __future__ import annotations

import glob
import re
import sys
from collections.abc import Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path

import orjson

from collect.config import RunInputs, load_inputs, refuse_unbuilt
from collect.detectable import detectable_text
from collect.log import free_run_id
from collect.narrow import narrow, parse_shard
from collect.pipeline import run
from collect.plan import make_plan
from schemas.errors import ConfigError, Problem, RunInLake
from schemas.run_config import Narrowed

RUN_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._()-]{0,127}")
"""A folder name that is safe everywhere; `lake` is where the Parquet files are."""


def narrowed_inputs(
    suite: str,
    run_profile: str,
    *,
    allow_host: Sequence[str] | None,
    case: Sequence[str] | None,
    tag: Sequence[str] | None,
    model: Sequence[str] | None,
    max_trials: int | None,
    shard: str | None,
) -> RunInputs:
    """Return what the command line asks for, loaded, narrowed and known to be runnable.

    Raises:
        ConfigError: all problems of all files involved, or of the flags.
    """
    inputs = load_inputs(suite, run_profile, working_dir=Path.cwd(), allowed_hosts=allow_host or ())
    if shard is not None:
        shard = str(parse_shard(shard))
    wanted = Narrowed(
        cases=tuple(case or ()),
        tags=tuple(tag or ()),
        models=tuple(model or ()),
        max_trials=max_trials,
        shard=shard,
    )
    inputs = narrow(inputs, wanted)
    refuse_unbuilt(inputs)
    return inputs


def in_lake(runs_dir: Path, run_id: str) -> bool:
    """Return whether the lake holds rows of a run by this name, whose folder is gone."""
    pattern = f"lake/*/month=*/{glob.escape(run_id)}-*.parquet"
    return any(path.stem.rsplit("-", 2)[0] == run_id for path in runs_dir.glob(pattern))


def start(
    inputs: RunInputs,
    runs_dir: Path,
    run_id: str | None,
    *,
    as_json: bool,
    again: str,
    labels: Sequence[str] = (),
) -> int:
    """Make one run, show it, and return the exit code.

    Args:
        inputs: what the run is made of.
        runs_dir: where runs are kept.
        run_id: its folder's name; None for the time in UTC.
        as_json: print one JSON object instead of a table.
        again: the command that makes the run once more, for the last words of a failed one.
        labels: names by which the run can be found later.

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
    if in_lake(runs_dir, run_id) and not (runs_dir / run_id).exists():
        raise RunInLake(runs_dir, run_id)
    report = run(inputs, runs_dir / run_id, open_screen(), labels)
    if as_json:
        sys.stdout.write(orjson.dumps(asdict(report)).decode() + "\n")
    else:
        detectable = detectable_text(inputs, make_plan(inputs, run_id))
        show(report, again, detectable, inputs.project.thresholds)
    return report.exit_code
