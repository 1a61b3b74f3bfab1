"""Where a project's files lie, and what a reference to one of them means."""

from __future__ import annotations

from pathlib import Path

from schemas.errors import ConfigError, Problem, nearest
from schemas.io.yaml import KeyPath, Source, dotted, printable

KINDS = {
    "suite": "suites",
    "run profile": "run_profiles",
    "evaluation profile": "evaluation_profiles",
}
"""Kinds that one file each defines, and the folder below `configs/` they lie in."""

FOLDERS = (*KINDS.values(), "cases", "agents")


def find_project(start: Path) -> Path | None:
    """Return the nearest folder from `start` upward that holds `configs/`, not above a `.git`."""
    for folder in (start, *start.parents):
        if (folder / "configs").is_dir():
            return folder
        if (folder / ".git").exists():
            return None
    return None


def is_path(reference: str) -> bool:
    """Return whether a reference is a path rather than an id (D-E3)."""
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
        try:
            return working_dir / Path(reference).expanduser()
        except RuntimeError as exc:  # `~name` of a user who is not there
            raise ConfigError([Problem(Path(reference), f"no such file: {exc}")]) from exc
    project = find_project(working_dir)
    if project is None:
        advice = "run `collect init DIR` for a starter project, or give a path"
        problem = Problem(working_dir, f"no `configs` folder here or above it; {advice}")
        raise ConfigError([problem])
    folder = project / "configs" / KINDS[kind]
    known = {file.stem: file for file in sorted(folder.glob("*.yaml"))}
    if reference in known:
        return known[reference]
    raise ConfigError([unknown(reference, kind, folder, known)])


def unknown(reference: str, kind: str, folder: Path, known: dict[str, Path]) -> Problem:
    """Return the problem of a name that nothing in a folder has."""
    return Problem(
        folder,
        f"no {kind} `{printable(reference)}`",
        allowed=", ".join(known) or "none is there",
        nearest=nearest(reference, known),
    )


def project_of(path: Path) -> Path | None:
    """Return the project that a file belongs to."""
    return find_project(path.resolve().parent)


def name_problems(source: Source, key: str, found: str) -> list[Problem]:
    """Return a problem when an id is not its file's name, by which people and commands call it."""
    if source.path.stem == found:
        return []
    what = f"differs from the file's name `{source.path.stem}`"
    return [problem_at(source, (key,), what, found=f"`{found}`")]


def problem_at(source: Source, key: KeyPath, what: str, **facts: str | None) -> Problem:
    """Return a problem at a key of a file, with its line."""
    return Problem(source.path, what, dotted(key), source.line_of(key), **facts)


def warning_at(source: Source, key: KeyPath, what: str) -> str:
    """Return a warning of a key of a file, with its line."""
    return f"{source.path}:{source.line_of(key)}: `{dotted(key)}` {what}"
