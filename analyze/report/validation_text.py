"""What `analyze validate` found, as text that editors can jump from, and as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

from analyze.render.text import cells, safe
from schemas.base import Finding, ValidatedFile
from schemas.errors import MOST_SHOWN, counted


def validation_lines(files: Sequence[ValidatedFile]) -> Iterator[str]:
    """Yield one line a file, and below it each of its findings as `path:line pointer: sentence`.

    Args:
        files: in the order in which they were named.
    """
    kinds = max((cells(one.kind) for one in files), default=0)
    paths = max((cells(safe(one.path)) for one in files), default=0)
    for one in files:
        path = safe(one.path)
        room = " " * (paths - cells(path))
        counts = f"{counted(one.n_errors, 'error')}, {counted(one.n_warnings, 'warning')}"
        verdict = "ok" if one.valid else "invalid"
        yield f"{verdict:<7}  {one.kind:<{kinds}}  {path}{room}  {counts}"
        for finding in one.findings[:MOST_SHOWN]:
            yield f"  {_finding_line(path, finding)}"
        if more := one.n_errors + one.n_warnings - len(one.findings[:MOST_SHOWN]):
            yield f"  {path}: and {more:,} more"


def validation_json(files: Sequence[ValidatedFile]) -> str:
    """Return a list of what was found, one entry a file; ASCII only."""
    return json.dumps([one.model_dump(mode="json") for one in files], indent=2)


def _finding_line(path: str, finding: Finding) -> str:
    where = path if finding.line is None else f"{path}:{finding.line}"
    place = f" {safe(finding.pointer)}" if finding.pointer else ""
    return f"{where}{place}: {finding.severity}: {safe(finding.message)}"
