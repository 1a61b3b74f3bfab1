"""Where a project's files lie, and what a reference to one of them means."""

from __future__ import annotations

from pathlib import Path

from schemas.errors import ConfigError, Problem, nearest

KINDS = {"suite": "suites", "run profile": "run_profiles"}


def find_project(start: Path) -> Path | None:
    """Return the nearest folder from `start` upward that holds `configs/`, not above a `.git`."""
    for folder in (start, *start.parents):
        if (folder / "configs").is_dir():
            return folder
        if (folder / ".git").exists():
            return None
    return None


def is_path(reference: str) -> bool:
    """Return whether a reference is a path rather than an id (decision E3)."""
    has_separator = "/" in reference or "\\" in reference
    return has_separator or reference.startswith(".") or reference.endswith((".yaml", ".yml"))


def resolve(reference: str, kind: str, working_dir: Path) -> Path:
    """Return the file that a reference means.

    Args:
        reference: a path, or an id under its conventional directory.
        kind: one of `KINDS`.
        working_dir: paths are relative to it; the project is looked for from it upward.

    Raises:
        ConfigError: there is no such file; names the nearest id.
    """
    if is_path(reference):
        return working_dir / Path(reference).expanduser()
    project = find_project(working_dir)
    if project is None:
        advice = "run `collect init DIR` for a starter project, or give a path"
        problem = Problem(working_dir, f"no `configs` folder here or above it; {advice}")
        raise ConfigError([problem])
    folder = project / "configs" / KINDS[kind]
    path = folder / f"{reference}.yaml"
    if path.is_file():
        return path
    known = sorted(file.stem for file in folder.glob("*.yaml"))
    problem = Problem(
        folder,
        f"no {kind} `{reference}`",
        allowed=", ".join(known) or "none is there",
        nearest=nearest(reference, known),
    )
    raise ConfigError([problem])


def project_of(path: Path) -> Path | None:
    """Return the project that a suite file belongs to."""
    return find_project(path.resolve().parent)
