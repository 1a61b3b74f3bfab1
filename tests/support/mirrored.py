"""One run's log into the lake, as the collector's child brings it in."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

from schemas.lake.writer import RunMirror


def mirror_run(run_dir: Path, lake: Path) -> list[str]:
    """Bring one run's log into the lake, as far as it is not there, and return the problems.

    Raises:
        MirrorBusy: another process is at it; what it has sealed so far can be read.
    """
    with closing(RunMirror(run_dir, lake)) as mirror:
        mirror.step()
        mirror.seal()
    return mirror.problems
