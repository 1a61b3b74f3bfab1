"""Other tools' files to run folders, one file a format; from there they walk like any other run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from schemas.registry import Registry

if TYPE_CHECKING:
    from analyze.importers.base import Written


def never(_: Path) -> bool:
    """Return that a file or folder is none of a format; of one that must be named."""
    return False


FileProgress = Callable[[int, int], None]
"""Is told how many files of all are done."""


@dataclass(frozen=True)
class ImportRequest:
    """What somebody asked `analyze import` for; an option that was not given is None."""

    path: Path
    runs_dir: Path
    """Where runs are kept."""
    run_id: str | None = None
    suite_id: str | None = None
    model: str | None = None
    predictions: Path | None = None
    logs: Path | None = None
    progress: FileProgress | None = None


@dataclass(frozen=True)
class Importer:
    """A format that can be read."""

    options: frozenset[str]
    """Of `analyze import`, that this format has; any other one is an error."""
    run: Callable[[ImportRequest], list[Written]]
    """Makes the run folders."""
    detect: Callable[[Path], bool] = never
    """Returns whether a file or folder is one import of this format, by a quick look at it; of what
    cannot be read it is False, and nothing is raised."""
    takes_all_below: bool = False
    """The import of a folder takes the files of this format at any depth; others are looked at."""


IMPORTERS = Registry(
    "importers",
    Importer,
    {
        "inspect": "analyze.importers.inspect:IMPORTER",
        "lm-eval": "analyze.importers.lm_eval:IMPORTER",
        "promptfoo": "analyze.importers.promptfoo:IMPORTER",
        "sf-bench": "analyze.importers.sf_bench:IMPORTER",
        "claude-code": "analyze.importers.agents.claude_code:IMPORTER",
        "codex": "analyze.importers.agents.codex:IMPORTER",
        "mini-swe-agent": "analyze.importers.agents.mini_swe_agent:IMPORTER",
        "openclaw-bench": "analyze.importers.openclaw_bench:IMPORTER",
        "pae": "analyze.importers.pae:IMPORTER",
        "swebench": "analyze.importers.swebench:IMPORTER",
    },
)
"""Formats by the name that `analyze import` has for them; a new one is a file and a line."""
