"""Where the real agents are that shipped configurations are tried with."""

import os

import pytest

from tests.support.paths import TOOLS


def real_agent(name):
    """Return the folder with an agent from npm; its absence fails in CI and skips elsewhere."""
    folder = TOOLS / name / "node_modules"
    if not (folder / ".bin" / name).exists():
        why = f"needs the command {name}: `make {name}`, which needs npm"
        (pytest.fail if os.environ.get("CI") == "true" else pytest.skip)(why)
    return folder
