"""What a migration did with every field, as text and as JSON: mapped, defaulted, carried over."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from analyze.render.text import safe
from analyze.report_v2.find_older import Located, OldReport
from schemas.errors import MOST_SHOWN, counted, shown
from schemas.formats.migration.ledger import Moved
from schemas.formats.migration.migrate import Migration

MOST_MOVES = 20
"""Lines of each kind of move; all of them are in the JSON."""

SHAPES = {
    "flat": "a flat report",
    "run_file": "a run file",
    "statistics": "a file of statistics and results",
    "task_files": "results of single tasks",
    "v2": "a report of schema v2 already, copied as it is",
}

TITLES = (
    ("mapped", "mapped to fields of v2"),
    ("defaulted", "not told, so set to a default"),
    ("carried", "without a place in v2, kept in environment.migrated_from"),
)


def migration_lines(
    source: OldReport, migration: Migration, output: Path, time: str | None
) -> Iterator[str]:
    """Yield what was read and written, then each kind of move with its count.

    Args:
        source: what was migrated.
        migration: what became of it.
        output: the file that was written.
        time: the modification time that stands in for a start; None where the report has its own.
    """
    told = safe(_name(source))
    instances = migration.report.get("instances")
    n = len(instances) if isinstance(instances, list) else 0
    yield f"{told}: {SHAPES[migration.shape]}; {counted(n, 'instance')}"
    yield f"{safe(shown(output))}: written"
    if time is not None:
        yield f"no start is told: {time} is when the file was last changed"
    for path in source.others[:MOST_MOVES]:
        yield f"{safe(shown(path))}: passed over, it is no part of this report"
    if (more := len(source.others) - MOST_MOVES) > 0:
        yield f"and {counted(more, 'more file')} passed over"
    if migration.shape == "v2":
        return
    for kind, title in TITLES:
        yield from _moves(title, getattr(migration, kind))
    yield ""
    yield f"analyze import sf-bench {safe(shlex.quote(shown(output)))}  makes a run of it"


def _moves(title: str, moves: Sequence[Moved]) -> Iterator[str]:
    yield ""
    yield f"{title}: {counted(len(moves), 'field')}"
    for move in moves[:MOST_MOVES]:
        place = move.pointer if move.pointer == move.target else f"{move.pointer} → {move.target}"
        yield "  " + safe(f"{place} ({move.note})" if move.note else place)
    if (more := len(moves) - MOST_MOVES) > 0:
        yield f"  and {more:,} more; --json prints all"


def migration_json(source: OldReport, migration: Migration, output: Path, time: str | None) -> str:
    """Return the same as JSON, with every move; arguments as for `migration_lines`."""
    moves = {kind: [one._asdict() for one in getattr(migration, kind)] for kind, _ in TITLES}
    return _json(
        {
            "source": _name(source),
            "output": str(output),
            "shape": migration.shape,
            "modified_at": time,
            "passed_over": [str(path) for path in source.others],
            **moves,
            "findings": [],
        }
    )


def refusal_lines(findings: Sequence[Located]) -> Iterator[str]:
    """Yield each mistake of a document that gives no report as `path pointer: sentence`."""
    for path, one in findings[:MOST_SHOWN]:
        line = "" if one.line is None else f":{one.line}"
        place = f" {safe(one.pointer)}" if one.pointer else ""
        yield f"{safe(shown(path))}{line}{place}: {safe(one.message)}"
    if (more := len(findings) - MOST_SHOWN) > 0:
        yield f"and {more:,} more mistakes"


def refusal_json(path: Path, findings: Sequence[Located]) -> str:
    """Return every mistake as JSON, each with its file; nothing was written."""
    told = [{"path": str(where), **one.model_dump(mode="json")} for where, one in findings]
    return _json({"source": str(path), "output": None, "findings": told})


def _name(source: OldReport) -> str:
    first = source.files[0].path
    return shown(first.parent if source.is_list else first)


def _json(value: dict[str, Any]) -> str:
    return json.dumps(value, indent=2)
