"""What stands at a run that has just ended: for the last words of the collector."""

from __future__ import annotations

from pathlib import Path

from analyze.history import read_config
from analyze.regressions.open_shifts import find_open_shifts
from analyze.report.open_shift_words import open_sentences
from analyze.report.plain import line_of
from analyze.session import open_session
from analyze.summarize import thresholds_of

MOST_TOLD = 5
"""Shifts that are told; `analyze runs` has all."""


def open_after_run(run_dir: Path) -> list[str]:
    """Return the shifts that stand at a run of this folder, a line each with its command.

    Args:
        run_dir: the run's folder; its rows are in the lake beside it.

    Raises:
        SchemaError: the run's config cannot be read.
        ViewError: the lake cannot be read.
    """
    run_id = read_config(run_dir).run_id
    with open_session(run_dir.parent, sync=False) as session:
        found = find_open_shifts(session, [run_id], limits=thresholds_of(run_dir))
    told = [
        f"open shift: {line_of(sentence)}; {line_of(command)}"
        for sentence, command in open_sentences(one.shift for one in found[:MOST_TOLD])
    ]
    more = len(found) - len(told)
    return [*told, f"and {more} more open shifts: analyze runs"] if more > 0 else told
