"""The `--runs` that a printed command needs, so that it can be copied as it stands."""

from __future__ import annotations

from pathlib import Path

from schemas.errors import shown

DEFAULT_RUNS = "runs"
"""Where every command looks unless it is told otherwise."""


def runs_option(runs_dir: Path | None) -> list[str]:
    """Return the words that name a folder of runs; none where it is the one by default."""
    here = DEFAULT_RUNS if runs_dir is None else shown(runs_dir.absolute())
    return [] if here == DEFAULT_RUNS else ["--runs", here]
