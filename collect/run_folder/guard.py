"""Whether a run's folder may be gone on with: asked before a byte of it is changed.

Going on repairs the log, cuts traces that were torn, and asks what the log does not hold. On a
folder that lost its log, is a copy of another one or leads elsewhere, each of these would destroy
something or be paid for twice.
"""

from __future__ import annotations

from pathlib import Path

from schemas.errors import NotResumable, restore_command
from schemas.io.own_files import open_own_file, require_own_files
from schemas.lake.footer import parts_in
from schemas.lake.layout import BATCH_TABLES, lake_of, month_of, require_own_lake
from schemas.lake.log_coverage import require_held
from schemas.run.config import RunConfig, load_run_config
from schemas.run.layout import LOG

PLAN = "plan.jsonl"
ARTIFACTS = "artifacts"

READ = ("config.json", "inventory.json", PLAN, "cases.jsonl.zst")
WRITTEN = (LOG, "run.log", ".run.lock", ".mirror.lock", ARTIFACTS)


def require_own_run(run_dir: Path) -> RunConfig:
    """Return the config of a run whose folder is its own.

    Raises:
        NotOwnFile: there is a link, a pipe or a device in the folder or in the lake, or a file that
            is to be written to has another name.
        NotResumable: it is the folder of another run, or its config cannot be read.
    """
    require_own_files(run_dir, READ, written=WRITTEN, folders=(ARTIFACTS,))
    require_own_lake(lake_of(run_dir.parent))
    try:
        config = load_run_config(run_dir / "config.json")
    except (OSError, ValueError) as exc:  # pydantic's are ValueErrors
        why = f"config.json is missing or damaged ({type(exc).__name__})"
        raise NotResumable(
            run_dir, f"{why}; a new run with --reuse takes over its answers"
        ) from exc
    if config.run_id != run_dir.name:
        why = (
            f"config.json is of run `{config.run_id}`, so this is a copy of that run under another "
            f"name; resume `{config.run_id}`, or give the folder its name back"
        )
        raise NotResumable(run_dir, why)
    return config


def require_whole(run_dir: Path, config: RunConfig) -> None:
    """Refuse a run of whose plan, log or traces something is gone that was there.

    Args:
        run_dir: the run's folder; the caller holds its lock.
        config: from `require_own_run`.

    Raises:
        NotResumable: the plan is shorter than it was, or the log is gone with traces still there.
        LogLost: the lake holds results that the log does not.
        SchemaError: a file of the lake that bears the run's name cannot be read.
    """
    lake = lake_of(run_dir.parent)
    again = f"`{restore_command(run_dir)}` writes it again from the lake"
    try:
        with open_own_file(run_dir, PLAN) as plan:
            n_lines = sum(1 for _ in plan)
    except FileNotFoundError as exc:
        raise NotResumable(run_dir, f"{PLAN} is gone; {again}") from exc
    if n_lines < config.n_planned:
        why = f"{PLAN} holds {n_lines:,} of the {config.n_planned:,} trials that were planned"
        raise NotResumable(run_dir, f"{why}; {again}")
    months = (month_of(config.started_at_ms),)
    parts = {table: parts_in(lake, table, config.run_id, months) for table in BATCH_TABLES}
    n_rows = sum(part.n_rows for _, part in parts["results"])
    require_held(run_dir / LOG, [one for held in parts.values() for _, one in held], n_rows)
    if not (run_dir / LOG).exists():
        for path in sorted((run_dir / ARTIFACTS).glob("*")):
            if path.stat().st_size:
                why = (
                    f"{LOG} is gone, {ARTIFACTS}/{path.name} holds traces of its answers and the "
                    "lake none of its rows; put the log back from a copy, or start a new run"
                )
                raise NotResumable(run_dir, why)
