"""What has the name already that an import asks for: the same import, or something to be kept."""

from __future__ import annotations

from pathlib import Path

from pydantic import ValidationError

from schemas.errors import BenchError, ConfigError, Problem
from schemas.lake.layout import covered_until
from schemas.lake.log_coverage import tail_before
from schemas.lake.tables import lake_of, parts_of
from schemas.run.import_record import ImportRecord, load_import_record

ADVICE = "--run-id NAME gives this import another name"

OF_ONE_IMPORT = ("benchlake_version", "source_name", "started_at_ms")
"""Fields of a record in which the same import may differ from itself: a copy has other times."""


def refuse_other(run_dir: Path, record: ImportRecord) -> None:
    """Let pass a folder that the same import made before.

    Raises:
        ConfigError: it is any other.
    """
    try:
        there = load_import_record(run_dir)
    except (OSError, ValidationError, BenchError):
        raise _in_the_way(run_dir, "is there and was not made by an import of ours") from None
    if there.source_sha256 != record.source_sha256:
        name = there.source_name
        raise _in_the_way(run_dir, f"was imported from other files, of `{name}`")
    again = {name: getattr(there, name) for name in OF_ONE_IMPORT}
    if there != record.model_copy(update=again):
        raise _in_the_way(run_dir, "was imported from the same files in another way")


def _in_the_way(run_dir: Path, what: str) -> ConfigError:
    return ConfigError([Problem(run_dir, what, advice=ADVICE)])


def refuse_lost_rows(runs_dir: Path, run_id: str, log: Path) -> None:
    """Let nothing take the place of rows whose folder is gone, unless its log begins with theirs.

    Raises:
        ConfigError: the lake holds another run by this name.
    """
    lake = lake_of(runs_dir)
    covered = covered_until(part for _, part in parts_of(lake, "results", run_id))
    if not covered.end:
        return
    is_longer = covered.end <= log.stat().st_size
    if not is_longer or covered.tail != tail_before(log, covered.end):
        what = f"{lake} holds rows of a run `{run_id}` whose folder is gone"
        also = f"{ADVICE}; `analyze sync --prune {run_id}` removes those rows"
        raise ConfigError([Problem(None, what, advice=also)])
