"""summary.json and summary.md of one run: a function of what the lake holds of it.

Puts marts, intervals and snapshots together. Mirrors nothing (see `history.bring_into_lake`) and
computes no aggregate: those are SQL.
"""

from __future__ import annotations

import uuid
from collections import defaultdict
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TypeVar

from pydantic import ValidationError

from analyze.catalog import create_views, read_view
from analyze.history import open_lake, read_config
from analyze.model_group import Evidence, group_summary
from analyze.report.summary_table import summary_markdown
from analyze.resources import read_snapshot
from analyze.rows import (
    FailureSummaryRow,
    Group,
    GroupRow,
    ModelSummaryRow,
    PassCountsRow,
    RunSummaryRow,
    ToolCountsRow,
)
from schemas.errors import AnalyzeError
from schemas.inventory import Inventory
from schemas.summary import RunSummary

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

Row = TypeVar("Row", bound=GroupRow)


def summarize_run(run_dir: Path, lake: Path, *, threads: int | None = None) -> RunSummary:
    """Return the summary of what the lake holds of a run.

    Args:
        run_dir: the run's folder, for its config and resource snapshots.
        lake: where the run was mirrored to.
        threads: of the engine; the result does not depend on it.

    Raises:
        SchemaError: the run's config cannot be read.
        ViewError: the lake cannot be read.
    """
    config = read_config(run_dir)
    connection = open_lake(lake, config.run_id, threads=threads)
    try:
        create_views(connection, described=False)
        runs = read_view(connection, RunSummaryRow)
        models = read_view(connection, ModelSummaryRow)
        failures = _by_group(read_view(connection, FailureSummaryRow))
        passes = _by_group(read_view(connection, PassCountsRow))
        tool_use = _by_group(read_view(connection, ToolCountsRow))
    finally:
        connection.close()
    tags = {model.model_id: model.resource_tag for model in config.models}
    before = {model: read_snapshot(run_dir, tag, "before") for model, tag in tags.items()}
    after = {model: read_snapshot(run_dir, tag, "after") for model, tag in tags.items()}
    ended_at_ms = runs[0].ended_at_ms if runs else None
    return RunSummary(
        generated_at=None if ended_at_ms is None else _iso(ended_at_ms),
        run_id=config.run_id,
        run_wall_clock_ms=runs[0].wall_clock_ms if runs else None,
        models=tuple(
            group_summary(
                Evidence(
                    row,
                    failures[row.group],
                    passes[row.group],
                    tool_use[row.group],
                    before.get(row.model_id),
                    after.get(row.model_id),
                    config.thresholds,
                )
            )
            for row in models
        ),
    )


def write_summary(run_dir: Path, lake: Path) -> tuple[Path, Path]:
    """Write summary.json and summary.md of what the lake holds, and return their paths."""
    return write_files(run_dir, summarize_run(run_dir, lake))


def write_files(run_dir: Path, summary: RunSummary) -> tuple[Path, Path]:
    """Write both forms of a summary into the run's folder, each whole or not at all.

    Raises:
        AnalyzeError: the folder cannot be written.
    """
    texts = {
        run_dir / "summary.json": summary_json(summary),
        run_dir / "summary.md": summary_markdown(summary, read_inventory(run_dir)),
    }
    for path, text in texts.items():
        temporary = path.with_name(f".tmp-{uuid.uuid4().hex}")
        try:
            temporary.write_text(text, encoding="utf-8", newline="\n")
            temporary.replace(path)
        except OSError as exc:
            message = f"{path}: cannot be written ({exc.strerror})"
            raise AnalyzeError(message) from exc
        finally:
            temporary.unlink(missing_ok=True)
    json_path, markdown_path = texts
    return json_path, markdown_path


def summary_json(summary: RunSummary) -> str:
    """Return summary.json: fields in the order of their declaration, a newline at the end."""
    return summary.model_dump_json(indent=2) + "\n"


def read_inventory(run_dir: Path) -> Inventory | None:
    """Return the run's inventory; None when it cannot be read, since it only adds sizes."""
    try:
        return Inventory.model_validate_json((run_dir / "inventory.json").read_bytes())
    except (OSError, ValidationError):
        return None


def _iso(at_ms: int) -> str:
    """Return milliseconds since 1970 as UTC text; added as whole numbers, never as a float."""
    at = EPOCH + timedelta(milliseconds=at_ms)
    return at.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _by_group(rows: Iterable[Row]) -> defaultdict[Group, list[Row]]:
    groups: defaultdict[Group, list[Row]] = defaultdict(list)
    for row in rows:
        groups[row.group].append(row)
    return groups
