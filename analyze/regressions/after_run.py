"""What stands at a run that has just ended: for the last words of the collector."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING

from analyze.query.model_names import read_names
from analyze.query.session import open_session
from analyze.regressions.open_shifts import find_open_shifts
from analyze.render.text import line_of
from analyze.report.open_shift_words import open_sentences
from analyze.summary.summarize import thresholds_of
from schemas.errors import runs_flag
from schemas.lake.manifest import Manifest
from schemas.run.config import read_config
from schemas.run.layout import run_folders
from schemas.run.model_names import with_names

if TYPE_CHECKING:
    from analyze.query.session import Session

MOST_TOLD = 5
"""Shifts that are told; `analyze runs` has all."""


def open_after_run(run_dir: Path) -> list[str]:
    """Return the shifts that stand at a run of this folder, a line each with its command.

    And how many runs the lake does not have, since what they began cannot be told.

    Args:
        run_dir: the run's folder; its rows are in the lake beside it.

    Raises:
        SchemaError: the run's config cannot be read.
        ViewError: the lake cannot be read.
    """
    run_id = read_config(run_dir).run_id
    with open_session(run_dir.parent, sync=False) as session:
        found = find_open_shifts(session, [run_id], limits=thresholds_of(run_dir)).shifts
        n_unseen = _n_not_in_lake(session)
        names = read_names(session)
    told = [
        f"open shift: {line_of(sentence)}; {line_of(command)}"
        for sentence, command in open_sentences(
            with_names(one.shift, names) for one in found[:MOST_TOLD]
        )
    ]
    look = shlex.join(["analyze", "runs", *runs_flag(run_dir.parent)])
    if (more := len(found) - len(told)) > 0:
        told.append(f"and {more} more open {'shift' if more == 1 else 'shifts'}: {look}")
    if n_unseen:
        runs = "1 other run is" if n_unseen == 1 else f"{n_unseen:,} other runs are"
        told.append(
            f"{runs} not in the lake yet, so open shifts may be missing here; this command brings "
            f"them in and names what is open: {look}"
        )
    return told


def _n_not_in_lake(session: Session) -> int:
    """Return how many run folders the lake knows nothing of, by their names.

    A lake that was deleted comes back with the next command that looks for news. Folders that were
    pruned or refused stay out, and are none of these.
    """
    rows = session.rows("select run_id from stg_runs")
    known = {run_id for (run_id,) in rows} | Manifest.load(session.lake).runs.keys()
    return sum(name not in known for name, _ in run_folders(session.runs_dir))
