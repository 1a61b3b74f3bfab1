"""What a shard on another machine needs of the project, in a folder of its own.

Paths between the project, the cases and the run folders stay as they are: all of it lies below the
nearest folder that holds them all.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterable
from pathlib import Path

from collect.config.project_files import find_project
from collect.dispatch.executors import Workplace
from schemas.config.project import find_project_file
from schemas.errors import ConfigError, Problem, display_path

MAX_BYTES = 200 * 1024 * 1024
"""Of the copy: nodes get all of it."""

SKIPPED = shutil.ignore_patterns(".git", ".venv", "__pycache__", "node_modules", "runs")


class ProjectCopy:
    """A copy of the files that a run names, until it is closed.

    Attributes:
        folder: the copy.
        working_dir: the current folder in it.
    """

    def __init__(self, workplace: Workplace) -> None:
        """Copy.

        Raises:
            ConfigError: it would be too large for every node to get it.
        """
        here = Path.cwd()
        sources = list(dict.fromkeys(_sources(here, workplace.files)))
        runs = _absolute(workplace.runs_dir)
        self._above = Path(os.path.commonpath([here, runs, *sources]))
        _refuse_large(sources)
        self.folder = Path(tempfile.mkdtemp(prefix="benchlake-project-"))
        self.working_dir = str(here.relative_to(self._above))
        (self.folder / self.working_dir).mkdir(parents=True, exist_ok=True)
        for source in sources:
            target = self.folder / source.relative_to(self._above)
            if source.is_dir():
                shutil.copytree(source, target, dirs_exist_ok=True, ignore=SKIPPED)
            else:
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(source, target)

    def place_of(self, run_dir: Path) -> str:
        """Return where a run's folder belongs in the copy."""
        return str(_absolute(run_dir).relative_to(self._above))

    def close(self) -> None:
        """Take the copy away."""
        shutil.rmtree(self.folder, ignore_errors=True)


def _sources(here: Path, files: Iterable[Path]) -> Iterable[Path]:
    """Yield what is copied: the project's `configs`, its own file, and all that lies elsewhere."""
    project = find_project(here)
    configs = None if project is None else project / "configs"
    if configs is not None:
        yield configs
    if (own := find_project_file(here)) is not None:
        yield _absolute(own)
    for file in files:
        path = _absolute(file)
        if path.exists() and not (configs is not None and path.is_relative_to(configs)):
            yield path


def _absolute(path: Path) -> Path:
    """Return a path without `..`; links stay what they are."""
    return Path(os.path.normpath(path.absolute()))


def _refuse_large(sources: Iterable[Path]) -> None:
    sizes = {source: _size(source) for source in sources}
    if sum(sizes.values()) > MAX_BYTES:
        largest = max(sizes, key=lambda source: sizes[source])
        what = "what the run names is too large for every node to get a copy of it"
        found = f"{sum(sizes.values()) / 1e6:,.0f} MB, most of it {display_path(largest)}"
        allowed = f"{MAX_BYTES / 1e6:,.0f} MB"
        raise ConfigError([Problem(None, what, found=found, allowed=allowed)])


def _size(path: Path) -> int:
    if not path.is_dir():
        return path.stat().st_size
    return sum(
        (Path(folder) / name).lstat().st_size
        for folder, _, names in os.walk(path)
        for name in names
    )
