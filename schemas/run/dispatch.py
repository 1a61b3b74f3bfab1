"""What is noted of a run in several shards, in `<dispatch_id>.dispatch.jsonl` beside its folders.

The first line is the plan, written before any request is sent: which folders there are and what
they may use together. The others say what became of it, each before it takes effect.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, TypeAdapter, ValidationError

from schemas.base import EpochMillis, Positive, Record
from schemas.errors import NotResumable

SUFFIX = ".dispatch.jsonl"

ExecutorName = Literal["processes", "ray"]


class DispatchPlan(Record):
    """Which folders make the plan together, and within which limits."""

    record_type: Literal["dispatch"] = "dispatch"
    dispatch_id: str
    """How people name all shards together."""
    run_group: str | None
    """As in each shard's config.json: the hash of the whole plan and the number of parts."""
    started_at_ms: EpochMillis
    benchlake_version: str
    executor: ExecutorName
    address: str | None = None
    """Of the cluster."""
    shards: tuple[str, ...]
    """Run ids, in the order of their parts."""
    n_planned: int
    max_cost_usd: float | None = None
    """Of all shards together."""


class ShardAttempt(Record):
    """A process begins to make a shard."""

    record_type: Literal["attempt"] = "attempt"
    shard: Positive
    attempt: Positive
    place: str
    at_ms: EpochMillis


class ShardGrant(Record):
    """A shard may spend so much in all."""

    record_type: Literal["grant"] = "grant"
    shard: Positive
    nano_usd: int
    at_ms: EpochMillis


class ShardLoss(Record):
    """A process is gone before its shard was made; what it may have spent counts as spent."""

    record_type: Literal["lost"] = "lost"
    shard: Positive
    attempt: Positive
    why: str
    unaccounted_nano_usd: int = 0
    """Granted to it, and not in its log."""
    at_ms: EpochMillis


class ShardEnd(Record):
    """A process has ended by itself, its shard whole or stopped."""

    record_type: Literal["end"] = "end"
    shard: Positive
    attempt: Positive
    at_ms: EpochMillis


DispatchLine = Annotated[
    DispatchPlan | ShardAttempt | ShardGrant | ShardLoss | ShardEnd,
    Field(discriminator="record_type"),
]

_LINE: TypeAdapter[DispatchLine] = TypeAdapter(DispatchLine)


def dispatch_file(runs_dir: Path, dispatch_id: str) -> Path:
    """Return where the record of a run in several shards is."""
    return runs_dir / f"{dispatch_id}{SUFFIX}"


def read_dispatch(path: Path) -> tuple[DispatchPlan, list[DispatchLine]]:
    """Return the plan and what became of it; a last line that was cut off is passed over.

    Raises:
        NotResumable: it cannot be read.
    """
    try:
        first, *rest = path.read_bytes().splitlines(keepends=True)
        plan = DispatchPlan.model_validate_json(first)
        lines = [_LINE.validate_json(line) for line in rest if line.endswith(b"\n")]
    except (OSError, ValueError, ValidationError) as exc:
        why = (
            f"it cannot be read ({type(exc).__name__}); `collect run --resume SHARD` completes one"
        )
        raise NotResumable(path, why) from exc
    return plan, lines
