"""Which thresholds hold now: those of the project's benchlake.yaml, else the packaged ones.

Where they are from is said with enough of the file's hash to tell two versions apart.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from schemas.config.project import Thresholds
from schemas.errors import display_path

if TYPE_CHECKING:
    from schemas.output.comparison import ThresholdsUsed

NAME = "benchlake.yaml"

MAX_HASH_CHARS = 12
"""Characters of a hash that people are shown; JSON has them all."""


def limits_in_force(working_dir: Path) -> ThresholdsUsed:
    """Return the thresholds in force in a folder, and the file that says so.

    Args:
        working_dir: benchlake.yaml is looked for from here upward.

    Raises:
        ConfigError: every problem of the file, each with its line.
    """
    from schemas.output.comparison import ThresholdsUsed  # noqa: PLC0415 - the collector makes none

    folder = working_dir.absolute()
    if not any(os.path.lexists(above / NAME) for above in (folder, *folder.parents)):
        return ThresholdsUsed(thresholds=Thresholds(), path=None, sha256=None)
    from schemas.config.project import load_project_file  # noqa: PLC0415 - reads YAML: 0.04 s

    project = load_project_file(working_dir)
    return ThresholdsUsed(
        thresholds=project.thresholds,
        path=None if project.path is None else str(project.path),
        sha256=project.sha256,
    )


def limits_source(limits: ThresholdsUsed) -> str:
    """Return the file that thresholds are from: `benchlake.yaml, sha256 8f041cb4c5cc`."""
    if limits.path is None or limits.sha256 is None:
        return "packaged defaults"
    return f"{display_path(Path(limits.path))}, sha256 {limits.sha256[:MAX_HASH_CHARS]}"
