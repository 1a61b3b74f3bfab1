"""Where a report says that its runs are."""

from __future__ import annotations

import shlex
from pathlib import Path

from schemas.errors import display_path, runs_flag
from schemas.output.report import RunReport


def kept_in(report: RunReport, read_from: Path, runs_dir: Path) -> RunReport:
    """Return a report whose commands go by another folder of runs than the one it was read from.

    Args:
        report: of a run.
        read_from: the folder of runs that it was read from, which goes again.
        runs_dir: where the runs will be kept; commands without `--runs` find them there.
    """
    text = report.model_dump_json()
    text = text.replace(f" {shlex.join(runs_flag(read_from))}", "")
    for name in (str(read_from), display_path(read_from)):
        text = text.replace(name, str(runs_dir))
    return RunReport.model_validate_json(text)
