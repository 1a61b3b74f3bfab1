"""How many trials may be in flight: by our own limit, and by the files this process may open."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from collect.config.resolved import ResolvedModel
from schemas.config.run_profile import RunProfile
from schemas.errors import ConfigError, Problem
from schemas.io.yaml import Source, dotted

MOST_AT_ONCE = 10_000
"""Trials in flight of one collector: one core cannot stamp the bytes of more in time."""

KEY = ("execution_policy", "max_concurrency")

OWN_FILES = 64
"""Files that a collector has open beside its connections: logs, traces, pipes, libraries."""

FILES_OF_A_COMMAND = 8
"""Pipes, files and connections of one call of a command line tool."""


def too_many_at_once(profile: RunProfile, source: Source) -> list[Problem]:
    """Return what is wrong with the concurrency of a run profile."""
    limit = profile.execution_policy.max_concurrency
    if limit <= MOST_AT_ONCE:
        return []
    found, allowed = f"`{limit}`", f"at most {MOST_AT_ONCE:,}"
    what = "is more than one collector can keep in flight"
    line = source.line_of(KEY)
    return [Problem(source.path, what, dotted(KEY), line, found=found, allowed=allowed)]


def refuse_too_few_files(
    models: Sequence[ResolvedModel], limit: int, n_planned: int, path: Path | None = None
) -> None:
    """Refuse a run whose requests in flight need more open files than this process may have.

    Without it each request beyond would fail as if nobody listened.

    Args:
        models: who is asked.
        limit: trials in flight of the whole run.
        n_planned: trials of the plan.
        path: the run profile.

    Raises:
        ConfigError: with the command that raises the limit.
    """
    allowed = _open_files()
    in_flight = min(limit, n_planned, sum(model.max_concurrency for model in models))
    runs_commands = any(model.executable is not None for model in models)
    needed = in_flight * (FILES_OF_A_COMMAND if runs_commands else 1) + OWN_FILES
    if allowed is None or needed <= allowed:
        return
    what = f"{in_flight:,} trials at once need about {needed:,} open files"
    advice = f"`ulimit -n {needed}` raises the limit of this shell; or lower max_concurrency"
    problem = Problem(path, what, dotted(KEY), allowed=f"{allowed:,} open files", advice=advice)
    raise ConfigError([problem])


def _open_files() -> int | None:
    """Return how many files this process may have open; None: nobody says."""
    if sys.platform == "win32":
        return None
    import resource  # noqa: PLC0415 - there is none on Windows

    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return None if soft == resource.RLIM_INFINITY else soft
