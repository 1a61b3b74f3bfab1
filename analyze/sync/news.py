"""What changed in a folder of runs, told from one stat a folder; loads nothing heavy."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from schemas.lake.manifest import Manifest
from schemas.run.layout import LogSeen, look_of, run_folders

Progress = Callable[[int, int], None]
"""Is told how many bytes of logs of how many are done."""


@dataclass(frozen=True)
class Synced:
    """What a sync did."""

    n_runs: int = 0
    """Runs of which something was brought in."""
    n_rows: int = 0
    """Results and events that were brought in."""
    problems: tuple[str, ...] = ()
    """What was found wrong now."""
    n_with_problems: int = 0
    """Runs of which problems are known, of earlier syncs as well."""
    known_problems: tuple[str, ...] = ()
    """Of these runs, what was found now included."""
    n_compacted: int = 0
    """Files of the lake that were put into larger ones."""
    set_aside: tuple[str, ...] = ()
    """Damaged files of the lake, each with what became of its rows."""
    n_lost_rows: int = 0
    """Rows of them that could not be made again, now or by the next sync."""
    read_only: bool = False
    """The lake cannot be written, so it is read as it is."""


def news(runs_dir: Path, manifest: Manifest) -> list[str]:
    """Return the names of the run folders that changed since they were brought in."""
    return changed(run_folders(runs_dir), manifest)


def changed(folders: Iterable[tuple[str, LogSeen]], manifest: Manifest) -> list[str]:
    """Return the names of those folders that changed since they were brought in."""
    known, runs_dir = manifest.runs, manifest.lake.parent
    names = []
    for name, log in folders:
        seen = known.get(name)
        if seen is None or seen[1:3] != log:  # size and time
            names.append(name)
        elif seen.is_pruned or (seen.is_complete and not seen.refused_as):
            continue
        elif not seen.is_complete or seen.refused_as != look_of(runs_dir / name):
            names.append(name)
    return sorted(names)


def with_known_problems(synced: Synced, manifest: Manifest) -> Synced:
    """Return what a sync did with the problems of all runs that the lake knows of."""
    bad = [seen.problems for _, seen in sorted(manifest.runs.items()) if seen.problems]
    known = tuple(problem for problems in bad for problem in problems)
    return replace(synced, n_with_problems=len(bad), known_problems=known)
