"""Which record of each trial counts (D-A3), and where in the log it stands."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

from schemas.io.own_files import open_own_file
from schemas.run.layout import LOG
from schemas.run.result import LineError, Result, loose_content_of, parse_line

TrialKey = tuple[str, str, int]
"""(model_id, case_id, repetition)."""


class LinePlace(NamedTuple):
    """Where a line stands in a log."""

    number: int
    """From 1."""
    offset: int
    """Of its first byte."""


def latest_records(
    run_dir: Path, is_wanted: Callable[[str, str], bool]
) -> dict[TrialKey, LinePlace]:
    """Return of each trial the place of the record that counts, in the order of the log.

    Args:
        run_dir: the run's folder.
        is_wanted: takes (model_id, case_id).
    """
    found: dict[TrialKey, LinePlace] = {}
    offset = 0
    with open_own_file(run_dir, LOG) as log:
        for number, line in enumerate(log, 1):
            row = loose_content_of(line)
            if row is not None and (key := _key(row)) is not None and is_wanted(*key[:2]):
                found[key] = LinePlace(number, offset)
            offset += len(line)
    return found


def result_at(run_dir: Path, place: LinePlace) -> Result | None:
    """Return the result at a place; None: the line cannot be read."""
    with open_own_file(run_dir, LOG) as log:
        log.seek(place.offset)
        try:
            record = parse_line(log.readline())
        except LineError:
            return None
    return record if isinstance(record, Result) else None


def _key(row: Mapping[str, object]) -> TrialKey | None:
    names = ("model_id", "case_id", "repetition")
    model_id, case_id, repetition = (row.get(name) for name in names)
    is_result = row.get("record_type") == "result"
    if not (is_result and isinstance(model_id, str) and isinstance(case_id, str)):
        return None
    return (model_id, case_id, repetition) if isinstance(repetition, int) else None
