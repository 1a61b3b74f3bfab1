"""The starter project that ships with the package: what `init` copies and `demo` runs."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.resources import as_file, files
from pathlib import Path

from schemas.errors import ConfigError, Problem

GITIGNORE = "/runs/\n"


@contextmanager
def starter_configs() -> Iterator[Path]:
    """Yield the folder that holds the packaged `configs`."""
    with as_file(files("collect") / "starter_project") as folder:
        yield folder


def write_starter(directory: Path) -> list[str]:
    """Write a starter project and return what to say about it.

    Raises:
        ConfigError: the folder holds something already; nothing is ever overwritten.
    """
    if directory.exists() and (not directory.is_dir() or any(directory.iterdir())):
        advice = "choose a new folder, or copy single files from the one made there"
        raise ConfigError([Problem(directory, "is not empty", advice=advice)])
    with starter_configs() as source:
        shutil.copytree(source / "configs", directory / "configs")
    (directory / ".gitignore").write_text(GITIGNORE, encoding="utf-8")
    cases = len(list((directory / "configs" / "cases").glob("*/*/test.yaml")))
    return [
        f"wrote {directory}: {cases} cases, 1 suite, 2 run profiles; start with configs/README.md",
        "next:",
        f"  cd {directory}",
        "  collect plan --suite starter --run-profile demo",
        "  collect demo",
    ]
