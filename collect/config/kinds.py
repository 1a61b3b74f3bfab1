"""Which kind a file is of, and what lies in a project and is never read."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from collect.config.project_files import FOLDERS
from schemas.config.project import NAME as PROJECT_FILE
from schemas.errors import ConfigError, Problem, nearest, shown
from schemas.io.yaml import read_yaml

ID_KEYS = {
    "case_id": "case",
    "suite_id": "suite",
    "run_profile_id": "run profile",
    "evaluation_profile_id": "evaluation profile",
    "agent_id": "agent",
}
NAMES = {"test.yaml": "case", "agent.yaml": "agent", PROJECT_FILE: "project file"}
PLACES = {
    "suites": "suite",
    "run_profiles": "run profile",
    "evaluation_profiles": "evaluation profile",
}
FIVE = ", ".join(f"{kind} (`{key}`)" for key, kind in ID_KEYS.items())


def kind_of(path: Path) -> str:
    """Return a file's kind by its name, its extension, its id key or its folder.

    Raises:
        ConfigError: it cannot be read, or is of no known kind.
    """
    if path.name in NAMES:
        return NAMES[path.name]
    if path.suffix in {".json", ".jsonl"}:
        return "prompt list"
    data = read_yaml(path).data
    keys = [key for key in ID_KEYS if isinstance(data, dict) and key in data]
    # only a case and an agent have a name of their own, which has been looked at
    if len(keys) == 1:
        return ID_KEYS[keys[0]]
    if path.parent.name in PLACES:
        return PLACES[path.parent.name]
    found = " and ".join(f"`{key}`" for key in keys) or "no id key"
    raise ConfigError([Problem(path, "is of no known kind", found=found, allowed=FIVE)])


def strays(configs: Path) -> Iterator[str]:
    """Say what looks like a part of the project and is never read."""
    for path in sorted(configs.iterdir()):
        if path.is_dir() and path.name not in FOLDERS and (near := nearest(path.name, FOLDERS)):
            yield f"{shown(path)}: is never read; did you mean `{near}`?"
    for folder in (*PLACES, "cases", "agents"):
        for path in sorted((configs / folder).glob("*.yml")):
            yield f"{shown(path)}: is never found by its id; name it {path.stem}.yaml"
    for path in sorted((configs / "cases").glob("*/*/*/**/test.yaml")):
        yield f"{shown(path)}: lies too deep to be read; cases lie at depth one or two"
    for path in sorted((configs / "agents").iterdir() if (configs / "agents").is_dir() else ()):
        if path.is_dir() and not (path / "agent.yaml").is_file():
            yield f"{shown(path)}: has no agent.yaml, so there is no such agent"
