"""Finds and loads `benchlake.yaml`; a project without one has the packaged defaults."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from schemas.config.prices import PriceTable
from schemas.config.project import ProjectFile
from schemas.io.validation import parse
from schemas.thresholds import Thresholds
from schemas.yaml_source import read_yaml

NAME = "benchlake.yaml"


@dataclass(frozen=True, slots=True)
class LoadedProject:
    """What holds for every run of a project; `path` and `sha256` say which file was used."""

    path: Path | None = None
    sha256: str | None = None
    thresholds: Thresholds = field(default_factory=Thresholds)
    prices: PriceTable = field(default_factory=PriceTable)
    """The packaged prices behind the file's own are read when the first one is asked for."""
    allowed_hosts: tuple[str, ...] = ()
    """Lower case, sorted."""


def find_project_file(working_dir: Path) -> Path | None:
    """Return the nearest benchlake.yaml from a folder upward, not above a folder with `.git`.

    A link that leads nowhere is found too, so that it is reported rather than passed over.
    """
    start = working_dir.absolute()
    for folder in (start, *start.parents):
        path = folder / NAME
        if path.exists() or path.is_symlink():
            return path
        if (folder / ".git").exists():
            return None
    return None


def load_project_file(working_dir: Path) -> LoadedProject:
    """Return the project's thresholds, prices and hosts, the defaults when it has no file.

    Raises:
        ConfigError: every problem of the file, each with its line.
    """
    path = find_project_file(working_dir)
    if path is None:
        return LoadedProject()
    source = read_yaml(path)
    content = parse(ProjectFile, source)
    return LoadedProject(
        path=path,
        sha256=source.sha256,
        thresholds=content.thresholds,
        prices=PriceTable(content.prices),
        allowed_hosts=tuple(sorted(set(content.allowed_hosts))),
    )
