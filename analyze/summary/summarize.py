"""summary.json and summary.md of one run: a function of what the lake holds of it.

Puts marts, intervals and snapshots together. Brings nothing into the lake and computes no
aggregate: those are SQL. A run whose folder is elsewhere, and one that an older tool made, has no
resource snapshots; all else is the same.

Snapshots (resources_<tag>_before.txt and _after.txt) are outputs of other programs. A part that
failed or reads otherwise is null; nothing about them raises, since a summary must not depend on
`free` having worked.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Literal, Protocol, TypeVar

import duckdb
from pydantic import ValidationError

from analyze.contracts.base import GroupRow, RunModelRow, ViewRow
from analyze.contracts.models import (
    FailureSummaryRow,
    ModelSummaryRow,
    PassCountsRow,
    RepetitionsRow,
    RunSummaryRow,
    ToolCountsRow,
)
from analyze.lake.raw_tables import connect
from analyze.lake.repair import retry_while_moving, settle
from analyze.query.catalog import named_in, prepare, read_view
from analyze.render.numbers import iso_moment
from analyze.summary.model_summary import group_summary
from analyze.summary.summary_table import summary_markdown
from schemas.config.project import Thresholds
from schemas.errors import AnalyzeError
from schemas.io.files import replacing
from schemas.output.summary import RunSummary
from schemas.redact import json_escape, spelled
from schemas.run.config import RunConfig, read_config
from schemas.run.inventory import DiskRoot, Inventory, ResourceSnapshot
from schemas.run.layout import is_planned
from schemas.run.model_names import ModelNames

MEMORY_COLUMNS = (
    "mem_total",
    "mem_used",
    "mem_free",
    "mem_shared",
    "mem_buff_cache",
    "mem_available",
)
"""Columns of the `Mem:` line of free, in its order."""

MAX_PS_LINES = 6
"""Lines kept of `ollama ps`, its header included."""

HEADERS = {"# free": "memory", "# df": "disk", "# du": "store", "# ollama ps": "models"}
"""Start of each section's header line to our name of it."""

FALLBACK = re.compile(r"\(.* failed\)")
"""What a section holds when its command gave nothing."""

Row = TypeVar("Row", bound=ViewRow)
OfModel = TypeVar("OfModel", bound=GroupRow | RunModelRow)

ONE_RUN = "run_id = ?"

READ: tuple[type[ViewRow], ...] = (
    ModelSummaryRow,
    RunSummaryRow,
    RepetitionsRow,
    FailureSummaryRow,
    PassCountsRow,
    ToolCountsRow,
)
"""The views that a summary is made of."""


def read_snapshot(
    run_dir: Path, tag: str, moment: Literal["before", "after"]
) -> ResourceSnapshot | None:
    """Return the snapshot of a model's start or end, or None when there is no such file."""
    path = run_dir / f"resources_{tag}_{moment}.txt"
    try:
        text = path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    return parse_snapshot(path.name, text)


def parse_snapshot(name: str, text: str) -> ResourceSnapshot:
    """Return what a snapshot's text says; what it does not say is null."""
    sections = _sections(text)
    store = sections["store"]
    return ResourceSnapshot(
        path=name,
        **_memory(sections["memory"]),
        disk_root=_disk(sections["disk"]),
        ollama_store_du=store[0] if store else None,
        ollama_ps=tuple(sections["models"][:MAX_PS_LINES]),
    )


def _sections(text: str) -> dict[str, list[str]]:
    """Return the lines of each section, without blank ones and fallback texts."""
    sections: dict[str, list[str]] = {name: [] for name in HEADERS.values()}
    current: list[str] = []
    for line in text.split("\n"):
        name = next((name for start, name in HEADERS.items() if line.startswith(start)), None)
        if name is not None:
            current = sections[name]
        elif line.strip() and not FALLBACK.fullmatch(line.strip()):
            current.append(line.rstrip())
    return sections


def _memory(lines: list[str]) -> dict[str, str]:
    """Return the columns of the `Mem:` line, as far as it goes."""
    words = next((line.split()[1:] for line in lines if line.startswith("Mem:")), [])
    return dict(zip(MEMORY_COLUMNS, words, strict=False))


def _disk(lines: list[str]) -> DiskRoot | None:
    """Return the line below df's header; a long device name puts its numbers on the next line."""
    words = " ".join(lines[1:]).split()[:5]
    if len(words) < 5 or not words[4].endswith("%"):
        return None
    fs, size, used, avail, use_pct = words
    return DiskRoot(fs=fs, size=size, used=used, avail=avail, use_pct=use_pct)


class Rows(Protocol):
    """Where rows of views come from: a `Session`, or one run's part of a lake."""

    def read(
        self, contract: type[Row], where: str = "", parameters: Sequence[object] = ()
    ) -> list[Row]:
        """Return the rows of a view as declared records, in the contract's order."""


class OneRun:
    """The rows of one run on a connection that holds no other."""

    def __init__(self, connection: duckdb.DuckDBPyConnection) -> None:
        self._connection = connection

    def read(
        self, contract: type[Row], where: str = "", parameters: Sequence[object] = ()
    ) -> list[Row]:
        """Return the rows of a view as declared records, in the contract's order."""
        return read_view(self._connection, contract, where, parameters)


def summarize_run(
    run_dir: Path,
    lake: Path,
    *,
    threads: int | None = None,
    progress: Callable[[str], None] | None = None,
) -> RunSummary:
    """Return the summary of a run in its folder, reading nothing else of the lake.

    Args:
        run_dir: the run's folder, for its config and resource snapshots.
        lake: where the run was mirrored to.
        threads: of the engine; the result does not depend on it.
        progress: takes a line about a damaged file, which is left out; by default standard error.

    Raises:
        SchemaError: the run's config cannot be read.
        ViewError: the lake cannot be read.
    """
    run_id = read_config(run_dir).run_id
    needed = named_in(" ".join(contract.view for contract in READ))

    def attempt(files: list[Path]) -> RunSummary:
        with connect(threads=threads) as connection:
            files += prepare(connection, lake, needed, run_id=run_id)
            return summary_of(OneRun(connection), run_id, run_dir)

    return retry_while_moving(lake, attempt, partial(settle, lake, writes=False, progress=progress))


def summary_of(rows: Rows, run_id: str, run_dir: Path | None) -> RunSummary:
    """Return the summary of what is known of a run, whose folder may be elsewhere.

    Raises:
        SchemaError: the run's config is there and cannot be read.
        ViewError: the lake cannot be read.
    """
    models = rows.read(ModelSummaryRow, ONE_RUN, [run_id])
    runs = rows.read(RunSummaryRow, ONE_RUN, [run_id])
    repetitions = {row.model_id: row for row in rows.read(RepetitionsRow, ONE_RUN, [run_id])}
    failures = _by_model(rows.read(FailureSummaryRow, ONE_RUN, [run_id]))
    passes = _by_model(rows.read(PassCountsRow, ONE_RUN, [run_id]))
    tool_use = _by_model(rows.read(ToolCountsRow, ONE_RUN, [run_id]))
    config = _config_of(run_dir)
    tags = {model.model_id: model.resource_tag for model in config.models} if config else {}
    return RunSummary(
        generated_at=iso_moment(runs[0].ended_at_ms) if runs else None,
        run_id=run_id,
        run_wall_clock_ms=runs[0].wall_clock_ms if runs else None,
        models=tuple(
            group_summary(
                row,
                repeated=repetitions[row.model_id],
                failures=failures[row.model_id],
                passes=passes[row.model_id],
                tool_use=tool_use[row.model_id],
                before=_snapshot(run_dir, tags.get(row.model_id), "before"),
                after=_snapshot(run_dir, tags.get(row.model_id), "after"),
                thresholds=config.thresholds if config else Thresholds(),
            )
            for row in models
        ),
    )


def thresholds_of(run_dir: Path | None) -> Thresholds:
    """Return the thresholds in force when a run was made; the packaged ones where nobody knows."""
    config = _config_of(run_dir)
    return config.thresholds if config else Thresholds()


def _config_of(run_dir: Path | None) -> RunConfig | None:
    return read_config(run_dir) if run_dir is not None and is_planned(run_dir) else None


def _snapshot(
    run_dir: Path | None, tag: str | None, moment: Literal["before", "after"]
) -> ResourceSnapshot | None:
    """Return memory and disk before or after a model; None where nobody looked."""
    return None if run_dir is None or tag is None else read_snapshot(run_dir, tag, moment)


def write_files(run_dir: Path, summary: RunSummary) -> tuple[Path, Path]:
    """Write both forms of a summary into the run's folder, each whole or not at all.

    Raises:
        AnalyzeError: the folder cannot be written.
    """
    page = summary_markdown(summary, read_inventory(run_dir), names_of_run(run_dir))
    texts = {run_dir / "summary.json": summary_json(summary), run_dir / "summary.md": page}
    for path, text in texts.items():
        try:
            with replacing(path) as temporary:
                temporary.write_text(text, encoding="utf-8", newline="\n")
        except OSError as exc:
            message = f"{path}: cannot be written ({exc.strerror})"
            raise AnalyzeError(message) from exc
    json_path, markdown_path = texts
    return json_path, markdown_path


def names_of_run(run_dir: Path) -> ModelNames:
    """Return what a run's own config calls its models: its summary says nothing of other runs.

    Raises:
        SchemaError: the run's config cannot be read.
    """
    return ModelNames.of_models(read_config(run_dir).models)


def summary_json(summary: RunSummary) -> str:
    """Return summary.json: fields in the order of their declaration, a newline at the end.

    What a terminal would obey (D-H5) is written as JSON's escape of it: the same text.
    """
    text = summary.model_dump_json(indent=2) + "\n"
    return "\n".join(spelled(line, json_escape) for line in text.split("\n"))


def read_inventory(run_dir: Path) -> Inventory | None:
    """Return the run's inventory; None when it cannot be read, since it only adds sizes."""
    try:
        return Inventory.model_validate_json((run_dir / "inventory.json").read_bytes())
    except (OSError, ValidationError):
        return None


def _by_model(rows: Iterable[OfModel]) -> defaultdict[str, list[OfModel]]:
    models: defaultdict[str, list[OfModel]] = defaultdict(list)
    for row in rows:
        models[row.model_id].append(row)
    return models
