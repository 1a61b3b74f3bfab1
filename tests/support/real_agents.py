"""Where the real agents are that shipped configurations are tried with."""

import os

import pytest

from tests.support.paths import TOOLS


def real_agent(name):
    """Return the folder with an agent from npm; its absence fails in CI and skips elsewhere."""
    command = "claude" if name == "claude-code" else name
    folder = TOOLS / ("node_modules" if command == "claude" else f"{name}/node_modules")
    if not (folder / ".bin" / command).exists():
        why = f"needs the command {command}: `make {command}`, which needs npm"
        (pytest.fail if os.environ.get("CI") == "true" else pytest.skip)(why)
    return folder
