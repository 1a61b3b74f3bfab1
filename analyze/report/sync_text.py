"""What `analyze sync` did, as text and as JSON."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING

from schemas.errors import MOST_SHOWN, counted, printable

if TYPE_CHECKING:
    from analyze.lake.sync import Synced


def sync_text(synced: Synced, *, as_json: bool = False) -> str:
    """Return what a sync did: counts first, then each known problem, new ones first."""
    if as_json:
        return json.dumps(asdict(synced), indent=2, ensure_ascii=False) + "\n"
    runs = counted(synced.n_runs, "run")
    lines = [
        "nothing new"
        if not synced.n_rows and not synced.n_runs
        else f"{counted(synced.n_rows, 'row')} of {runs} brought into the lake"
    ]
    if synced.n_compacted:
        lines.append(
            f"{counted(synced.n_compacted, 'small file was', 'small files were')} put together"
        )
    if synced.read_only:
        lines.append("the lake cannot be written, so it stays as it is")
    lines += [f"damaged: {printable(one)}" for one in synced.set_aside]
    if synced.n_with_problems:
        lines.append(f"{counted(synced.n_with_problems, 'run')} with problems")
    problems = tuple(dict.fromkeys((*synced.problems, *synced.known_problems)))
    lines += [f"  {printable(problem)}" for problem in problems[:MOST_SHOWN]]
    if more := len(problems[MOST_SHOWN:]):
        lines.append(f"  and {more:,} more")
    return "\n".join(lines) + "\n"


def prune_text(n_rows: int, *, as_json: bool = False) -> str:
    """Return what a prune did."""
    if as_json:
        return json.dumps({"n_rows_removed": n_rows}) + "\n"
    return (
        f"{counted(n_rows, 'row')} removed from the lake; folders are as they were "
        "(`analyze sync RUN` brings one back)\n"
    )
