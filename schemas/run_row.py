"""A row of the lake's table `runs`: what a run was, for whoever has the lake and not its folder."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

from pydantic import BeforeValidator, Field

from schemas.base import Count, EpochMillis, Record, Usd
from schemas.run.config import Narrowed, RunConfig

Labels = Annotated[dict[str, str], BeforeValidator(dict)]
"""By model_id; Arrow returns a map as pairs."""


class RunRow(Record):
    """One run as its lake knows it; a run that was given other labels has several rows."""

    run_id: str = Field(description="Name of the run's folder.")
    suite_id: str = Field(description="Suite the run was made from; `imported`: by another tool.")
    suite_title: str = Field(description="Title of the suite.")
    started_at_ms: EpochMillis | None = Field(
        description="Wall clock at the run's start; null: an imported run without results."
    )
    run_profile_id: str | None = Field(description="Run profile; null for an imported run.")
    benchlake_version: str | None = Field(description="That made it; null for an imported run.")
    n_planned: Count = Field(description="Trials of the plan.")
    run_group: str | None = Field(description="The same for all shards of one plan.")
    labels: tuple[str, ...] = Field(description="Names that people gave the run.")
    is_imported: bool = Field(description="Made by another tool: no plan, no hashes.")
    is_narrowed: bool = Field(description="Flags made it smaller than its suite.")
    max_cost_usd: Usd | None = Field(description="What the run may cost; null: no limit.")
    judge_hash: str | None = Field(
        default=None,
        description="Of judges, their prompt and aggregation; null: no judge decides a verdict.",
    )
    machine: str | None = Field(
        default=None,
        description="Cores and memory of the machine that collected; null: not known.",
    )
    model_labels: Labels | None = Field(
        default=None,
        description="Names for people, by model_id, of the models that have one; null: not known, "
        "as of an imported run.",
    )
    recorded_at_ms: EpochMillis = Field(
        description="When this row was made; of a run's rows the one with the highest counts."
    )


def machine_of(run_dir: Path) -> str | None:
    """Return `4 cores, 16 GiB`; None when the run's inventory does not say it."""
    try:
        host = json.loads((run_dir / "inventory.json").read_bytes())["host"]
        return f"{host['cpu_count']:d} cores, {host['memory_bytes'] / 2**30:.0f} GiB"
    except (OSError, ValueError, KeyError, TypeError):
        return None


def run_row(config: RunConfig, run_dir: Path) -> RunRow:
    """Return the row of a run of ours, as it was at its start.

    Args:
        config: of the run.
        run_dir: its folder, for the machine in its inventory.
    """
    return RunRow(
        run_id=config.run_id,
        suite_id=config.suite_id,
        suite_title=config.suite_title,
        started_at_ms=config.started_at_ms,
        run_profile_id=config.run_profile_id,
        benchlake_version=config.benchlake_version,
        n_planned=config.n_planned,
        run_group=config.run_group,
        labels=config.labels,
        is_imported=False,
        is_narrowed=config.narrowed != Narrowed(),
        max_cost_usd=config.max_cost_usd,
        judge_hash=config.judge_hash,
        machine=machine_of(run_dir),
        model_labels={model.model_id: model.label for model in config.models if model.label},
        recorded_at_ms=config.started_at_ms,
    )
