"""What lies at a path as runs of ours, in a folder of its own that goes again.

Nothing is written beside the data. Of several imports one that cannot be read does not hide the
others.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from analyze.importers import IMPORTERS, FileProgress, ImportRequest
from analyze.importers.detect import Detected, detect, nothing_at
from schemas.errors import BenchError, ConfigError, Problem

if TYPE_CHECKING:
    from analyze.importers.base import Written

PREFIX = "benchlake-look-"


@dataclass(frozen=True)
class Look:
    """Imports of a path."""

    runs_dir: Path
    """Where they are, as long as the look lasts."""
    written: tuple[tuple[Detected, Written], ...]
    refused: tuple[tuple[Detected, str], ...]
    """With the reason."""

    @property
    def run_ids(self) -> list[str]:
        """Return each run once, in the order of the paths."""
        return list(dict.fromkeys(one.run_dir.name for _, one in self.written))


@contextmanager
def looked_at(path: Path, progress: FileProgress | None = None) -> Iterator[Look]:
    """Import all that is at a path for as long as the block lasts.

    Raises:
        ConfigError: nothing is there that any importer knows, or nothing of it can be read.
        OSError: there is no room for it.
    """
    found = detect(path)
    if not found:
        raise nothing_at(path)
    with tempfile.TemporaryDirectory(prefix=PREFIX) as made:
        runs_dir = Path(made).resolve() / "runs"
        written: list[tuple[Detected, Written]] = []
        refused: list[tuple[Detected, str]] = []
        for one in found:
            request = ImportRequest(one.path, runs_dir, progress=progress)
            try:
                written += ((one, run) for run in IMPORTERS[one.format].run(request))
            except BenchError as exc:
                if len(found) == 1:
                    raise
                refused.append((one, str(exc)))
        if not written:
            raise ConfigError([Problem(None, reason) for _, reason in refused])
        yield Look(runs_dir, tuple(written), tuple(refused))
