"""Clears away what a batch of whole runs left that was cut off, by kill -9 or a power cut."""

from __future__ import annotations

import contextlib
import time
from pathlib import Path

from schemas.lake.bulk_load import BATCH, UNFINISHED, batch_lock
from schemas.lake.layout import TEMPORARY
from schemas.lake.manifest import Manifest
from schemas.parts import Part

DEAD_S = 600.0
"""A file that is being written for longer than this has no writer any more."""


def drop_cut_off(lake: Path, manifest: Manifest) -> None:
    """Remove what a batch left that was cut off: unfinished files, and text without results.

    Args:
        lake: the lake.
        manifest: has just been refreshed; is told of what goes.
    """
    limit = time.time() - DEAD_S
    for path in lake.glob(f"*/month=*/{TEMPORARY}*{UNFINISHED}"):
        with contextlib.suppress(FileNotFoundError):
            if path.stat().st_mtime < limit:
                path.unlink()
    names = [name for name in manifest.names if BATCH.fullmatch(name.rpartition("/")[2])]
    if not names:
        return
    with batch_lock(lake):
        for name in names:
            table, _, rest = name.partition("/")
            if table == "results" or (lake / "results" / rest).exists():
                continue
            file = manifest.file(name)
            covers = [part for part in file.parts if part.coverage.end] if file else []
            if any(not (lake.parent / part.run_id).exists() for part in covers):
                continue  # its results were lost in another way, and this is what is left
            if covers and not any(_has_results(manifest, part) for part in covers):
                (lake / name).unlink(missing_ok=True)
                manifest.drop([name])


def _has_results(manifest: Manifest, part: Part) -> bool:
    held = manifest.parts_of("results", part.run_id)
    return any(other.coverage == part.coverage for _, other in held)
